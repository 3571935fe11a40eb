package storetest

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"dragoman/ports"
)

// together runs n functions at once and joins their errors.
func together(n int, f func(i int) error) error {
	var (
		group sync.WaitGroup
		errs  = make([]error, n)
		start = make(chan struct{})
	)
	for i := range n {
		group.Go(func() {
			<-start
			errs[i] = f(i)
		})
	}
	close(start)
	group.Wait()
	return errors.Join(errs...)
}

func raceRules() []Rule {
	return []Rule{
		rule("race/accepts of one conversation", "webhooks come side by side; seqs must stay gapless and the epoch one", func(t *trial) {
			const workers, each = 8, 25
			in := room("a")
			leases := make([]map[ports.Lease]bool, workers)
			t.ok(together(workers, func(i int) error {
				leases[i] = map[ports.Lease]bool{}
				for n := range each {
					m := ports.Message{Event: fmt.Sprintf("%d-%d", i, n), In: in, Text: "x"}
					got, err := t.Accept(t.ctx, source(), ports.Batch{Messages: []ports.Message{m}}, always(ports.RouteLane))
					if err != nil {
						return err
					}
					for _, l := range got.Leases {
						leases[i][l] = true
					}
				}
				return nil
			}), "accept")
			all := map[ports.Lease]bool{}
			for _, ls := range leases {
				for l := range ls {
					all[l] = true
				}
			}
			t.want(len(all) == 1, "the leases are %v, want one", all)
			for l := range all {
				w := t.load(l)
				t.want(len(w.Waiting) == workers*each, "%d messages wait", len(w.Waiting))
				for i, m := range w.Waiting {
					t.want(m.Seq == int64(i+1), "message %d has seq %d", i, m.Seq)
				}
			}
		}),
		rule("race/one update at once", "a webhook that is retried may overtake itself", func(t *trial) {
			m := t.message(room("a"), "x")
			stored := make([]int, 16)
			t.ok(together(len(stored), func(i int) error {
				got, err := t.Accept(t.ctx, source(), ports.Batch{Messages: []ports.Message{m}}, always(ports.RouteLane))
				stored[i] = got.Stored
				return err
			}), "accept")
			sum := 0
			for _, n := range stored {
				sum += n
			}
			t.want(sum == 1, "it was stored %d times", sum)
		}),
		rule("race/answer, supersede and expiry have one winner", "a call must not run on an answer that came too late, nor be denied after a yes", func(t *trial) {
			for round := range 20 {
				in, id := room(fmt.Sprint(round)), fmt.Sprintf("q%d", round)
				t.parked(in, id, time.Now().Add(-time.Second))
				var (
					won   [3]ports.QuestionState
					lease [3][]ports.Lease
				)
				accept := func(i int, kind ports.RouteKind, state ports.QuestionState) error {
					m := ports.Message{Event: fmt.Sprintf("%s-%d", id, i), In: in}
					got, err := t.Accept(t.ctx, source(), ports.Batch{Messages: []ports.Message{m}}, settle(kind, state))
					if got.Stored == 1 {
						won[i] = state
					}
					lease[i] = got.Leases
					return err
				}
				t.ok(together(3, func(i int) error {
					switch i {
					case 0:
						return accept(i, ports.RouteAnswer, ports.QuestionAnswered)
					case 1:
						return accept(i, ports.RouteLane, ports.QuestionSuperseded)
					}
					got, err := t.Expire(t.ctx, 10)
					if len(got.Leases) > 0 {
						won[i] = ports.QuestionExpired
					}
					lease[i] = got.Leases
					return err
				}), "race")
				q, err := t.Question(t.ctx, id)
				t.ok(err, "question")
				winners := 0
				for i, state := range won {
					if state != "" {
						winners++
						t.want(state == q.State && len(lease[i]) == 1, "%s won, but the question is %s", state, q.State)
					}
				}
				t.want(winners == 1, "round %d: the winners are %v", round, won)
			}
		}),
		rule("race/each conversation is claimed once", "two lanes on one conversation answer twice", func(t *trial) {
			const rooms = 60
			for i := range rooms {
				t.say(room(fmt.Sprint(i)), 1)
			}
			t.crash()
			var (
				mu  sync.Mutex
				got = map[ports.Conversation]int{}
			)
			t.ok(together(8, func(int) error {
				for range 2 * rooms { // a store that never runs dry must not hold the rule up
					ls, err := t.Claim(t.ctx, 7)
					if err != nil || len(ls) == 0 {
						return err
					}
					mu.Lock()
					for _, l := range ls {
						got[l.In]++
					}
					mu.Unlock()
				}
				return errors.New("it gives conversations without end")
			}), "claim")
			t.want(len(got) == rooms, "%d conversations were claimed, want %d", len(got), rooms)
			for in, n := range got {
				t.want(n == 1, "%v was claimed %d times", in, n)
			}
		}),
		rule("race/one writes over a version", "the one who is told that it lost can try again; who is told nothing has lost a grant", func(t *trial) {
			const writers = 8
			r := ports.Record{Scope: "s", Kind: "k", Key: "a"}
			for round := range 10 {
				var won [writers]ports.Record
				t.ok(together(writers, func(i int) (err error) {
					mine := r
					mine.Body = fmt.Append(nil, i)
					if won[i], err = t.Put(t.ctx, mine); ports.IsKind(err, ports.KindConflict) {
						return nil
					}
					return err
				}), "put")
				winners := 0
				for _, w := range won {
					if w.Version != 0 {
						winners, r = winners+1, w
					}
				}
				t.want(winners == 1, "round %d: %d of %d writes over one version won, want 1", round, winners, writers)
				got, err := t.Get(t.ctx, "s", "k", "a")
				t.want(err == nil && got.Version == r.Version && string(got.Body) == string(r.Body), "round %d: %s won, but stored is %s %v", round, r.Body, got.Body, err)
			}
		}),
		rule("race/records count right", "spend limits are counted in records", func(t *trial) {
			t.ok(together(8, func(int) error {
				for range 10 {
					if err := increment(t.ctx, t.Store); err != nil {
						return err
					}
				}
				return nil
			}), "increment")
			r, err := t.Get(t.ctx, "s", "count", "n")
			t.want(err == nil && string(r.Body) == "80", "the count is %s %v, want 80", r.Body, err)
		}),
		rule("race/a feed has no gaps", "a tail that skips a seq never comes back to it", func(t *trial) {
			f := t.Feed("web")
			t.ok(together(8, func(i int) error {
				for n := range 10 {
					if _, err := f.Append(t.ctx, "c", fmt.Sprintf("%d-%d", i, n), body("x")); err != nil {
						return err
					}
				}
				return nil
			}), "append")
			got, err := f.Tail(t.ctx, "c", 0, 1000)
			t.want(err == nil && len(got) == 80 && got[79].Seq == 80, "the tail has %d items (%v)", len(got), err)
		}),
		rule("race/a release never loses a message", "a message that comes in as its conversation is released must be somebody's work", func(t *trial) {
			in := room("a")
			for round := range 40 {
				l := t.say(in, 1)
				turn := ports.TurnID(in, t.load(l).Waiting[0].Seq)
				d := turn + "/0/0"
				c := ports.Change{Turn: turn, Person: ann, Take: []int64{t.load(l).Waiting[0].Seq}, Deliveries: []ports.Delivery{delivery(l, d)}}
				t.ok(t.Finish(t.ctx, l, c, ports.OutcomeAnswered), "finish")
				var got ports.Accepted
				m := t.message(in, "next")
				t.ok(together(2, func(i int) (err error) {
					if i == 0 {
						return t.Delivered(t.ctx, l, d, ports.Receipt{ID: "1"})
					}
					got, err = t.Accept(t.ctx, source(), ports.Batch{Messages: []ports.Message{m}}, always(ports.RouteLane))
					return err
				}), "delivered and accept")
				t.want(len(got.Leases) == 1, "round %d: the message's conversation is nobody's: %+v", round, got)
				next := got.Leases[0]
				t.finish(next, t.begin(next, t.load(next).Waiting[0].Seq), 1)
			}
		}),
		rule("race/everything at once", "conversations are independent of one another", func(t *trial) {
			const rooms, turns = 12, 8
			stop := make(chan struct{})
			var sweeper sync.WaitGroup
			sweeper.Go(func() {
				for {
					select {
					case <-stop:
						return
					default:
					}
					_, _ = t.Backlog(t.ctx)
					_, _ = t.Claim(t.ctx, 10)
					_, _ = t.Expire(t.ctx, 10)
				}
			})
			err := together(rooms, func(i int) error {
				for n := range turns {
					if err := wholeTurn(t.ctx, t.Store, room(fmt.Sprint(i)), fmt.Sprintf("%d-%d", i, n)); err != nil {
						return err
					}
				}
				return nil
			})
			close(stop)
			sweeper.Wait()
			t.ok(err, "a turn")
			for i := range rooms {
				l := t.say(room(fmt.Sprint(i)), 1)
				h, err := t.History(t.ctx, l, 100)
				t.want(err == nil && len(h) == turns, "conversation %d has %d finished turns (%v), want %d", i, len(h), err, turns)
			}
			b, err := t.Backlog(t.ctx)
			t.want(err == nil && b == ports.Backlog{Inbox: rooms}, "the backlog is %+v %v", b, err)
		}),
	}
}

