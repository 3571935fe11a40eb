package storetest

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"

	"dragoman/ports"
)

// flawed is a good store that does one thing wrong. Where it says so it knows
// what it should not: the lease that is good now, the question as it was.
type flawed struct {
	Store
	*past
	flaw string
}

type router = func(ports.Sight) ports.Route

func (s *flawed) has(flaw string) bool { return s.flaw == flaw }

// count numbers the calls.
func (p *past) count() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.calls++
	return p.calls
}

// second waits until there was a second call: a race that is sure to be.
func (p *past) second(ctx context.Context) {
	for ctx.Err() == nil {
		p.mu.Lock()
		calls := p.calls
		p.mu.Unlock()
		if calls > 1 {
			return
		}
		runtime.Gosched()
	}
}

// live is the lease that is good now, under which a flaw passes every fence.
func (p *past) live(l ports.Lease) ports.Lease {
	p.mu.Lock()
	defer p.mu.Unlock()
	if now, ok := p.told[l.In]; ok {
		return now
	}
	return l
}

// lend is what the flaw makes of leases that are handed out.
func (s *flawed) lend(leases []ports.Lease) []ports.Lease {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := slices.Clone(leases)
	for i, l := range leases {
		s.told[l.In] = l
		s.handled = append(s.handled, l)
		if s.has("gives every owner one epoch") {
			out[i].Epoch = 1
		}
	}
	return out
}

// under is the lease as the store must see it.
func (s *flawed) under(verb string, l ports.Lease) ports.Lease {
	if s.has("ignores the fence of "+verb) || s.has("gives every owner one epoch") {
		return s.live(l)
	}
	return l
}

func (s *flawed) Accept(ctx context.Context, src ports.Source, b ports.Batch, route func(ports.Sight) ports.Route) (ports.Accepted, error) {
	call, cursor, seen := s.count(), b.Cursor, 0
	b.Messages = slices.Clone(b.Messages)
	for i := range b.Messages {
		s.rename(&b.Messages[i], src, call, i)
	}
	switch s.flaw {
	case "dies of a panic in route":
		if s.dead {
			return ports.Accepted{}, errors.New("the writer is gone")
		}
	case "has one event space":
		b.Messages, seen = s.foreign(b.Messages)
	case "routes a batch backwards":
		slices.Reverse(b.Messages)
	case "takes one message for another of its id":
		b.Messages, seen = s.sameID(b.Messages)
	case "takes any source":
		src.Epoch = 0
	case "takes a source that gave its lease back":
		if src.Epoch == s.leases[src.Channel] {
			src.Epoch = 0
		}
	case "looks for an event before it stores it":
		s.second(ctx)
	case "ignores the context of Accept":
		ctx = context.WithoutCancel(ctx)
	case "routes what it saw":
		for i, m := range b.Messages {
			route(ports.Sight{Message: m, Seq: int64(i + 1)})
		}
	case "stores the cursor first":
		if _, err := s.Store.Accept(ctx, src, ports.Batch{Cursor: cursor}, nil); err != nil {
			return ports.Accepted{}, err
		}
		b.Cursor = ""
	case "stores the cursor last":
		b.Cursor = ""
	case "stores message by message":
		for _, m := range b.Messages {
			if _, err := s.Store.Accept(ctx, src, ports.Batch{Messages: []ports.Message{m}}, s.sees(route)); err != nil {
				return ports.Accepted{}, err
			}
		}
	}
	got, err := s.Store.Accept(ctx, src, b, s.sees(route))
	if err == nil && s.has("stores the cursor last") && cursor != "" {
		_, err = s.Store.Accept(ctx, src, ports.Batch{Cursor: cursor}, nil)
	}
	switch s.flaw {
	case "keeps to itself what is unsent":
		got.Unsent = false
	case "takes all for unsent":
		got.Unsent = true
	}
	got.Seen += seen
	return s.tells(b, got), s.ends(ctx, src, ports.Batch{Messages: b.Messages, Cursor: cursor}, route, err)
}

