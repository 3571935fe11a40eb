package terminal

import (
	"context"
	"regexp"
	"strings"
	"time"

	"dragoman/ports"
)

const (
	// maxText is the longest message, in bytes.
	maxText      = 1 << 20
	storeTimeout = 10 * time.Second
)

var sayingID = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

// Say shows what was said and hands it to the core. It waits a while for the
// channel to run. See ports.Terminal.
func (c *Channel) Say(ctx context.Context, chat string, s ports.Saying) (ports.Said, error) {
	m, e, err := message(chat, s)
	if err != nil {
		return ports.Said{}, err
	}
	// What is half said when its terminal closes is said all the same.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), storeTimeout)
	defer cancel()
	ctx, in, leave, err := c.enter(ctx)
	if err != nil {
		return ports.Said{}, err
	}
	defer leave()
	// The line first, so that no answer stands above it.
	f, err := c.append(ctx, chat, m.Event, e)
	if err != nil {
		return ports.Said{}, wrap("say", err)
	}
	if err := in.Receive(ctx, ports.Batch{Messages: []ports.Message{m}}); err != nil {
		return ports.Said{}, wrap("say", err)
	}
	return ports.Said{Event: m.Event, Seq: f.Seq}, nil
}

func message(chat string, s ports.Saying) (ports.Message, entry, error) {
	text := clean(s.Text)
	switch {
	case chat == "" || !sayingID.MatchString(s.ID):
		return ports.Message{}, entry{}, ports.Errorf(ports.KindInvalid, "terminal say", "the message has no usable id or conversation")
	case len(s.Text) > maxText:
		return ports.Message{}, entry{}, ports.Errorf(ports.KindTooLarge, "terminal say", "the message has %d bytes, and %d is the limit", len(s.Text), maxText)
	case s.Choice != nil && s.Line <= 0:
		return ports.Message{}, entry{}, ports.Errorf(ports.KindInvalid, "terminal say", "the choice names no line")
	case s.Choice == nil && strings.TrimSpace(text) == "":
		return ports.Message{}, entry{}, ports.Errorf(ports.KindInvalid, "terminal say", "the message is empty")
	}
	event := "t-" + chat + "-" + s.ID
	m := ports.Message{Event: event, ID: ports.MessageID(event), In: ports.Conversation{Chat: chat}, Private: true, From: chat, Text: text, At: time.Now()}
	e := entry{Own: true, Text: text}
	if s.Choice != nil {
		press := *s.Choice
		if e.Text = press.Label; e.Text == "" {
			e.Text = press.Value
		}
		press.Label = ""
		m.ID, m.Choice, m.Text = messageID(chat, s.Line), &press, ""
	}
	return m, e, nil
}

// clean makes text of any bytes: what is none, and NUL, which not every store
// takes, shows as U+FFFD.
func clean(s string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "\uFFFD")
}
