package gateway_test

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"dragoman/ports"
)

func TestAMessageGetsOneAnswer(t *testing.T) {
	w := newWorld(t)
	w.model.reply = echo
	w.start()
	w.chat.say(t, "ann", "hello")
	if got := w.shown(1)[0]; got != "you said: hello" {
		t.Errorf("the answer is %q", got)
	}
	w.settled()
	w.shown(1)
}

func TestARedeliveredMessageIsAnsweredOnce(t *testing.T) {
	w := newWorld(t)
	w.model.reply = echo
	w.start()
	for range 3 {
		w.chat.receive(t, ports.Message{Event: "same", From: "ann", Text: "hello", Private: true})
	}
	w.shown(1)
	w.settled()
	w.shown(1)
}

func TestConversationsRunSideBySideAndEachInOrder(t *testing.T) {
	w := newWorld(t)
	w.model.reply = echo
	w.start()
	for i := range 5 {
		for p := range 20 {
			w.chat.say(t, fmt.Sprintf("p%d", p), fmt.Sprintf("m%d", i))
		}
	}
	w.settled()
	said := map[string]string{}
	for i := range w.chat.texts() {
		p := w.chat.post(i)
		said[p.out.In.Chat] += p.out.Content.Text
	}
	for p := range 20 {
		last := -1
		for i := range 5 { // people type in bursts: several messages may share a turn, in order
			at := strings.Index(said[fmt.Sprintf("p%d", p)], fmt.Sprintf("m%d", i))
			if at <= last {
				t.Fatalf("p%d was answered out of order or not at all: %q", p, said[fmt.Sprintf("p%d", p)])
			}
			last = at
		}
	}
}

func TestResultsStandByIndex(t *testing.T) {
	w := newWorld(t)
	w.model.reply = calls("srv__read_b", "srv__write_a", "srv__read_a", "srv__write_b")
	w.start()
	w.chat.say(t, "ann", "go")
	want := "result of read_b\nresult of write_a\nresult of read_a\nresult of write_b"
	if got := w.shown(1)[0]; got != want {
		t.Errorf("the results are %q, want %q", got, want)
	}
}

func TestReadersRunTogetherAndWritersAloneInOrder(t *testing.T) {
	w := newWorld(t)
	w.tools.gate = make(chan struct{})
	w.model.reply = calls("srv__read_a", "srv__read_b", "srv__write_a", "srv__write_b")
	w.start()
	w.chat.say(t, "ann", "go")
	eventually(t, "two readers and one writer at once", func() bool { w.tools.mu.Lock(); defer w.tools.mu.Unlock(); return w.tools.active == 3 })
	if w.tools.ran("write_b") != 0 {
		t.Error("write_b began before write_a was done")
	}
	close(w.tools.gate)
	w.shown(1)
	w.tools.mu.Lock()
	defer w.tools.mu.Unlock()
	if w.tools.most != 3 {
		t.Errorf("%d tools ran side by side, want 3", w.tools.most)
	}
}

func TestACallThatCannotRunIsAResultForTheModel(t *testing.T) {
	for name, want := range map[string]string{
		"srv__nothing": `There is no tool named "srv__nothing".`,
		"srv__never":   "The admin does not allow this tool.",
		"srv__panics":  "The tool's server failed.",
		"srv__fails":   "The tool's server is not connected at the moment.",
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.model.reply = calls(name)
			w.start()
			w.chat.say(t, "ann", "go")
			if got := w.shown(1)[0]; got != want {
				t.Errorf("the model got %q, want %q", got, want)
			}
		})
	}
}

func TestAHugeResultBecomesAnArtifact(t *testing.T) {
	w := newWorld(t)
	w.model.reply = calls("srv__huge")
	w.start()
	w.chat.say(t, "ann", "go")
	w.settled()
	last := w.model.asked()[1]
	text := last.Entries[len(last.Entries)-1].Text
	if len(text) > 5000 || !strings.Contains(text, "read_artifact") {
		t.Errorf("the model got %d bytes: %.300q", len(text), text)
	}
}

func TestStopEndsAParkedTurn(t *testing.T) {
	w := newWorld(t)
	w.model.reply = calls("srv__ask_a")
	w.start()
	w.chat.say(t, "ann", "go")
	w.shown(1)
	w.chat.say(t, "ann", "/stop")
	if got := w.shown(2)[1]; got != "Stopped." {
		t.Errorf("the answer is %q", got)
	}
	w.settled()
	w.model.reply = echo
	w.chat.say(t, "ann", "still there?")
	if got := w.shown(3)[2]; got != "you said: still there?" {
		t.Errorf("the next answer is %q", got)
	}
	for _, r := range w.model.asked() {
		checkCallsAnswered(t, r)
	}
}

