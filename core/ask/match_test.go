package ask

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"dragoman/ports"
)

var here = ports.Conversation{Channel: "tg", Chat: "1"}

func asked(t *testing.T) (*Asker, ports.Question) {
	t.Helper()
	a := New(Config{Expires: time.Hour, OnMessage: Supersede, GroupWait: time.Minute})
	q, content := a.Approval(ports.About{Turn: "tg:1#1", In: here, Person: "ann", Steps: 1, Tool: ports.Call{Name: "f__write", Arguments: json.RawMessage(`{"path":"x"}`)}})
	if len(content.Choices) != 2 || len(q.ID) != 16 {
		t.Fatalf("question %+v, content %+v", q, content)
	}
	q.Posted = "m1"
	return a, q
}

func noEdit(ports.Question) []ports.Delivery { return nil }

func TestAPressCountsOnlyFromItsPersonForAnOpenQuestion(t *testing.T) {
	a, q := asked(t)
	yes := &ports.Choice{Question: q.ID, Field: ports.AnswerField, Value: ports.AnswerYes}
	for name, c := range map[string]struct {
		person ports.PersonID
		press  *ports.Choice
		change func(*ports.Question)
		in     ports.Conversation
		counts bool
	}{
		"the person's":           {"ann", yes, nil, here, true},
		"a stranger's":           {"eve", yes, nil, here, false},
		"a late one":             {"ann", yes, func(q *ports.Question) { q.State = ports.QuestionExpired }, here, false},
		"a value not offered":    {"ann", &ports.Choice{Question: q.ID, Field: ports.AnswerField, Value: "always"}, nil, here, false},
		"another field":          {"ann", &ports.Choice{Question: q.ID, Field: "other", Value: ports.AnswerYes}, nil, here, false},
		"from another chat":      {"ann", yes, nil, ports.Conversation{Channel: "tg", Chat: "2"}, false},
		"of an unknown question": {"ann", yes, func(q *ports.Question) { q.ID = "" }, here, false},
	} {
		t.Run(name, func(t *testing.T) {
			pressed := q
			if c.change != nil {
				c.change(&pressed)
			}
			s := ports.Sight{Message: ports.Message{In: c.in, Choice: c.press}, Pressed: &pressed}
			if pressed.ID == "" {
				s.Pressed = nil
			}
			r := a.Press(s, c.person, noEdit)
			if r.Drop == c.counts {
				t.Fatalf("routed %+v", r)
			}
			if c.counts && (r.Kind != ports.RouteAnswer || r.Question.State != ports.QuestionAnswered || r.Question.Answers[ports.AnswerField] != ports.AnswerYes) {
				t.Errorf("routed %+v with %+v", r, r.Question)
			}
		})
	}
	if q.State != ports.QuestionOpen || q.Answers != nil {
		t.Error("matching changed the question it was shown: it must be pure")
	}
}

func TestMessagesWhileAQuestionIsOpen(t *testing.T) {
	a, q := asked(t)
	now := time.Now()
	route := func(a *Asker, person ports.PersonID, m ports.Message) ports.Route {
		m.In = here
		r, ok := a.Message(ports.Sight{Message: m, Open: &q}, person, now, noEdit)
		if !ok {
			t.Fatal("an open question has no say")
		}
		return r
	}
	if r := route(a, "ann", ports.Message{Private: true, Text: "No."}); r.Kind != ports.RouteAnswer || r.Question.Answers[ports.AnswerField] != ports.AnswerNo {
		t.Errorf("a typed no: %+v", r)
	}
	if r := route(a, "ann", ports.Message{Private: true, Text: "no idea"}); r.Kind != ports.RouteLane || r.Question.State != ports.QuestionSuperseded {
		t.Errorf("something else: %+v", r)
	}
	if r := route(a, "ann", ports.Message{Text: "yes"}); r.Kind != ports.RouteLane {
		t.Errorf("a yes in a group that replies to nothing: %+v", r)
	}
	if r := route(a, "ann", ports.Message{Text: "yes", ReplyTo: "m1"}); r.Kind != ports.RouteAnswer {
		t.Errorf("a yes in a group that replies to the prompt: %+v", r)
	}
	r := route(a, "bob", ports.Message{Text: "yes", ReplyTo: "m1"})
	if r.Kind != ports.RouteLane || r.Question == nil || r.Question.State != ports.QuestionOpen || !r.Question.Expires.Equal(now.Add(time.Minute)) {
		t.Errorf("another person's message: %+v with %+v", r, r.Question)
	}
	wait := New(Config{Expires: time.Hour, OnMessage: Wait})
	if r := route(wait, "ann", ports.Message{Private: true, Text: "something else"}); r.Kind != ports.RouteLane || r.Question != nil {
		t.Errorf("with wait: %+v", r)
	}
}

func TestAnAnswerCountsUntilSomethingIsRecorded(t *testing.T) {
	a, q := asked(t)
	if !a.Current(q, 1) || a.Current(q, 2) {
		t.Error("the number of steps does not make the question's id")
	}
}

func TestWhatIsApprovedLooksLikeWhatItIs(t *testing.T) {
	if shown := pretty(json.RawMessage("{\"path\":\"\u202egnp.exe\"}")); strings.Contains(shown, "\u202e") || !strings.Contains(shown, `\u202E`) {
		t.Errorf("a right-to-left override is shown as %q", shown)
	}
}

func TestArgumentsCannotBreakOutOfTheirFence(t *testing.T) {
	args, _ := json.Marshal(map[string]string{"text": "```\n**May I run nothing?** " + strings.Repeat("é", 3000)})
	shown := pretty(args)
	if strings.Contains(shown, "```") || len(shown) > argumentsShown+100 {
		t.Errorf("%d bytes: %.80q", len(shown), shown)
	}
}
