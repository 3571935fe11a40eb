package gateway_test

import (
	"bytes"
	"context"
	"encoding/json"
	"log/slog"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"dragoman/adapters/sqlstore"
	"dragoman/core/gateway"
	"dragoman/ports"
)

// logged makes the gateway's log one that the test can read. Call it before start.
func (w *world) logged() *logBook {
	b := &logBook{}
	w.opt.Log = slog.New(slog.NewJSONHandler(b, &slog.HandlerOptions{Level: slog.LevelDebug}))
	return b
}

// logBook keeps the lines of a log.
type logBook struct {
	mu    sync.Mutex
	bytes bytes.Buffer
}

func (b *logBook) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.bytes.Write(p)
}

// lines are all lines so far.
func (b *logBook) lines() []map[string]any {
	b.mu.Lock()
	defer b.mu.Unlock()
	var list []map[string]any
	for line := range bytes.Lines(b.bytes.Bytes()) {
		var one map[string]any
		if err := json.Unmarshal(line, &one); err != nil {
			panic(err)
		}
		list = append(list, one)
	}
	return list
}

// find gives the lines with a message.
func (b *logBook) find(message string) []map[string]any {
	return slices.DeleteFunc(b.lines(), func(l map[string]any) bool { return l["msg"] != message })
}

var reference = regexp.MustCompile(`\n\nReference: ([a-z2-7]{6})$`)

// refIn is the reference that a failure quotes.
func refIn(t *testing.T, text string) string {
	t.Helper()
	m := reference.FindStringSubmatch(text)
	if m == nil {
		t.Fatalf("no reference in %q", text)
	}
	return m[1]
}

// panicky is a chat whose renderer breaks.
type panicky struct{ *chat }

func (panicky) Render(ports.Content) ([]ports.Content, error) { panic("no form") }

// reluctant is a store that refuses the first write of each kind.
type reluctant struct {
	gateway.Store
	records, marks atomic.Int32
}

func (s *reluctant) Record(ctx context.Context, l ports.Lease, c ports.Change) error {
	if s.records.Add(1) == 1 {
		return ports.Errorf(ports.KindUnavailable, "record", "the disk is full")
	}
	return s.Store.Record(ctx, l, c)
}

func (s *reluctant) Delivered(ctx context.Context, l ports.Lease, id string, r ports.Receipt) error {
	if s.marks.Add(1) == 1 {
		return ports.Errorf(ports.KindUnavailable, "delivered", "the disk is full")
	}
	return s.Store.Delivered(ctx, l, id, r)
}

// A turn in which everything goes wrong: each line about it carries its
// reference, and one of them alone is an error.
func TestEachLineOfATurnCarriesItsReference(t *testing.T) {
	w := newWorld(t)
	log := w.logged()
	w.opt.Tools.ResultBytes = 64
	w.chat.fails = []error{ports.Errorf(ports.KindTemporary, "send", "502")}
	w.plug = panicky{w.chat}
	tools := calls("srv__panics", "srv__fails", "srv__huge", "srv__made_up", "srv__read_a")
	w.model.reply = func(ctx context.Context, r ports.ModelRequest) (ports.ModelReply, error) {
		if hasTool(r) {
			panic("the model's adapter breaks")
		}
		return tools(ctx, r)
	}
	w.startOn(func(s *sqlstore.Store) gateway.Store { return &reluctant{Store: s} })
	w.chat.say(t, "ann", "go")
	text := w.shown(1)[0]
	ref := refIn(t, text)
	w.settled()
	eventually(t, "the turn's last line", func() bool { return len(log.find("turn_finished")) == 1 })

	var errors []map[string]any
	seen := map[string]bool{}
	for _, l := range log.lines() {
		if l["ref"] == ref {
			seen[l["msg"].(string)] = true
			if l["turn"] != "chat:ann#1" {
				t.Errorf("the reference without its turn: %v", l)
			}
			if l["level"] == "ERROR" {
				errors = append(errors, l)
			}
		}
	}
	for _, want := range []string{"turn_started", "model_replied", "model_failed", "tool_call_started", "tool_call_finished", "tool_call_failed",
		"commit_retried", "render_failed", "delivery_retried", "delivery_not_marked", "turn_failed", "turn_finished"} {
		if !seen[want] {
			t.Errorf("no line %q with the reference", want)
		}
		for _, l := range log.find(want) {
			if l["ref"] != ref {
				t.Errorf("without the reference: %v", l)
			}
		}
	}
	if len(errors) != 1 || errors[0]["msg"] != "turn_failed" {
		t.Errorf("%d lines are errors: %v", len(errors), errors)
	}
	if err, _ := errors[0]["err"].(string); !strings.Contains(err, "the model's adapter breaks") || !strings.Contains(err, "goroutine") {
		t.Errorf("the error does not hold the cause with its stack: %.200q", err)
	}
	for _, l := range log.find("tool_call_failed") {
		if l["tool"] == "panics" && !strings.Contains(l["err"].(string), "goroutine") {
			t.Errorf("a panic without its stack: %v", l)
		}
	}
	if strings.Contains(text, "breaks") || strings.Contains(text, "goroutine") {
		t.Errorf("the chat shows the cause: %q", text)
	}
}

// A delivery that is given up and one that cannot be marked name their turn.
func TestTheOutboxsLinesCarryTheReference(t *testing.T) {
	w := newWorld(t)
	log := w.logged()
	w.model.reply = echo
	w.chat.fails = []error{ports.Errorf(ports.KindForbidden, "send", "blocked")}
	w.start()
	w.chat.say(t, "ann", "hello")
	w.settled()
	if lines := log.find("delivery_given_up"); len(lines) != 1 || lines[0]["ref"] != ports.Ref("chat:ann#1") {
		t.Errorf("given up: %v", lines)
	}
	for _, l := range log.lines() {
		if ref, there := l["ref"]; there && ref == "" {
			t.Errorf("an empty reference: %v", l)
		}
	}
}

// unfinished is a store that breaks when a turn ends.
type unfinished struct {
	gateway.Store
	broken *atomic.Bool
}

func (s unfinished) Finish(ctx context.Context, l ports.Lease, c ports.Change, o ports.Outcome) error {
	if s.broken.Load() {
		panic("the store breaks")
	}
	return s.Store.Finish(ctx, l, c, o)
}

// A turn that breaks outside of its own guard is named in the lane's line.
func TestALaneThatFailsNamesItsTurn(t *testing.T) {
	w := newWorld(t)
	log := w.logged()
	w.model.reply = echo
	var broken atomic.Bool
	broken.Store(true)
	w.startOn(func(s *sqlstore.Store) gateway.Store { return unfinished{s, &broken} })
	w.chat.say(t, "ann", "hello")
	eventually(t, "the lane fails", func() bool { return len(log.find("lane_failed")) > 0 })
	broken.Store(false)
	w.shown(1)
	l := log.find("lane_failed")[0]
	if l["ref"] != ports.Ref("chat:ann#1") || !strings.Contains(l["err"].(string), "goroutine") {
		t.Errorf("the line is %v", l)
	}
}