func TestStopEndsARunningTool(t *testing.T) {
	w := newWorld(t)
	w.model.reply = calls("srv__slow")
	w.start()
	w.chat.say(t, "ann", "go")
	eventually(t, "the tool runs", func() bool { return w.tools.ran("slow") == 1 })
	began := time.Now()
	w.chat.say(t, "ann", "/stop")
	if got := w.shown(1)[0]; got != "Stopped." {
		t.Errorf("the answer is %q", got)
	}
	if d := time.Since(began); d > 30*time.Second { // half of the turn's time
		t.Errorf("it took %s", d)
	}
}

func TestStopEndsAModelCall(t *testing.T) {
	w := newWorld(t)
	w.model.reply = func(ctx context.Context, _ ports.ModelRequest) (ports.ModelReply, error) {
		<-ctx.Done()
		return ports.ModelReply{}, ctx.Err()
	}
	w.start()
	w.chat.say(t, "ann", "go")
	eventually(t, "the model is asked", func() bool { return len(w.model.asked()) == 1 })
	w.chat.say(t, "ann", "/stop")
	if got := w.shown(1)[0]; got != "Stopped." {
		t.Errorf("the answer is %q", got)
	}
}

func TestStopWithNothingRunning(t *testing.T) {
	w := newWorld(t)
	w.model.reply = echo
	w.start()
	w.chat.say(t, "ann", "/stop")
	if got := w.shown(1)[0]; got != "Nothing is running." {
		t.Errorf("the answer is %q", got)
	}
}

func TestAFailureIsPlainAndHasAReference(t *testing.T) {
	w := newWorld(t)
	w.model.reply = func(context.Context, ports.ModelRequest) (ports.ModelReply, error) {
		return ports.ModelReply{}, ports.Errorf(ports.KindUnauthorized, "openai", "sk-secret was refused")
	}
	w.start()
	w.chat.say(t, "ann", "go")
	got := w.shown(1)[0]
	if strings.Contains(got, "sk-secret") || !strings.Contains(got, "refused this gateway's key") || !strings.Contains(got, "Reference: ") {
		t.Errorf("the failure reads %q", got)
	}
	w.settled()
	w.model.reply = echo
	w.chat.say(t, "ann", "again")
	w.shown(2)
}

func TestTooManyStepsEndPlainly(t *testing.T) {
	w := newWorld(t)
	w.model.reply = func(context.Context, ports.ModelRequest) (ports.ModelReply, error) {
		return calls("srv__read_a")(nil, ports.ModelRequest{})
	}
	w.start()
	w.chat.say(t, "ann", "go")
	if got := w.shown(1)[0]; !strings.Contains(got, "I stopped after 5 steps") {
		t.Errorf("the ending reads %q", got)
	}
}

func TestATurnThatTakesTooLongEndsPlainly(t *testing.T) {
	w := newWorld(t)
	w.model.turnTimeout = 100 * time.Millisecond
	w.model.reply = calls("srv__slow")
	w.start()
	w.chat.say(t, "ann", "go")
	if got := w.shown(1)[0]; !strings.Contains(got, "took longer than") {
		t.Errorf("the ending reads %q", got)
	}
}

func TestAPassingFaultIsTriedAgain(t *testing.T) {
	w := newWorld(t)
	n := 0
	w.model.reply = func(ctx context.Context, r ports.ModelRequest) (ports.ModelReply, error) {
		if n++; n == 1 {
			return ports.ModelReply{}, ports.Errorf(ports.KindTemporary, "model", "502")
		}
		return echo(ctx, r)
	}
	w.start()
	w.chat.say(t, "ann", "hi")
	if got := w.shown(1)[0]; got != "you said: hi" {
		t.Errorf("the answer is %q", got)
	}
}

func TestASendIsTriedAgainAndAFailureForGoodFreesTheChat(t *testing.T) {
	w := newWorld(t)
	w.model.reply = echo
	w.chat.fails = []error{ports.Errorf(ports.KindTemporary, "send", "502"), ports.Errorf(ports.KindForbidden, "send", "blocked")}
	w.start()
	w.chat.say(t, "ann", "one")
	w.settled()
	w.chat.say(t, "ann", "two")
	if got := w.shown(1)[0]; got != "you said: two" {
		t.Errorf("the answer is %q", got)
	}
}

