package channeltest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"dragoman/ports"
)

const memoryLimit = 200 // bytes

// channel is an adapter for memory that keeps every rule, but for its bug.
type channel struct {
	platform *memory
	bug      string
	log      *slog.Logger
	ran      atomic.Bool
	failed   atomic.Bool
	calls    int
}

var (
	_ ports.ChannelPort = (*channel)(nil)
	_ ports.Editor      = (*channel)(nil)
	_ ports.Typer       = (*channel)(nil)
	_ ports.Drafter     = (*channel)(nil)
	_ ports.Reactor     = (*channel)(nil)
	_ ports.Renderer    = (*channel)(nil)
)

func (c *channel) has(bug string) bool { return c.bug == bug }

func (c *channel) Traits() ports.Traits {
	c.calls++
	t := ports.Traits{MaxText: memoryLimit, EditEvery: time.Second, Choices: true}
	if c.has("moody traits") {
		t.MaxText += c.calls
	}
	return t
}

func (c *channel) Run(ctx context.Context, in ports.Receiver) error {
	if c.has("runs once") && c.ran.Load() {
		return errors.New("ran before")
	}
	c.ran.Store(true)
	if c.has("leaks") {
		go rest(context.WithoutCancel(ctx), 2*time.Second)
	}
	last, err := c.start(ctx, in)
	if err != nil {
		return err
	}
	for {
		events, err := c.platform.fetch(ctx, last)
		if ctx.Err() != nil {
			return c.leave(ctx)
		}
		if err != nil {
			if stop := c.outage(ctx, err); stop != nil {
				return stop
			}
			continue
		}
		if err := c.deliver(ctx, in, events); err != nil {
			return c.leave(ctx)
		}
		last = events[len(events)-1].id
	}
}

func (c *channel) start(ctx context.Context, in ports.Receiver) (int, error) {
	for {
		text, err := in.Cursor(ctx)
		if err != nil {
			if ctx.Err() != nil || c.has("ends without cursor") {
				return 0, err
			}
			rest(ctx, 20*time.Millisecond)
			continue
		}
		if c.has("starts at the end") {
			c.platform.mu.Lock()
			defer c.platform.mu.Unlock()
			return c.platform.last, nil
		}
		last, _ := strconv.Atoi(text)
		return last, nil
	}
}

func (c *channel) leave(ctx context.Context) error {
	if c.has("stays") {
		rest(context.WithoutCancel(ctx), 2*time.Second)
	}
	if c.has("odd end") {
		return errors.New("stopped")
	}
	return ctx.Err()
}

// outage waits out a fault of the platform, or says that going on is pointless.
func (c *channel) outage(ctx context.Context, err error) error {
	refused := err == error(refusal{FaultUnauthorized})
	switch {
	case refused && !c.has("tries a refused token"):
		return c.wrap(err)
	case c.has("ends in outage"):
		return c.wrap(err)
	}
	rest(ctx, 20*time.Millisecond)
	return nil
}

// deliver hands events over until they are stored or ctx ends.
func (c *channel) deliver(ctx context.Context, in ports.Receiver, events []event) error {
	b := ports.Batch{Cursor: strconv.Itoa(events[len(events)-1].id)}
	for _, e := range events {
		if e.noise && c.has("chokes on noise") {
			return c.outageForEver(ctx)
		}
		if !e.noise {
			b.Messages = append(b.Messages, c.read(e.message))
		}
	}
	if c.has("reverses") {
		slices.Reverse(b.Messages)
	}
	for try := 0; ; try++ {
		if c.has("renames on redelivery") {
			for i := range b.Messages {
				b.Messages[i].Event = fmt.Sprint(b.Messages[i].Event, "-", try)
			}
		}
		err := in.Receive(ctx, b)
		if err == nil || c.has("drops what is refused") {
			return nil
		}
		if ctx.Err() != nil {
			if c.has("stays while refused") {
				rest(context.WithoutCancel(ctx), 2*time.Second)
			}
			return err
		}
		if !c.has("hammers") {
			rest(ctx, 60*time.Millisecond)
		}
	}
}

func (c *channel) outageForEver(ctx context.Context) error {
	<-ctx.Done()
	return ctx.Err()
}

// read makes a message what the bug makes of it.
func (c *channel) read(m ports.Message) ports.Message {
	switch c.bug {
	case "logs texts":
		c.log.Info("message received", "text", m.Text)
	case "no sender":
		m.From = ""
	case "mixes people up":
		m.In.Chat = "everybody"
	case "trims":
		m.Text = strings.ToValidUTF8(strings.ReplaceAll(m.Text, "\n", " "), "")
	case "one event for equal texts":
		m.Event = m.Text
	case "always addressed":
		m.Addressed = true
	case "forgets the field":
		if m.Choice != nil {
			m.Choice.Field = ""
		}
	case "short choices":
		if m.Choice != nil && len(m.Choice.Value) > 10 {
			m.Choice.Value = m.Choice.Value[:10]
		}
	case "one event per button":
		if m.Choice != nil {
			m.Event = string(m.ID) + m.Choice.Value
		}
	}
	return m
}

