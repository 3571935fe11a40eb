package demo

import (
	"strings"

	"dragoman/ports"
)

// decision is what to do: say text, or make a call.
type decision struct {
	text string
	call *ports.Call
}

// outcome is a call of the current turn with what it gave.
type outcome struct {
	call   ports.Call
	result ports.Entry
}

// decide is the whole model.
func decide(r ports.ModelRequest) decision {
	turn, first := currentTurn(r.Entries)
	say := func(text string) decision {
		if first {
			text += "\n\n" + introduction
		}
		return decision{text: text}
	}
	if fresh := outcomes(turn); len(fresh) > 0 {
		return say(sayResults(fresh))
	}
	last, all := lastWords(turn)
	d := answer(last, all, newCatalog(r.Tools))
	if d.call == nil {
		return say(d.text)
	}
	if r.NoCalls {
		return say("I would call " + d.call.Name + " now, but was told to answer without tools.")
	}
	return d
}

// answer goes through the rules: the fixed forms first, then a tool by its words.
func answer(last, all string, c catalog) decision {
	last = note.ReplaceAllString(last, "")
	if cmd, ok := parseCall(last, c); ok {
		return cmd.decide(c)
	}
	kind := kindOf(last)
	if name := speaker.FindString(last); kind == somethingElse && name != "" {
		kind = kindOf(last[len(name):])
	}
	switch kind {
	case asksForHelp:
		return decision{text: sayTools(c)}
	case greets:
		return decision{text: sayHello(c)}
	case asksWho:
		return decision{text: "I am Dragoman's demo model: no language model, but a few rules that pick a tool by your words and call it."}
	case thanks:
		return decision{text: "You are welcome!"}
	case saysNothing:
		return decision{text: sayNothingHeard(c)}
	}
	return choose(all, c)
}

// currentTurn is what came after the last finished answer. first tells that
// nothing was said in the conversation before.
func currentTurn(entries []ports.Entry) (turn []ports.Entry, first bool) {
	start, first := 0, true
	for i, e := range entries {
		if e.Role != ports.RoleAssistant {
			continue
		}
		if e.Text != "" {
			first = false
		}
		if len(e.Calls) == 0 {
			start = i + 1
		}
	}
	return entries[start:], first
}

// outcomes pairs the turn's calls with their results: those that came after the
// person's last words and wait for an answer. What came before is no answer to
// them; whoever asks again wants it done again.
func outcomes(turn []ports.Entry) (fresh []outcome) {
	calls := map[string]ports.Call{}
	for _, e := range turn {
		switch e.Role {
		case ports.RoleAssistant:
			for _, c := range e.Calls {
				calls[c.ID] = c
			}
		case ports.RoleTool:
			fresh = append(fresh, outcome{call: calls[e.CallID], result: e})
		case ports.RoleUser:
			fresh = nil
		}
	}
	return fresh
}

// lastWords are the person's last message, and all that they wrote in one go
// (people type in bursts).
func lastWords(turn []ports.Entry) (last, all string) {
	var burst []string
	for _, e := range turn {
		if e.Role != ports.RoleUser {
			burst = nil
			continue
		}
		last = e.Text
		burst = append(burst, e.Text)
	}
	return last, strings.Join(burst, "\n")
}
