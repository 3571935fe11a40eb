package spend_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"dragoman/core/spend"
	"dragoman/ports"
)

const cent = ports.Money(1e7)

// row is a request that the store has booked.
type row struct {
	at   time.Time
	who  ports.Payer
	cost ports.Money
}

// books is a small real store of usage. It can fail, and be slow.
type books struct {
	mu    sync.Mutex
	rows  []row
	reads int
	now   int // reads at this moment
	most  int // reads at one moment
	fail  error
	gate  chan struct{} // a read waits for an element; nil = it does not
	slow  time.Duration
}

func (b *books) book(at time.Time, who ports.Payer, cost ports.Money) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.rows = append(b.rows, row{at, who, cost})
}

func (b *books) Used(ctx context.Context, q ports.UsageQuery) ([]ports.Used, error) {
	b.mu.Lock()
	b.reads++
	b.now++
	b.most = max(b.most, b.now)
	gate, slow := b.gate, b.slow
	b.mu.Unlock()
	defer func() {
		b.mu.Lock()
		b.now--
		b.mu.Unlock()
	}()
	if gate != nil {
		select {
		case <-gate:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	if slow > 0 {
		<-time.After(slow)
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.fail != nil {
		return nil, b.fail
	}
	sum := ports.Used{}
	for _, r := range b.rows {
		if r.at.Before(q.Since) || q.Person != "" && r.who.Person != q.Person || q.Channel != "" && r.who.In.Channel != q.Channel ||
			q.Chat != "" && r.who.In.Chat != q.Chat || q.Agent != "" && r.who.Agent != q.Agent {
			continue
		}
		sum.Requests++
		sum.Cost += r.cost
	}
	return []ports.Used{sum}, nil
}

func quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }

func payer(person, chat, agent string) ports.Payer {
	return ports.Payer{Person: ports.PersonID(person), In: ports.Conversation{Channel: "c", Chat: chat}, Agent: agent}
}

// refused wants err to say that this cap is full.
func refused(t *testing.T, err error, name string, limit, spent ports.Money) {
	t.Helper()
	var over *ports.SpendCap
	if !ports.IsKind(err, ports.KindForbidden) || !errors.As(err, &over) || over.Cap != name || over.Limit != limit || over.Spent != spent {
		t.Fatalf("got %v, want the cap %s of %s to refuse it, with %s spent", err, name, limit, spent)
	}
}

func reserve(t *testing.T, l *spend.Ledger, p ports.Payer, worst, keep ports.Money) spend.Hold {
	t.Helper()
	h, err := l.Reserve(t.Context(), p, worst, keep)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func TestWhatIsHeldAndWhatIsKeptCountAndWhatIsFreedDoesNot(t *testing.T) {
	b := &books{}
	l := spend.New(spend.Caps{Person: 10 * cent}, b, nil, quiet())
	ann := payer("ann", "a", "main")
	first := reserve(t, l, ann, 4*cent, 6*cent) // just fits
	second := reserve(t, l, ann, 4*cent, 0)
	_, err := l.Reserve(t.Context(), ann, 2*cent, 1*cent)
	refused(t, err, "person_daily", 10*cent, 0)
	reserve(t, l, ann, 2*cent, 0).Settle(0)
	first.Settle(1 * cent)
	_, err = l.Reserve(t.Context(), ann, 5*cent+1, 0)
	refused(t, err, "person_daily", 10*cent, 1*cent)
	second.Settle(4 * cent)
	first.Settle(4 * cent) // it was settled
	reserve(t, l, ann, 5*cent, 0).Settle(7 * cent)
	_, err = l.Reserve(t.Context(), ann, 0, 0) // it cost more than it could have
	refused(t, err, "person_daily", 10*cent, 12*cent)
	reserve(t, l, payer("bob", "a", "main"), 10*cent, 0)
	if b.reads != 2 {
		t.Errorf("the store was read %d times, want once for each person", b.reads)
	}
}

func TestEachCapHolds(t *testing.T) {
	caps := map[string]spend.Caps{"person_daily": {Person: 5 * cent}, "chat_daily": {Chat: 5 * cent}, "agent_daily": {Agent: 5 * cent}, "total_daily": {Total: 5 * cent}}
	same, thread := payer("ann", "a", "main"), payer("bob", "a", "second")
	thread.In.Thread = "7"
	others := []ports.Payer{payer("ann", "b", "second"), thread, payer("bob", "b", "main"), payer("bob", "b", "second")}
	for name, of := range map[string][]bool{ // does the cap count them together?
		"person_daily": {true, false, false, false},
		"chat_daily":   {false, true, false, false},
		"agent_daily":  {false, false, true, false},
		"total_daily":  {true, true, true, true},
	} {
		for i, other := range others {
			for _, restarted := range []bool{false, true} {
				b := &books{}
				l := spend.New(caps[name], b, nil, quiet())
				reserve(t, l, same, 3*cent, 0).Settle(3 * cent)
				b.book(time.Now(), same, 3*cent)
				if restarted {
					l = spend.New(caps[name], b, nil, quiet())
				}
				_, err := l.Reserve(t.Context(), other, 3*cent, 0)
				if of[i] {
					refused(t, err, name, 5*cent, 3*cent)
				} else if err != nil {
					t.Errorf("%s of %+v refuses %+v: %v", name, same, other, err)
				}
				_, err = l.Reserve(t.Context(), same, 3*cent, 0)
				refused(t, err, name, 5*cent, 3*cent)
			}
		}
	}
}

// A request that one cap refuses is held on no other.
func TestARefusedRequestHoldsNothing(t *testing.T) {
	l := spend.New(spend.Caps{Person: 10 * cent, Chat: 10 * cent, Agent: 3 * cent, Total: 10 * cent}, &books{}, nil, quiet())
	for range 5 {
		_, err := l.Reserve(t.Context(), payer("ann", "a", "main"), 4*cent, 0)
		refused(t, err, "agent_daily", 3*cent, 0)
	}
	for i := range 5 {
		reserve(t, l, payer("ann", "a", fmt.Sprint("agent", i)), 2*cent, 0)
	}
}

func TestWithoutCapsNothingIsReadOrRefused(t *testing.T) {
	b := &books{fail: errors.New("gone")}
	l := spend.New(spend.Caps{}, b, nil, quiet())
	if l.Capped() || !spend.New(spend.Caps{Total: 1}, b, nil, quiet()).Capped() {
		t.Error("Capped is wrong")
	}
	reserve(t, l, payer("ann", "a", "main"), 1e18, 1e18).Settle(1e18)
	reserve(t, l, payer("ann", "a", "main"), 1e18, 1e18)
	if b.reads != 0 {
		t.Errorf("the store was read %d times", b.reads)
	}
}

func TestNothingIsReservedWhileTheStoreCannotBeRead(t *testing.T) {
	gone := ports.Errorf(ports.KindUnavailable, "store used", "the disk is gone")
	b := &books{fail: gone}
	b.book(time.Now(), payer("ann", "a", "main"), 3*cent)
	l := spend.New(spend.Caps{Person: 5 * cent, Total: 10 * cent}, b, nil, quiet())
	for range 3 {
		if _, err := l.Reserve(t.Context(), payer("ann", "a", "main"), 1, 0); !errors.Is(err, gone) || !ports.IsKind(err, ports.KindUnavailable) {
			t.Fatalf("got %v", err)
		}
	}
	b.fail = nil
	_, err := l.Reserve(t.Context(), payer("ann", "a", "main"), 3*cent, 0)
	refused(t, err, "person_daily", 5*cent, 3*cent)
	reserve(t, l, payer("ann", "a", "main"), 2*cent, 0)
}

func TestWhileTheStoreIsReadOthersGoOnAndOneReadIsMade(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &books{}
		l := spend.New(spend.Caps{Person: 10 * cent}, b, nil, quiet())
		under := reserve(t, l, payer("ann", "a", "main"), 6*cent, 0)
		b.mu.Lock()
		b.gate = make(chan struct{})
		b.mu.Unlock()
		var bobs, annas sync.WaitGroup
		ctx, leave := context.WithCancel(t.Context())
		for range 5 {
			bobs.Go(func() {
				if _, err := l.Reserve(t.Context(), payer("bob", "a", "main"), 2*cent, 0); err != nil {
					t.Error(err)
				}
			})
			annas.Go(func() {
				if _, err := l.Reserve(ctx, payer("anna", "a", "main"), 2*cent, 0); !ports.IsKind(err, ports.KindCancelled) && !errors.Is(err, context.Canceled) {
					t.Errorf("got %v", err)
				}
			})
		}
		synctest.Wait()
		reserve(t, l, payer("ann", "a", "main"), 4*cent, 0).Settle(0) // needs no read
		under.Settle(10 * cent)
		_, err := l.Reserve(t.Context(), payer("ann", "a", "main"), 1, 0)
		refused(t, err, "person_daily", 10*cent, 10*cent)
		leave() // who waits behind another's read can leave
		annas.Wait()
		close(b.gate)
		bobs.Wait()
		_, err = l.Reserve(t.Context(), payer("bob", "a", "main"), 1, 0)
		refused(t, err, "person_daily", 10*cent, 0)
		if b.most != 1 {
			t.Errorf("%d reads ran at a time", b.most)
		}
	})
}

func TestADayBeginsAtMidnightOfTheProcesssZone(t *testing.T) {
	zone := time.Local
	defer func() { time.Local = zone }()
	for name, hours := range map[string]int{"west": -11, "Greenwich": 0, "east": 13} {
		time.Local = time.FixedZone(name, hours*3600)
		synctest.Test(t, func(t *testing.T) {
			now := time.Now()
			midnight := time.Date(now.Year(), now.Month(), now.Day()+1, 0, 0, 0, 0, time.Local)
			b, ann := &books{}, payer("ann", "a", "main")
			b.book(midnight.Add(-25*time.Hour), ann, 100*cent) // the day before today
			l := spend.New(spend.Caps{Person: 10 * cent}, b, nil, quiet())
			reserve(t, l, ann, 10*cent, 0).Settle(10 * cent)
			b.book(time.Now(), ann, 10*cent)
			time.Sleep(time.Until(midnight) - time.Nanosecond)
			_, err := l.Reserve(t.Context(), ann, 1, 0)
			refused(t, err, "person_daily", 10*cent, 10*cent)
			time.Sleep(time.Nanosecond)
			reserve(t, l, ann, 10*cent, 0)
		})
	}
}

// A request that lives over midnight is held against the new day and counts for
// it, once, whether the store has it already when the ledger looks or not.
func TestARequestOverMidnightCountsForTheNewDay(t *testing.T) {
	for _, looks := range []string{"before it is settled", "before it is booked", "after it is booked"} {
		t.Run(looks, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				b, ann := &books{}, payer("ann", "a", "main")
				l := spend.New(spend.Caps{Person: 10 * cent}, b, nil, quiet())
				reserve(t, l, ann, 5*cent, 0).Settle(5 * cent)
				b.book(time.Now(), ann, 5*cent)
				over := reserve(t, l, ann, 4*cent, 0)
				time.Sleep(24 * time.Hour)
				look := func(at string, room ports.Money) {
					if looks != at {
						return
					}
					if _, err := l.Reserve(t.Context(), ann, room+1, 0); !ports.IsKind(err, ports.KindForbidden) {
						t.Fatalf("more than %s is left: %v", room, err)
					}
					reserve(t, l, ann, room, 0).Settle(0)
				}
				look("before it is settled", 6*cent)
				over.Settle(3 * cent)
				look("before it is booked", 7*cent)
				b.book(time.Now(), ann, 3*cent)
				look("after it is booked", 7*cent)
				_, err := l.Reserve(t.Context(), ann, 8*cent, 0)
				refused(t, err, "person_daily", 10*cent, 3*cent)
			})
		})
	}
}

