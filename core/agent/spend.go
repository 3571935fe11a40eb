package agent

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"dragoman/ports"
)

// Purse is the money that the admin lets people spend in a day. Safe for many
// goroutines.
type Purse interface {
	// Capped reports whether there is any limit.
	Capped() bool
	// Reserve sets the worst case of one request aside; keep must be left beside it.
	// Its error is a *ports.SpendCap where the money is not there, else the store's.
	Reserve(ctx context.Context, p ports.Payer, worst, keep ports.Money) (Hold, error)
}

// Hold is money set aside for one request. It is an alias, so that a Purse of
// another package may have a name of its own for it.
type Hold = interface {
	// Settle books what the request cost and frees the rest. Call it once.
	Settle(cost ports.Money)
}

// unlimited is the hold of who has no limit.
type unlimited struct{}

func (unlimited) Settle(ports.Money) {}

var (
	errOverspent = errors.New("the day's budget is used up")
	errNoBudget  = &ports.Error{Kind: ports.KindForbidden, Op: "spend", Err: errOverspent}
	errUnpriced  = errors.New("there is a budget, and no model's price is known")
)

const (
	// worstBytesPerToken is what text takes at worst; see bytesPerToken for what it
	// takes mostly.
	worstBytesPerToken = 2
	// mediaTokens is what an image or a sound takes, at the large end.
	mediaTokens = 3000
	// heldPause is the pause between two looks for money that others hold.
	heldPause = 200 * time.Millisecond
	// shortReply is what a reply is bounded to where a longer one would not fit into
	// the budget, and leastReply what an answer needs at least, in tokens.
	shortReply, leastReply = 1024, 128
	// tokensPerSecond is how fast a model writes, on the fast side.
	tokensPerSecond = 100
	// replyTokens bounds a reply of a model that is not known to bound it itself.
	replyTokens = 4096
)

// textLastWords is the end of the prompt of an answer that is the last one that
// the day's budget has room for.
const textLastWords = "[The gateway: the budget for today is nearly used up, so no tool can be called any more. Answer now, with what you know, and say what is left undone.]"

// afford sets aside what a request may cost at worst. Where it would leave nothing
// for a final answer it becomes that answer: req may no longer call tools.
func (t *turn) afford(ctx context.Context, m Model, req *ports.ModelRequest, q *query) (Hold, error) {
	if t.cfg.Purse == nil || !t.cfg.Purse.Capped() {
		return unlimited{}, nil
	}
	if m.Facts.Price == nil {
		return nil, ports.Errorf(ports.KindForbidden, "spend", "model %s: %w", m.Name, errUnpriced)
	}
	if req.MaxTokens == 0 {
		req.MaxTokens = cmp.Or(m.Facts.MaxTokens, replyTokens)
	}
	price, final := *m.Facts.Price, len(req.Tools) == 0 || req.NoCalls
	for _, most := range []int{req.MaxTokens, min(req.MaxTokens, shortReply)} { // rather a short reply than none
		req.MaxTokens = most
		worst, keep := worstCost(price, *req), ports.Money(0)
		if !final || !q.show {
			keep = worst
		}
		if hold, err := t.reserve(ctx, worst, keep); !errors.Is(err, errOverspent) {
			return hold, err
		}
	}
	if !q.show {
		return nil, errNoBudget
	}
	last := *req
	if !final {
		last.NoCalls = true
		last.Entries = append(slices.Clip(req.Entries), ports.Entry{Role: ports.RoleUser, Text: textLastWords})
	}
	hold, err := t.reserveShort(ctx, price, &last)
	if err != nil {
		t.log.Warn("spend_cap_reached", "model", m.Name, "err", err)
		return nil, err
	}
	t.log.Warn("budget_nearly_used", "model", m.Name, "max_tokens", last.MaxTokens)
	*req = last
	return hold, nil
}

// reserveShort sets aside what there is for a reply, and makes it as short as that.
func (t *turn) reserveShort(ctx context.Context, price ports.Price, req *ports.ModelRequest) (Hold, error) {
	hold, err := t.reserve(ctx, worstCost(price, *req), 0)
	var over *ports.SpendCap
	if price.Output <= 0 || !errors.As(err, &over) {
		return hold, err
	}
	prompt := *req
	prompt.MaxTokens = 0
	room := over.Limit - over.Spent - over.Held - worstCost(price, prompt)
	if req.MaxTokens = int(room.Dollars() / price.Output * 1e6); req.MaxTokens < leastReply {
		return nil, err
	}
	return t.reserve(ctx, worstCost(price, *req), 0)
}

