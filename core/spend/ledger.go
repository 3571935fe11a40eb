package spend

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"dragoman/ports"
)

// Caps are what may be spent in a day; 0 = no cap.
type Caps struct {
	Person, Chat, Agent, Total ports.Money // of one person, chat (its threads together) or agent each; of all
}

// Hold is a reserved request. It is an alias, so that who uses a Ledger can have
// a name of their own for it.
type Hold = interface {
	// Settle books what the request cost, 0 for nothing, and frees the rest. What
	// comes after the first call does nothing.
	Settle(cost ports.Money)
}

// Ledger knows what was spent today and what is reserved. Safe for many goroutines.
type Ledger struct {
	caps []limit
	used ports.Usage
	warn func(context.Context, Warning)
	log  *slog.Logger

	reading chan struct{} // has an element while the store is read

	mu       sync.Mutex
	day      time.Time // its midnight
	accounts map[account]*balance
}

// account is what one cap counts together.
type account struct{ cap, who string }

// balance is how an account stands today.
type balance struct {
	known  bool        // the store was read; before that spent is what was settled since midnight
	spent  ports.Money // today
	held   ports.Money // by requests under way
	warned bool
}

// New makes a ledger of these caps over what used has booked. warn, if it is not
// nil, is told when a cap is nearly reached: it is called by the goroutine that
// reserves or settles, holding no lock, and should soon return. Nothing is read yet.
func New(caps Caps, used ports.Usage, warn func(context.Context, Warning), log *slog.Logger) *Ledger {
	return &Ledger{caps: caps.limits(), used: used, warn: warn, log: log, reading: make(chan struct{}, 1), accounts: map[account]*balance{}}
}

// Capped reports whether there is any cap: then a request's most can be told only
// of a model whose price is known.
func (l *Ledger) Capped() bool { return len(l.caps) > 0 }

// Reserve reserves a request that costs worst at most, if what was spent today,
// what is held, worst and keep together are within every cap that p counts for.
// keep is what has to be left then, for a final answer say; it is not held.
// KindForbidden with a *ports.SpendCap in its chain: a cap could be passed.
// Another error is the store's, which could not be read.
func (l *Ledger) Reserve(ctx context.Context, p ports.Payer, worst, keep ports.Money) (Hold, error) {
	worst, keep = max(0, worst), max(0, keep)
	charges := l.charges(p)
	for {
		news, unknown, err := l.take(charges, worst, keep)
		if unknown != nil {
			if err := l.read(ctx, *unknown); err != nil {
				return nil, err
			}
			continue
		}
		l.tell(ctx, news)
		if err != nil {
			return nil, err
		}
		later := context.WithoutCancel(ctx) // a warning outlives the request that gave it
		return &hold{settle: func(cost ports.Money) { l.tell(later, l.settle(charges, worst, max(0, cost))) }}, nil
	}
}

// hold is a Hold.
type hold struct {
	once   sync.Once
	settle func(cost ports.Money)
}

// Settle implements Hold.
func (h *hold) Settle(cost ports.Money) { h.once.Do(func() { h.settle(cost) }) }

// take holds worst on all the accounts, or on none. unknown is one of them that
// has to be read first.
func (l *Ledger) take(charges []charge, worst, keep ports.Money) (news []Warning, unknown *charge, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.today()
	for i, c := range charges {
		if !l.balance(c).known {
			return nil, &charges[i], nil
		}
	}
	for _, c := range charges {
		b := l.balance(c)
		over := &ports.SpendCap{Cap: c.name, Limit: c.most, Spent: b.spent, Held: b.held, Wanted: worst + keep}
		full := worst > c.most-b.spent-b.held-keep
		news = l.look(news, c, full && !over.Passes() && keep == 0)
		if full && (err == nil || !over.Passes()) { // what does not pass by waiting counts more
			err = &ports.Error{Kind: ports.KindForbidden, Op: "spend", Err: over}
		}
	}
	if err != nil {
		return news, nil, err
	}
	for _, c := range charges {
		l.balance(c).held += worst
	}
	return news, nil, nil
}

func (l *Ledger) settle(charges []charge, worst, cost ports.Money) (news []Warning) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.today()
	for _, c := range charges {
		b := l.balance(c)
		b.held -= worst
		b.spent += cost
		news = l.look(news, c, false)
	}
	return news
}

// read asks the store what was spent today on an account, unless another
// goroutine did meanwhile.
func (l *Ledger) read(ctx context.Context, c charge) error {
	select {
	case l.reading <- struct{}{}:
		defer func() { <-l.reading }()
	case <-ctx.Done():
		return &ports.Error{Kind: ports.KindOf(ctx.Err()), Op: "spend", Err: ctx.Err()}
	}
	l.mu.Lock()
	l.today()
	known := l.balance(c).known
	c.query.Since = l.day
	l.mu.Unlock()
	if known {
		return nil
	}
	groups, err := l.used.Used(ctx, c.query)
	if err != nil {
		return err
	}
	var booked ports.Money
	for _, g := range groups {
		booked += g.Cost
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.day.Equal(c.query.Since) {
		return nil // somebody began another day meanwhile
	}
	// What was settled since midnight by requests that began before it may be booked
	// by now or not: all of what is booked is among it then.
	b := l.balance(c)
	b.spent, b.known = max(b.spent, booked), true
	return nil
}

// today begins a new day if there is one. Accounts that hold nothing are
// forgotten: the store knows them.
func (l *Ledger) today() {
	now := time.Now()
	year, month, day := now.Date()
	midnight := time.Date(year, month, day, 0, 0, 0, 0, now.Location())
	if midnight.Equal(l.day) {
		return
	}
	l.day = midnight
	for a, b := range l.accounts {
		if b.held == 0 {
			delete(l.accounts, a)
			continue
		}
		*b = balance{held: b.held}
	}
}

func (l *Ledger) balance(c charge) *balance {
	b := l.accounts[c.account]
	if b == nil {
		b = &balance{}
		l.accounts[c.account] = b
	}
	return b
}
