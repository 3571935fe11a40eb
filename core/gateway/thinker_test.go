package gateway_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"dragoman/core/agent"
	"dragoman/ports"
)

// thinker is a model that thinks much between its calls, and is handed what it
// thought each time: its window holds a third of that.
type thinker struct{ rounds, thought, refused, bare int }

func (c *thinker) Generate(_ context.Context, r ports.ModelRequest, _ func(string)) (ports.ModelReply, error) {
	size := 0
	for _, e := range r.Entries {
		size += (len(e.Text) + len(e.State)) / 4
	}
	if n := len(r.Entries); r.Entries[n-1].Role == ports.RoleTool && len(r.Entries[n-2].State) == 0 {
		c.bare++
	}
	if size > 32000 {
		c.refused++
		return ports.ModelReply{}, ports.Errorf(ports.KindTooLarge, "thinker", "%d tokens are too many", size)
	}
	used := ports.Tokens{Input: size, Output: 4000}
	if c.rounds++; c.rounds > 24 {
		return ports.ModelReply{Text: "Here it is.", Model: "m", Stop: ports.StopEnd, Usage: used}, nil
	}
	return ports.ModelReply{Model: "m", Stop: ports.StopCalls, State: json.RawMessage(`"` + strings.Repeat("thought ", c.thought) + `"`), Usage: used,
		Calls: []ports.Call{{ID: fmt.Sprint("c", c.rounds), Name: "srv__read_a", Arguments: json.RawMessage(`{"n":1}`)}}}, nil
}

// What a model thought in the steps before is the provider's, and grows with each
// step: it goes before the turn fails for it. That of the last step stays.
func TestATurnOfMuchThoughtStaysWithinTheWindow(t *testing.T) {
	w := newWorld(t)
	m := &thinker{thought: 2000}
	w.agent = func(c *agent.Config) { c.Models[0].Port, c.MaxSteps = m, 30 }
	w.start()
	w.chat.say(t, "ann", "think hard")
	w.settled()
	if got := w.shown(1)[0]; got != "Here it is." || m.refused > 0 || m.bare > 0 {
		t.Errorf("it says %q; %d prompts were too long, %d had nothing of the last thought", got, m.refused, m.bare)
	}
}
