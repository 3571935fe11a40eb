package inbox

import (
	"time"

	"dragoman/ports"
)

// Asks is how open questions take part in routing.
type Asks interface {
	Press(s ports.Sight, person ports.PersonID, edit func(ports.Question) []ports.Delivery) ports.Route
	Message(s ports.Sight, person ports.PersonID, now time.Time, edit func(ports.Question) []ports.Delivery) (ports.Route, bool)
	Stopped(s ports.Sight, person ports.PersonID, edit func(ports.Question) []ports.Delivery) (ports.Route, bool)
	Redo(s ports.Sight, person ports.PersonID) (ports.Question, ports.Content)
	Offered(s ports.Sight) *ports.Question
	Settled(q ports.Question, render func(ports.Conversation, ports.Content) []ports.Content) []ports.Delivery
}

// Render makes the platform's parts of content.
type Render = func(ports.Conversation, ports.Content) []ports.Content

// Matcher makes the Match function of Parts: change of an earlier message, press,
// command, answer, lane, in this order. render makes the platform's parts of content.
func Matcher(asks Asks, render Render) func(ports.Sight, Verdict) ports.Route {
	edit := func(q ports.Question) []ports.Delivery { return asks.Settled(q, render) }
	return func(s ports.Sight, v Verdict) ports.Route {
		m := s.Message
		if m.Change == ports.ChangeEdit {
			return edited(s, v, asks, edit, render)
		}
		if m.Change == ports.ChangeDelete {
			return deleted(s, asks, edit)
		}
		if stopPressed(m) {
			// A turn of which nothing is recorded yet is known by what waits.
			if s.Turn == nil && s.Waiting() == 0 || s.Turn != nil && s.Turn.ID != m.In.String()+"#"+m.Choice.Value {
				return ports.Route{Drop: true} // it is over: its answer takes the button away
			}
			return stop(s, v, asks, edit, render)
		}
		if m.Choice != nil {
			return asks.Press(s, v.Person, edit)
		}
		if v.Answer != nil {
			return reply(s, v, v.Answer(s), render)
		}
		if isStop(m) {
			return stop(s, v, asks, edit, render)
		}
		if isForget(m) {
			return forget(s, v, asks, edit, render)
		}
		if r, ok := asks.Message(s, v.Person, time.Now(), edit); ok {
			return r
		}
		return ports.Route{Kind: ports.RouteLane, Person: v.Person}
	}
}

// stop routes a /stop: to the open question of its person, else to the lane,
// where the running turn sees it. Another person's turn is not theirs to stop.
func stop(s ports.Sight, v Verdict, asks Asks, edit func(ports.Question) []ports.Delivery, render Render) ports.Route {
	if r, ok := asks.Stopped(s, v.Person, edit); ok {
		return r
	}
	if s.Turn != nil && s.Turn.Person != v.Person {
		return reply(s, v, textNotYours, render)
	}
	return ports.Route{Kind: ports.RouteControl, Person: v.Person}
}

const textNotYours = "Only the person whose question I am working on can stop it."

func reply(s ports.Sight, v Verdict, answer string, render Render) ports.Route {
	return ports.Route{Kind: ports.RouteReply, Person: v.Person, Deliveries: says(s, ports.Content{Text: answer}, render)}
}

// says is what is said to a message at its receipt.
func says(s ports.Sight, c ports.Content, render Render) (list []ports.Delivery) {
	turn := ports.TurnID(s.Message.In, s.Seq)
	for i, part := range render(s.Message.In, c) {
		id := ports.DeliveryID(turn, 0, i)
		list = append(list, ports.Delivery{ID: id, Out: ports.Outgoing{In: s.Message.In, Content: part, Nonce: id, Reply: s.Message.Reply}})
	}
	return list
}
