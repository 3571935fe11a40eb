package agent

import (
	"cmp"
	"context"

	"dragoman/ports"
)

// UsedTool is a tool as a recorded turn used it.
type UsedTool struct {
	Name  string
	Class ports.Class  // as it was recorded with a call that began, else as far as the order of calls shows it
	Was   ports.Policy // what the rules of then said of it
}

// UsedTools are the tools that a recorded turn called and that were there, by
// the first call.
func UsedTools(rec ports.Recording) []UsedTool {
	u := usage{place: map[string]int{}}
	for _, st := range rec.Steps {
		switch st.Kind {
		case ports.StepReply:
			var b replyBody
			if read(st.Step(), &b) == nil {
				u.reply(b, st.Index, rec.Questions)
			}
		case ports.StepStart:
			var b startBody
			if read(st.Step(), &b) == nil {
				u.start(st.Call, b.Class)
			}
		case ports.StepResult:
			var b resultBody
			if read(st.Step(), &b) == nil {
				u.result(st.Call, b.CallResult)
			}
		}
	}
	for i := range u.tools {
		u.tools[i].Class = cmp.Or(u.tools[i].Class, ports.ClassUnsafe)
	}
	return u.tools
}

// usage is what a journal tells of tools.
type usage struct {
	tools []UsedTool
	place map[string]int // in tools, by name
	names []string       // of the present reply's calls
	begun map[int]bool   // those of them that were begun or have a result
}

// tool is the tool of a call of the present reply, nil if there is no such call.
func (u *usage) tool(call int) *UsedTool {
	if call < 0 || call >= len(u.names) {
		return nil
	}
	i, ok := u.place[u.names[call]]
	if !ok {
		i = len(u.tools)
		u.place[u.names[call]] = i
		u.tools = append(u.tools, UsedTool{Name: u.names[call], Was: ports.PolicyAllow})
	}
	return &u.tools[i]
}

func (u *usage) reply(b replyBody, step int, questions []ports.Question) {
	u.names, u.begun = nil, map[int]bool{}
	for _, c := range b.Calls {
		u.names = append(u.names, c.Name)
	}
	for _, q := range questions {
		if t := u.tool(q.Call); t != nil && q.Kind == ports.QuestionApproval && q.Step == step {
			t.Was = ports.PolicyAsk
		}
	}
}

// start notes the class of a call. One that changes things waits for those before
// it, unless they only read.
func (u *usage) start(call int, class ports.Class) {
	t := u.tool(call)
	if t == nil {
		return
	}
	t.Class = class
	for i := 0; i < call && class != ports.ClassRead; i++ {
		if before := u.tool(i); !u.begun[i] && before.Class == "" {
			before.Class = ports.ClassRead
		}
	}
	u.begun[call] = true
}

func (u *usage) result(call int, r ports.CallResult) {
	gone := !u.begun[call] && (r.Outcome == ports.CallNotFound || r.Outcome == ports.CallTransport)
	if gone || call < 0 || call >= len(u.names) {
		return
	}
	t := u.tool(call)
	switch {
	case r.Outcome == ports.CallDenied && r.Text == wasDenied:
		t.Was = ports.PolicyDeny
	case r.Outcome == ports.CallDenied:
		t.Was = ports.PolicyAsk
	}
	u.begun[call] = true
}

// RulesOf are the rules that a recorded turn ran by, as far as it shows them: for
// a recording of a gateway whose config is not at hand.
func RulesOf(rec ports.Recording) Rules {
	r := rulesOf{}
	for _, u := range UsedTools(rec) {
		r[u.Name] = u
	}
	return r
}

type rulesOf map[string]UsedTool

func (rulesOf) Specs(context.Context, ports.Conversation) []ports.ToolSpec { return nil }

func (r rulesOf) Check(_ context.Context, c ports.Call) ports.Ruling {
	u, ok := r[c.Name]
	switch {
	case !ok:
		return ports.Ruling{Outcome: ports.CallNotFound, Why: "There was no such tool."}
	case u.Was == ports.PolicyDeny:
		return ports.Ruling{Policy: u.Was, Class: u.Class, Outcome: ports.CallDenied, Why: wasDenied}
	}
	return ports.Ruling{Policy: u.Was, Class: u.Class}
}

// wasDenied is what a call got that the admin did not allow.
const wasDenied = "The admin does not allow this tool."
