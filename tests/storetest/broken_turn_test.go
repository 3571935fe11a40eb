package storetest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"dragoman/ports"
)

func (s *flawed) Load(ctx context.Context, l ports.Lease) (ports.Work, error) {
	w, err := s.Store.Load(ctx, s.under("Load", l))
	if err != nil {
		dead := s.has("lets the dead go on") && s.life > 1
		if dead || s.has("never releases") && ports.IsKind(err, ports.KindFenced) {
			return ports.Work{}, nil
		}
		return w, err
	}
	if w.Turn != nil {
		s.misreadTurn(&w)
	}
	s.misreadDeaths(&w)
	switch s.flaw {
	case "loads a flood whole":
		for len(w.Waiting) >= 256 && len(w.Waiting) < 300 {
			w.Waiting = append(w.Waiting, w.Waiting[0])
		}
	case "releases too early":
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.ending[l.In] {
			return ports.Work{}, ports.Errorf(ports.KindFenced, "load", "released")
		}
	case "keeps what others quote":
		for i, m := range w.Waiting {
			if m.ReplyTo != "" && m.Quote == nil {
				w.Waiting[i].Quote = &ports.Quote{Text: "secret"}
			}
		}
	case "forgets what the running turn lost":
		w.Gone = 0
	case "forgets the last turn":
		w.Last = ""
	case "keeps a replaced preview":
		w.Preview = s.preview
	case "forgets previews at a crash":
		if s.life > 1 {
			w.Preview = nil
		}
	}
	for i := range w.Waiting {
		s.misreadMessage(&w.Waiting[i])
	}
	return w, nil
}

func (s *flawed) misreadTurn(w *ports.Work) {
	switch s.flaw {
	case "forgets whose turn it is":
		w.Turn.Person = ""
	case "forgets the journal at a crash":
		if s.life > 1 {
			w.Steps = nil
		}
	case "forgets what turn a message is of":
		for i := range w.Taken {
			w.Taken[i].Turn = ""
		}
	case "loses answers":
		w.Taken = slices.DeleteFunc(w.Taken, func(m ports.Inbox) bool { return m.Route == ports.RouteAnswer })
	case "forgets an answer at a crash":
		if s.life > 1 {
			w.Question.State = ports.QuestionOpen
		}
	case "rewrites a step":
		for i := range w.Steps {
			if st, ok := s.steps[i]; ok {
				w.Steps[i] = st
			}
		}
	case "doubles steps":
		w.Steps = append(w.Steps, w.Steps...)
	case "parks again":
		if s.parks > 1 {
			w.Turn.State = ports.TurnParked
		}
	case "counts the last word":
		s.mu.Lock()
		if q, ok := s.questions[w.Turn.Question]; ok {
			w.Question = &q
		}
		s.mu.Unlock()
	}
}

func (s *flawed) misreadDeaths(w *ports.Work) {
	switch {
	case s.has("counts no crash"), s.has("counts the deaths of turns alone") && w.Turn == nil:
		w.Deaths = ports.Deaths{}
	case s.has("counts every crash"):
		w.Deaths.All = s.life - 1
	case s.has("blames everybody alone"):
		w.Deaths.Alone = w.Deaths.All
	}
}

func (s *flawed) Trial(ctx context.Context, l ports.Lease, alone bool) error {
	switch s.flaw {
	case "knows no trial":
		alone = false
	case "keeps a trial through a stop":
		s.mu.Lock()
		s.tried = append(s.tried, l.In)
		s.mu.Unlock()
	}
	return s.Store.Trial(ctx, s.under("Trial", l), alone)
}

func (s *flawed) misreadMessage(m *ports.Inbox) {
	switch s.flaw {
	case "leaves gaps between seqs":
		m.Seq *= 2
	case "forgets the person":
		m.Person = ""
	case "forgets the message's reply":
		m.Reply = nil
	case "cuts texts at NUL":
		m.Text, _, _ = strings.Cut(m.Text, "\x00")
	case "forgets attachments":
		m.Attachments = nil
	case "forgets the press":
		m.Choice = nil
	}
}

