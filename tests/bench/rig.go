package main

import (
	"fmt"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"dragoman/tests/fake/model"
	"dragoman/tests/fake/telegram"
)

// rig is the world around one process that is measured: a platform, a model, and
// the chats that write.
type rig struct {
	load     Load
	platform *telegram.Server
	model    *model.Server
	polled   chan time.Time // the first poll
	chatters []*chatter

	held    chan struct{} // the model thinks until it is closed; nil: it answers at once
	holding sync.Mutex    // guards held

	limited   atomic.Int64 // posts refused as too many
	noResult  atomic.Int64 // tool calls that gave something else
	doubles   atomic.Int64 // answers posted again
	surprises atomic.Int64 // posts that answer nobody
}

// The tool that the model calls, as gateway and bare loop name it, and what it must give.
const (
	toolName      = "desk__calculate"
	toolArguments = `{"expression":"17*3"}`
	toolResult    = "51"
)

// pieces is in how many frames an answer is streamed.
const pieces = 8

func newRig(l Load, depth int) *rig {
	r := &rig{load: l, polled: make(chan time.Time, 1)}
	o := telegram.Options{Watch: telegram.Watch{
		Called:  r.called,
		Handed:  func(chat int64) { r.of(chat).handed(chat) },
		Shown:   r.shown,
		Limited: func(int64) { r.limited.Add(1) },
	}}
	if l.Limits {
		o.PerChat, o.Overall = limitPerChat, limitOverall
	}
	r.platform = telegram.New(o)
	r.model = model.New(model.Options{Answer: r.answer, Delay: l.Delay, Pieces: pieces})
	for slot := range l.Chats {
		r.chatters = append(r.chatters, &chatter{rig: r, slot: slot, depth: depth, asked: map[string]bool{}})
	}
	return r
}

func (r *rig) close() {
	r.platform.Close()
	r.model.Close()
}

// hold makes the model think until release is called.
func (r *rig) hold() (release func()) {
	held := make(chan struct{})
	r.holding.Lock()
	r.held = held
	r.holding.Unlock()
	return sync.OnceFunc(func() { close(held) })
}

// called hears every call of the bot.
func (r *rig) called(method string) {
	if method != "getUpdates" {
		return
	}
	select {
	case r.polled <- time.Now():
	default:
	}
}

// of is who writes in a chat.
func (r *rig) of(chat int64) *chatter { return r.chatters[int(chat%maxChats)] }

// shown hears every text that a chat shows of the bot.
func (r *rig) shown(chat int64, text string, edited bool) {
	switch r.of(chat).shown(text) {
	case again:
		if !edited {
			r.doubles.Add(1)
		}
	case other:
		r.surprises.Add(1)
	}
}

// reference is at the end of each question and of the answer to it.
var reference = regexp.MustCompile(`ref \d+-\d+$`)

// answer is what the model says: a few sentences with some Markdown, as models
// like to. With a tool it is called first.
func (r *rig) answer(q model.Request) model.Reply {
	r.holding.Lock()
	held := r.held
	r.holding.Unlock()
	if held != nil {
		<-held
	}
	last := q.Last()
	if r.load.Tool && last.Role == "user" {
		return model.Reply{Calls: []model.Call{{Name: toolName, Arguments: toolArguments}}}
	}
	if r.load.Tool && !strings.Contains(last.Text, toolResult) {
		r.noResult.Add(1)
	}
	return model.Reply{Text: "**Fifty-one.** You can see it in two steps:\n\n- ten times three is 30\n- seven times three is 21\n\n" +
		"Add the two, and `30 + 21` gives what you asked for. Is there anything else? " + reference.FindString(q.Said())}
}

// chatter is a place for a chat: people come, say some things one after the
// other, and leave it to the next.
type chatter struct {
	rig   *rig
	slot  int
	depth int

	mu   sync.Mutex
	turn turn

	asked   map[string]bool // by reference
	samples []sample
}

// turn is what somebody waits for.
type turn struct {
	chat   int64
	ref    string
	said   time.Time
	handed time.Time // when the update left for the first time
	shown  time.Time
	last   string // the newest text that was shown
	done   chan struct{}
}

// sample is a turn that was answered.
type sample struct{ said, handed, shown time.Time }

func (c *chatter) handed(chat int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.turn.chat == chat && c.turn.handed.IsZero() {
		c.turn.handed = time.Now()
	}
}

// verdict says what a text is to whom it is shown.
type verdict int

const (
	partly verdict = iota // the beginning of an answer
	first                 // the answer
	again                 // the answer that was there already
	other                 // something else
)

func (c *chatter) shown(text string) verdict {
	c.mu.Lock()
	defer c.mu.Unlock()
	t := &c.turn
	t.last = text
	switch {
	case !strings.HasPrefix(strings.TrimLeft(text, "*"), "Fifty"): // Markdown, or what it became
		return other
	case !strings.HasSuffix(text, t.ref):
		return partly // or the double of an older one: those are found where a chat is looked at whole
	case !t.shown.IsZero():
		return again
	}
	t.shown = time.Now()
	close(t.done)
	return first
}

// begin is a new turn in a chat of this place.
func (c *chatter) begin(n int) *turn {
	c.mu.Lock()
	defer c.mu.Unlock()
	chat := int64(n/c.depth+1)*maxChats + int64(c.slot)
	c.turn = turn{chat: chat, ref: fmt.Sprintf("ref %d-%d", chat, n), said: time.Now(), done: make(chan struct{})}
	c.asked[c.turn.ref] = true
	return &c.turn
}

// end notes what came of it.
func (c *chatter) end() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.samples = append(c.samples, sample{c.turn.said, c.turn.handed, c.turn.shown})
}
