package anthropic

import (
	"bytes"
	"encoding/json"
	"flag"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"dragoman/ports"
)

var update = flag.Bool("update", false, "write the golden files anew")

var (
	png = []byte("\x89PNG")
	// look and find are tools.
	look = ports.ToolSpec{Name: "a__look", Description: "Looks.", InputSchema: json.RawMessage(`{"$schema":"x","type":"object","properties":{"n":{"type":"integer","maximum":9007199254740993}}}`)}
	find = ports.ToolSpec{Name: "b__find", InputSchema: json.RawMessage(`{}`)}
)

func user(text string) ports.Entry { return ports.Entry{Role: ports.RoleUser, Text: text} }

func said(text string, calls ...ports.Call) ports.Entry {
	return ports.Entry{Role: ports.RoleAssistant, Text: text, Calls: calls}
}

func call(id, name, args string) ports.Call {
	return ports.Call{ID: id, Name: name, Arguments: json.RawMessage(args)}
}

func gave(id, text string) ports.Entry {
	return ports.Entry{Role: ports.RoleTool, CallID: id, Text: text}
}

// thought is the state of a reply: a thought, its text, and its calls.
func thought(text string, calls int) json.RawMessage {
	words := "I see."
	all := []piece{{Type: "thinking", Thinking: &words, Signature: "sig-1"}, {Type: "text", Bytes: len(text)}}
	for range calls {
		all = append(all, piece{Type: "tool_use"})
	}
	return stateOf(all)
}

// fullRequest has everything in it that a request may have.
func fullRequest() ports.ModelRequest {
	picture := ports.Block{Kind: ports.BlockImage, MIME: "image/png", Data: png}
	first := said("", call("toolu_1", "a__look", `{"n":12345678901234567890}`), call("call.2", "b__find", `"{\"n"`), call("c3", "b__find", ""), call("c4", "not a tool", `{}`))
	first.State, first.Model = thought("", 4), "model.test/claude-test"
	foreign := said("A cat.\n", call("c3", "a__look", `{}`))
	foreign.State, foreign.Model = json.RawMessage(`{"reasoning_content":"foreign"}`), "elsewhere/x"
	pictured := gave("toolu_1", "a cat")
	pictured.Blocks = []ports.Block{picture}
	failed := gave("c3", "no")
	failed.IsError, failed.Blocks = true, []ports.Block{picture}
	return ports.ModelRequest{
		System: "Be brief.",
		Entries: []ports.Entry{
			said("Where were we?"),
			{Role: ports.RoleUser, Text: "Look.", Blocks: []ports.Block{picture,
				{Kind: ports.BlockAudio, MIME: "audio/mpeg", Data: []byte("mp3"), Name: "a.mp3"},
				{Kind: ports.BlockImage, MIME: "image/tiff", Name: "scan.tiff", Data: png},
				{Kind: ports.BlockResource, URI: "file:///a.txt", Text: "rain <&>"},
				{Kind: ports.BlockLink, URI: "https://example.org/", Name: "site", Text: "a page"},
			}},
			user("And quickly."),
			first,
			pictured,
			{Role: ports.RoleTool, CallID: "call.2", Text: "not an object", IsError: true},
			user("Stop that."),
			failed,
			said(" \n"),
			foreign,
			gave("c3", ""),
			gave("nobody", "lost"),
		},
		Tools:     []ports.ToolSpec{look, find},
		MaxTokens: 77,
	}
}

// TestRequestsOnTheWire compares whole request bodies with testdata/*.json, and
// has the strict peer look at them.
func TestRequestsOnTheWire(t *testing.T) {
	closing, bare := fullRequest(), fullRequest()
	closing.NoCalls, closing.MaxTokens = true, 0
	bare.Tools = nil
	for name, c := range map[string]struct {
		change func(*Config)
		r      ports.ModelRequest
	}{
		"full":     {func(*Config) {}, fullRequest()},
		"minimal":  {func(*Config) {}, hello()},
		"no_calls": {func(c *Config) { c.Thinking = "adaptive" }, closing},
		"no_tools": {func(*Config) {}, bare},
		"budget":   {func(c *Config) { c.ThinkingTokens = 2048 }, hello()},
	} {
		t.Run(name, func(t *testing.T) {
			raw, err := testModel(t, "http://model.test", c.change).body(c.r)
			if err != nil {
				t.Fatal(err)
			}
			if err := checkBody(raw); err != nil {
				t.Error(err)
			}
			var got bytes.Buffer
			if err := json.Indent(&got, raw, "", "  "); err != nil {
				t.Fatal(err)
			}
			got.WriteByte('\n')
			golden(t, name+".json", got.Bytes())
		})
	}
}

