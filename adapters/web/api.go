package web

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"mime"
	"net/http"
	"regexp"
	"strings"
	"time"

	"dragoman/ports"
)

const (
	maxText  = 64 << 10
	maxBody  = 6*maxText + 4<<10 // JSON may spend six bytes on one
	maxPress = 56                // of question, field and value: ports.Choice
)

var clientID = regexp.MustCompile(`^[A-Za-z0-9_-]{1,64}$`)

// postMessage takes what a person wrote. 202: it is stored. 429 or 503: it is
// not; the same id may be posted again and counts once.
func (c *Channel) postMessage(w http.ResponseWriter, r *http.Request) {
	var req struct{ ID, Text string }
	user, ok := c.request(w, r, &req)
	if !ok {
		return
	}
	switch {
	case !clientID.MatchString(req.ID):
		refuse(w, http.StatusBadRequest, "The message has no usable id.")
		return
	case strings.TrimSpace(req.Text) == "":
		refuse(w, http.StatusBadRequest, "The message is empty.")
		return
	case len(req.Text) > maxText:
		refuse(w, http.StatusRequestEntityTooLarge, "The message is too long. 64 KiB is the limit.")
		return
	}
	event := "m-" + user + "-" + req.ID
	m := message(user, event)
	m.Text = req.Text
	c.deliver(w, r, m, entry{Kind: kindUser, ID: event, Text: req.Text})
}

// postPress takes the press of a button. ID is one of the page's, if it gives one,
// so that a try again is not a second press.
func (c *Channel) postPress(w http.ResponseWriter, r *http.Request) {
	var req struct{ ID, Message, Question, Field, Value string }
	user, ok := c.request(w, r, &req)
	if !ok {
		return
	}
	chat, _, ok := parseID(ports.MessageID(req.Message))
	size := len(req.Question) + len(req.Field) + len(req.Value)
	if !ok || chat != user || req.Question == "" || size > maxPress || req.ID != "" && !clientID.MatchString(req.ID) {
		refuse(w, http.StatusBadRequest, "This button is not one of this chat.")
		return
	}
	sum := sha256.Sum256([]byte(strings.Join([]string{req.ID, req.Message, req.Question, req.Field, req.Value}, "\x00")))
	m := message(user, "p-"+user+"-"+hex.EncodeToString(sum[:12]))
	m.ID = ports.MessageID(req.Message)
	m.Choice = &ports.Choice{Question: req.Question, Field: req.Field, Value: req.Value}
	c.deliver(w, r, m, entry{Kind: kindPress, ID: req.Message, Choices: []ports.Choice{*m.Choice}})
}

// request reads a JSON request of a logged-in person, within their limit. It
// answers by itself where that fails.
func (c *Channel) request(w http.ResponseWriter, r *http.Request, into any) (user string, ok bool) {
	if user = c.user(r.Context(), w, r); user == "" {
		return "", false
	}
	if !c.posts.allow(user) {
		w.Header().Set("Retry-After", "1")
		refuse(w, http.StatusTooManyRequests, "These are too many messages at once. Please wait a moment.")
		return "", false
	}
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "application/json" {
		refuse(w, http.StatusUnsupportedMediaType, "The request must be JSON.")
		return "", false
	}
	err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxBody)).Decode(into)
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		refuse(w, http.StatusRequestEntityTooLarge, "The message is too long. 64 KiB is the limit.")
		return "", false
	case err != nil:
		refuse(w, http.StatusBadRequest, "The request is not valid JSON.")
		return "", false
	}
	return user, true
}

// deliver hands m to the core and adds own to the feed, if the sender is let in.
// Both count once.
func (c *Channel) deliver(w http.ResponseWriter, r *http.Request, m ports.Message, own entry) {
	if err := c.receive(r.Context(), m, &own); err != nil {
		c.warn("message not stored", m.In.Chat, err)
		refuse(w, http.StatusServiceUnavailable, "The gateway could not store this yet. It is tried again.")
		return
	}
	answer(w, http.StatusAccepted, map[string]string{"event": m.Event})
}

// receive hands m to the core and then adds own, if there is one and it is to be
// kept, to the feed.
func (c *Channel) receive(ctx context.Context, m ports.Message, own *entry) error {
	// A person who closes the page has sent the message all the same.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), storeTimeout)
	defer cancel()
	ctx, in, leave, ok := c.enter(ctx)
	if !ok {
		return ports.Errorf(ports.KindUnavailable, "web receive", "the channel does not run")
	}
	defer leave()
	defer c.hub.post(m.In.Chat)()
	if err := in.Receive(ctx, ports.Batch{Messages: []ports.Message{m}}); err != nil {
		return wrap("receive", err)
	}
	if own == nil || !c.keeps(ctx, in, m) {
		return nil
	}
	_, err := c.append(ctx, m.In.Chat, m.Event, *own)
	return wrap("append", err)
}

// keeps says whether the feed gets m: what strangers write would fill the disk.
// Asked after Receive, for m may be what lets its sender in. In doubt it is kept,
// lest a person miss what they wrote.
func (c *Channel) keeps(ctx context.Context, in ports.Receiver, m ports.Message) bool {
	knower, ok := in.(ports.Knower)
	if !ok {
		return true
	}
	known, err := knower.Known(ctx, m)
	if err != nil {
		c.warn("web_sender_not_looked_up", m.In.Chat, err)
		return true
	}
	return known
}

// message is one by user, in the only chat that user has.
func message(user, event string) ports.Message {
	return ports.Message{
		Event: event, ID: ports.MessageID(event), In: ports.Conversation{Chat: user},
		Private: true, From: user, At: time.Now(),
	}
}
