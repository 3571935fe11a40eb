package sqlstore

import (
	"encoding/json"
	"os"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"

	"dragoman/ports"
)

// storeTurns stores two turns of one chat: one that is done, and one that waits
// for an answer. It returns their ids.
func storeTurns(t *testing.T, s *Store) (done, parked string) {
	t.Helper()
	in := ports.Conversation{Channel: "c", Chat: "a"}
	begin := func(event string, seq int64) (ports.Lease, ports.Change) {
		got, err := acceptEvent(t.Context(), s, in.Chat, event)
		if err != nil || len(got.Leases) != 1 {
			t.Fatal(got, err)
		}
		return got.Leases[0], ports.Change{Turn: ports.TurnID(in, seq), Person: "p", Take: []int64{seq},
			Steps: []ports.Step{{Kind: ports.StepReply, Body: json.RawMessage(`{"v":1,"text":"` + event + `"}`)}}}
	}
	l, c := begin("one", 1)
	done = c.Turn
	c.Steps = append(c.Steps, ports.Step{Index: 1, Kind: ports.StepFinal, Body: json.RawMessage(`{"v":1}`)})
	if err := s.Finish(t.Context(), l, c, ports.OutcomeAnswered); err != nil {
		t.Fatal(err)
	}
	l, c = begin("two", 2)
	parked = c.Turn
	c.Ask = &ports.Question{ID: "q1", Turn: parked, In: in, Person: "p", Kind: ports.QuestionApproval, Text: "May I?", State: ports.QuestionOpen, Expires: time.Now().Add(time.Hour)}
	if err := s.Park(t.Context(), l, c); err != nil {
		t.Fatal(err)
	}
	return done, parked
}

func TestARecordingIsReadBesideAProcessThatRunsAndAfterIt(t *testing.T) {
	dir := t.TempDir()
	s := openAt(t, dir)
	done, parked := storeTurns(t, s)
	check := func(when string) {
		t.Helper()
		before := files(t, dir)
		for _, name := range []string{parked, ports.Ref(parked), strings.ToUpper(ports.Ref(parked))} {
			got, err := Recorded(t.Context(), Config{Dir: dir}, name)
			if err != nil {
				t.Fatalf("%s, by %s: %v", when, name, err)
			}
			if got.Turn.ID != parked || got.Turn.State != ports.TurnParked || got.Turn.Person != "p" || got.Turn.Started.IsZero() || got.Turn.In.Chat != "a" {
				t.Errorf("%s: the turn is %+v", when, got.Turn)
			}
			if len(got.Inbox) != 1 || got.Inbox[0].Seq != 2 || got.Inbox[0].Message.Event != "two" || got.Inbox[0].Received.IsZero() {
				t.Errorf("%s: its messages are %+v", when, got.Inbox)
			}
			if len(got.Steps) != 1 || string(got.Steps[0].Body) != `{"v":1,"text":"two"}` || got.Steps[0].At.IsZero() {
				t.Errorf("%s: its steps are %+v", when, got.Steps)
			}
			if len(got.Questions) != 1 || got.Questions[0].ID != "q1" {
				t.Errorf("%s: its questions are %+v", when, got.Questions)
			}
			if len(got.Past) != 1 || got.Past[0].Turn.ID != done || len(got.Past[0].Steps) != 2 || len(got.Past[0].Inbox) != 1 {
				t.Errorf("%s: before it were %+v", when, got.Past)
			}
		}
		if got, err := Recorded(t.Context(), Config{Dir: dir}, done); err != nil || len(got.Past) != 0 || len(got.Questions) != 0 || got.Turn.Outcome != ports.OutcomeAnswered {
			t.Errorf("%s, the first turn: %+v, %v", when, got, err)
		}
		if after := files(t, dir); !reflect.DeepEqual(after, before) {
			t.Errorf("%s: reading made %v of %v", when, after, before)
		}
	}
	check("while it runs")
	if err := acceptOne(t.Context(), s, "a", "three"); err != nil { // it was left its lock and its lease
		t.Error(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	check("after it")
}

// files are the names and sizes of a folder's files.
func files(t *testing.T, dir string) map[string]int64 {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	list := map[string]int64{}
	for _, e := range entries {
		info, err := e.Info()
		if err != nil {
			t.Fatal(err)
		}
		list[e.Name()] = info.Size()
	}
	return list
}

func TestATurnThatIsNotThereIsSaidSo(t *testing.T) {
	dir := t.TempDir()
	if _, err := Recorded(t.Context(), Config{Dir: dir}, "abcdef"); !ports.IsKind(err, ports.KindNotFound) || !strings.Contains(err.Error(), "abcdef") {
		t.Errorf("with no database: %v", err)
	}
	if made := files(t, dir); len(made) > 0 {
		t.Errorf("looking made %v", made)
	}
	openAt(t, dir)
	if _, err := Recorded(t.Context(), Config{Dir: dir}, "abcdef"); !ports.IsKind(err, ports.KindNotFound) || !strings.Contains(err.Error(), `no turn "abcdef"`) {
		t.Errorf("with no such turn: %v", err)
	}
}

// TestAReferenceOfTwoTurnsIsNotGuessed finds two chats whose first turns have one
// reference.
func TestAReferenceOfTwoTurnsIsNotGuessed(t *testing.T) {
	dir := t.TempDir()
	s := openAt(t, dir)
	seen, ref := map[string]string{}, ""
	for n := 0; ref == ""; n++ {
		chat := strconv.Itoa(n)
		r := ports.Ref(ports.TurnID(ports.Conversation{Channel: "c", Chat: chat}, 1))
		other, ok := seen[r]
		if seen[r] = chat; !ok {
			continue
		}
		ref = r
		for _, chat := range []string{other, chat} {
			m := ports.Message{Event: chat, In: ports.Conversation{Channel: "c", Chat: chat}}
			_, err := s.Accept(t.Context(), ports.Source{Channel: "c"}, ports.Batch{Messages: []ports.Message{m}}, func(ports.Sight) ports.Route {
				return ports.Route{Kind: ports.RouteReply, Person: "p"}
			})
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	_, err := Recorded(t.Context(), Config{Dir: dir}, ref)
	if !ports.IsKind(err, ports.KindConflict) || strings.Count(err.Error(), "#1") != 2 {
		t.Errorf("a reference of two turns gives %v", err)
	}
}
