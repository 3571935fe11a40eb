package sqlstore

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"dragoman/ports"
)

// BenchmarkTurn measures whole turns with one tool call: Accept, Record (the
// reply with its start), Finish and Delivered, each an awaited durable commit,
// and the reads in between.
func BenchmarkTurn(b *testing.B) {
	for _, sync := range []string{"full", "normal"} {
		for _, c := range []int{1, 8, 64} {
			b.Run(fmt.Sprintf("%s/c=%d", sync, c), func(b *testing.B) { benchTurns(b, sync, c) })
		}
	}
}

func benchTurns(b *testing.B, syncMode string, c int) {
	ctx := b.Context()
	s, err := Open(ctx, Config{Dir: b.TempDir(), Sync: syncMode}, slog.New(slog.DiscardHandler))
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	var (
		next  atomic.Int64
		group sync.WaitGroup
		took  = make([]time.Duration, b.N)
	)
	b.ResetTimer()
	for worker := range c {
		group.Go(func() {
			in := ports.Conversation{Channel: "bench", Chat: fmt.Sprint(worker)}
			for n := next.Add(1); n <= int64(b.N); n = next.Add(1) {
				begin := time.Now()
				if err := benchTurn(ctx, s, in, n); err != nil {
					b.Error(err)
					return
				}
				took[n-1] = time.Since(begin)
			}
		})
	}
	group.Wait()
	b.StopTimer()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "turns/s")
	b.ReportMetric(percentile(took, 50), "p50-ms")
	b.ReportMetric(percentile(took, 99), "p99-ms")
}

func benchTurn(ctx context.Context, s *Store, in ports.Conversation, n int64) error {
	b := ports.Batch{
		Messages: []ports.Message{{Event: fmt.Sprint(n), ID: "1", In: in, From: "7", Text: strings.Repeat("t", 400)}},
		Cursor:   fmt.Sprint(n),
	}
	got, err := s.Accept(ctx, ports.Source{Channel: in.Channel}, b, func(ports.Sight) ports.Route {
		return ports.Route{Kind: ports.RouteLane, Person: "p"}
	})
	if err != nil {
		return err
	}
	l := got.Leases[0]
	w, err := s.Load(ctx, l)
	if err != nil {
		return err
	}
	turn := ports.TurnID(in, w.Waiting[0].Seq)
	body := json.RawMessage(`"` + strings.Repeat("b", 1500) + `"`)
	step := func(i int, k ports.StepKind) ports.Step { return ports.Step{Index: i, Kind: k, Body: body} }
	err = s.Record(ctx, l, ports.Change{
		Turn: turn, Person: "p", Take: []int64{w.Waiting[0].Seq},
		Steps: []ports.Step{step(0, ports.StepReply), step(1, ports.StepStart)},
		Usage: []ports.Spent{{Step: 0, Model: "m"}},
	})
	if err != nil {
		return err
	}
	id := ports.DeliveryID(turn, 3, 0)
	out := ports.Outgoing{In: in, Content: ports.Content{Text: strings.Repeat("a", 1000)}, Nonce: id}
	err = s.Finish(ctx, l, ports.Change{
		Turn: turn, Person: "p",
		Steps:      []ports.Step{step(2, ports.StepResult), step(3, ports.StepFinal)},
		Deliveries: []ports.Delivery{{ID: id, Out: out}},
	}, ports.OutcomeAnswered)
	if err != nil {
		return err
	}
	if _, err := s.Pending(ctx, l); err != nil {
		return err
	}
	return s.Delivered(ctx, l, id, ports.Receipt{ID: "99"})
}

func percentile(took []time.Duration, p int) float64 {
	sorted := slices.Sorted(slices.Values(took))
	return float64(sorted[(len(sorted)-1)*p/100].Microseconds()) / 1000
}