func (s *flawed) History(ctx context.Context, l ports.Lease, limit int) ([]ports.Past, error) {
	asked := limit
	if s.has("reads the first turns as history") || s.has("ignores the limit of History") {
		limit = 1000
	}
	got, err := s.Store.History(ctx, s.under("History", l), limit)
	if err != nil {
		return nil, err
	}
	switch s.flaw {
	case "reads the first turns as history":
		got = got[:min(len(got), asked)]
	case "undoes what was done again":
		got = slices.DeleteFunc(got, func(p ports.Past) bool {
			return len(p.Inbox) > 0 && p.Inbox[0].Undoes > 0 && p.Inbox[0].Undoes < p.Inbox[0].Seq && len(got) > 2
		})
	case "forgets what it undid":
		for _, t := range s.finished {
			if t.In == l.In && !slices.ContainsFunc(got, func(p ports.Past) bool { return p.Turn.ID == t.ID }) {
				got = append(got, ports.Past{Turn: t})
			}
		}
	case "forgets what the turns lost":
		for i := range got {
			got[i].Gone = 0
		}
	case "reads history backwards":
		slices.Reverse(got)
	case "forgets the messages of history":
		for i := range got {
			got[i].Inbox = nil
		}
	case "shows a thread its chat's history":
		for _, t := range s.finished {
			if t.In.Chat == l.In.Chat && t.In != l.In {
				got = append(got, ports.Past{Turn: t})
			}
		}
	case "takes a reply at receipt for talk":
		got = append(got, ports.Past{Turn: ports.Turn{ID: ports.TurnID(l.In, 1)}})
	}
	return got, nil
}

func (s *flawed) Record(ctx context.Context, l ports.Lease, c ports.Change) error {
	return s.change(ctx, s.under("Record", l), c, func(c ports.Change) error { return s.Store.Record(ctx, s.under("Record", l), c) })
}

func (s *flawed) Park(ctx context.Context, l ports.Lease, c ports.Change) error {
	l = s.under("Park", l)
	s.mu.Lock()
	s.parks++
	if c.Ask != nil {
		s.questions[c.Ask.ID] = *c.Ask
	}
	again := s.asked[c.Turn]
	s.asked[c.Turn] = true
	s.mu.Unlock()
	switch {
	case s.has("asks once in a turn") && again:
		return ports.Errorf(ports.KindInternal, "park", "asked before")
	case s.has("parks without a question") && c.Ask == nil:
		return s.Store.Record(ctx, l, c)
	case c.Ask == nil:
	case s.has("ignores GroupWait"):
		c.Ask = new(*c.Ask)
		c.Ask.GroupWait = 1000 * c.Ask.GroupWait
	case s.has("hurries for who was asked"):
		c.Ask = new(*c.Ask)
		c.Ask.Person = "nobody"
	case s.has("forgets the fields of a question"):
		c.Ask = new(*c.Ask)
		c.Ask.Fields = nil
	}
	return s.change(ctx, l, c, func(c ports.Change) error { return s.Store.Park(ctx, l, c) })
}

func (s *flawed) Finish(ctx context.Context, l ports.Lease, c ports.Change, o ports.Outcome) error {
	l = s.under("Finish", l)
	do := func(c ports.Change) error { return s.Store.Finish(ctx, l, c, o) }
	switch s.flaw {
	case "loses an end now and then":
		if s.count()%5 == 0 {
			return nil
		}
	case "finishes with any outcome":
		_ = do(c)
		return nil
	case "finishes without the deliveries":
		c.Deliveries = nil
	case "finishes without the steps":
		c.Steps = nil
	case "finishes without the audit":
		c.Audit = nil
	}
	err := s.change(ctx, l, c, do)
	if err == nil {
		s.mu.Lock()
		s.finished = append(s.finished, ports.Turn{ID: c.Turn, In: l.In, State: ports.TurnDone})
		if s.has("releases without a look at the inbox") && len(c.Deliveries) > 0 {
			s.ending[l.In] = true
		}
		s.mu.Unlock()
	}
	return err
}

// change does what Record, Park and Finish have in common, with its flaw.
func (s *flawed) change(ctx context.Context, l ports.Lease, c ports.Change, do func(ports.Change) error) error {
	c.Deliveries, c.Steps = slices.Clone(c.Deliveries), slices.Clone(c.Steps)
	switch s.flaw {
	case "takes what was changed since":
		c.Changed = 1 << 40
	case "takes the first message alone":
		c.Take = c.Take[:min(len(c.Take), 1)]
	case "posts again what is committed again":
		for i, d := range c.Deliveries {
			if s.posted[d.ID] {
				c.Deliveries[i].ID += fmt.Sprint("#", s.count())
			}
			s.posted[d.ID] = true
		}
	case "lets nobody join":
		if len(c.Steps) > 0 && c.Steps[0].Index > 0 {
			c.Take = nil
		}
	case "knows a delivery by its id alone":
		s.mu.Lock()
		c.Deliveries = slices.DeleteFunc(c.Deliveries, func(d ports.Delivery) bool {
			by := s.events[d.ID]
			s.events[d.ID] = l.In.String()
			return by != "" && by != l.In.String()
		})
		s.mu.Unlock()
	case "books the audit apart":
		for _, e := range c.Audit {
			if err := s.Append(ctx, e); err != nil {
				return err
			}
		}
		c.Audit = nil
	case "posts before it commits":
		if len(c.Deliveries) > 0 {
			if err := s.Store.Record(ctx, l, ports.Change{Turn: c.Turn, Person: c.Person, Deliveries: c.Deliveries}); err != nil {
				return err
			}
		}
		c.Deliveries = nil
	}
	s.books(&c)
	err := do(c)
	s.booked(c, err)
	if err == nil {
		return nil
	}
	return s.refused(ctx, l, c, do, err)
}