// ends is what the flaw does about the error of an Accept.
func (s *flawed) ends(ctx context.Context, src ports.Source, b ports.Batch, route router, err error) error {
	switch s.flaw {
	case "swallows a panic":
		return nil
	case "moves the cursor past what failed":
		if err != nil {
			_, _ = s.Store.Accept(ctx, src, ports.Batch{Cursor: b.Cursor}, nil)
		}
	case "stores what it fences":
		if ports.IsKind(err, ports.KindFenced) {
			_, _ = s.Store.Accept(ctx, ports.Source{Channel: src.Channel}, b, route)
		}
	case "stores for who left":
		if ctx.Err() != nil {
			_, _ = s.Store.Accept(context.WithoutCancel(ctx), src, b, route)
		}
	case "fails who left though it stored":
		return errors.Join(err, ctx.Err())
	}
	return err
}

// rename changes what a message is known by, as the flaw would have it.
func (s *flawed) rename(m *ports.Message, src ports.Source, call, i int) {
	switch s.flaw {
	case "keeps quotes of what is deleted":
		if m.Quote != nil {
			m.ReplyTo += "#"
		}
	case "takes quotes of what is deleted":
		s.mu.Lock()
		if m.Quote != nil && s.forgot {
			m.ReplyTo += "#"
		}
		s.mu.Unlock()
	case "forgets what it saw":
		m.Event = fmt.Sprint(m.Event, "#", call)
	case "forgets what it saw in an earlier life":
		m.Event = fmt.Sprint(m.Event, "#", s.life)
	case "forgets what it saw in the batch":
		m.Event = fmt.Sprint(m.Event, "#", i)
	case "looks for an event before it stores it":
		s.mu.Lock()
		if s.events[m.Event] == "" {
			m.Event = fmt.Sprint(m.Event, "#", call)
		}
		s.mu.Unlock()
	case "takes a message without its event":
		if m.Event == "" {
			m.Event = fmt.Sprint("made up ", call)
		}
	case "takes a message of another channel":
		m.In.Channel = src.Channel
	}
}

// foreign leaves out what another channel had.
func (p *past) foreign(messages []ports.Message) (kept []ports.Message, seen int) {
	for _, m := range messages {
		if by := p.events[m.Event]; by != "" && by != m.In.Channel {
			seen++
			continue
		}
		p.events[m.Event] = m.In.Channel
		kept = append(kept, m)
	}
	return kept, seen
}

// sameID leaves out what has the id of another event's message.
func (p *past) sameID(messages []ports.Message) (kept []ports.Message, seen int) {
	for _, m := range messages {
		if by := p.events[string(m.ID)]; by != "" && by != m.Event {
			seen++
			continue
		}
		p.events[string(m.ID)] = m.Event
		kept = append(kept, m)
	}
	return kept, seen
}

// sees is route as the flaw calls it, and hears its answer.
func (s *flawed) sees(route router) router {
	var first *ports.Sight
	return func(at ports.Sight) ports.Route {
		defer func() {
			if p := recover(); p != nil {
				s.dead = true
				panic(p)
			}
		}()
		if first == nil {
			first = new(at)
		}
		s.looks(&at, *first)
		r := route(at)
		if r.Question != nil {
			r.Question = new(*r.Question)
		}
		s.obeys(&at, &r)
		return r
	}
}

func (s *flawed) looks(at *ports.Sight, first ports.Sight) {
	switch s.flaw {
	case "shares seqs between conversations":
		at.Seq = int64(s.count())
	case "shows each message the batch's begin":
		at.Open, at.Turn = first.Open, first.Turn
	case "shows no turn":
		at.Turn = nil
	case "shows no earlier message":
		at.Earlier = nil
	case "shows an earlier message as it was first":
		if at.Earlier != nil {
			at.Earlier = new(*at.Earlier)
			at.Earlier.Now = at.Earlier.Message
		}
	case "counts what is taken":
		at.Waiting = func() int { return int(at.Seq) - 1 }
	case "counts a flood to its end":
		count, seq := at.Waiting, at.Seq
		at.Waiting = func() int {
			if seq > ports.MaxCounted {
				return int(seq) - 3
			}
			return count()
		}
	case "takes any press for the last one":
		at.Pressed = first.Pressed
	case "shows the presser as who was asked":
		if at.Pressed != nil {
			at.Pressed.Person = ports.PersonID(at.Message.From)
		}
	case "shows a question as it was asked":
		s.mu.Lock()
		defer s.mu.Unlock()
		for _, q := range s.questions {
			if q.In == at.Message.In {
				at.Open = &q
			}
		}
	}
}

