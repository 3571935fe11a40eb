package openai

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"dragoman/ports"
	"dragoman/tests/modeltest"
)

// Pieces of streams, as the provider sends them, but for members of no interest.
const (
	createdEvent   = `{"type":"response.created","response":{"id":"resp_1","status":"in_progress","output":[]}}`
	completedEvent = `{"type":"response.completed","response":{"status":"completed","output":[]}}`
)

func textEvent(index int, delta string) string {
	return fmt.Sprintf(`{"type":"response.output_text.delta","output_index":%d,"content_index":0,"delta":%q}`, index, delta)
}

func addedEvent(index int, item string) string {
	return fmt.Sprintf(`{"type":"response.output_item.added","output_index":%d,"item":%s}`, index, item)
}

func doneEvent(index int, item string) string {
	return fmt.Sprintf(`{"type":"response.output_item.done","output_index":%d,"item":%s}`, index, item)
}

func incompleteEvent(reason string) string {
	return `{"type":"response.incomplete","response":{"status":"incomplete","incomplete_details":{"reason":"` + reason + `"}}}`
}

func TestOddResponses(t *testing.T) {
	p := newPeer(t)
	m := testModel(t, p.URL+"/v1", overResponses)
	const callA = `{"type":"function_call","call_id":"a","name":"n","arguments":"{\"x\":1}"}`
	for _, c := range []struct {
		name   string
		frames []string
		text   string
		calls  []string
		stop   ports.StopReason
	}{
		{name: "only the end", frames: []string{`{"type":"response.completed","response":{"status":"completed","output":[{"type":"message","content":[{"type":"output_text","text":"x"}]},` + callA + `]}}`},
			text: "x", calls: []string{`a n {"x":1}`}, stop: ports.StopCalls},
		{name: "no deltas", frames: []string{createdEvent, doneEvent(0, `{"type":"message","content":[{"type":"output_text","text":"x"}]}`), doneEvent(1, callA), completedEvent},
			text: "x", calls: []string{`a n {"x":1}`}, stop: ports.StopCalls},
		{name: "deltas alone", frames: []string{textEvent(0, "x"), textEvent(0, "y"), `{"type":"response.completed"}`}, text: "xy", stop: ports.StopEnd},
		{name: "the end says it again", frames: []string{textEvent(0, "x"), `{"type":"response.completed","response":{"status":"completed","output":[{"type":"message","content":[{"type":"output_text","text":"x"}]}]}}`}, text: "x", stop: ports.StopEnd},
		{name: "refusal", frames: []string{`{"type":"response.refusal.delta","output_index":0,"delta":"I "}`, doneEvent(0, `{"type":"message","content":[{"type":"refusal","refusal":"I won't."}]}`), completedEvent}, text: "I won't.", stop: ports.StopEnd},
		{name: "two messages", frames: []string{textEvent(0, "Let me see."), textEvent(2, "A cat."), completedEvent}, text: "Let me see.\n\nA cat.", stop: ports.StopEnd},
		{name: "all numbered 0", frames: []string{textEvent(0, "x"), addedEvent(0, callA), doneEvent(0, callA), addedEvent(0, `{"type":"function_call","call_id":"b","name":"m","arguments":""}`),
			doneEvent(0, `{"type":"function_call","call_id":"b","name":"m","arguments":"{}"}`), completedEvent}, text: "x", calls: []string{`a n {"x":1}`, "b m {}"}, stop: ports.StopCalls},
		{name: "another call id at the end", frames: []string{addedEvent(0, `{"type":"function_call","call_id":"a","name":"n","arguments":""}`), doneEvent(0, `{"type":"function_call","call_id":"b","name":"n","arguments":"{}"}`), completedEvent},
			calls: []string{"b n {}"}, stop: ports.StopCalls},
		{name: "types in the names of events", frames: []string{"{}\n\nevent: response.output_text.delta\ndata: " + `{"output_index":0,"delta":"x"}` + "\n\nevent: response.completed\ndata: {}"}, text: "x", stop: ports.StopEnd},
		{name: "[DONE] behind the end", frames: []string{textEvent(0, "x"), completedEvent, "[DONE]"}, text: "x", stop: ports.StopEnd},
		{name: "members of no form", frames: []string{`{"type":"response.output_text.delta","output_index":"0","delta":"x"}`, `{"type":"response.output_item.added","output_index":1,"item":7}`, `{"type":"response.output_item.done","item":null}`,
			`{"type":"response.something.new","delta":{}}`, `{"type":"response.completed","response":{"status":"completed","output":[null,5],"usage":[]}}`}, text: "x", stop: ports.StopEnd},
		{name: "tools of the provider's own", frames: []string{doneEvent(0, `{"type":"web_search_call","action":{}}`), textEvent(1, "x"), completedEvent}, text: "x", stop: ports.StopEnd},
		{name: "cut in the second call", frames: []string{doneEvent(0, callA), addedEvent(1, `{"type":"function_call","call_id":"b","name":"rm","arguments":""}`), incompleteEvent("max_output_tokens")},
			calls: []string{`a n {"x":1}`}, stop: ports.StopLength},
		{name: "incomplete under the name of complete", frames: []string{textEvent(0, "x"), `{"type":"response.completed","response":{"status":"incomplete"}}`}, text: "x", stop: ports.StopLength},
	} {
		t.Run(c.name, func(t *testing.T) {
			p.says(c.frames...)
			var shown strings.Builder
			reply, err := m.Generate(t.Context(), hello(), func(d string) { shown.WriteString(d) })
			if err != nil {
				t.Fatal(err)
			}
			if reply.Text != c.text || shown.String() != c.text || reply.Stop != c.stop || !slices.Equal(calls(reply), c.calls) {
				t.Errorf("%q (shown %q) %s %q", reply.Text, shown.String(), reply.Stop, calls(reply))
			}
		})
	}
}

