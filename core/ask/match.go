package ask

import (
	"strings"
	"time"

	"dragoman/ports"
)

// Press routes a press of a button. It counts only from the question's own
// person, for a question that is open, with a value that it offers; any other
// press is dropped.
func (a *Asker) Press(s ports.Sight, person ports.PersonID, edit func(ports.Question) []ports.Delivery) ports.Route {
	if s.Pressed != nil && s.Pressed.Kind == ports.QuestionRedo {
		return a.redo(s, person, edit)
	}
	q, c := s.Pressed, s.Message.Choice
	if q == nil || q.State != ports.QuestionOpen || q.Person != person || q.In != s.Message.In || !offers(*q, c.Field, c.Value) {
		return ports.Route{Drop: true}
	}
	return answered(*q, person, c.Value, edit)
}

// Message routes a message that comes while a question is open. ok is false
// where the question has no say: the message goes to the lane as any other.
func (a *Asker) Message(s ports.Sight, person ports.PersonID, now time.Time, edit func(ports.Question) []ports.Delivery) (r ports.Route, ok bool) {
	if s.Open == nil {
		return ports.Route{}, false
	}
	q := *s.Open
	switch {
	case q.Person != person:
		return wait(q, person, now), true
	case before(s.Message, q, now):
		return ports.Route{Kind: ports.RouteLane, Person: person}, true
	}
	if v, typed := typedAnswer(q, s.Message); typed && s.Message.Change == "" {
		return answered(q, person, v, edit), true
	}
	if a.cfg.OnMessage == Wait {
		return ports.Route{Kind: ports.RouteLane, Person: person}, true
	}
	q.State = ports.QuestionSuperseded
	return ports.Route{Kind: ports.RouteLane, Person: person, Question: &q, Deliveries: edit(q)}, true
}

// skew is how far the platform's clock and ours may be apart.
const skew = time.Minute

// before reports whether a message was written before the question was put: it
// comes late, and says nothing about what its writer had not seen.
func before(m ports.Message, q ports.Question, now time.Time) bool {
	return !m.At.IsZero() && m.At.Before(q.Asked) && now.Sub(m.At) > skew
}

// Stopped routes a stop of the question's own person.
func (a *Asker) Stopped(s ports.Sight, person ports.PersonID, edit func(ports.Question) []ports.Delivery) (r ports.Route, ok bool) {
	if s.Open == nil || s.Open.Person != person {
		return ports.Route{}, false
	}
	q := *s.Open
	q.State = ports.QuestionStopped
	return ports.Route{Kind: ports.RouteControl, Person: person, Question: &q, Deliveries: edit(q)}, true
}

// wait lets another person's message wait, and the question not for ever.
func wait(q ports.Question, person ports.PersonID, now time.Time) ports.Route {
	r := ports.Route{Kind: ports.RouteLane, Person: person}
	if latest := now.Add(q.GroupWait); q.Expires.After(latest) {
		q.Expires = latest
		r.Question = &q
	}
	return r
}

func answered(q ports.Question, person ports.PersonID, value string, edit func(ports.Question) []ports.Delivery) ports.Route {
	q.State = ports.QuestionAnswered
	q.Answers = map[string]string{ports.AnswerField: value}
	return ports.Route{Kind: ports.RouteAnswer, Person: person, Question: &q, Deliveries: edit(q)}
}

func offers(q ports.Question, field, value string) bool {
	for _, f := range q.Fields {
		for _, c := range f.Choices {
			if f.Name == field && c.Value == value {
				return true
			}
		}
	}
	return false
}

// typedAnswer understands a value or a label typed out: in a private chat, or
// in a group as a reply to the prompt.
func typedAnswer(q ports.Question, m ports.Message) (string, bool) {
	if !m.Private && (m.ReplyTo == "" || m.ReplyTo != q.Posted) {
		return "", false
	}
	text := strings.ToLower(strings.Trim(strings.TrimSpace(m.Text), ".!"))
	for _, c := range q.Fields[0].Choices {
		if text == c.Value || text == strings.ToLower(c.Label) {
			return c.Value, true
		}
	}
	return "", false
}
