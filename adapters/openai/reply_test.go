package openai

import (
	"encoding/json"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"testing"

	"dragoman/ports"
)

// calls gives a reply's calls as "id name arguments".
func calls(r ports.ModelReply) []string {
	var out []string
	for _, c := range r.Calls {
		out = append(out, c.ID+" "+c.Name+" "+string(c.Arguments))
	}
	return out
}

func TestOddStreams(t *testing.T) {
	p := newPeer(t)
	m := testModel(t, p.URL+"/v1")
	delta := func(d, finish string) string {
		return `{"choices":[{"index":0,"delta":` + d + `,"finish_reason":` + finish + `}]}`
	}
	for _, c := range []struct {
		name   string
		frames []string
		text   string
		calls  []string
		stop   ports.StopReason
	}{
		{name: "no [DONE]", frames: []string{delta(`{"content":"x"}`, `"stop"`)}, text: "x", stop: ports.StopEnd},
		{name: "a null error", frames: []string{`{"error":null,"choices":[{"index":0,"delta":{"content":"x"},"finish_reason":"stop"}]}`}, text: "x", stop: ports.StopEnd},
		{name: "null content, no choices", frames: []string{`{"choices":[]}`, delta(`{"content":null}`, `null`), delta(`{}`, `"eos"`)}, stop: ports.StopEnd},
		{name: "two choices", frames: []string{`{"choices":[{"index":0,"delta":{"content":"a"}},{"index":1,"delta":{"content":"b"}}]}`, delta(`{}`, `"stop"`)}, text: "a", stop: ports.StopEnd},
		{name: "refusal", frames: []string{delta(`{"refusal":"I "}`, `null`), delta(`{"refusal":"won't."}`, `"stop"`)}, text: "I won't.", stop: ports.StopEnd},
		{name: "calls that end with stop", frames: []string{delta(`{"tool_calls":[{"index":0,"id":"a","function":{"name":"n","arguments":"{}"}}]}`, `"stop"`)},
			calls: []string{"a n {}"}, stop: ports.StopCalls},
		{name: "all numbered 0", frames: []string{delta(`{"tool_calls":[{"index":0,"id":"a","function":{"name":"n","arguments":"{}"}},{"index":0,"id":"b","function":{"name":"n","arguments":"{}"}}]}`, `"tool_calls"`)},
			calls: []string{"a n {}", "b n {}"}, stop: ports.StopCalls},
		{name: "id and name in each piece", frames: []string{
			delta(`{"tool_calls":[{"index":0,"id":"a","function":{"name":"n","arguments":"{\"x\""}}]}`, `null`),
			delta(`{"tool_calls":[{"index":0,"id":"a","function":{"name":"n","arguments":":1}"}}]}`, `"tool_calls"`)},
			calls: []string{`a n {"x":1}`}, stop: ports.StopCalls},
		{name: "pieces of two calls mixed", frames: []string{
			delta(`{"tool_calls":[{"index":0,"id":"a","function":{"name":"n","arguments":"{\"x\""}},{"index":1,"id":"b","function":{"name":"m","arguments":"{\"y\""}}]}`, `null`),
			delta(`{"tool_calls":[{"index":1,"function":{"arguments":":2}"}},{"index":0,"function":{"arguments":":1}"}}]}`, `"tool_calls"`)},
			calls: []string{`a n {"x":1}`, `b m {"y":2}`}, stop: ports.StopCalls},
		{name: "encoded twice", frames: []string{delta(`{"tool_calls":[{"index":0,"id":"a","function":{"name":"n","arguments":"\"{\\\"x\\\":1}\""}}]}`, `"tool_calls"`)},
			calls: []string{`a n {"x":1}`}, stop: ports.StopCalls},
		{name: "null arguments", frames: []string{delta(`{"tool_calls":[{"index":0,"id":"a","function":{"name":"n","arguments":"null"}}]}`, `"tool_calls"`)},
			calls: []string{`a n {}`}, stop: ports.StopCalls},
		{name: "content in parts", frames: []string{delta(`{"content":[{"type":"thinking","thinking":[{"type":"text","text":"hm"}]},{"type":"text","text":"a"},7,{"type":"text","text":"b"}]}`, `"stop"`)},
			text: "ab", stop: ports.StopEnd},
		{name: "content of no form", frames: []string{delta(`{"content":{"a":1},"refusal":true}`, `null`), delta(`null`, `null`), delta(`[1]`, `null`), delta(`{"content":5}`, `"stop"`)},
			text: "5", stop: ports.StopEnd},
		{name: "choices of no form", frames: []string{`{"choices":{"a":1}}`, `{"choices":[null,5]}`, `null`, delta(`{"content":"x"}`, `7`)}, text: "x", stop: ports.StopEnd},
		{name: "no index", frames: []string{`{"choices":[{"delta":{"tool_calls":[{"id":"a","function":{"name":"n","arguments":"{\"x\""}}]}}]}`,
			`{"choices":[{"delta":{"tool_calls":[{"function":{"arguments":":1}"}}]},"finish_reason":"tool_calls"}]}`},
			calls: []string{`a n {"x":1}`}, stop: ports.StopCalls},
		{name: "index in a string, id a number", frames: []string{`{"choices":[{"index":"0","delta":{"tool_calls":[{"index":"1","id":7,"function":{"name":"n","arguments":""}},{"index":1.0,"function":{"arguments":"{}"}}]},"finish_reason":"stop"}]}`},
			calls: []string{"7 n {}"}, stop: ports.StopCalls},
		{name: "arguments as an object", frames: []string{delta(`{"tool_calls":[{"index":0,"id":"a","function":{"name":"n","arguments":{"x":"}"}}}]}`, `"tool_calls"`)},
			calls: []string{`a n {"x":"}"}`}, stop: ports.StopCalls},
		{name: "what is no call beside one", frames: []string{delta(`{"tool_calls":[null,5,{"index":0,"id":"a","function":{"name":"n","arguments":"{}"}}]}`, `"tool_calls"`), delta(`{"tool_calls":null}`, `null`), delta(`{"tool_calls":"x"}`, `null`)},
			calls: []string{"a n {}"}, stop: ports.StopCalls},
		{name: "what is no call alone", frames: []string{delta(`{"content":"x","tool_calls":[null,5,[]]}`, `"stop"`)}, text: "x", stop: ports.StopEnd},
		{name: "names with escapes", frames: []string{delta(`{"\u0063ontent":"x"}`, `"stop"`)}, text: "x", stop: ports.StopEnd},
		{name: "cut in the second call", frames: []string{
			delta(`{"tool_calls":[{"index":0,"id":"a","function":{"name":"n","arguments":"{\"x\":1}"}}]}`, `null`),
			delta(`{"tool_calls":[{"index":1,"id":"b","function":{"name":"rm","arguments":""}}]}`, `"length"`)},
			calls: []string{`a n {"x":1}`}, stop: ports.StopLength},
	} {
		t.Run(c.name, func(t *testing.T) {
			p.says(c.frames...)
			reply, err := m.Generate(t.Context(), hello(), nil)
			if err != nil {
				t.Fatal(err)
			}
			if reply.Text != c.text || reply.Stop != c.stop || !slices.Equal(calls(reply), c.calls) {
				t.Errorf("%q %s %q", reply.Text, reply.Stop, calls(reply))
			}
		})
	}
}

