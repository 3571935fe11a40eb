package spend_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"dragoman/core/spend"
	"dragoman/ports"
)

var propertyCaps = spend.Caps{Person: 40 * cent, Chat: 60 * cent, Agent: 110 * cent, Total: 150 * cent}

// counted are the accounts of a request, each with its cap.
func counted(p ports.Payer) map[string]ports.Money {
	return map[string]ports.Money{
		"person " + string(p.Person): propertyCaps.Person, "chat " + ports.ChatKey(p.In): propertyCaps.Chat,
		"agent " + p.Agent: propertyCaps.Agent, "total": propertyCaps.Total,
	}
}

func anybody(r *rand.Rand) ports.Payer {
	return payer(fmt.Sprint("p", r.IntN(5)), fmt.Sprint("c", r.IntN(4)), fmt.Sprint("a", r.IntN(2)))
}

// within wants no cap passed on any day, and tells of how many days an account was
// nearly full: where there are none the test shows nothing.
func within(t *testing.T, rows []row) (full int) {
	t.Helper()
	sums := map[string]ports.Money{}
	for _, r := range rows {
		for account, most := range counted(r.who) {
			key := r.at.Format(time.DateOnly) + " " + account
			sums[key] += r.cost
			if sums[key] > most {
				t.Fatalf("%s: %s are spent, of %s", key, sums[key], most)
			}
			if sums[key] > most-10*cent && sums[key]-r.cost <= most-10*cent {
				full++
			}
		}
	}
	return full
}

// Many turns side by side, over some midnights, with a store that is slow and
// fails now and then, and processes that die at any moment: what is booked never
// passes a cap. What was settled and died before it was booked is nobody's to know.
func TestNoCapIsPassedWhateverTheInterleaving(t *testing.T) {
	for seed := range uint64(8) {
		synctest.Test(t, func(t *testing.T) {
			b := &books{slow: time.Millisecond}
			r := rand.New(rand.NewPCG(seed, 1))
			granted, denied := 0, 0
			for life := range 6 { // 16 hours each, over midnight in the most
				ctx, kill := context.WithTimeout(t.Context(), 16*time.Hour)
				l := spend.New(propertyCaps, b, nil, quiet())
				var turns sync.WaitGroup
				var mu sync.Mutex
				for worker := range 24 {
					mine := rand.New(rand.NewPCG(seed, uint64(100*life+worker)))
					turns.Go(func() {
						yes, no := works(ctx, t, l, b, mine)
						mu.Lock()
						defer mu.Unlock()
						granted, denied = granted+yes, denied+no
					})
				}
				b.mu.Lock()
				b.fail = nil
				if r.IntN(2) == 0 {
					b.fail = ports.Errorf(ports.KindUnavailable, "used", "the disk is full")
				}
				b.mu.Unlock()
				time.Sleep(time.Hour)
				b.mu.Lock()
				b.fail = nil
				b.mu.Unlock()
				<-ctx.Done()
				kill()
				turns.Wait()
			}
			if full := within(t, b.rows); full < 10 || granted < 100 || denied < 100 {
				t.Errorf("seed %d shows little: %d accounts were nearly full, %d requests granted, %d denied", seed, full, granted, denied)
			}
		})
	}
}

// works makes requests until its process dies.
func works(ctx context.Context, t *testing.T, l *spend.Ledger, b *books, r *rand.Rand) (granted, denied int) {
	pause := func(most time.Duration) bool {
		timer := time.NewTimer(time.Duration(r.Int64N(int64(most))))
		defer timer.Stop()
		select {
		case <-timer.C:
			return true
		case <-ctx.Done():
			return false
		}
	}
	for pause(10 * time.Minute) {
		who, worst := anybody(r), cent*ports.Money(1+r.IntN(8))
		h, err := l.Reserve(ctx, who, worst, cent*ports.Money(r.IntN(3)))
		var over *ports.SpendCap
		switch {
		case errors.As(err, &over):
			denied++
			continue
		case err != nil:
			if !ports.IsKind(err, ports.KindUnavailable) && ctx.Err() == nil {
				t.Error(err)
			}
			continue
		}
		granted++
		if !pause(5 * time.Minute) { // the request; its hold dies with it
			return granted, denied
		}
		cost := ports.Money(r.Int64N(int64(worst) + 1))
		at := time.Now()
		h.Settle(cost)
		if !pause(time.Duration(1 + r.IntN(int(2*time.Second)))) { // until the commit
			return granted, denied
		}
		b.book(at, who, cost)
	}
	return granted, denied
}

