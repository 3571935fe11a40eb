package crash

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"

	"dragoman/ports"
)

// What points are named after must be the same in each run and after each
// restart: what people wrote and what the model said, never a seq, a step's
// index or an id, which shift when a crash added a row.

var pairingCode = regexp.MustCompile(`\b[A-HJ-NP-Z2-9]{8}\b`)

// hastily ends the name of a person who presses a button once more, by which the
// second press is told from the first.
const hastily = " again"

// saysOf names a message by what it says or presses.
func saysOf(m ports.Message) string {
	switch {
	case m.Choice != nil && strings.HasSuffix(m.Name, hastily):
		return "press " + m.Choice.Value + hastily
	case m.Choice != nil:
		return "press " + m.Choice.Value
	case m.Change != "":
		return strings.TrimSpace(string(m.Change) + " " + m.Text)
	case m.Text == "" && len(m.Attachments) > 0:
		return "a file"
	case m.Text != "":
		return m.Text
	}
	word, _, _ := strings.Cut(m.Event, "/") // posted by the gateway itself
	return "post " + word
}

func saysAll(list []ports.Message) string {
	says := make([]string, len(list))
	for i, m := range list {
		says[i] = saysOf(m)
	}
	return strings.Join(says, "+")
}

// lastWords begins what a model is told whose answer is the last that there is money for.
const lastWords = "[The gateway: the budget"

// preview names all that shows an answer in the making: whether it comes to be
// shown, and how much of it, is up to the clock.
const preview = "preview"

// showsOf names content by its first line.
func showsOf(c ports.Content) string {
	if c.Partial {
		return preview
	}
	first, rest, _ := strings.Cut(strings.TrimSpace(c.Text), "\n")
	first = pairingCode.ReplaceAllString(first, "CODE")
	if len(first) > 60 {
		first = first[:60]
	}
	if _, note, settled := strings.Cut(rest, "```\n\n*"); settled {
		first += " " + strings.Trim(note, "*")
	}
	return first
}

// posts names a send or an edit. An answer is an edit where a preview was shown,
// which is up to the clock: both are one point.
func (p *points) posts(op string, m ports.Outgoing) string {
	what, shows := p.delivery(m.Nonce), showsOf(m.Content)
	switch {
	case strings.HasSuffix(m.Nonce, "/"+preview):
		return beside + op + " preview"
	case strings.HasSuffix(what, "answer 0"):
		op = "channel.Send or Edit"
	}
	return op + " " + what + " = " + shows
}

// delivery names one by its turn and what it is there, without the step.
func (p *points) delivery(id string) string {
	turn := ports.TurnOf(id)
	if turn == "" {
		word, _, _ := strings.Cut(id, "/")
		return word
	}
	step, rest, _ := strings.Cut(strings.TrimPrefix(id, turn+"/"), "/")
	switch step[:min(1, len(step))] {
	case "q":
		step = "prompt"
	case "s":
		step = "prompt whether it is still wanted"
	case "f":
		step = "file"
	default:
		step = "answer"
	}
	return p.turn(turn) + ": " + step + " " + rest
}

// change names a commit of a turn by what it adds.
func (p *points) change(c ports.Change) string {
	var parts []string
	if len(c.Take) > 0 {
		parts = append(parts, fmt.Sprintf("take %d", len(c.Take)))
	}
	calls := ""
	for _, s := range c.Steps {
		part := string(s.Kind)
		switch s.Kind {
		case ports.StepReply:
			calls = strings.Join(toolsOf(s), ",")
			part += "(" + calls + ")"
		case ports.StepStart, ports.StepResult:
			tool := p.tool(c.Turn, s.Call)
			if calls != "" {
				tool = strings.Split(calls, ",")[s.Call]
			}
			part += "(" + tool + ")"
		}
		parts = append(parts, part)
	}
	if c.Ask != nil {
		parts = append(parts, fmt.Sprintf("ask %s(%d)", c.Ask.Kind, c.Ask.Call))
	}
	return p.turn(c.Turn) + ": " + strings.Join(parts, " ")
}

// toolsOf are the tools that a reply's row calls.
func toolsOf(s ports.Step) (list []string) {
	var body struct{ Calls []ports.Call }
	if err := json.Unmarshal(s.Body, &body); err != nil {
		panic(fmt.Sprintf("a row of a reply makes no sense: %v", err))
	}
	for _, c := range body.Calls {
		list = append(list, bare(c.Name))
	}
	return list
}

// bare is a tool's name as its server has it.
func bare(tool string) string { return strings.TrimPrefix(tool, serverName+"__") }

// asks names a request by the turn that it is for and what it ends with.
func asks(r ports.ModelRequest) string {
	user, last, called := "", "nothing", ""
	for _, e := range r.Entries {
		if strings.HasPrefix(e.Text, lastWords) {
			continue // which a request needs not that was made before there were tools
		}
		if e.Role == ports.RoleUser {
			user = e.Text
		}
		for _, c := range e.Calls {
			called = " " + bare(c.Name)
		}
		if last = string(e.Role); e.Role == ports.RoleTool {
			last += called
		}
	}
	if strings.HasPrefix(user, asksSummary) {
		user = "a summary"
	}
	return user + ", after " + last
}
