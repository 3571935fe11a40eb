package demo

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"dragoman/ports"
)

func newModel(t *testing.T) *Model {
	t.Helper()
	m, err := New(Config{}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// gateway is the catalog of a gateway without a config.
var gateway = []ports.ToolSpec{
	{Name: "desk__add", Description: "Adds two numbers.",
		InputSchema: json.RawMessage(`{"type":"object","properties":{"a":{"type":"number"},"b":{"type":"number"}},"required":["a","b"]}`)},
	{Name: "desk__dice", Description: "Rolls dice.",
		InputSchema: json.RawMessage(`{"type":"object","properties":{"sides":{"type":"integer","default":6}},"required":["sides"]}`)},
	{Name: "desk__note", Description: "Keeps a note for later.",
		InputSchema: json.RawMessage(`{"type":"object","properties":{"text":{"type":"string"}},"required":["text"]}`)},
	{Name: "desk__world_clock", Description: "What time it is now in a city or time zone.",
		InputSchema: json.RawMessage(`{"type":"object","properties":{"place":{"type":"string","description":"city or IANA zone"}},"required":["place"]}`)},
	{Name: "time", Description: "Current time of the gateway.", InputSchema: json.RawMessage(`{"type":"object"}`)},
	{Name: "weather", Description: "Weather now, for a place.",
		InputSchema: json.RawMessage(`{"type":"object","properties":{"city":{"type":"string"},"units":{"enum":["metric","imperial"],"default":"metric"}},"required":["city","units"]}`)},
}

func load(t *testing.T, file string) []ports.ToolSpec {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("testdata", file))
	if err != nil {
		t.Fatal(err)
	}
	var specs []ports.ToolSpec
	if err := json.Unmarshal(raw, &specs); err != nil {
		t.Fatal(err)
	}
	return specs
}

func user(text string) ports.Entry { return ports.Entry{Role: ports.RoleUser, Text: text} }

func ask(t *testing.T, tools []ports.ToolSpec, entries ...ports.Entry) ports.ModelReply {
	t.Helper()
	reply, err := newModel(t).Generate(t.Context(), ports.ModelRequest{Entries: entries, Tools: tools}, nil)
	if err != nil {
		t.Fatal(err)
	}
	return reply
}

func TestPicksAToolByItsWords(t *testing.T) {
	files, every := load(t, "filesystem.json"), load(t, "everything.json")
	both := slices.Concat(gateway, files, every)
	for _, c := range []struct {
		tools      []ports.ToolSpec
		text       string
		name, args string
	}{
		{gateway, "what time is it in Tokyo?", "desk__world_clock", `{"place":"Tokyo"}`},
		{gateway, "What time is it in New York now?", "desk__world_clock", `{"place":"New York"}`},
		{gateway, "what's the time in Europe/Oslo", "desk__world_clock", `{"place":"Europe/Oslo"}`},
		{gateway, "what time is it?", "time", `{}`},
		{gateway, "Please tell me the time.", "time", `{}`},
		{gateway, "weather in bergen", "weather", `{"city":"bergen","units":"metric"}`},
		{gateway, "How is the weather in São Paulo, imperial please", "weather", `{"city":"São Paulo","units":"imperial"}`},
		{gateway, "add 2 and 3.5", "desk__add", `{"a":2,"b":3.5}`},
		{gateway, "what is the sum of 40 and 2?", "desk__add", `{"a":40,"b":2}`},
		{gateway, "roll the dice", "desk__dice", `{"sides":6}`},
		{gateway, `note "buy milk"`, "desk__note", `{"text":"buy milk"}`},
		{gateway, "note buy some milk", "desk__note", `{"text":"buy some milk"}`},
		{files, "read notes.txt", "files__read_text_file", `{"path":"notes.txt"}`},
		{files, "show me the file notes.txt please", "files__read_text_file", `{"path":"notes.txt"}`},
		{files, "Could you read docs/plan.md?", "files__read_text_file", `{"path":"docs/plan.md"}`},
		{files, "Read the file 'my notes.txt'", "files__read_text_file", `{"path":"my notes.txt"}`},
		{files, "list the files in docs", "files__list_directory", `{"path":"docs"}`},
		{files, "create a directory called backup", "files__create_directory", `{"path":"backup"}`},
		{files, "move a.txt to b.txt", "files__move_file", `{"source":"a.txt","destination":"b.txt"}`},
		{files, `write "hello there" to notes.txt`, "files__write_file", `{"path":"notes.txt","content":"hello there"}`},
		{files, "search for *.md in docs", "files__search_files", `{"path":"docs","pattern":"*.md"}`},
		{files, "read multiple files a.txt and b.txt", "files__read_multiple_files", `{"paths":["a.txt","b.txt"]}`},
		{files, "which directories are allowed?", "files__list_allowed_directories", `{}`},
		{files, "read notes.txt head 5", "files__read_text_file", `{"path":"notes.txt","head":5}`},
		{every, "echo good morning", "every__echo", `{"message":"good morning"}`},
		{every, "get the sum of 5 and 7", "every__get-sum", `{"a":5,"b":7}`},
		{both, "read notes.txt", "files__read_text_file", `{"path":"notes.txt"}`},
		{both, "what time is it in Tokyo?", "desk__world_clock", `{"place":"Tokyo"}`},
	} {
		t.Run(c.text, func(t *testing.T) {
			reply := ask(t, c.tools, user(c.text))
			if len(reply.Calls) != 1 {
				t.Fatalf("no call but %q", reply.Text)
			}
			call := reply.Calls[0]
			if call.Name != c.name || !sameJSON(call.Arguments, json.RawMessage(c.args)) {
				t.Errorf("called %s %s, not %s %s", call.Name, call.Arguments, c.name, c.args)
			}
		})
	}
}

func TestAnswersInWords(t *testing.T) {
	files := load(t, "filesystem.json")
	for _, c := range []struct {
		tools []ports.ToolSpec
		text  string
		want  []string
	}{
		{gateway, "hello!", []string{"Hello", "`help`", "call desk__add", introduction}},
		{gateway, "Good morning", []string{"Hello"}},
		{gateway, "Who are you?", []string{"demo model", "no language model"}},
		{gateway, "thanks a lot", []string{"welcome"}},
		{gateway, "help", []string{"6 tools", "**desk**\n\n- `desk__add` – Adds two numbers.", "**built in**\n\n- `time` – Current time of the gateway."}},
		{gateway, "What can you do?", []string{"- `weather` –"}},
		{files, "list tools", []string{"14 tools", "**files**", "- `files__read_text_file` – Read the complete contents"}},
		{nil, "help", []string{"No tools are connected"}},
		{nil, "read notes.txt", []string{"No tools are connected"}},
		{gateway, "write me a poem about the sea", []string{"found no tool"}},
		{gateway, "I love reading books in the garden", []string{"found no tool"}},
		{gateway, "weather", []string{"`weather` I also need", "`city`", `call weather {"city": "…", "units": "metric"}`}},
		{files, "write a file", []string{"files__write_file", "`path`", "`content`"}},
		{gateway, "call world_clok {}", []string{"no tool called `world_clok`", "`desk__world_clock`"}},
		{gateway, "call xyzzy", []string{"no tool called `xyzzy`", "`help`"}},
		{gateway, "call desk__add", []string{"`a` (number)", `call desk__add {"a": 1, "b": 1}`}},
		{gateway, "call desk__add {a:1}", []string{"not a JSON object"}},
		{gateway, "Ann: call desk__add {a:1}", []string{"not a JSON object"}},
		{gateway, "Ann: call mum", []string{"found no tool"}},
		{gateway, "Ann: help", []string{"6 tools"}},
		{gateway, "[This replies to your message: \"hello: you\"]\nAnn B. (x): thank you", []string{"welcome"}},
		{gateway, "[The person has edited a message of theirs. It reads now:]\nhelp", []string{"6 tools"}},
		{gateway, "", []string{"no"}},
	} {
		t.Run(c.text, func(t *testing.T) {
			reply := ask(t, c.tools, user(c.text))
			if len(reply.Calls) > 0 {
				t.Fatalf("called %s %s", reply.Calls[0].Name, reply.Calls[0].Arguments)
			}
			for _, want := range c.want {
				if !strings.Contains(reply.Text, want) {
					t.Errorf("no %q in %q", want, reply.Text)
				}
			}
		})
	}
}

func TestCallsByName(t *testing.T) {
	for text, want := range map[string]string{
		`call desk__add {"a":1,"b":2}`:     `desk__add {"a":1,"b":2}`,
		"CALL Desk__Add {\"a\":1}":         `desk__add {"a":1}`,
		"`call world_clock {\"place\":5}`": `desk__world_clock {"place":5}`,
		"call time":                        `time {}`,
		"call clock {“place”:“Oslo”}":      `desk__world_clock {"place":"Oslo"}`,
		"call desk__add {\n \"a\": {}\n}":  "desk__add {\n \"a\": {}\n}",
		`Ann: call desk__add {"a":1}`:      `desk__add {"a":1}`,
		"Ann B. (x): call time":            "time {}",
		"Dr: Who: /call time {}":           "time {}",
		"Ann: `call time`":                 "time {}",
		"[The person has edited a message of theirs. It reads now:]\n[This replies to a message: \"x\"]\nAnn: call time": "time {}",
	} {
		reply := ask(t, gateway, user(text))
		if len(reply.Calls) != 1 {
			t.Errorf("%s: no call but %q", text, reply.Text)
			continue
		}
		if got := reply.Calls[0].Name + " " + string(reply.Calls[0].Arguments); got != want {
			t.Errorf("%s: called %s, not %s", text, got, want)
		}
	}
}

func TestSearchesWhereItIsNotShownAll(t *testing.T) {
	few := append(slices.Clone(gateway[:1]), ports.ToolSpec{Name: "find_tools", Description: "Finds more tools by what they do.",
		InputSchema: json.RawMessage(`{"type":"object","properties":{"query":{"type":"string"}},"required":["query"]}`)})
	for said, want := range map[string]string{
		"what is the weather like in Oslo":   `find_tools {"query":"what is the weather like in Oslo"}`,
		"call maps__route {\"to\":\"Oslo\"}": `maps__route {"to":"Oslo"}`,
		"add 2 and 3":                        `desk__add {"a":2,"b":3}`,
	} {
		d := answer(said, said, newCatalog(few))
		if d.call == nil || d.call.Name+" "+string(d.call.Arguments) != want {
			t.Errorf("%q: %+v", said, d)
		}
	}
	if d := answer("call maps__route {}", "call maps__route {}", newCatalog(gateway)); d.call != nil {
		t.Errorf("it calls what is not there: %+v", d.call)
	}
}

func TestAmbiguousNameIsAsked(t *testing.T) {
	tools := []ports.ToolSpec{{Name: "a__read"}, {Name: "b__read"}}
	reply := ask(t, tools, user("call read {}"))
	if len(reply.Calls) > 0 || !strings.Contains(reply.Text, "`a__read` or `b__read`") {
		t.Errorf("%+v", reply)
	}
}

func TestEqualToolsAreAsked(t *testing.T) {
	tools := []ports.ToolSpec{{Name: "a__weather", Description: "Weather."}, {Name: "b__weather", Description: "Weather."}}
	reply := ask(t, tools, user("weather"))
	if len(reply.Calls) > 0 || !strings.Contains(reply.Text, "a__weather") || !strings.Contains(reply.Text, "b__weather") {
		t.Errorf("%+v", reply)
	}
}

// result is a turn in which a tool was called and answered.
func result(text string, isError bool) []ports.Entry {
	return []ports.Entry{
		user("what time is it?"),
		{Role: ports.RoleAssistant, Calls: []ports.Call{{ID: "1", Name: "time", Arguments: json.RawMessage(`{}`)}}},
		{Role: ports.RoleTool, CallID: "1", Text: text, IsError: isError},
	}
}

func TestAnswersWithTheResult(t *testing.T) {
	for _, c := range []struct {
		name, text string
		isError    bool
		want       string
	}{
		{"one line", "It is noon.", false, "It is noon."},
		{"lines", "a\nb", false, "```\na\nb\n```"},
		{"markdown", "# Head\n\n- a\n- b", false, "# Head\n\n- a\n- b"},
		{"json", `{"a":1}`, false, "```json\n{\"a\":1}\n```"},
		{"a fence in it", "a ``` b\nc", false, "````\na ``` b\nc\n````"},
		{"nothing", "", false, "`time` is done. It had nothing to say."},
		{"failure", "no clock", true, "`time` could not do it:\n\nno clock"},
		{"silent failure", "", true, "`time` failed and did not say why."},
	} {
		t.Run(c.name, func(t *testing.T) {
			reply := ask(t, gateway, result(c.text, c.isError)...)
			if got := strings.TrimSuffix(reply.Text, "\n\n"+introduction); got != c.want || len(reply.Calls) > 0 {
				t.Errorf("said %q, not %q", got, c.want)
			}
		})
	}
}

func TestSaysOnceThatItIsAStandIn(t *testing.T) {
	first := ask(t, gateway, result("noon", false)...)
	if !strings.HasSuffix(first.Text, introduction) {
		t.Errorf("the first answer does not say it: %q", first.Text)
	}
	second := ask(t, gateway, append(result("noon", false), ports.Entry{Role: ports.RoleAssistant, Text: first.Text}, user("thanks"))...)
	if strings.Contains(second.Text, introduction) {
		t.Errorf("the second says it again: %q", second.Text)
	}
}

func TestCallsAgainWhenAskedAgain(t *testing.T) {
	// What came before the person's words is no answer to them, least of all a refusal.
	for _, refused := range []bool{false, true} {
		joined := append(result("not now", refused), user("so, what time is it?"))
		reply := ask(t, gateway, joined...)
		if len(reply.Calls) != 1 {
			t.Errorf("refused %t, asked in the same turn: %+v", refused, reply)
			continue
		}
		// One that came since is, and is not asked for twice.
		call := reply.Calls[0]
		call.ID = "2"
		joined = append(joined, ports.Entry{Role: ports.RoleAssistant, Calls: []ports.Call{call}},
			ports.Entry{Role: ports.RoleTool, CallID: "2", Text: "noon"})
		if reply := ask(t, gateway, joined...); len(reply.Calls) > 0 || !strings.HasPrefix(reply.Text, "noon") {
			t.Errorf("refused %t, after the second call: %+v", refused, reply)
		}
	}
	next := append(result("noon", false), ports.Entry{Role: ports.RoleAssistant, Text: "noon"}, user("what time is it?"))
	if reply := ask(t, gateway, next...); len(reply.Calls) != 1 {
		t.Errorf("in the next turn: %+v", reply)
	}
}

func TestReadsABurstAsOne(t *testing.T) {
	reply := ask(t, gateway, user("what time is it"), user("in Tokyo?"))
	if len(reply.Calls) != 1 || reply.Calls[0].Name != "desk__world_clock" {
		t.Errorf("%+v", reply)
	}
}

func TestCancelledBetweenWords(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	heard := 0
	_, err := newModel(t).Generate(ctx, ports.ModelRequest{Entries: []ports.Entry{user("help")}, Tools: gateway}, func(string) {
		heard++
		cancel()
	})
	if !ports.IsKind(err, ports.KindCancelled) || !errors.Is(err, context.Canceled) || heard != 1 {
		t.Errorf("after %d words: %v", heard, err)
	}
}

// FuzzDecide looks for messages and schemas that the rules cannot take.
func FuzzDecide(f *testing.F) {
	f.Add("what time is it in Tokyo?", `{"properties":{"place":{"type":"string"}},"required":["place"]}`)
	f.Add(`write "x" to a.txt, 'y' and “z” of 5%`, `{"properties":{"path":{"type":["string","null"]},"n":{"type":"array","items":{"type":"number"}}}}`)
	f.Add("call x {", `{"properties":[]}`)
	f.Fuzz(func(t *testing.T, text, schema string) {
		tools := []ports.ToolSpec{{Name: "a__time", Description: text, InputSchema: json.RawMessage(schema)}, {Name: "x"}}
		d := decide(ports.ModelRequest{Entries: []ports.Entry{user(text)}, Tools: tools})
		if (d.call == nil) == (d.text == "") {
			t.Errorf("neither text nor call, or both: %+v", d)
		}
		if d.call != nil && !json.Valid(d.call.Arguments) {
			t.Errorf("arguments %q", d.call.Arguments)
		}
	})
}

func sameJSON(a, b json.RawMessage) bool {
	var x, y bytes.Buffer
	var u, v any
	if json.Unmarshal(a, &u) != nil || json.Unmarshal(b, &v) != nil {
		return false
	}
	return json.NewEncoder(&x).Encode(u) == nil && json.NewEncoder(&y).Encode(v) == nil && bytes.Equal(x.Bytes(), y.Bytes())
}
