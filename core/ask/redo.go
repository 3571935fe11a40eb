package ask

import (
	"time"

	"dragoman/ports"
)

// AnswerRedo is the value of the button that has a message done again.
const AnswerRedo = "redo"

// Redo offers to do an earlier message again that was edited. The offer is the same
// one for each edit of it, and does what the message reads when it is pressed.
func (a *Asker) Redo(s ports.Sight, person ports.PersonID) (ports.Question, ports.Content) {
	e := s.Earlier
	q := ports.Question{ID: redoID(s), Turn: e.Turn, In: s.Message.In, Person: person, Kind: ports.QuestionRedo, Step: -1, Call: -1,
		Text:  "You edited this message after I had answered it. Shall I answer it anew? Then I no longer look at what was said since.",
		State: ports.QuestionOffered, Asked: time.Now(), Reply: s.Message.Reply, About: e.ID}
	field := ports.Field{Name: ports.AnswerField, Choices: []ports.Choice{{Question: q.ID, Field: ports.AnswerField, Value: AnswerRedo, Label: "Redo"}}}
	q.Fields = []ports.Field{field}
	return q, ports.Content{Text: q.Text, Choices: field.Choices}
}

// Offered is the offer to do the earlier message again that stands, nil if none does.
func (a *Asker) Offered(s ports.Sight) *ports.Question {
	if s.Earlier == nil || s.Earlier.Turn == "" {
		return nil
	}
	if q := s.Question(redoID(s)); q != nil && q.State == ports.QuestionOffered {
		return q
	}
	return nil
}

func redoID(s ports.Sight) string { return short("redo", s.Earlier.Turn, string(s.Earlier.ID)) }

// redo routes a press of the offer. To an open question it is what another message is.
func (a *Asker) redo(s ports.Sight, person ports.PersonID, edit func(ports.Question) []ports.Delivery) ports.Route {
	q, e, c := *s.Pressed, s.Earlier, s.Message.Choice
	if q.State != ports.QuestionOffered || q.Person != person || q.In != s.Message.In || !offers(q, c.Field, c.Value) ||
		e == nil || e.Turn != q.Turn || e.Running || e.Change == ports.ChangeDelete {
		return ports.Route{Drop: true}
	}
	r := answered(q, person, c.Value, edit)
	r.Kind, r.Redo = ports.RouteLane, true
	if other, ok := a.Message(s, person, time.Now(), edit); ok {
		r.Also, r.Deliveries = other.Question, append(other.Deliveries, r.Deliveries...)
	}
	return r
}
