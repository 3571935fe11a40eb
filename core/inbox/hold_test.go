package inbox

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"dragoman/core/internal/guard"
	"dragoman/ports"
)

// mailbox is a store of conversations whose turns take all that waits.
type mailbox struct {
	mu      sync.Mutex
	waiting map[ports.Conversation][]ports.Inbox
}

func (b *mailbox) Cursor(context.Context, string) (string, error) { return "", nil }

func (b *mailbox) Accept(_ context.Context, _ ports.Source, batch ports.Batch, route func(ports.Sight) ports.Route) (ports.Accepted, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	var out ports.Accepted
	for _, m := range batch.Messages {
		list := b.waiting[m.In]
		r := route(ports.Sight{Message: m, Seq: int64(len(list) + 1)})
		b.waiting[m.In] = append(list, ports.Inbox{Seq: int64(len(list) + 1), Person: r.Person, Route: r.Kind, Received: time.Now(), Message: m})
		out.Leases = append(out.Leases, ports.Lease{In: m.In, Epoch: 1})
	}
	return out, nil
}

func (b *mailbox) Claim(context.Context, int) ([]ports.Lease, error) { return nil, nil }

func (b *mailbox) Load(_ context.Context, l ports.Lease) (ports.Work, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return ports.Work{Waiting: slices.Clone(b.waiting[l.In])}, nil
}

func (b *mailbox) Trial(context.Context, ports.Lease, bool) error { return nil }

func (b *mailbox) Expire(context.Context, int) (ports.Accepted, error) { return ports.Accepted{}, nil }

// began is a turn that began.
type began struct {
	chat  string
	after time.Duration
	took  int // messages
}

// holding is an inbox with one slot whose turns are held back, and take a second
// each. It must be made in a bubble.
type holding struct {
	*Inbox
	t     *testing.T
	start time.Time

	mu    sync.Mutex
	turns []began
	asked []time.Duration // when Hold was
}

func newHolding(t *testing.T, hold func(w ports.Work) time.Duration) *holding {
	box := &mailbox{waiting: map[ports.Conversation][]ports.Inbox{}}
	h := &holding{t: t, start: time.Now()}
	h.Inbox = New(t.Context(), box, Parts{
		Admit: func(context.Context, ports.Message) (Verdict, error) { return Verdict{}, nil },
		Match: func(s ports.Sight, v Verdict) ports.Route {
			if isStop(s.Message) {
				return ports.Route{Kind: ports.RouteControl, Person: v.Person}
			}
			return ports.Route{Kind: ports.RouteLane, Person: v.Person}
		},
		Hold: func(_ context.Context, in ports.Conversation, w ports.Work) time.Duration {
			if in.Chat == "free" {
				return 0
			}
			h.mu.Lock()
			h.asked = append(h.asked, time.Since(h.start))
			h.mu.Unlock()
			return hold(w)
		},
		Turn: func(_ context.Context, l ports.Lease, w ports.Work, _ <-chan struct{}) error {
			h.mu.Lock()
			h.turns = append(h.turns, began{l.In.Chat, time.Since(h.start), len(w.Waiting)})
			h.mu.Unlock()
			<-time.After(time.Second)
			box.mu.Lock()
			defer box.mu.Unlock()
			box.waiting[l.In] = box.waiting[l.In][len(w.Waiting):]
			return nil
		},
		Received: func(string, int) {}, Flush: func(ports.Lease) {},
	}, 1, new(guard.Leaks), slog.New(slog.DiscardHandler))
	return h
}

func (h *holding) say(chat, text string) {
	h.t.Helper()
	r := h.Receiver("c", func() int64 { return 0 }, func(error) {})
	m := ports.Message{Event: chat + time.Since(h.start).String(), From: "ann", In: ports.Conversation{Chat: chat}, Text: text}
	if err := r.Receive(h.t.Context(), ports.Batch{Messages: []ports.Message{m}}); err != nil {
		h.t.Error(err)
	}
}

// ran closes the inbox and compares the turns that began.
func (h *holding) ran(want ...began) {
	h.t.Helper()
	h.Close(h.t.Context())
	h.mu.Lock()
	defer h.mu.Unlock()
	if !slices.Equal(h.turns, want) {
		h.t.Errorf("the turns were %v, want %v", h.turns, want)
	}
}

// silence holds back until nothing came for a second.
func silence(w ports.Work) time.Duration {
	return time.Second - time.Since(w.Waiting[len(w.Waiting)-1].Received)
}

func TestATurnThatWaitsForMoreTakesNoSlot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHolding(t, func(w ports.Work) time.Duration { return 5*time.Second - time.Since(w.Waiting[0].Received) })
		h.say("held", "one")
		time.Sleep(time.Millisecond)
		h.say("free", "two")
		time.Sleep(10 * time.Second)
		h.ran(began{"free", time.Millisecond, 1}, began{"held", 5 * time.Second, 1})
	})
}

func TestAHeldTurnIsAskedForAgainAtEachMessage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHolding(t, silence)
		for _, text := range []string{"one", "two", "three"} {
			h.say("a", text)
			time.Sleep(700 * time.Millisecond)
		}
		time.Sleep(3 * time.Second)
		h.ran(began{"a", 2400 * time.Millisecond, 3})
		if want := []time.Duration{0, 700 * time.Millisecond, 1400 * time.Millisecond, 2400 * time.Millisecond}; !slices.Equal(h.asked, want) {
			t.Errorf("Hold was asked at %v, want %v", h.asked, want)
		}
	})
}

func TestAStopEndsTheWaitOfAHeldTurnAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHolding(t, silence)
		h.say("a", "one")
		time.Sleep(300 * time.Millisecond)
		h.say("a", "/stop")
		time.Sleep(5 * time.Second)
		h.ran(began{"a", 300 * time.Millisecond, 2})
	})
}

// Whatever Hold says, by whatever clock, and however many messages come.
func TestNoTurnIsHeldForLongerThanTenSeconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := newHolding(t, func(ports.Work) time.Duration { return time.Hour })
		for range 20 {
			h.say("a", "more")
			time.Sleep(900 * time.Millisecond)
		}
		time.Sleep(15 * time.Second)
		h.ran(began{"a", 10 * time.Second, 12}, began{"a", 21 * time.Second, 8})
	})
}

func TestAHeldTurnDoesNotHoldUpTheEnd(t *testing.T) {
	for how, end := range map[string]func(h *holding){
		"drain": func(h *holding) { h.Close(h.t.Context()) },
		"at once": func(h *holding) {
			ctx, cancel := context.WithCancelCause(h.t.Context())
			cancel(errors.New("now"))
			h.Close(ctx)
		},
	} {
		t.Run(how, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := newHolding(t, func(ports.Work) time.Duration { return 8 * time.Second })
				h.say("a", "one")
				time.Sleep(time.Second)
				end(h)
				if took := time.Since(h.start); took != time.Second || len(h.turns) > 0 {
					t.Errorf("the end took until %s, with the turns %v", took, h.turns)
				}
			})
		})
	}
}
