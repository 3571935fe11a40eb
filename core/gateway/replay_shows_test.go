package gateway_test

import (
	"cmp"
	"encoding/json"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"dragoman/core/agent"
	"dragoman/core/ask"
	"dragoman/core/toolbox"
	"dragoman/ports"
)

// TestAReplayShowsWhatGoesAnotherWay changes the rules of today or the recording,
// and looks at the first difference.
func TestAReplayShowsWhatGoesAnotherWay(t *testing.T) {
	policy := func(tool string, p ports.Policy) func(*agent.Config, *toolbox.Config) {
		return func(_ *agent.Config, c *toolbox.Config) { c.Policy[tool] = p }
	}
	for name, c := range map[string]struct {
		file     string
		rules    func(*agent.Config, *toolbox.Config)
		edit     func(*ports.Recording)
		was, now string // what the first difference is on each side; "" = nothing
		left     string // part of why the replay left the recording
	}{
		"it would ask first today":        {file: "tools", rules: policy("srv__write_b", ports.PolicyAsk), was: "start", now: "asks"},
		"it would not ask today":          {file: "approved", rules: policy("srv__ask_*", ports.PolicyAllow), was: "start", now: "start"},
		"it would be denied today":        {file: "approved", rules: policy("srv__ask_a", ports.PolicyDeny), was: "start", now: "result"},
		"it would be allowed today":       {file: "ruled_out", rules: func(_ *agent.Config, c *toolbox.Config) { delete(c.Policy, "srv__never") }, was: "result", now: "start", left: "no run"},
		"fewer steps today":               {file: "too_many_steps", rules: func(c *agent.Config, _ *toolbox.Config) { c.MaxSteps = 3 }, was: "prompt", now: "final"},
		"more steps today":                {file: "too_many_steps", rules: func(c *agent.Config, _ *toolbox.Config) { c.MaxSteps = 30 }, was: "final", left: "asks the model for reply 6"},
		"more time today":                 {file: "too_long", rules: func(c *agent.Config, _ *toolbox.Config) { c.TurnTimeout = time.Hour }, was: "final", now: "final"},
		"what is old is older today":      {file: "old_and_wanted", rules: func(c *agent.Config, _ *toolbox.Config) { c.StaleAfter = 5 * time.Hour }, was: "asks", now: "prompt"},
		"another key of a call":           {file: "tools", edit: body(1, "chat:ann#1/0/0", "chat:ann#1/0/9"), was: "start", now: "start"},
		"another class of a call":         {file: "tools", edit: body(1, `"read"`, `"idempotent"`), was: "start", now: "start"},
		"another sentence for a person":   {file: "stopped_at_a_tool", edit: body(6, "Stopped.", "I stopped."), was: "final", now: "final"},
		"another failure":                 {file: "model_refused", edit: body(0, "refused this gateway's key", "did not know this gateway's key"), was: "final", now: "final"},
		"another question":                {file: "parked", edit: func(r *ports.Recording) { r.Questions[0].Text = "May I?" }, was: "asks", now: "asks"},
		"another id of a question":        {file: "parked", edit: func(r *ports.Recording) { r.Questions[0].ID = "other" }, was: "asks", now: "asks"},
		"other buttons":                   {file: "parked", edit: func(r *ports.Recording) { r.Questions[0].Fields[0].Choices[0].Label = "Go" }, was: "asks", now: "asks"},
		"a result that is missing":        {file: "two_rounds", edit: func(r *ports.Recording) { r.Prompts[1][2].Text = "nothing" }, was: "prompt", now: "prompt"},
		"an order of results in a prompt": {file: "tools", edit: func(r *ports.Recording) { slices.Reverse(r.Prompts[1]) }, was: "prompt", now: "prompt"},
		"another outcome":                 {file: "plain", edit: func(r *ports.Recording) { r.Turn.Outcome = ports.OutcomeSuperseded }, was: "outcome", now: "outcome"},
		"a reply that is missing": {file: "two_rounds", edit: func(r *ports.Recording) {
			r.Steps = slices.Delete(r.Steps, 6, 7)
			r.Steps[6].Index = 6
		}, was: "final", left: "asks the model for reply 3"},
		"an order that is another": {file: "tools", edit: func(r *ports.Recording) {
			i := slices.IndexFunc(r.Steps, func(s ports.RecordedStep) bool { return s.Kind == ports.StepStart && s.Call == 3 })
			j := slices.IndexFunc(r.Steps, func(s ports.RecordedStep) bool { return s.Kind == ports.StepResult && s.Call == 1 })
			r.Steps[i], r.Steps[j] = r.Steps[j], r.Steps[i]
			r.Steps[i].Index, r.Steps[j].Index = i, j
		}, was: "result", left: "another order"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rec := readRecording(t, filepath.Join(recordings, c.file+".json"))
			if c.edit != nil {
				c.edit(&rec)
			}
			limit := time.Duration(0)
			if c.file == "too_long" {
				limit = time.Second
			}
			got := replay(t, rec, limit, c.rules)
			if got.Same || got.First() < 0 {
				t.Fatalf("it is said to be the same: %s", indented(t, got))
			}
			if e := got.Events[got.First()]; e.What != c.was || e.Now != c.now || !strings.Contains(got.Left, c.left) || c.left == "" && got.Left != "" && c.now == "" {
				t.Errorf("the first difference is %q, now %q, left %q; want %q, %q, %q\n%s", e.What, e.Now, got.Left, c.was, c.now, c.left, indented(t, got))
			}
		})
	}
}