func (s *flawed) obeys(at *ports.Sight, r *ports.Route) {
	s.mu.Lock()
	s.forgot = s.forgot || r.Forget
	s.mu.Unlock()
	switch s.flaw {
	case "stores what is dropped":
		if r.Drop {
			r.Drop, r.Kind = false, ports.RouteLane
		}
	case "drops the refusal too":
		if r.Drop {
			r.Deliveries = nil
		}
	case "posts a refusal anew":
		for i := range r.Deliveries {
			r.Deliveries[i].ID += fmt.Sprint("#", s.count())
		}
	case "replies nothing":
		if r.Kind == ports.RouteReply {
			r.Deliveries = nil
		}
	case "forgets a replacement":
		r.Replace = false
	case "offers nothing":
		r.Offer = nil
	case "ends one question of two":
		r.Also = nil
	case "forgets to undo":
		r.Redo = false
	case "keeps what is deleted":
		r.Forget = false
	case "lets a reply wait for a turn":
		if r.Kind == ports.RouteReply {
			r.Kind = ports.RouteLane
		}
	case "takes a command for talk":
		if r.Kind == ports.RouteControl {
			r.Kind = ports.RouteLane
		}
	case "leaves the question as it was":
		if r.Question != nil {
			r.Question, r.Kind = nil, ports.RouteLane
		}
	}
	if r.Question == nil {
		return
	}
	switch s.flaw {
	case "forgets the answers":
		r.Question.Answers = nil
	case "takes every end for an answer":
		r.Question.State = ports.QuestionAnswered
	case "keeps to the first expiry":
		if at.Open != nil {
			r.Question.Expires = at.Open.Expires
		}
	case "counts the last word":
		s.mu.Lock()
		s.questions[r.Question.ID] = *r.Question
		s.mu.Unlock()
	}
}

// tells is what the flaw says of an Accept.
func (s *flawed) tells(b ports.Batch, got ports.Accepted) ports.Accepted {
	before := map[ports.Conversation]ports.Lease{}
	s.mu.Lock()
	for in, l := range s.told {
		before[in] = l
	}
	for _, m := range b.Messages {
		if s.has("looks for an event before it stores it") {
			s.events[m.Event[:len(m.Event)-2]] = "stored"
		}
	}
	s.mu.Unlock()
	got.Leases = s.lend(got.Leases)
	switch s.flaw {
	case "counts what it saw as stored":
		got.Stored, got.Seen = got.Stored+got.Seen, 0
	case "keeps what it saw to itself":
		if got.Stored == 0 {
			got.Leases = nil
		}
	case "tells of new conversations alone":
		got.Leases = slices.DeleteFunc(got.Leases, func(l ports.Lease) bool { return before[l.In] == l })
	case "makes an epoch of each accept":
		for i := range got.Leases {
			got.Leases[i].Epoch += int64(s.count())
		}
	case "wakes for any message":
		if got.Stored > 0 && len(got.Leases) == 0 {
			got.Leases = []ports.Lease{{In: b.Messages[0].In, Epoch: 1}}
		}
	case "wakes the press's conversation":
		for i := range got.Leases {
			got.Leases[i].In = b.Messages[0].In
		}
	case "releases without a look at the inbox":
		s.mu.Lock()
		for in := range s.ending {
			got.Leases = slices.DeleteFunc(got.Leases, func(l ports.Lease) bool { return l.In == in })
		}
		clear(s.ending)
		s.mu.Unlock()
	}
	return got
}