// A look into the store that lasts over midnight has seen the day before.
func TestALookOverMidnightIsMadeAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, ann := &books{slow: 13 * time.Hour}, payer("ann", "a", "main")
		time.Sleep(12 * time.Hour)
		b.book(time.Now(), ann, 10*cent)
		l := spend.New(spend.Caps{Person: 10 * cent}, b, nil, quiet())
		var bob sync.WaitGroup
		bob.Go(func() {
			<-time.After(12*time.Hour + time.Minute) // he begins the new day
			if _, err := l.Reserve(t.Context(), payer("bob", "a", "main"), cent, 0); err != nil {
				t.Error(err)
			}
		})
		reserve(t, l, ann, 10*cent, 0)
		bob.Wait()
	})
}

func TestAWarningComesOnceForEachDayAndAccount(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := &books{}
		var got []string
		warn := func(ctx context.Context, w spend.Warning) {
			if ctx.Err() != nil {
				t.Errorf("the warning's context ended: %v", ctx.Err())
			}
			got = append(got, fmt.Sprintf("%s %s of %s %t", w.Key, w.Spent, w.Limit, w.Refused))
		}
		l := spend.New(spend.Caps{Person: 10 * cent, Total: 25 * cent}, b, warn, quiet())
		pay := func(person string, cost ports.Money) {
			ctx, cancel := context.WithCancel(t.Context())
			h, err := l.Reserve(ctx, payer(person, "a", "main"), cost, 0)
			if err != nil {
				t.Fatal(err)
			}
			cancel() // its turn ends before it is settled
			h.Settle(cost)
			b.book(time.Now(), payer(person, "a", "main"), cost)
		}
		said := func(want ...string) { // each begins with its key, of which the day is left out
			t.Helper()
			for i := range want {
				want[i] = "spend/" + time.Now().Format(time.DateOnly) + "/" + want[i]
			}
			if !slices.Equal(got, want) {
				t.Errorf("said %q, want %q", got, want)
			}
			got = nil
		}
		pay("ann", 8*cent-1)
		said()
		pay("ann", 1)
		said("person_daily/ann $0.0800 of $0.1000 false")
		pay("ann", cent)
		pay("bob", 7*cent)
		said()
		pay("cat", 4*cent)
		said("total_daily/ $0.2000 of $0.2500 false")
		for range 2 {
			_, err := l.Reserve(t.Context(), payer("bob", "a", "main"), 4*cent, 0)
			refused(t, err, "person_daily", 10*cent, 7*cent)
		}
		said("person_daily/bob $0.0700 of $0.1000 true")
		// After a restart the same is said under the same keys, once.
		l = spend.New(spend.Caps{Person: 10 * cent, Total: 25 * cent}, b, warn, quiet())
		pay("ann", 0)
		pay("ann", 0)
		pay("cat", 0)
		said("person_daily/ann $0.0900 of $0.1000 false", "total_daily/ $0.2000 of $0.2500 false")
		over := reserve(t, l, payer("ann", "a", "main"), cent, 0) // so that the account is not forgotten
		time.Sleep(24 * time.Hour)
		pay("ann", 8*cent)
		said("person_daily/ann $0.0800 of $0.1000 false")
		over.Settle(cent)
		said()
	})
}