// body changes a text in the body of a step.
func body(step int, old, with string) func(*ports.Recording) {
	return func(r *ports.Recording) {
		text := strings.Replace(string(r.Steps[step].Body), old, with, 1)
		if text == string(r.Steps[step].Body) {
			panic(fmt.Sprintf("step %d has no %q: %s", step, old, text))
		}
		r.Steps[step].Body = json.RawMessage(text)
	}
}

// everyRecording runs a test on each turn of the test data.
func everyRecording(t *testing.T, test func(t *testing.T, rec ports.Recording, limit time.Duration)) {
	for _, c := range recorded {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			test(t, readRecording(t, filepath.Join(recordings, c.name+".json")), c.limit)
		})
	}
}

// TestATurnThatIsNotOverIsReplayedAsFarAsItGot cuts each recording off behind each
// of its rows.
func TestATurnThatIsNotOverIsReplayedAsFarAsItGot(t *testing.T) {
	everyRecording(t, func(t *testing.T, rec ports.Recording, limit time.Duration) {
		for n := 1; n < len(rec.Steps); n++ {
			if rec.Steps[n-1].At.Equal(rec.Steps[n].At) {
				continue // one commit, most likely
			}
			got := replay(t, cutBehind(t, rec, n), limit, nil)
			if !got.Same || len(got.Events) < n {
				t.Errorf("cut off behind %d steps: left %q, first difference %d: %s", n, got.Left, got.First(), indented(t, got))
			}
		}
	})
}

// cutBehind is a recording as it was when the turn had n rows.
func cutBehind(t *testing.T, rec ports.Recording, n int) ports.Recording {
	t.Helper()
	rec.Turn.State, rec.Turn.Outcome, rec.Turn.Finished = ports.TurnRunning, "", time.Time{}
	var questions []ports.Question
	answers := 0
	for _, q := range rec.Questions {
		if at := askedAt(t, q); at > n {
			continue
		} else if at == n { // not answered yet
			q.State, q.Answers, rec.Turn.State = ports.QuestionOpen, nil, ports.TurnParked
		} else if q.State == ports.QuestionAnswered {
			answers++
		}
		questions = append(questions, q)
	}
	joined := map[int64]bool{}
	for _, st := range rec.Steps[:n] {
		var body struct{ Seq []int64 }
		if st.Kind == ports.StepInput && json.Unmarshal(st.Body, &body) == nil {
			joined[body.Seq[0]] = true
		}
	}
	var inbox []ports.RecordedMessage
	for i, m := range rec.Inbox {
		if m.Route == ports.RouteAnswer {
			answers--
		}
		if i == 0 || m.Route == ports.RouteLane && (joined[m.Seq] || m.Received.Before(rec.Steps[0].At)) || m.Route == ports.RouteAnswer && answers >= 0 {
			inbox = append(inbox, m)
		}
	}
	rec.Steps, rec.Questions, rec.Inbox = rec.Steps[:n], questions, inbox
	return rec
}

// askedAt is how many rows the journal had when a question was asked.
func askedAt(t *testing.T, q ports.Question) (n int) {
	t.Helper()
	if _, err := fmt.Sscanf(strings.TrimLeft(strings.TrimPrefix(q.Prompt, q.Turn+"/"), "qs"), "%d", &n); err != nil {
		t.Fatalf("%s: %v", q.Prompt, err)
	}
	return n
}

// TestARecordingReplaysByItsOwnRules needs no config of the gateway that made it.
func TestARecordingReplaysByItsOwnRules(t *testing.T) {
	everyRecording(t, func(t *testing.T, rec ports.Recording, limit time.Duration) {
		cfg := agent.Config{Name: "other", MaxSteps: 5, TurnTimeout: cmp.Or(limit, time.Minute), Models: []agent.Model{{ContextTokens: 32000}}, StaleAfter: time.Hour}
		got := replayBy(t, cfg, agent.RulesOf(rec), ask.New(ask.Config{Expires: time.Hour}), rec)
		if !got.Same {
			t.Errorf("left %q, first difference %d: %s", got.Left, got.First(), indented(t, got))
		}
	})
}

func TestARecordingThatMakesNoSenseIsRefused(t *testing.T) {
	for name, c := range map[string]struct {
		edit func(*ports.Recording)
		want string
	}{
		"another form":     {func(r *ports.Recording) { r.Version = 9 }, "form 9"},
		"no message":       {func(r *ports.Recording) { r.Inbox = nil }, "no message"},
		"a gap":            {func(r *ports.Recording) { r.Steps = slices.Delete(r.Steps, 1, 2) }, "gap before step 2"},
		"a body of others": {body(0, `"v": 1`, `"v": "x"`), "read journal"},
		"a command":        {func(r *ports.Recording) { r.Steps = nil }, "command"},
		"a question of no time": {func(r *ports.Recording) {
			r.Questions = []ports.Question{{ID: "x", Turn: r.Turn.ID, Steps: 99, Prompt: "elsewhere"}}
		}, "nobody knows when"},
	} {
		t.Run(name, func(t *testing.T) {
			rec := readRecording(t, filepath.Join(recordings, "tools.json"))
			c.edit(&rec)
			w := newWorld(t)
			_, err := agent.Replay(t.Context(), agent.Config{MaxSteps: 5, TurnTimeout: time.Minute}, agent.RulesOf(rec), ask.New(w.opt.Ask), rec, slog.New(slog.DiscardHandler))
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("it gives %v, want %q in it", err, c.want)
			}
		})
	}
}
