package modeltest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"

	"dragoman/ports"
)

func callRules() []Rule {
	return []Rule{
		{"a call is whole", "the tool runs with exactly what the model asked for", callIsWhole},
		{"calls keep their order", "those that change things run one at a time in this order", callsKeepOrder},
		{"text may stand beside calls", "models say what they are about to do", textBesideCalls},
		{"calls always have ids", "results are matched by them", callsHaveIDs},
		{"ids are unique", "two results for one id would be mixed up", idsAreUnique},
		{"arguments are always JSON", "the journal and the argument check take nothing else", argumentsAreJSON},
		{"no arguments are an empty object", "tools without parameters are called all the same", noArguments},
	}
}

var twoCalls = []ports.Call{
	{ID: "call_b", Name: "files__read", Arguments: json.RawMessage(`{"path":"a b/ø.txt","deep":{"list":[1,2.5,null,true]}}`)},
	{ID: "call_a", Name: "weather__now", Arguments: json.RawMessage(`{"place":"Bergen \"sentrum\""}`)},
}

// callPrompt has words that make a rule-based model call its only tool, too.
func callPrompt() ports.ModelRequest {
	return ports.ModelRequest{
		Entries: []ports.Entry{{Role: ports.RoleUser, Text: `call test__echo {"text":"hi"}`}},
		Tools: []ports.ToolSpec{{
			Name: "test__echo", Description: "Gives back the text.",
			InputSchema: json.RawMessage(`{"type":"object","properties":{"text":{"type":"string"}},"required":["text"]}`),
		}},
	}
}

func callIsWhole(ctx context.Context, h Harness) error {
	want := ports.Call{ID: "call_1", Name: "test__echo", Arguments: json.RawMessage(`{"text":"hi"}`)}
	if err := h.prefer(ctx, Act{Do: Reply, Calls: []ports.Call{want}}); err != nil {
		return err
	}
	reply, err := h.Model.Generate(ctx, callPrompt(), nil)
	if err != nil {
		return err
	}
	if err := sound(reply); err != nil {
		return err
	}
	return sameCalls(reply.Calls, []ports.Call{want}, false)
}

func callsKeepOrder(ctx context.Context, h Harness) error {
	if err := h.script(ctx, Act{Do: Reply, Calls: twoCalls}); err != nil {
		return err
	}
	reply, err := h.Model.Generate(ctx, callPrompt(), nil)
	if err != nil {
		return err
	}
	if err := sound(reply); err != nil {
		return err
	}
	return sameCalls(reply.Calls, twoCalls, !h.OwnIDs)
}

func textBesideCalls(ctx context.Context, h Harness) error {
	if err := h.script(ctx, Act{Do: Reply, Text: "Let me look.", Calls: twoCalls}); err != nil {
		return err
	}
	deltas, reply, err := listen(ctx, h, callPrompt())
	if err != nil {
		return err
	}
	if reply.Text != "Let me look." || len(deltas) == 0 {
		return fmt.Errorf("the text beside the calls is %q, its deltas %q", reply.Text, deltas)
	}
	return sameCalls(reply.Calls, twoCalls, !h.OwnIDs)
}

func callsHaveIDs(ctx context.Context, h Harness) error { return oddCalls(ctx, h, MissingIDs) }

func idsAreUnique(ctx context.Context, h Harness) error { return oddCalls(ctx, h, DoubledIDs) }

func oddCalls(ctx context.Context, h Harness, do Do) error {
	if err := h.script(ctx, Act{Do: do, Calls: twoCalls}); err != nil {
		return err
	}
	reply, err := h.Model.Generate(ctx, callPrompt(), nil)
	if err != nil {
		return err
	}
	if err := sound(reply); err != nil {
		return err
	}
	return sameCalls(reply.Calls, twoCalls, false)
}

func argumentsAreJSON(ctx context.Context, h Harness) error {
	if err := h.script(ctx, Act{Do: BadArguments, Calls: twoCalls}); err != nil {
		return err
	}
	reply, err := h.Model.Generate(ctx, callPrompt(), nil)
	if err != nil {
		return err
	}
	if err := sound(reply); err != nil {
		return err
	}
	if len(reply.Calls) != 2 || bytes.HasPrefix(reply.Calls[0].Arguments, []byte("{")) {
		return fmt.Errorf("arguments that are not JSON became %s: the argument check cannot tell the model", show(reply.Calls))
	}
	return nil
}

func noArguments(ctx context.Context, h Harness) error {
	if err := h.script(ctx, Act{Do: NoArguments, Calls: twoCalls[:1]}); err != nil {
		return err
	}
	reply, err := h.Model.Generate(ctx, callPrompt(), nil)
	if err != nil {
		return err
	}
	if len(reply.Calls) != 1 || string(reply.Calls[0].Arguments) != "{}" {
		return fmt.Errorf("a call without arguments became %s", show(reply.Calls))
	}
	return nil
}

// sound checks what holds for every reply with calls.
func sound(reply ports.ModelReply) error {
	if len(reply.Calls) == 0 {
		return fmt.Errorf("no calls in %s", show(reply))
	}
	if reply.Stop != ports.StopCalls {
		return fmt.Errorf("a reply with calls stopped for %q, not %q", reply.Stop, ports.StopCalls)
	}
	seen := map[string]bool{}
	for i, c := range reply.Calls {
		switch {
		case c.ID == "":
			return fmt.Errorf("call %d has no id", i)
		case seen[c.ID]:
			return fmt.Errorf("two calls have the id %q", c.ID)
		case c.Name == "":
			return fmt.Errorf("call %d has no name", i)
		case !json.Valid(c.Arguments):
			return fmt.Errorf("the arguments of call %d are not JSON: %q", i, c.Arguments)
		}
		seen[c.ID] = true
	}
	return nil
}

func sameCalls(got, want []ports.Call, ids bool) error {
	if len(got) != len(want) {
		return fmt.Errorf("%d calls were made, %d arrived: %s", len(want), len(got), show(got))
	}
	for i := range want {
		if got[i].Name != want[i].Name || !sameJSON(got[i].Arguments, want[i].Arguments) || ids && got[i].ID != want[i].ID {
			return fmt.Errorf("call %d was made as %s and arrived as %s", i, show(want[i]), show(got[i]))
		}
	}
	return nil
}

func sameJSON(a, b json.RawMessage) bool {
	var x, y any
	if json.Unmarshal(a, &x) != nil || json.Unmarshal(b, &y) != nil {
		return false
	}
	return show(x) == show(y)
}