func TestCallsWithoutIDsAndNumbers(t *testing.T) {
	p := newPeer(t)
	p.says(`{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"name":"n","arguments":"{\"x\":1}"}}]}}]}`,
		`{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"name":"n","arguments":"{\"x\":2}"}}]},"finish_reason":"tool_calls"}]}`)
	reply, err := testModel(t, p.URL+"/v1").Generate(t.Context(), hello(), nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(reply.Calls) != 2 || string(reply.Calls[1].Arguments) != `{"x":2}` || reply.Calls[0].ID == reply.Calls[1].ID {
		t.Errorf("%q", calls(reply))
	}
}

func TestStateIsJoinedAndSentBack(t *testing.T) {
	p := newPeer(t)
	p.says(
		`{"choices":[{"index":0,"delta":{"reasoning_content":"Let ","reasoning_details":[{"i":1}],"annotations":[1],"mark":{"v":1}}}]}`,
		`{"choices":[{"index":0,"delta":{"reasoning_content":"me.","reasoning_details":[{"i":2}],"mark":{"v":2},"none":null,"content":"x"},"finish_reason":"stop"}]}`)
	m := testModel(t, p.URL+"/v1")
	reply, err := m.Generate(t.Context(), hello(), nil)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"mark":{"v":2},"reasoning_content":"Let me.","reasoning_details":[{"i":1},{"i":2}]}`
	if got := canonical(t, string(reply.State)); got != want {
		t.Fatalf("state %s", got)
	}
	r := hello()
	r.Entries = append(r.Entries, ports.Entry{Role: ports.RoleAssistant, Text: "x", State: reply.State, Model: reply.Model})
	raw, err := m.body(r)
	if err != nil {
		t.Fatal(err)
	}
	var sent struct{ Messages []json.RawMessage }
	if err := json.Unmarshal(raw, &sent); err != nil {
		t.Fatal(err)
	}
	if got := canonical(t, string(sent.Messages[1])); got != canonical(t, `{"role":"assistant","content":"x",`+want[1:]) {
		t.Errorf("sent back as %s", got)
	}
}

func TestTokensAreCounted(t *testing.T) {
	p := newPeer(t)
	m := testModel(t, p.URL+"/v1")
	const end = `{"choices":[{"index":0,"delta":{"content":"x"},"finish_reason":"stop"}]}`
	for name, c := range map[string]struct {
		frames []string
		want   ports.Tokens
	}{
		"in a frame of its own": {[]string{end, `{"choices":[],"usage":{"prompt_tokens":100,"completion_tokens":7,"prompt_tokens_details":{"cached_tokens":64}}}`}, ports.Tokens{Input: 100, CachedInput: 64, Output: 7}},
		"in the last one": {[]string{`{"choices":[{"index":0,"delta":{"content":"x"},"finish_reason":"stop"}],"usage":{"prompt_tokens":9,"completion_tokens":2,"prompt_tokens_details":null}}`},
			ports.Tokens{Input: 9, Output: 2}},
		"running":   {[]string{`{"choices":[],"usage":{"prompt_tokens":9,"completion_tokens":1}}`, end, `{"choices":[],"usage":{"prompt_tokens":9,"completion_tokens":4}}`, `{"usage":null}`}, ports.Tokens{Input: 9, Output: 4}},
		"odd forms": {[]string{end, `{"usage":{"prompt_tokens":"12","completion_tokens":3.0,"prompt_tokens_details":[]}}`}, ports.Tokens{Input: 12, Output: 3}},
		"written to the cache": {[]string{end, `{"usage":{"prompt_tokens":2600,"completion_tokens":3,"prompt_tokens_details":{"cached_tokens":2000,"cache_write_tokens":400}}}`},
			ports.Tokens{Input: 2600, CachedInput: 2000, CacheWrite: 400, Output: 3}},
		"none": {[]string{end}, ports.Tokens{}},
	} {
		t.Run(name, func(t *testing.T) {
			p.says(append(c.frames, "[DONE]")...)
			if reply, err := m.Generate(t.Context(), hello(), nil); err != nil || reply.Usage != c.want {
				t.Errorf("%+v %v", reply.Usage, err)
			}
		})
	}
}

func TestNothingComesFromTheEnvironment(t *testing.T) {
	for _, name := range []string{"OPENAI_API_KEY", "OPENAI_ORG_ID", "OPENAI_PROJECT_ID", "OPENAI_ADMIN_KEY"} {
		t.Setenv(name, "leaked")
	}
	t.Setenv("OPENAI_BASE_URL", "http://127.0.0.1:1/")
	t.Setenv("OPENAI_CUSTOM_HEADERS", "X-Test: leaked")
	p := newPeer(t)
	var got http.Header
	p.answer(func(w http.ResponseWriter, r *http.Request) {
		got = r.Header
		newSSE(w).frame(`{"choices":[{"index":0,"delta":{"content":"x"},"finish_reason":"stop"}]}`)
	})
	m := testModel(t, p.URL+"/v1", func(c *Config) { c.APIKey = "" })
	if _, err := m.Generate(t.Context(), hello(), nil); err != nil {
		t.Fatal(err)
	}
	for name, values := range got {
		if strings.Contains(strings.Join(values, " "), "leaked") || name == "Authorization" {
			t.Errorf("%s: %s", name, values)
		}
	}
}

func TestLogsNeitherTextNorKey(t *testing.T) {
	p := newPeer(t)
	var log strings.Builder
	m, err := New(testConfig(p.URL+"/v1"), slog.New(slog.NewJSONHandler(&log, &slog.HandlerOptions{Level: slog.LevelInfo})))
	if err != nil {
		t.Fatal(err)
	}
	p.says(`{"choices":[{"index":0,"delta":{"content":"the answer"},"finish_reason":"stop"}]}`)
	if _, err := m.Generate(t.Context(), hello(), nil); err != nil {
		t.Fatal(err)
	}
	if strings.Contains(log.String(), testKey) || strings.Contains(log.String(), "the answer") {
		t.Error(log.String())
	}
}

func canonical(t *testing.T, text string) string {
	t.Helper()
	dec := json.NewDecoder(strings.NewReader(text))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		t.Fatal(err)
	}
	raw, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}