// checkBody has the strict peer look at a body that never went out.
func checkBody(raw []byte) error {
	r := httptest.NewRequest("POST", "http://model.test/v1/messages", bytes.NewReader(raw))
	r.Header.Set("Anthropic-Version", version)
	r.Header.Set("X-Api-Key", testKey)
	return checkRequest(r, raw)
}

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s is now\n%s", file, got)
	}
}

// TestThePeerIsStrict has it refuse what the API refuses; without that its silence
// proves nothing.
func TestThePeerIsStrict(t *testing.T) {
	const tools = `"tools":[{"name":"n","input_schema":{"type":"object"}}],`
	around := func(more, messages string) string {
		return `{"model":"m","max_tokens":2000,"stream":true,` + more + `"messages":[` + messages + `]}`
	}
	const asks = `{"role":"user","content":[{"type":"text","text":"a"}]}`
	const calls = `{"role":"assistant","content":[{"type":"tool_use","id":"i","name":"n","input":{}}]}`
	const gives = `{"role":"user","content":[{"type":"tool_result","tool_use_id":"i"}]}`
	if err := checkBody([]byte(around(tools, asks+","+calls+","+gives))); err != nil {
		t.Fatalf("it refuses a good request: %v", err)
	}
	for name, body := range map[string]string{
		"no max_tokens":               `{"model":"m","stream":true,"messages":[` + asks + `]}`,
		"an unknown field":            around(`"top_q":1,`, asks),
		"an unknown field of a block": around("", `{"role":"user","content":[{"type":"text","text":"a","bytes":1}]}`),
		"the assistant first":         around("", `{"role":"assistant","content":[{"type":"text","text":"a"}]},`+asks),
		"roles that repeat":           around("", asks+","+asks),
		"the assistant last":          around("", asks+`,{"role":"assistant","content":[{"type":"text","text":"a"}]}`),
		"an empty text":               around("", `{"role":"user","content":[{"type":"text","text":" "}]}`),
		"a result of no call":         around(tools, gives),
		"a call without its result":   around(tools, asks+","+calls+","+asks),
		"a result behind a text":      around(tools, asks+","+calls+`,{"role":"user","content":[{"type":"text","text":"a"},{"type":"tool_result","tool_use_id":"i"}]}`),
		"calls without tools":         around("", asks+","+calls+","+gives),
		"an id twice":                 around(tools, asks+","+calls+","+gives+","+calls+","+gives),
		"an id of another form":       around(tools, asks+","+strings.ReplaceAll(calls+","+gives, `"i"`, `"i.1"`)),
		"a tool's name":               around(`"tools":[{"name":"a.b","input_schema":{"type":"object"}}],`, asks),
		"a picture of a failure":      around(tools, asks+","+calls+`,{"role":"user","content":[{"type":"tool_result","tool_use_id":"i","is_error":true,"content":[{"type":"image","source":{"type":"base64","media_type":"image/png","data":"aaaa"}}]}]}`),
		"five marks":                  around("", `{"role":"user","content":[`+strings.TrimSuffix(strings.Repeat(`{"type":"text","text":"a","cache_control":{"type":"ephemeral"}},`, 5), ",")+`]}`),
		"a budget above max_tokens":   around(`"thinking":{"type":"enabled","budget_tokens":2000},`, asks),
		"a budget in an open round":   around(tools+`"thinking":{"type":"enabled","budget_tokens":1024},`, asks+","+calls+","+gives),
		"thinking without its seal":   around("", asks+`,{"role":"assistant","content":[{"type":"thinking","thinking":"a"},{"type":"text","text":"a"}]},`+asks),
		"thinking at the end":         around("", asks+`,{"role":"assistant","content":[{"type":"thinking","thinking":"a","signature":"s"}]},`+asks),
		"tool_choice without tools":   around(`"tool_choice":{"type":"none"},`, asks),
	} {
		if err := checkBody([]byte(body)); err == nil || strings.Contains(err.Error(), "fell over") {
			t.Errorf("it takes %s: %v", name, err)
		}
	}
}
