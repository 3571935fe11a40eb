package discord

import (
	"context"
	"net/http"
	"strings"

	"dragoman/ports"
)

const (
	maxThreadName = 80   // characters; Discord takes 100
	threadArchive = 1440 // minutes without a message until it is put away
)

// openThread opens the thread of a conversation from the message that began it:
// such a thread has that message's id.
func (c *Channel) openThread(ctx context.Context, in ports.Conversation) error {
	const op = "discord thread"
	path := "/channels/" + in.Chat + "/messages/" + in.Thread
	var first message
	err := wrap(op, false, c.api.do(ctx, request{method: http.MethodGet, path: path, timeout: askTimeout}, &first))
	if err != nil && !ports.IsKind(err, ports.KindForbidden) { // then its name is what is not known
		return err
	}
	body := struct {
		Name    string `json:"name"`
		Archive int    `json:"auto_archive_duration"`
	}{threadName(first), threadArchive}
	err = c.api.do(ctx, request{method: http.MethodPost, path: path + "/threads", body: body, timeout: askTimeout}, nil)
	if hasCode(err, codeThreadThere) {
		err = nil
	}
	return wrap(op, false, err)
}

// threadName is what a thread is about: the beginning of its first message.
func threadName(m message) string {
	text := ""
	if m.Content != nil {
		text = *m.Content
	}
	words := strings.Fields(text)
	for len(words) > 0 && strings.HasPrefix(words[0], "<@") {
		words = words[1:]
	}
	name := cut(strings.Join(words, " "), maxThreadName)
	if name == "" {
		return "Conversation"
	}
	return name
}
