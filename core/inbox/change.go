package inbox

import (
	"context"
	"fmt"
	"slices"
	"time"

	"dragoman/core/internal/guard"
	"dragoman/ports"
)

// admitChange admits an edit. Whoever is a stranger by now is told nothing: what
// they edit is not a message that they wrote just now. In a group it speaks to the
// bot if the message did.
//
// A deletion needs no admission: the platform let somebody delete the message, and
// seldom says who.
func (x *Inbox) admitChange(ctx context.Context, m ports.Message) (Verdict, error) {
	if m.Change == ports.ChangeDelete {
		return Verdict{}, nil
	}
	m.Addressed = true
	known, err := guard.Read(ctx, x.leaks, "known", func(ctx context.Context) (bool, error) { return x.parts.Known(ctx, m) })
	if err != nil || !known {
		return Verdict{Drop: true}, err
	}
	return guard.Read(ctx, x.leaks, "admit", func(ctx context.Context) (Verdict, error) { return x.parts.Admit(ctx, m) })
}

// edited routes an edit: a message that waits reads so from now on, a turn that runs
// hears of it, as a message that is no answer, and of one that is answered its person
// is offered to have it done again. One that the
// lane never had, that is another person's, or that the edit leaves as it was, is
// left alone.
func edited(s ports.Sight, v Verdict, asks Asks, edit func(ports.Question) []ports.Delivery, render Render) ports.Route {
	e, m := s.Earlier, s.Message
	switch {
	case e == nil, e.Change == ports.ChangeDelete, e.Person != v.Person, e.From != m.From, sameWords(e.Now, m):
		return ports.Route{Drop: true}
	case v.Answer != nil: // it stays what it was
		return ports.Route{Drop: true, Deliveries: madeCommand(s, v, render)}
	case e.Turn == "":
		return ports.Route{Kind: ports.RouteReply, Person: v.Person, Replace: true}
	case e.Running:
		if r, ok := asks.Message(s, v.Person, time.Now(), edit); ok {
			return r
		}
		return ports.Route{Kind: ports.RouteLane, Person: v.Person}
	}
	return offer(s, v, asks, edit, render)
}

// offer routes the edit of a message that was answered. Where nothing was said since
// an offer was made, that stands, and is for what the message reads now.
func offer(s ports.Sight, v Verdict, asks Asks, edit func(ports.Question) []ports.Delivery, render Render) ports.Route {
	r := ports.Route{Kind: ports.RouteReply, Person: v.Person}
	before := asks.Offered(s)
	if before != nil && s.Earlier.Last == s.Seq-1 {
		return r
	}
	q, content := asks.Redo(s, v.Person)
	r.Deliveries = says(s, content, render)
	r.Deliveries[0].Out.ReplyTo = s.Message.ID // it may be far above
	last := &r.Deliveries[len(r.Deliveries)-1] // the button is in the last part
	last.Question, q.Prompt, r.Offer = q.ID, last.ID, &q
	if before != nil {
		before.State = ports.QuestionSuperseded
		r.Deliveries = append(edit(*before), r.Deliveries...)
	}
	return r
}

// textNoCommand is what the person reads of an edit that makes a command of a message.
const textNoCommand = "You made a command of a message that you had written before. I do not do it for that: please send the command as a message of its own."

// madeCommand is said of such an edit, once for each command.
func madeCommand(s ports.Sight, v Verdict, render Render) []ports.Delivery {
	list := says(s, ports.Content{Text: v.Answer(s)}, render)
	for i := range list { // the seq is the next message's: this one is not stored
		id := fmt.Sprintf("%s!%s/%d", s.Message.In, ports.Ref(string(s.Message.ID)+s.Message.Text), i)
		list[i].ID, list[i].Out.Nonce = id, id
	}
	return list
}

// deleted routes a deletion that the platform tells of.
func deleted(s ports.Sight, asks Asks, edit func(ports.Question) []ports.Delivery) ports.Route {
	if s.Earlier == nil || s.Earlier.Change == ports.ChangeDelete {
		return ports.Route{Drop: true}
	}
	return tombstone(s, s.Earlier.Person, asks, edit)
}

// tombstone has the earlier message forgotten. A turn that works on it ends as by a
// stop of its person.
func tombstone(s ports.Sight, person ports.PersonID, asks Asks, edit func(ports.Question) []ports.Delivery) ports.Route {
	e := s.Earlier
	r := ports.Route{Kind: ports.RouteReply, Person: person, Forget: true}
	if !e.Running {
		if q := asks.Offered(s); q != nil {
			q.State = ports.QuestionStopped
			r.Question, r.Deliveries = q, edit(*q)
		}
		return r
	}
	r.Kind, r.Person = ports.RouteControl, e.Person
	if s.Open != nil && s.Turn != nil && s.Open.Turn == s.Turn.ID {
		if stop, ok := asks.Stopped(s, e.Person, edit); ok {
			r.Question, r.Deliveries = stop.Question, stop.Deliveries
		}
	}
	return r
}

// What the person reads of a /forget.
const (
	textForgetHow     = "Reply with /forget to a message of yours, and I forget what it says: I do not look at it any more."
	textForgetNothing = "I cannot forget that: it is no message that you wrote to me. Reply with /forget to what you wrote yourself: what I answered to that alone is forgotten with it."
	textForgotYours   = "Only the person who wrote that, or an admin, can have me forget it."
	textForgotBefore  = "I have forgotten that already."
	textForgotten     = "I have forgotten that message."
)

// isForget reports whether a message is /forget.
func isForget(m ports.Message) bool {
	name, _, ok := ports.ParseCommand(m.Text)
	return ok && name == "forget"
}

// forget routes a /forget, which stands for a deletion where the platform tells of none.
func forget(s ports.Sight, v Verdict, asks Asks, edit func(ports.Question) []ports.Delivery, render Render) ports.Route {
	e := s.Earlier
	switch {
	case s.Message.ReplyTo == "":
		return reply(s, v, textForgetHow, render)
	case e == nil:
		return reply(s, v, textForgetNothing, render)
	case e.Change == ports.ChangeDelete:
		return reply(s, v, textForgotBefore, render)
	case e.Person != v.Person && v.Role != ports.RoleAdmin:
		return reply(s, v, textForgotYours, render)
	}
	r := tombstone(s, v.Person, asks, edit)
	r.Deliveries = append(r.Deliveries, reply(s, v, textForgotten, render).Deliveries...)
	return r
}

// sameWords reports whether two forms of a message say the same.
func sameWords(a, b ports.Message) bool {
	return a.Text == b.Text && slices.Equal(a.Attachments, b.Attachments)
}
