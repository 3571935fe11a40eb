package inbox

import (
	"context"
	"log/slog"
	"os"
	"os/exec"
	"testing"
	"time"

	"dragoman/core/internal/guard"
	"dragoman/ports"
)

// waiting is a store with one message that waits, for ever.
type waiting struct{ in ports.Conversation }

func (w waiting) Cursor(context.Context, string) (string, error) { return "", nil }

func (w waiting) Accept(context.Context, ports.Source, ports.Batch, func(ports.Sight) ports.Route) (ports.Accepted, error) {
	return ports.Accepted{}, nil
}

func (w waiting) Claim(context.Context, int) ([]ports.Lease, error) {
	return []ports.Lease{{In: w.in, Epoch: 1}}, nil
}

func (w waiting) Load(context.Context, ports.Lease) (ports.Work, error) {
	return ports.Work{Waiting: []ports.Inbox{{Seq: 1, Person: "ann", Route: ports.RouteLane}}}, nil
}

func (w waiting) Trial(context.Context, ports.Lease, bool) error { return nil }

func (w waiting) Expire(context.Context, int) (ports.Accepted, error) { return ports.Accepted{}, nil }

// TestATurnThatPanicsHarmsItsLaneAlone runs in a process of its own, which a
// panic would end.
func TestATurnThatPanicsHarmsItsLaneAlone(t *testing.T) {
	if os.Getenv("INBOX_PANIC") == "" {
		c := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+t.Name()+"$")
		c.Env = append(os.Environ(), "INBOX_PANIC=1")
		if out, err := c.CombinedOutput(); err != nil {
			t.Errorf("a panic in a turn ends the process: %v\n%.400s", err, out)
		}
		return
	}
	began := make(chan struct{}, 1)
	x := New(t.Context(), waiting{ports.Conversation{Channel: "c", Chat: "1"}}, Parts{
		Flush: func(ports.Lease) {},
		Turn: func(context.Context, ports.Lease, ports.Work, <-chan struct{}) error {
			select {
			case began <- struct{}{}:
			default:
			}
			panic("boom")
		},
	}, 1, new(guard.Leaks), slog.New(slog.DiscardHandler))
	if err := x.Sweep(t.Context()); err != nil {
		t.Fatal(err)
	}
	select {
	case <-began:
	case <-time.After(time.Minute):
		t.Fatal("the turn was not run")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	x.Close(ctx)
}