// increment adds 1, however often it loses the race. Of 80 writes each one wins
// once, so whoever loses more often has no rival.
func increment(ctx context.Context, s Store) error {
	for range 100 {
		r, err := s.Get(ctx, "s", "count", "n")
		if err != nil && !ports.IsKind(err, ports.KindNotFound) {
			return err
		}
		n := 0
		_, _ = fmt.Sscan(string(r.Body), &n) // nothing yet: 0
		r = ports.Record{Scope: "s", Kind: "count", Key: "n", Version: r.Version, Body: fmt.Append(nil, n+1)}
		if _, err = s.Put(ctx, r); !ports.IsKind(err, ports.KindConflict) {
			return err
		}
	}
	return errors.New("put gives a conflict with the version that get gave, again and again")
}

// wholeTurn takes a message through an approval to its delivered answer.
func wholeTurn(ctx context.Context, s Store, in ports.Conversation, key string) error {
	say := func(event string, route func(ports.Sight) ports.Route) (ports.Lease, error) {
		m := ports.Message{Event: key + event, In: in, Text: event}
		got, err := s.Accept(ctx, source(), ports.Batch{Messages: []ports.Message{m}}, route)
		if err == nil && len(got.Leases) != 1 {
			err = fmt.Errorf("%s of %s gave %+v", event, key, got)
		}
		if err != nil {
			return ports.Lease{}, err
		}
		return got.Leases[0], nil
	}
	l, err := say("hello", always(ports.RouteLane))
	if err != nil {
		return err
	}
	w, err := s.Load(ctx, l)
	if err != nil {
		return err
	}
	seq := w.Waiting[0].Seq
	turn := ports.TurnID(in, seq)
	q := question(l, turn, "q"+key, time.Now().Add(time.Hour))
	d := delivery(l, q.Prompt)
	d.Question = q.ID
	park := ports.Change{Turn: turn, Person: ann, Take: []int64{seq}, Ask: q, Deliveries: []ports.Delivery{d},
		Steps: []ports.Step{{Index: 0, Kind: ports.StepReply, Body: body("r")}}}
	if err := errors.Join(s.Park(ctx, l, park), s.Delivered(ctx, l, d.ID, ports.Receipt{ID: "1"})); err != nil {
		return err
	}
	if l, err = say("yes", settle(ports.RouteAnswer, ports.QuestionAnswered)); err != nil {
		return err
	}
	end := final(l, turn, 1, turn+"/9/0")
	return errors.Join(s.Finish(ctx, l, end, ports.OutcomeAnswered), s.Delivered(ctx, l, turn+"/9/0", ports.Receipt{ID: "2"}))
}