func TestHistoryIsInThePrompt(t *testing.T) {
	w := newWorld(t)
	w.model.reply = echo
	w.start()
	w.chat.say(t, "ann", "one")
	w.shown(1)
	w.settled()
	w.restart()
	w.chat.say(t, "ann", "two")
	w.shown(2)
	w.chat.say(t, "bob", "three")
	w.shown(3)
	reqs := w.model.asked()
	var got []string
	for _, e := range reqs[1].Entries {
		got = append(got, string(e.Role)+": "+e.Text)
	}
	if want := []string{"user: one", "assistant: you said: one", "user: two"}; !reflect.DeepEqual(got, want) {
		t.Errorf("the second prompt is %q, want %q", got, want)
	}
	if n := len(reqs[2].Entries); n != 1 {
		t.Errorf("another person's prompt has %d entries: it sees a stranger's conversation", n)
	}
}

// TestARememberedHistoryIsTheStoredOne tells the same story twice, once with a
// restart before its last message: what the gateway kept in memory must be what
// it would have read.
func TestARememberedHistoryIsTheStoredOne(t *testing.T) {
	story := func(restart bool) string {
		w := newWorld(t)
		script := calls("srv__read_a", "srv__ask_a", "srv__fails")
		w.model.reply = func(ctx context.Context, r ports.ModelRequest) (ports.ModelReply, error) {
			last := len(r.Entries) - 1
			for r.Entries[last].Role != ports.RoleUser {
				last--
			}
			switch text := r.Entries[last].Text; {
			case strings.Contains(text, "tools"):
				return script(ctx, ports.ModelRequest{Entries: r.Entries[last:]})
			case strings.Contains(text, "broken"):
				return ports.ModelReply{}, ports.Errorf(ports.KindInvalid, "model", "no")
			}
			return echo(ctx, r)
		}
		w.start()
		shown := 0
		for _, text := range []string{"one", "tools", "yes", "tools again", "rather something else", "broken", "/help", "/stop", "two", "end"} {
			if restart && text == "end" {
				w.restart()
			}
			if text == "yes" {
				w.chat.press(t, "ann", shown-1, "yes")
			} else {
				w.chat.say(t, "ann", text)
			}
			shown++
			w.shown(shown)
			w.settled()
		}
		asked := w.model.asked()
		got, err := json.MarshalIndent(asked[len(asked)-1].Entries, "", " ")
		if err != nil {
			t.Fatal(err)
		}
		w.end()
		return string(got)
	}
	kept, read := story(false), story(true)
	if kept != read {
		t.Errorf("from memory the prompt is\n%s\nfrom the store it is\n%s", kept, read)
	}
	if strings.Count(kept, `"role": "tool"`) < 6 {
		t.Errorf("the story's calls are not in the prompt:\n%s", kept)
	}
}

func TestALongAnswerIsSplitInOrder(t *testing.T) {
	w := newWorld(t)
	w.model.reply = func(context.Context, ports.ModelRequest) (ports.ModelReply, error) {
		var b strings.Builder
		for i := range 1500 {
			fmt.Fprintf(&b, "word%d ", i)
		}
		return says(b.String())
	}
	w.start()
	w.chat.say(t, "ann", "go")
	w.settled()
	all := strings.Fields(strings.Join(w.chat.texts(), " "))
	if len(w.chat.texts()) < 3 || len(all) != 1500 || all[0] != "word0" || all[1499] != "word1499" {
		t.Errorf("%d messages with %d words", len(w.chat.texts()), len(all))
	}
}

// checkCallsAnswered fails if a prompt has a call without its result, which
// every provider refuses.
func checkCallsAnswered(t *testing.T, r ports.ModelRequest) {
	t.Helper()
	open := map[string]bool{}
	for _, e := range r.Entries {
		if e.Role == ports.RoleTool {
			if !open[e.CallID] {
				t.Errorf("a result for no call: %+v", e)
			}
			delete(open, e.CallID)
			continue
		}
		if len(open) > 0 {
			t.Errorf("calls without results before %q: %v", e.Text, open)
		}
		for _, c := range e.Calls {
			open[c.ID] = true
		}
	}
}
