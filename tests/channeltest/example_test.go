package channeltest_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"dragoman/ports"
	"dragoman/tests/channeltest"
)

// radio is a stand-in of a chat platform: it keeps all that was said to the bot,
// and all that the bot said, by person.
type radio struct {
	mu    sync.Mutex
	said  []ports.Message
	heard map[string][]channeltest.Shown
}

func (r *radio) Facts() channeltest.Facts { return channeltest.Facts{} }

func (r *radio) Channel(*slog.Logger) (ports.ChannelPort, error) { return &radioChannel{r}, nil }

func (r *radio) Person(name string) (channeltest.Person, error) {
	return listener{r, strings.ToLower(name)}, nil
}

func (r *radio) Break(channeltest.Call, channeltest.Fault, int) bool { return false } // it never breaks

func (r *radio) Close() {}

// listener is somebody at the other end.
type listener struct {
	radio *radio
	id    string
}

func (l listener) ID() string { return l.id }

func (l listener) Say(text string) error {
	l.radio.mu.Lock()
	defer l.radio.mu.Unlock()
	event := strconv.Itoa(len(l.radio.said) + 1)
	l.radio.said = append(l.radio.said, ports.Message{
		Event: event, ID: ports.MessageID(event), In: ports.Conversation{Chat: l.id}, Private: true, From: l.id, Text: text,
	})
	return nil
}

func (l listener) Press(string) error { return errors.New("a radio has no buttons") }

func (l listener) Shows() ([]channeltest.Shown, error) {
	l.radio.mu.Lock()
	defer l.radio.mu.Unlock()
	return slices.Clone(l.radio.heard[l.id]), nil
}

// radioChannel is the adapter under test. It has one fault.
type radioChannel struct{ radio *radio }

func (c *radioChannel) Traits() ports.Traits { return ports.Traits{} }

func (c *radioChannel) Run(ctx context.Context, in ports.Receiver) error {
	for ; ctx.Err() == nil; wait(ctx, 50*time.Millisecond) {
		cursor, err := in.Cursor(ctx)
		if err != nil {
			continue
		}
		n, _ := strconv.Atoi(cursor)
		c.radio.mu.Lock()
		news := slices.Clone(c.radio.said[n:])
		c.radio.mu.Unlock()
		if len(news) > 0 { // an error leaves the cursor where it was: the next round brings all of it again
			_ = in.Receive(ctx, ports.Batch{Messages: news, Cursor: strconv.Itoa(n + len(news))})
		}
	}
	return ctx.Err()
}

// Send does not look whether its caller is still there: that is the fault.
func (c *radioChannel) Send(_ context.Context, m ports.Outgoing) (ports.MessageID, error) {
	c.radio.mu.Lock()
	defer c.radio.mu.Unlock()
	heard := append(c.radio.heard[m.In.Chat], channeltest.Shown{Text: m.Content.Text})
	c.radio.heard[m.In.Chat] = heard
	return ports.MessageID(fmt.Sprint(m.In.Chat, "-", len(heard))), nil
}

func wait(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}

// In a test, channeltest.Run(t, h) is all. Here the rules are gone through by
// hand: the one that is broken names the fault.
//
// A radio has no buttons, groups, edits or bad days; what a channel does not have
// it is not asked for.
func Example() {
	h := channeltest.Harness{
		Start: func(context.Context) (channeltest.Platform, error) {
			return &radio{heard: map[string][]channeltest.Shown{}}, nil
		},
	}
	for _, rule := range channeltest.Rules() {
		err := rule.Check(context.Background(), h)
		if err != nil && !errors.Is(err, channeltest.ErrNotApplicable) {
			fmt.Printf("%s: %v\n(%s)\n", rule.Name, err, rule.Why)
		}
	}
	// Output:
	// ended-context-sends-nothing: there was no error; want [cancelled]
	// (a caller that has left must not cause effects)
}