// A tool must not speak for the provider: one that names a property so would have
// every request be taken for one that is too large.
func TestAPropertysNameIsNoFaultOfThePrompt(t *testing.T) {
	p := newPeer(t)
	r := hello()
	r.Tools = []ports.ToolSpec{{Name: "evil__x", InputSchema: json.RawMessage(`{"type":"object"}`)}}
	for _, m := range []*Model{testModel(t, p.URL+"/v1"), testModel(t, p.URL+"/v1", overResponses)} {
		p.answer(func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, `{"error":{"message":"Invalid schema for function 'evil__x': In context=('properties', 'context window', 'credit balance is too low'), array schema missing items.","type":"invalid_request_error","param":"tools[0].parameters","code":"invalid_function_parameters"}}`, http.StatusBadRequest)
		})
		_, err := m.Generate(t.Context(), r, nil)
		var refused *ports.RefusedTool
		if !ports.IsKind(err, ports.KindInvalid) || !errors.As(err, &refused) || refused.Name != "evil__x" {
			t.Errorf("%v: %v", ports.KindOf(err), err)
		}
	}
}

// What the peer says in an odd place is quoted too, and may be our own key.
func TestNoKeyInTheReasonOfAnIncompleteReply(t *testing.T) {
	p := newPeer(t)
	m := testModel(t, p.URL+"/v1", overResponses)
	p.says(textEvent(0, "x"), incompleteEvent(strings.Repeat("x", 2000)+testKey))
	_, err := m.Generate(t.Context(), hello(), nil)
	if !ports.IsKind(err, ports.KindProtocol) || strings.Contains(err.Error(), testKey[:8]) || len(err.Error()) > 1200 {
		t.Errorf("%v", err)
	}
	p.says(textEvent(0, "x"), incompleteEvent("the key "+testKey+" is tired"))
	if _, err = m.Generate(t.Context(), hello(), nil); strings.Contains(err.Error(), testKey) || !strings.Contains(err.Error(), "is tired") {
		t.Errorf("%v", err)
	}
}

