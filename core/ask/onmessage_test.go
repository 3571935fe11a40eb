package ask

import (
	"reflect"
	"testing"
	"time"

	"dragoman/ports"
)

// Whatever comes in while a question is open does one of five things to it, by who
// wrote it, where, and what the admin said of messages meanwhile.
func TestWhatAMessageDoesToAnOpenQuestion(t *testing.T) {
	_, q := asked(t)
	now := time.Now()
	near := func(q *ports.Question) bool {
		return q != nil && q.State == ports.QuestionOpen && q.Expires.Equal(now.Add(time.Minute))
	}
	state := func(s ports.QuestionState) func(*ports.Question) bool {
		return func(q *ports.Question) bool { return q != nil && q.State == s }
	}
	alone := func(q *ports.Question) bool { return q == nil }
	private := func(text string) ports.Message { return ports.Message{Private: true, Text: text} }
	for name, c := range map[string]struct {
		mode   OnMessage
		person ports.PersonID
		m      ports.Message
		kind   ports.RouteKind
		does   func(*ports.Question) bool
	}{
		"a typed yes":                            {Supersede, "ann", private(" YES. "), ports.RouteAnswer, state(ports.QuestionAnswered)},
		"a label":                                {Supersede, "ann", private("yes, run it!"), ports.RouteAnswer, state(ports.QuestionAnswered)},
		"a typed yes, with wait":                 {Wait, "ann", private("yes"), ports.RouteAnswer, state(ports.QuestionAnswered)},
		"something else":                         {Supersede, "ann", private("yes please, and more"), ports.RouteLane, state(ports.QuestionSuperseded)},
		"something else, with wait":              {Wait, "ann", private("yes please, and more"), ports.RouteLane, alone},
		"nothing but a file":                     {Supersede, "ann", private(""), ports.RouteLane, state(ports.QuestionSuperseded)},
		"nothing but a file, with wait":          {Wait, "ann", private(""), ports.RouteLane, alone},
		"a yes in a group":                       {Supersede, "ann", ports.Message{Text: "yes"}, ports.RouteLane, state(ports.QuestionSuperseded)},
		"a yes in a group, with wait":            {Wait, "ann", ports.Message{Text: "yes"}, ports.RouteLane, alone},
		"a yes in reply to something else":       {Wait, "ann", ports.Message{Text: "yes", ReplyTo: "m2"}, ports.RouteLane, alone},
		"a yes in reply":                         {Wait, "ann", ports.Message{Text: "yes", ReplyTo: "m1"}, ports.RouteAnswer, state(ports.QuestionAnswered)},
		"somebody else":                          {Supersede, "bob", ports.Message{Text: "hi"}, ports.RouteLane, near},
		"somebody else, with wait":               {Wait, "bob", ports.Message{Text: "hi"}, ports.RouteLane, near},
		"somebody else's yes in reply":           {Supersede, "bob", ports.Message{Text: "yes", ReplyTo: "m1"}, ports.RouteLane, near},
		"somebody else's yes in a private chat":  {Wait, "bob", private("yes"), ports.RouteLane, near},
		"somebody else's no in reply, with wait": {Wait, "bob", ports.Message{Text: "no", ReplyTo: "m1"}, ports.RouteLane, near},
	} {
		t.Run(name, func(t *testing.T) {
			before := q
			a := New(Config{Expires: time.Hour, OnMessage: c.mode, GroupWait: time.Minute})
			c.m.In = here
			r, ok := a.Message(ports.Sight{Message: c.m, Open: &q}, c.person, now, noEdit)
			if !ok || r.Drop || r.Kind != c.kind || r.Person != c.person || !c.does(r.Question) {
				t.Errorf("routed %+v, the question is %+v", r, r.Question)
			}
			if !reflect.DeepEqual(q, before) {
				t.Errorf("routing changed what it was shown: %+v", q)
			}
		})
	}
}

// The first who waits brings the question's end near; who comes later, or while
// its end is near already, moves nothing.
func TestAQuestionsEndIsBroughtNearOnce(t *testing.T) {
	a, q := asked(t)
	now := time.Now()
	say := func(at time.Duration) *ports.Question {
		r, _ := a.Message(ports.Sight{Message: ports.Message{In: here, Text: "hi"}, Open: &q}, "bob", now.Add(at), noEdit)
		return r.Question
	}
	first := say(0)
	if first == nil {
		t.Fatal("nobody is waited for")
	}
	q = *first
	for _, at := range []time.Duration{time.Second, 30 * time.Second, 2 * time.Minute} {
		if again := say(at); again != nil {
			t.Errorf("%s later its end is %s later", at, again.Expires.Sub(q.Expires))
		}
	}
}

// A stop ends the question of the one who stops, in either mode, and nobody else's.
func TestAStopEndsOnesOwnQuestionAlone(t *testing.T) {
	for _, mode := range []OnMessage{Supersede, Wait} {
		_, q := asked(t)
		a := New(Config{Expires: time.Hour, OnMessage: mode, GroupWait: time.Minute})
		s := ports.Sight{Message: ports.Message{In: here, Text: "/stop"}, Open: &q}
		if r, ok := a.Stopped(s, "bob", noEdit); ok {
			t.Errorf("%s: somebody else's stop: %+v", mode, r)
		}
		r, ok := a.Stopped(s, "ann", noEdit)
		if !ok || r.Kind != ports.RouteControl || r.Question.State != ports.QuestionStopped || q.State != ports.QuestionOpen {
			t.Errorf("%s: routed %+v with %+v, shown was %+v", mode, r, r.Question, q)
		}
		s.Open = nil
		if r, ok := a.Stopped(s, "ann", noEdit); ok {
			t.Errorf("%s: a stop of no question: %+v", mode, r)
		}
	}
}