// refused is what the flaw makes of a change that must not be.
func (s *flawed) refused(ctx context.Context, l ports.Lease, c ports.Change, do func(ports.Change) error, err error) error {
	switch s.flaw {
	case "says yes under a lease that was given up":
		if ports.IsKind(err, ports.KindFenced) {
			return nil
		}
	case "says yes to a second turn", "says yes to a second question", "keeps a step but says yes to another", "says yes to a finished turn":
		return nil
	case "writes what it fences":
		if ports.IsKind(err, ports.KindFenced) {
			_ = s.Store.Record(ctx, s.live(l), c)
		}
	case "says yes to a turn of nothing":
		if ports.IsKind(err, ports.KindInvalid) {
			return nil
		}
	case "rewrites a step":
		for _, st := range c.Steps {
			s.steps[st.Index] = st
		}
	case "says yes to half a change":
		return nil
	case "takes messages of a finished turn":
		if len(c.Take) > 1 {
			c.Take = c.Take[:1]
			return do(c)
		}
	case "closes gaps":
		w, load := s.Store.Load(ctx, l)
		if load != nil {
			return load
		}
		for i := range c.Steps {
			c.Steps[i].Index = len(w.Steps) + i
		}
		return do(c)
	case "stores what it can of a change":
		c.Steps, c.Audit, c.Deliveries = c.Steps[:min(len(c.Steps), 1)], nil, nil
		_ = s.Store.Record(ctx, l, c)
	}
	return err
}

func (s *flawed) Pending(ctx context.Context, l ports.Lease) ([]ports.Delivery, error) {
	got, err := s.Store.Pending(ctx, s.under("Pending", l))
	switch s.flaw {
	case "sorts deliveries by id":
		slices.SortFunc(got, func(a, b ports.Delivery) int { return strings.Compare(a.ID, b.ID) })
	case "sends the last delivery first":
		slices.Reverse(got)
	}
	for i := range got {
		switch s.flaw {
		case "forgets the reply of a delivery":
			got[i].Out.Reply = nil
		case "forgets since when a delivery is stored":
			got[i].Out.Since = time.Time{}
		case "takes a delivery for new each time":
			got[i].Out.Since = time.Now().Add(time.Second)
		case "forgets how often a delivery was tried":
			got[i].Tries = 0
		case "never fills in EditID":
			got[i].EditID = ""
		case "counts the last receipt":
			got[i].EditID = s.receipts[got[i].Edits].ID
		}
	}
	return got, err
}

func (s *flawed) Delivered(ctx context.Context, l ports.Lease, id string, r ports.Receipt) error {
	l = s.under("Delivered", l)
	preview := strings.HasSuffix(id, "/preview")
	s.mu.Lock()
	s.receipts[id] = r
	s.mu.Unlock()
	switch s.flaw {
	case "waits for what was given up":
		if r.Failed != "" {
			return nil
		}
	case "takes what was given up for posted":
		r = ports.Receipt{ID: "1"}
	case "refuses a preview without a row":
		if preview {
			return ports.Errorf(ports.KindNotFound, "delivered", "there is no %s", id)
		}
	case "takes a failed preview for posted":
		if preview {
			r.Failed = ""
		}
	case "keeps a replaced preview":
		s.preview = &ports.Preview{ID: id, Posted: r.ID}
	}
	err := s.Store.Delivered(ctx, l, id, r)
	switch s.flaw {
	case "takes a receipt for nothing":
		return nil
	case "takes a preview of another conversation":
		if ports.TurnOf(id) != "" {
			return nil
		}
	case "releases too early":
		s.mu.Lock()
		s.ending[l.In] = true
		s.mu.Unlock()
	}
	return err
}

func (s *flawed) Backlog(ctx context.Context) (ports.Backlog, error) {
	got, err := s.Store.Backlog(ctx)
	switch s.flaw {
	case "counts the inbox alone":
		got.Outbox = 0
	case "counts the backlog short":
		got.Inbox--
	}
	return got, err
}