func (c *channel) Send(ctx context.Context, m ports.Outgoing) (ports.MessageID, error) {
	if ctx.Err() != nil && !c.has("sends for the departed") {
		return "", c.wrap(ctx.Err())
	}
	if c.has("sends only while it runs") && !c.ran.Load() {
		return "", &ports.Error{Kind: ports.KindUnavailable, Op: "memory send", Err: errors.New("not running")}
	}
	text, chat, choices := c.textOf(m.Content), m.In.Chat, m.Content.Choices
	nonce := m.Nonce
	switch c.bug {
	case "wrong chat":
		chat = "person-0"
		if m.In.Chat == "person-0" {
			chat = "person-1"
		}
	case "ignores the nonce":
		nonce = ""
	case "refuses replies":
		if m.ReplyTo != "" {
			return "", c.wrap(refusal{FaultGone})
		}
	case "one id":
		_, err := c.platform.post(chat, nonce, text, choices)
		return "same", c.wrap(err)
	}
	if c.has("stuck after a fault") && c.failed.Load() {
		return "", &ports.Error{Kind: ports.KindUnavailable, Op: "memory send", Err: errors.New("failed before")}
	}
	id, err := c.platform.post(chat, nonce, text, choices)
	c.failed.Store(err != nil)
	if err == error(refusal{FaultHang}) {
		if c.has("hangs") {
			rest(context.WithoutCancel(ctx), 2*time.Second)
		} else {
			<-ctx.Done()
		}
		return "", c.wrap(ctx.Err())
	}
	return id, c.wrap(err)
}

// textOf is what is shown of a content, at most memoryLimit bytes.
func (c *channel) textOf(content ports.Content) string {
	text := content.Text
	if len(content.Body) > 0 {
		_ = json.Unmarshal(content.Body, &text)
	}
	switch c.bug {
	case "eats markup":
		text = strings.ReplaceAll(text, "*", "")
	case "cuts early":
		return text[:min(len(text), memoryLimit-20)]
	case "halves characters":
		return text[:min(len(text), memoryLimit)]
	}
	for len(text) > memoryLimit {
		_, n := utf8.DecodeLastRuneInString(text)
		text = text[:len(text)-n]
	}
	return text
}

func (c *channel) Edit(_ context.Context, id ports.MessageID, m ports.Outgoing) error {
	text, choices := c.textOf(m.Content), m.Content.Choices
	c.platform.mu.Lock()
	var old post
	for _, r := range c.platform.chats {
		for _, p := range r.shown {
			if p.id == id {
				old = *p
			}
		}
	}
	c.platform.mu.Unlock()
	switch c.bug {
	case "edits by posting":
		_, err := c.platform.post(m.In.Chat, m.Nonce, text, choices)
		return c.wrap(err)
	case "refuses the same":
		if old.text == text && len(old.choices) == len(choices) {
			return &ports.Error{Kind: ports.KindInvalid, Op: "memory edit", Err: errors.New("not modified")}
		}
	case "keeps buttons":
		choices = old.choices
	case "edits its own only":
		if !c.ran.Load() {
			return c.wrap(refusal{FaultForbidden})
		}
	case "edits what is gone":
		_ = c.platform.change(id, text, choices)
		return nil
	}
	return c.wrap(c.platform.change(id, text, choices))
}

func (c *channel) Typing(_ context.Context, in ports.Conversation) error {
	if c.has("types by posting") {
		_, err := c.platform.post(in.Chat, "", "typing…", nil)
		return c.wrap(err)
	}
	c.platform.mu.Lock()
	defer c.platform.mu.Unlock()
	c.platform.chats[in.Chat].typing = !c.has("types nothing")
	return nil
}

func (c *channel) Draft(_ context.Context, in ports.Conversation, text string) error {
	if !c.has("leaves drafts") {
		return nil
	}
	_, err := c.platform.post(in.Chat, "", text, nil)
	return c.wrap(err)
}

func (c *channel) React(context.Context, ports.Conversation, ports.MessageID, string) error {
	if c.has("cannot react") {
		return c.wrap(refusal{FaultGone})
	}
	return nil
}

func (c *channel) Render(content ports.Content) ([]ports.Content, error) {
	var parts []ports.Content
	for chunk := range slices.Chunk([]byte(content.Text), memoryLimit) {
		body, err := json.Marshal(string(chunk))
		if err != nil {
			return nil, err
		}
		parts = append(parts, ports.Content{Text: string(chunk), Body: body})
	}
	at := len(parts) - 1
	if c.has("buttons first") {
		at = 0
	}
	parts[at].Choices = content.Choices
	if c.has("no body") {
		parts[0].Body = nil
	}
	return parts, nil
}

// wrap classifies an error, as the bug would have it.
func (c *channel) wrap(err error) error {
	if err == nil {
		return nil
	}
	e := &ports.Error{Kind: ports.KindOf(err), Op: "memory", Err: err}
	var r refusal
	if errors.As(err, &r) {
		e.Kind = map[Fault]ports.Kind{
			FaultRateLimit: ports.KindRateLimited, FaultForbidden: ports.KindForbidden, FaultGone: ports.KindNotFound,
			FaultUnauthorized: ports.KindUnauthorized, FaultOutage: ports.KindTemporary, FaultCut: ports.KindUnsure,
		}[r.fault]
	}
	if e.Kind == ports.KindRateLimited {
		e.RetryAfter = RetryAfter
	}
	switch c.bug {
	case "retries the blocked":
		e.Kind = ports.KindTemporary
	case "forgets how long":
		e.RetryAfter = 0
	case "sure":
		if e.Kind == ports.KindUnsure {
			e.Kind = ports.KindTemporary
		}
	case "gives up":
		if e.Kind == ports.KindTemporary {
			e.Kind = ports.KindInvalid
		}
	case "loses the cause":
		e.Err = nil
	case "bare errors":
		return err
	case "tells the token":
		e.Err = fmt.Errorf("POST /%s/send: %w", memoryToken, err)
	}
	return e
}

// rest waits for d or until ctx ends.
func rest(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}