func TestKindsOfResponses(t *testing.T) {
	p := newPeer(t)
	m := testModel(t, p.URL+"/v1", overResponses)
	failed := func(code, message string) []string {
		return []string{textEvent(0, "x"), `{"type":"response.failed","response":{"status":"failed","error":{"code":"` + code + `","message":"` + message + `"}}}`}
	}
	for name, c := range map[string]struct {
		frames []string
		kind   ports.Kind
	}{
		"server error":                      {failed("server_error", "oops"), ports.KindTemporary},
		"rate limit":                        {failed("rate_limit_exceeded", "slow"), ports.KindRateLimited},
		"overloaded":                        {failed("server_is_overloaded", "busy"), ports.KindTemporary},
		"no money":                          {failed("insufficient_quota", "pay"), ports.KindUnauthorized},
		"overflow":                          {failed("context_length_exceeded", "too long"), ports.KindTooLarge},
		"overflow in words":                 {failed("invalid_prompt", "Your input exceeds the context window of this model."), ports.KindTooLarge},
		"a prompt against the rules":        {failed("invalid_prompt", "flagged as potentially violating our usage policy"), ports.KindRefused},
		"a prompt of no form":               {failed("invalid_prompt", "?"), ports.KindInvalid},
		"a picture of no form":              {failed("invalid_image_format", "?"), ports.KindInvalid},
		"a picture too large":               {failed("image_too_large", "?"), ports.KindInvalid},
		"a picture against the rules":       {failed("image_content_policy_violation", "?"), ports.KindRefused},
		"biology":                           {failed("bio_policy", "?"), ports.KindRefused},
		"failed without a reason":           {[]string{`{"type":"response.failed","response":{"status":"failed","error":null}}`}, ports.KindProtocol},
		"failed under the name of complete": {[]string{`{"type":"response.completed","response":{"status":"failed","error":{"code":"server_error","message":"x"}}}`}, ports.KindTemporary},
		"cancelled":                         {[]string{`{"type":"response.completed","response":{"status":"cancelled"}}`}, ports.KindProtocol},
		"error event":                       {[]string{`{"type":"error","code":"rate_limit_exceeded","message":"slow","param":null}`}, ports.KindRateLimited},
		"error event in a member":           {[]string{`{"type":"error","error":{"type":"invalid_request_error","code":"context_length_exceeded","message":"long"}}`}, ports.KindTooLarge},
		"error event of the key":            {[]string{`{"type":"error","error":{"code":"invalid_api_key","message":"no"}}`}, ports.KindUnauthorized},
		"error without the name":            {[]string{`{"error":{"message":"busy","type":"server_error"}}`}, ports.KindTemporary},
		"the filter":                        {[]string{textEvent(0, "x"), incompleteEvent("content_filter")}, ports.KindRefused},
		"incomplete for another reason":     {[]string{textEvent(0, "x"), incompleteEvent("steered")}, ports.KindProtocol},
		"a call without a name":             {[]string{doneEvent(0, `{"type":"function_call","call_id":"a","arguments":"{}"}`), completedEvent}, ports.KindProtocol},
		"an event of a wrong shape":         {[]string{`[1,2]`}, ports.KindProtocol},
		"done without the end":              {[]string{textEvent(0, "x"), "[DONE]"}, ports.KindProtocol},
		"chat where responses are wanted":   {[]string{oneWord, "[DONE]"}, ports.KindProtocol},
	} {
		t.Run(name, func(t *testing.T) {
			p.says(c.frames...)
			if reply, err := m.Generate(t.Context(), hello(), nil); !ports.IsKind(err, c.kind) {
				t.Errorf("%s: %v (%+v); want %s", ports.KindOf(err), err, reply, c.kind)
			}
		})
	}
}

func TestTokensOfResponsesAreCounted(t *testing.T) {
	p := newPeer(t)
	m := testModel(t, p.URL+"/v1", overResponses)
	want := ports.Tokens{Input: 100, CachedInput: 64, CacheWrite: 32, Output: 7}
	if err := p.script(t.Context(), modeltest.Act{Do: modeltest.Reply, Text: "x", Usage: want}); err != nil {
		t.Fatal(err)
	}
	if reply, err := m.Generate(t.Context(), hello(), nil); err != nil || reply.Usage != want {
		t.Errorf("%+v %v", reply.Usage, err)
	}
}

// sentInput is the input of the request that follows a reply.
func sentInput(t *testing.T, m *Model, e ports.Entry, more ...ports.Entry) []string {
	t.Helper()
	r := hello()
	r.Entries = append(append(r.Entries, e), more...)
	raw, err := m.responsesBody(r, options{cipher: true, state: true})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := checkResponses(raw); err != nil {
		t.Errorf("the provider would refuse it: %v\n%s", err, raw)
	}
	var sent struct{ Input []json.RawMessage }
	if err := json.Unmarshal(raw, &sent); err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, item := range sent.Input[1:] {
		out = append(out, canonical(t, string(item)))
	}
	return out
}

