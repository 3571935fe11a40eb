package modeltest

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"dragoman/ports"
)

// obedient is a model that does what SmokeRules tell it, but for one thing.
type obedient struct {
	lacks     string
	sightless bool
}

func (o obedient) Facts() ports.ModelFacts { return ports.ModelFacts{Images: !o.sightless} }

func (o obedient) Generate(_ context.Context, r ports.ModelRequest, onText func(string)) (ports.ModelReply, error) {
	reply := ports.ModelReply{Model: "obedient", Stop: ports.StopEnd, Usage: ports.Tokens{Input: 9, Output: 1}}
	first, last := r.Entries[0], r.Entries[len(r.Entries)-1]
	switch {
	case last.Role == ports.RoleTool && o.lacks != "result":
		reply.Text = last.Text
	case r.NoCalls && o.lacks != "text alone":
		reply.Text = "I may not open it."
	case len(r.Tools) > 0 && o.lacks != "calls" && last.Role == ports.RoleUser:
		vault := `{"vault":"blue"}`
		if o.lacks == "arguments" {
			vault = `{"vault":"green"}`
		}
		reply.Calls = []ports.Call{{ID: "c1", Name: r.Tools[0].Name, Arguments: json.RawMessage(vault)}}
		reply.Stop = ports.StopCalls
	case len(first.Blocks) > 0 && o.lacks != "sight":
		reply.Text = "Red."
	case strings.Contains(first.Text, "Count"):
		reply.Text = "one, two, thirty"
	default:
		reply.Text = strings.TrimPrefix(first.Text, "Reply with this word and nothing else: ")
	}
	if o.lacks == "hearing" {
		reply.Text = "What?"
	}
	if o.lacks == "tokens" {
		reply.Usage = ports.Tokens{}
	}
	if onText != nil && reply.Text != "" {
		half := len(reply.Text) / 2
		if o.lacks == "stream" {
			half = 0
		} else {
			onText(reply.Text[:half])
		}
		onText(reply.Text[half:])
	}
	return reply, nil
}

func TestSmokeIsPassedByAnObedientModel(t *testing.T) {
	run(t, SmokeRules(), Harness{Model: obedient{}}, patience)
}

func TestSmokeFailsAModelThatLacksSomething(t *testing.T) {
	for lack, rules := range map[string][]string{
		"tokens":     {"it says what it is told to"},
		"hearing":    {"it says what it is told to", "it speaks as a stream", "it calls a tool and reads its result", "it sees a picture"},
		"stream":     {"it speaks as a stream"},
		"calls":      {"it calls a tool and reads its result"},
		"arguments":  {"it calls a tool and reads its result"},
		"result":     {"it calls a tool and reads its result"},
		"text alone": {"it answers without tools where it may not call"},
		"sight":      {"it sees a picture"},
	} {
		for _, r := range SmokeRules() {
			err := r.Check(t.Context(), Harness{Model: obedient{lacks: lack}})
			if fails := slices.Contains(rules, r.Name); fails != (err != nil) {
				t.Errorf("a model without %s: %s: %v", lack, r.Name, err)
			}
		}
	}
}

func TestSmokeShowsNoPictureToASightlessModel(t *testing.T) {
	if err := smokePicture(t.Context(), Harness{Model: obedient{sightless: true}}); !errors.Is(err, errors.ErrUnsupported) {
		t.Error(err)
	}
}