// reserve sets money aside. What only other requests hold it waits for: they mostly
// cost less than they may.
func (t *turn) reserve(ctx context.Context, worst, keep ports.Money) (Hold, error) {
	var over *ports.SpendCap
	hold, err := t.cfg.Purse.Reserve(ctx, ports.Payer{Person: t.person, In: t.lease.In, Agent: t.cfg.Name}, worst, keep)
	for errors.As(err, &over) && over.Passes() {
		if err := t.pause(ctx, heldPause); err != nil {
			return nil, err
		}
		hold, err = t.cfg.Purse.Reserve(ctx, ports.Payer{Person: t.person, In: t.lease.In, Agent: t.cfg.Name}, worst, keep)
	}
	switch {
	case errors.As(err, &over):
		return nil, &ports.Error{Kind: ports.KindForbidden, Op: "spend", Err: errors.Join(errOverspent, err)}
	case err != nil:
		return nil, &storeFault{err}
	}
	return hold, nil
}

// worstCost is what a request costs at most.
func worstCost(p ports.Price, req ports.ModelRequest) ports.Money {
	p.Input = max(p.Input, p.CacheWrite)
	return p.Cost(ports.Tokens{Input: requestBytes(req)/worstBytesPerToken + mediaTokens*media(req), Output: req.MaxTokens})
}

// requestBytes is the size of a request's text.
func requestBytes(req ports.ModelRequest) int {
	n := len(req.System) + size(req.Entries)
	for _, s := range req.Tools {
		n += len(s.Name) + len(s.Description) + len(s.InputSchema)
	}
	return n
}

func media(req ports.ModelRequest) int {
	n := 0
	for _, e := range req.Entries {
		n += len(e.Blocks)
	}
	return n
}

// mostTokens is beyond any prompt and any reply.
const mostTokens = 100_000_000

// believed is what can be true of what a provider says that a reply used: a wrong
// figure must not pay money back, nor be more than sums can hold.
func believed(u ports.Tokens) ports.Tokens {
	for _, n := range []*int{&u.Input, &u.CachedInput, &u.CacheWrite, &u.Output} {
		*n = min(max(*n, 0), mostTokens)
	}
	if u.CachedInput+u.CacheWrite > u.Input { // some count what the cache had beside the rest
		u.Input += u.CachedInput + u.CacheWrite
	}
	return u
}

// billed reports whether a request that failed before a word of its reply came may
// be paid for nevertheless: its prompt had been read when it was given up, or when
// the provider's filter ended the reply.
func billed(err error) bool {
	switch ports.KindOf(err) {
	case ports.KindTimeout, ports.KindCancelled, ports.KindProtocol, ports.KindRefused:
		return true
	}
	return errors.Is(err, errStopped) || errors.Is(err, errInterrupted) || errors.Is(err, errReworded)
}

// book notes what a request used, for the next commit. What a provider did not
// say is estimated: a reply that broke off is paid for as well.
func (t *turn) book(m Model, req ports.ModelRequest, reply ports.ModelReply, heard int64, began time.Time, err error) ports.Spent {
	s := ports.Spent{Step: len(t.steps), Agent: t.cfg.Name, Model: m.Name, At: time.Now(), Tokens: reply.Usage}
	if s.Input == 0 && s.Output == 0 && (err == nil || heard > 0 || billed(err)) {
		s.Estimated = true
		said := int(heard)
		for _, c := range reply.Calls {
			said += len(c.Name) + len(c.Arguments)
		}
		s.Tokens = ports.Tokens{Input: requestBytes(req)/bytesPerToken + mediaTokens*media(req), Output: said/bytesPerToken + 1}
		if err != nil { // what it thought, and the calls that it began, nobody heard
			longest := cmp.Or(req.MaxTokens, m.Facts.MaxTokens, replyTokens)
			s.Output = max(s.Output, min(longest, int(time.Since(began).Seconds()*tokensPerSecond)))
		}
	}
	if s.Priced = m.Facts.Price != nil; s.Priced {
		s.Cost = m.Facts.Price.Cost(s.Tokens)
	}
	if s.Tokens != (ports.Tokens{}) {
		t.pending.Usage = append(t.pending.Usage, s)
	}
	return s
}

// due are the pending bookings whose row the next commit adds. The others wait for
// theirs: usage is booked with the row that it was made for, and so once.
func (t *turn) due() (now, later []ports.Spent) {
	for _, s := range t.pending.Usage {
		if s.Step < len(t.steps) {
			now = append(now, s)
		} else {
			later = append(later, s)
		}
	}
	return now, later
}
