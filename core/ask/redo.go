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
	q := ports.Question{ID: short("redo", e.Turn, string(e.ID)), Turn: e.Turn, In: s.Message.In, Person: person, Kind: ports.QuestionRedo, Step: -1, Call: -1,
		Text:  "You edited your message after I had answered it. Shall I do it again? What was said since then I no longer look at.",
		State: ports.QuestionOffered, Asked: time.Now(), Reply: s.Message.Reply, About: e.ID}
	field := ports.Field{Name: ports.AnswerField, Choices: []ports.Choice{{Question: q.ID, Field: ports.AnswerField, Value: AnswerRedo, Label: "Redo"}}}
	q.Fields = []ports.Field{field}
	return q, ports.Content{Text: q.Text, Choices: field.Choices}
}

// redo routes a press of the offer.
func redo(s ports.Sight, person ports.PersonID, edit func(ports.Question) []ports.Delivery) ports.Route {
	q, e, c := *s.Pressed, s.Earlier, s.Message.Choice
	if q.State != ports.QuestionOffered || q.Person != person || q.In != s.Message.In || !offers(q, c.Field, c.Value) ||
		e == nil || e.Turn != q.Turn || e.Running || e.Change == ports.ChangeDelete {
		return ports.Route{Drop: true}
	}
	r := answered(q, person, c.Value, edit)
	r.Kind, r.Redo = ports.RouteLane, true
	return r
}