func TestReasoningGoesBackInItsPlace(t *testing.T) {
	p := newPeer(t)
	m := testModel(t, p.URL+"/v1", overResponses)
	p.says(createdEvent,
		addedEvent(0, `{"type":"reasoning","id":"rs_0","summary":[],"encrypted_content":"be"}`),
		doneEvent(0, `{"type":"reasoning","id":"rs_0","status":"completed","summary":[{"type":"summary_text","text":"hm"}],"content":[{"type":"reasoning_text","text":"secret"}],"encrypted_content":"before"}`),
		addedEvent(1, `{"type":"message","id":"msg_1","role":"assistant","phase":"commentary","content":[]}`), textEvent(1, "Let me see – "), textEvent(1, "now."),
		doneEvent(2, `{"type":"reasoning","id":"rs_2","encrypted_content":"midway"}`),
		doneEvent(3, `{"type":"function_call","id":"fc_3","call_id":"a","name":"n","arguments":"{}","status":"completed"}`),
		textEvent(4, "And"), doneEvent(5, `{"type":"function_call","call_id":"a","name":"m","arguments":"{}"}`),
		doneEvent(6, `{"type":"reasoning","id":"rs_6","summary":[],"encrypted_content":"of nothing"}`), completedEvent)
	reply, err := m.Generate(t.Context(), hello(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if reply.Text != "Let me see – now.\n\nAnd" || !slices.Equal(calls(reply), []string{"a n {}", "a_2 m {}"}) {
		t.Fatalf("%q %q", reply.Text, calls(reply))
	}
	said := ports.Entry{Role: ports.RoleAssistant, Text: reply.Text, Calls: reply.Calls, State: reply.State, Model: reply.Model}
	results := []ports.Entry{{Role: ports.RoleTool, CallID: "a", Text: "1"}, {Role: ports.RoleTool, CallID: "a_2", Text: "2"}}
	outputs := []string{`{"call_id":"a","output":"1","type":"function_call_output"}`, `{"call_id":"a_2","output":"2","type":"function_call_output"}`}
	want := append([]string{
		`{"encrypted_content":"before","summary":[{"text":"hm","type":"summary_text"}],"type":"reasoning"}`,
		`{"content":"Let me see – now.","phase":"commentary","role":"assistant","type":"message"}`,
		`{"encrypted_content":"midway","summary":[],"type":"reasoning"}`,
		`{"arguments":"{}","call_id":"a","name":"n","type":"function_call"}`,
		`{"content":"And","role":"assistant","type":"message"}`,
		`{"arguments":"{}","call_id":"a_2","name":"m","type":"function_call"}`,
	}, outputs...)
	if got := sentInput(t, m, said, results...); !slices.Equal(got, want) {
		t.Errorf("sent back as\n%s", strings.Join(got, "\n"))
	}

	plain := append([]string{
		`{"content":"Let me see – now.\n\nAnd","role":"assistant","type":"message"}`,
		`{"arguments":"{}","call_id":"a","name":"n","type":"function_call"}`,
		`{"arguments":"{}","call_id":"a_2","name":"m","type":"function_call"}`,
	}, outputs...)
	for name, change := range map[string]func(*ports.Entry){
		"another model's":       func(e *ports.Entry) { e.Model = "elsewhere/x" },
		"nobody's":              func(e *ports.Entry) { e.Model = "" },
		"the other wire's":      func(e *ports.Entry) { e.State = json.RawMessage(`{"reasoning_content":"hm"}`) },
		"of more than was said": func(e *ports.Entry) { e.State = json.RawMessage(`[{"type":"message","size":9999}]`) },
		"of less than was said": func(e *ports.Entry) { e.State = json.RawMessage(`[{"type":"message","size":3}]`) },
		"of a size below 0":     func(e *ports.Entry) { e.State = json.RawMessage(`[{"type":"message","size":-3}]`) },
		"of calls that are gone": func(e *ports.Entry) {
			e.State = json.RawMessage(strings.Repeat(`[{"type":"function_call"}`, 1) + strings.Repeat(`,{"type":"function_call"}`, 5) + `]`)
		},
		"broken": func(e *ports.Entry) { e.State = json.RawMessage(`[{"type":`) },
	} {
		e := said
		change(&e)
		if got := sentInput(t, m, e, results...); !slices.Equal(got, plain) {
			t.Errorf("a state that is %s: sent back as\n%s", name, strings.Join(got, "\n"))
		}
	}

	// The chat wire of the same model does not take it for its own either.
	r := hello()
	r.Entries = append(append(r.Entries, said), results...)
	chat, err := testModel(t, p.URL+"/v1").body(r)
	if err != nil || strings.Contains(string(chat), "before") || strings.Contains(string(chat), "reasoning") {
		t.Errorf("%s, %v", chat, err)
	}
}

// A call that the limit cut off is gone; what was thought before the others is not.
func TestACutReplyKeepsItsReasoning(t *testing.T) {
	p := newPeer(t)
	m := testModel(t, p.URL+"/v1", overResponses)
	p.says(doneEvent(0, `{"type":"reasoning","encrypted_content":"thought"}`), textEvent(1, "x"),
		doneEvent(2, `{"type":"reasoning","encrypted_content":"of what is gone"}`), addedEvent(3, `{"type":"function_call","call_id":"b","name":"rm","arguments":"{"}`), incompleteEvent("max_output_tokens"))
	reply, err := m.Generate(t.Context(), hello(), nil)
	if err != nil || reply.Stop != ports.StopLength || len(reply.Calls) != 0 {
		t.Fatalf("%+v, %v", reply, err)
	}
	want := []string{`{"encrypted_content":"thought","summary":[],"type":"reasoning"}`, `{"content":"x","role":"assistant","type":"message"}`}
	if got := sentInput(t, m, ports.Entry{Role: ports.RoleAssistant, Text: reply.Text, State: reply.State, Model: reply.Model}); !slices.Equal(got, want) {
		t.Errorf("sent back as\n%s", strings.Join(got, "\n"))
	}
}

func TestPlainRepliesHaveNoState(t *testing.T) {
	p := newPeer(t)
	if err := p.script(t.Context(), modeltest.Act{Do: modeltest.Reply, Text: "x", Calls: []ports.Call{{ID: "a", Name: "n", Arguments: json.RawMessage(`{}`)}}}); err != nil {
		t.Fatal(err)
	}
	if reply, err := testModel(t, p.URL+"/v1", overResponses).Generate(t.Context(), hello(), nil); err != nil || reply.State != nil {
		t.Errorf("%s, %v", reply.State, err)
	}
}

// What can be left out, and is refused, is left out: a model that does not reason
// refuses to be asked for it, and reasoning cannot be read with another key.
func TestWhatIsOptionalIsLeftOut(t *testing.T) {
	said := ports.Entry{Role: ports.RoleAssistant, Text: "x", State: json.RawMessage(`[{"type":"reasoning","encrypted_content":"old","summary":[]},{"type":"message","size":1}]`)}
	for _, c := range []struct{ refuses, message, code string }{
		{`"include"`, "Encrypted content is not supported with this model.", ""},
		{`"old"`, "The encrypted content could not be verified.", "invalid_encrypted_content"},
	} {
		p := newPeer(t)
		m := testModel(t, p.URL+"/v1", overResponses)
		r := hello()
		said.Model = m.name
		r.Entries = append(r.Entries, said, ports.Entry{Role: ports.RoleUser, Text: "And?"})
		requests := 0
		p.answer(func(w http.ResponseWriter, _ *http.Request) {
			requests++
			if seen, _ := p.got(t.Context()); strings.Contains(string(seen.Body), c.refuses) {
				refuse(w, 400, "invalid_request_error", c.code, c.message)
				return
			}
			s := newSSE(w)
			s.frame(textEvent(0, "y"))
			s.frame(completedEvent)
		})
		if reply, err := m.Generate(t.Context(), r, nil); err != nil || reply.Text != "y" || requests != 2 {
			t.Errorf("%s: %+v, %v after %d requests", c.message, reply, err, requests)
		}
		p.answer(func(w http.ResponseWriter, _ *http.Request) {
			refuse(w, 400, "invalid_request_error", c.code, c.message)
		})
		if reply, err := m.Generate(t.Context(), r, nil); !ports.IsKind(err, ports.KindInvalid) {
			t.Errorf("%s, for ever: %+v, %v", c.message, reply, err)
		}
	}
}
