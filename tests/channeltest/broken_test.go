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

var _ ports.ChannelPort = (*channel)(nil)

func (c *channel) has(bug string) bool { return c.bug == bug }

func (c *channel) Traits() ports.Traits {
	c.calls++
	t := ports.Traits{MaxText: memoryLimit, EditEvery: time.Second, GroupEditEvery: 4 * time.Second, Choices: true}
	switch c.platform.lack {
	case "buttons":
		t.Choices = false
	case "limit":
		t.MaxText = 0
	case "Editor":
		t.EditEvery, t.GroupEditEvery = 0, 0
	case everything:
		return ports.Traits{}
	}
	switch c.bug {
	case "moody traits":
		t.MaxText += c.calls
	case "no end of a pace":
		t.GroupEditEvery = time.Hour
	case "faster in groups":
		t.GroupEditEvery = t.EditEvery / 2
	case "edits in groups alone":
		t.EditEvery = 0
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
		if c.has("reverses") {
			rest(ctx, 50*time.Millisecond) // until there is more than one to reverse
		}
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
		if c.has("acknowledges first") {
			c.platform.forget(events[len(events)-1].id)
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
		if c.has("hammers") {
			rest(ctx, time.Millisecond)
		} else {
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
	case "loses files":
		m.Attachments = nil
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
	case "shows no buttons":
		choices = nil
	case "refuses replies":
		if m.ReplyTo != "" {
			return "", c.wrap(refusal{FaultGone})
		}
	case "one id":
		_, err := c.platform.post(chat, nonce, text, choices)
		return "same", c.wrap(err)
	}
	if c.has("leaks sends") {
		go rest(context.WithoutCancel(ctx), 2*time.Second)
	}
	if c.has("stuck after a fault") && c.failed.Load() {
		return "", &ports.Error{Kind: ports.KindUnavailable, Op: "memory send", Err: errors.New("failed before")}
	}
	id, err := c.platform.post(chat, nonce, text, choices)
	c.failed.Store(err != nil)
	switch limited := err == error(refusal{FaultRateLimit}) || err == error(refusal{FaultWideLimit}); {
	case limited && c.has("swallows a 429"):
		return "later", nil
	case limited && c.has("retries by itself"):
		return c.Send(ctx, m)
	}
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
	if c.platform.lacks("limit") {
		return text
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
			FaultWideLimit: ports.KindRateLimited, FaultUnauthorized: ports.KindUnauthorized, FaultOutage: ports.KindTemporary, FaultCut: ports.KindUnsure,
		}[r.fault]
	}
	if e.Kind == ports.KindRateLimited {
		e.RetryAfter, e.Wide = RetryAfter, r.fault == FaultWideLimit
	}
	switch c.bug {
	case "retries the blocked":
		e.Kind = ports.KindTemporary
	case "holds one chat alone":
		e.Wide = false
	case "holds all for one":
		e.Wide = true
	case "copies the cause":
		e.Err = errors.New(err.Error())
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