// One request after another, of which many are under way: each is granted or
// refused just as the sum of what is spent and held says.
func TestTheLedgerGrantsAllThatFitsAndNothingElse(t *testing.T) {
	for seed := range uint64(30) {
		synctest.Test(t, func(t *testing.T) {
			o := &oracle{T: t, books: &books{}, rand: rand.New(rand.NewPCG(seed, 2))}
			o.restart()
			for range 3000 {
				o.step()
			}
			within(t, o.books.rows)
			if o.granted < 300 || o.denied < 300 {
				t.Errorf("seed %d shows little: %d granted, %d denied", seed, o.granted, o.denied)
			}
		})
	}
}

// oracle knows what a ledger must say, from what it was told alone.
type oracle struct {
	*testing.T
	books   *books
	rand    *rand.Rand
	ledger  *spend.Ledger
	holds   []held
	pending []row // settled and not booked
	today   string
	spent   map[string]ports.Money // today, by account

	granted, denied int
}

type held struct {
	spend.Hold
	who   ports.Payer
	worst ports.Money
}

func (o *oracle) restart() {
	o.ledger = spend.New(propertyCaps, o.books, nil, quiet())
	o.holds, o.pending, o.today = nil, nil, ""
	o.begin()
	for _, r := range o.books.rows {
		if r.at.Format(time.DateOnly) == o.today {
			add(o.spent, r.who, r.cost)
		}
	}
}

// begin begins a day.
func (o *oracle) begin() {
	if today := time.Now().Format(time.DateOnly); today != o.today {
		o.today, o.spent = today, map[string]ports.Money{}
	}
}

func add(sums map[string]ports.Money, to ports.Payer, sum ports.Money) {
	for account := range counted(to) {
		sums[account] += sum
	}
}

func (o *oracle) step() {
	switch n := o.rand.IntN(100); {
	case n < 50:
		o.reserve()
	case n < 80 && len(o.holds) > 0:
		i := o.rand.IntN(len(o.holds))
		h := o.holds[i]
		o.holds = append(o.holds[:i], o.holds[i+1:]...)
		cost := ports.Money(o.rand.Int64N(int64(h.worst) + 1))
		h.Settle(cost)
		h.Settle(h.worst)
		o.pending = append(o.pending, row{time.Now(), h.who, cost})
		o.begin()
		add(o.spent, h.who, cost)
	case n < 92 && len(o.pending) > 0: // not always the oldest
		i := o.rand.IntN(len(o.pending))
		o.books.book(o.pending[i].at, o.pending[i].who, o.pending[i].cost)
		o.pending = append(o.pending[:i], o.pending[i+1:]...)
	case n < 99:
		<-time.After(time.Duration(o.rand.Int64N(int64(2 * time.Hour))))
	case o.rand.IntN(4) == 0:
		o.restart()
	}
}

func (o *oracle) reserve() {
	who, worst, keep := anybody(o.rand), cent*ports.Money(o.rand.IntN(9)), cent*ports.Money(o.rand.IntN(3))
	o.begin()
	fits, sums := true, map[string]ports.Money{}
	for _, h := range o.holds {
		add(sums, h.who, h.worst)
	}
	for account, most := range counted(who) {
		fits = fits && o.spent[account]+sums[account]+worst+keep <= most
	}
	h, err := o.ledger.Reserve(o.Context(), who, worst, keep)
	if fits != (err == nil) {
		o.Fatalf("a request fits: %t, but the ledger says %v", fits, err)
	}
	if err != nil {
		o.denied++
		return
	}
	o.granted++
	o.holds = append(o.holds, held{h, who, worst})
}

// Of many that come at one moment just as many get a hold as fit, also where each
// has to look into the store first.
func TestOfManyAtOneMomentAsManyAreGrantedAsFit(t *testing.T) {
	for range 50 {
		l := spend.New(spend.Caps{Person: 10 * cent, Total: 10 * cent}, &books{}, nil, quiet())
		var all sync.WaitGroup
		start, granted := make(chan struct{}), make(chan spend.Hold, 64)
		for range cap(granted) {
			all.Go(func() {
				<-start
				if h, err := l.Reserve(t.Context(), payer("ann", "a", "main"), 3*cent, 0); err == nil {
					granted <- h
				}
			})
		}
		close(start)
		all.Wait()
		if n := len(granted); n != 3 {
			t.Fatalf("%d are granted, want 3", n)
		}
		h := <-granted
		for range 64 { // settled by many, it is settled once
			all.Go(func() { h.Settle(cent) })
		}
		all.Wait()
		reserve(t, l, payer("ann", "a", "main"), 3*cent, 0)
		_, err := l.Reserve(t.Context(), payer("ann", "a", "main"), 1, 0)
		refused(t, err, "person_daily", 10*cent, cent)
	}
}
