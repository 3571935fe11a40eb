package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"dragoman/adapters/terminal"
	"dragoman/core/agent"
	"dragoman/ports"
)

const (
	contextShown = 3    // events before the first difference
	bodyShown    = 2000 // bytes of one side of a difference
	lineShown    = 90   // runes of an event's line
)

// printComparison says in a line that a replay is the same, or shows the first
// difference with what led to it.
func printComparison(w io.Writer, c agent.Comparison) error {
	var b strings.Builder
	fmt.Fprintf(&b, "turn %s (%s)\n", terminal.Printable(c.Turn), c.Ref)
	first := c.First()
	shown := c.Events
	if first >= 0 {
		shown = c.Events[max(0, first-contextShown):first]
	}
	for _, e := range shown {
		fmt.Fprintf(&b, "  %-8s %s\n", stepOf(e), clipped(sentence(e.What, e, e.Recorded)))
		if e.Answer != "" {
			fmt.Fprintf(&b, "  %-8s → %s\n", "", oneLine(e.Answer))
		}
	}
	for _, note := range c.Notes {
		fmt.Fprintf(&b, "  crash: %s\n", oneLine(note))
	}
	if first >= 0 {
		e := narrowed(c.Events[first])
		fmt.Fprintf(&b, "different at step %d:\n", e.Step)
		side(&b, "recorded", e.What, e, e.Recorded, "nothing more")
		side(&b, "now", e.Now, e, e.Replayed, cmp.Or(oneLine(c.Left), "nothing more"))
		for _, later := range c.Events[first+1:] {
			if later.Now == agent.EventAsks && !later.Same {
				fmt.Fprintf(&b, "  and now:  %s\n", clipped(sentence(later.Now, later, later.Replayed)))
				break
			}
		}
	}
	if c.Left != "" && (first < 0 || c.Events[first].Replayed != nil) {
		fmt.Fprintf(&b, "the replay went another way: %s\n", oneLine(c.Left))
	}
	if c.Same {
		b.WriteString(verdict(c) + "\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// verdict is the line of a replay that is the same.
func verdict(c agent.Comparison) string {
	switch c.State {
	case ports.TurnDone:
		return fmt.Sprintf("same: %s, %s", count(c.Steps, "step"), c.Outcome)
	case ports.TurnParked:
		return fmt.Sprintf("same so far: %s; the turn waits for an answer", count(c.Steps, "step"))
	}
	return fmt.Sprintf("same so far: %s; the turn is not finished", count(c.Steps, "step"))
}

// stepOf is where in the journal an event is.
func stepOf(e agent.Event) string {
	switch e.What {
	case agent.EventAsks, agent.EventPrompt, agent.EventOutcome:
		return ""
	}
	return fmt.Sprintf("step %d", e.Step)
}

// side shows one side of a difference.
func side(b *strings.Builder, label, what string, e agent.Event, body json.RawMessage, otherwise string) {
	if body == nil {
		fmt.Fprintf(b, "  %-9s %s\n", label+":", otherwise)
		return
	}
	fmt.Fprintf(b, "  %-9s %s\n", label+":", clipped(sentence(what, e, body)))
	var text bytes.Buffer
	if json.Indent(&text, body, "      ", "  ") != nil {
		text.Reset()
		text.Write(body)
	}
	shown := terminal.Printable(text.String())
	if len(shown) > bodyShown {
		shown = strings.ToValidUTF8(shown[:bodyShown], "") + fmt.Sprintf("… (%d bytes more; --json has all)", len(shown)-bodyShown)
	}
	fmt.Fprintf(b, "      %s\n", shown)
}

// narrowed is an event with no more of two prompts than where they part.
func narrowed(e agent.Event) agent.Event {
	var was, now []json.RawMessage
	if e.What != agent.EventPrompt || e.Now != e.What || json.Unmarshal(e.Recorded, &was) != nil || json.Unmarshal(e.Replayed, &now) != nil {
		return e
	}
	i := 0
	for i < len(was) && i < len(now) && bytes.Equal(was[i], now[i]) {
		i++
	}
	e.Recorded, e.Replayed = nil, nil
	if i < len(was) {
		e.Recorded = was[i]
	}
	if i < len(now) {
		e.Replayed = now[i]
	}
	return e
}

// sentence says in words what a side of an event is.
func sentence(what string, e agent.Event, raw json.RawMessage) string {
	var body struct {
		Text    string            `json:"text"`
		Calls   []ports.Call      `json:"calls"`
		Class   ports.Class       `json:"class"`
		Outcome ports.CallOutcome `json:"outcome"`
		Seq     []int64           `json:"seq"`
		Files   []json.RawMessage `json:"files"`
		Kind    string            `json:"kind"`
	}
	_ = json.Unmarshal(raw, &body) // what is none has no words: its kind is said all the same
	switch what {
	case string(ports.StepReply):
		var names []string
		for _, c := range body.Calls {
			names = append(names, c.Name)
		}
		if len(names) > 0 {
			return "the model wants " + strings.Join(names, ", ")
		}
		return "the model answers: " + body.Text
	case string(ports.StepStart):
		return fmt.Sprintf("%s begins (%s)", e.Tool, body.Class)
	case string(ports.StepResult):
		return fmt.Sprintf("%s gives %s: %s", e.Tool, body.Outcome, body.Text)
	case string(ports.StepInput):
		if n := len(body.Files); n > 0 {
			return fmt.Sprintf("%s came with what was said", count(n, "file"))
		}
		return fmt.Sprintf("%s joined", count(len(body.Seq), "message"))
	case string(ports.StepFinal):
		if body.Text == "" {
			return "the turn ends"
		}
		return "the person is told: " + body.Text
	case agent.EventAsks:
		return "the person is asked: " + body.Text
	case agent.EventPrompt:
		return "the model is told what was said"
	case agent.EventOutcome:
		return "the turn is " + strings.Trim(string(raw), `"`)
	}
	return what
}

func clipped(s string) string {
	line := []rune(oneLine(s))
	if len(line) > lineShown {
		return string(line[:lineShown-1]) + "…"
	}
	return string(line)
}
