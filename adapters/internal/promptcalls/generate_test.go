package promptcalls

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"dragoman/ports"
)

// model answers with a text, as a wire does, and keeps what it was asked.
type model struct {
	text string
	stop ports.StopReason
	err  error
	seen ports.ModelRequest
}

func (m *model) ask(_ context.Context, r ports.ModelRequest, onText func(string)) (ports.ModelReply, error) {
	m.seen = r
	for _, word := range strings.SplitAfter(m.text, " ") {
		if onText != nil {
			onText(word)
		}
	}
	if m.err != nil {
		return ports.ModelReply{}, m.err
	}
	return ports.ModelReply{Text: m.text, Stop: m.stop, Model: "test/m"}, nil
}

func (m *model) generate(t *testing.T, r ports.ModelRequest) ports.ModelReply {
	t.Helper()
	if m.stop == "" {
		m.stop = ports.StopEnd
	}
	reply, err := Generate(t.Context(), r, nil, m.ask)
	if err != nil {
		t.Fatal(err)
	}
	return reply
}

func user(text string) ports.Entry { return ports.Entry{Role: ports.RoleUser, Text: text} }

func request(entries ...ports.Entry) ports.ModelRequest {
	return ports.ModelRequest{System: "You are a test.", Entries: entries, Tools: []ports.ToolSpec{
		{Name: "f__read", Description: "Reads <a> file.\n## not a headline", InputSchema: json.RawMessage("{\n  \"type\": \"object\"\n}")},
		{Name: "clock__now", InputSchema: json.RawMessage(`broken`)},
	}}
}

func TestToolsAreDescribedInThePrompt(t *testing.T) {
	m := &model{text: "Hi."}
	m.generate(t, request(user("hello")))
	if len(m.seen.Tools) > 0 {
		t.Errorf("the wire is given tools: %v", m.seen.Tools)
	}
	want := `{"name":"f__read","description":"Reads <a> file.\n## not a headline","arguments":{"type":"object"}}` + "\n" +
		`{"name":"clock__now","arguments":{"type":"object"}}` + "\n"
	if !strings.HasPrefix(m.seen.System, "You are a test.\n\n") || !strings.HasSuffix(m.seen.System, "\n\n"+want) {
		t.Errorf("%s", m.seen.System)
	}
}

func TestAHistoryOfCallsIsTold(t *testing.T) {
	m := &model{text: "Hi."}
	picture := ports.Block{Kind: ports.BlockImage, MIME: "image/png", Data: []byte("x")}
	r := request(user("look"),
		ports.Entry{Role: ports.RoleAssistant, Text: "Wait.", State: json.RawMessage(`{"a":1}`), Model: "test/m", Calls: []ports.Call{
			{ID: "1", Name: "f__read", Arguments: json.RawMessage(`{"path":"a"}`)}, {ID: "2", Name: "clock__now", Arguments: json.RawMessage(`"bad"`)}}},
		ports.Entry{Role: ports.RoleTool, CallID: "1", Text: "say \"```\"\n```", Blocks: []ports.Block{picture}},
		ports.Entry{Role: ports.RoleTool, CallID: "2", Text: "no object", IsError: true},
		user("go on"))
	m.generate(t, r)
	got := m.seen.Entries
	if len(got) != 3 || got[0].Text != "look" {
		t.Fatalf("%+v", got)
	}
	calls := "Wait.\n\n```json\n" + `{"type":"mcp_call","params":{"tool_name":"f__read","arguments":{"path":"a"}}}` +
		"\n```\n\n```json\n" + `{"type":"mcp_call","params":{"tool_name":"clock__now","arguments":{"invalid_arguments":"bad"}}}` + "\n```"
	if got[1].Text != calls || len(got[1].Calls) > 0 || string(got[1].State) != `{"a":1}` || got[1].Model != "test/m" {
		t.Errorf("calls: %+v", got[1])
	}
	results := "```json\n" + `{"type":"mcp_result","params":{"tool_name":"f__read","result":"say \"` + "```" + `\"\n` + "```" + `","attached":1}}` +
		"\n```\n\n```json\n" + `{"type":"mcp_result","params":{"tool_name":"clock__now","is_error":true,"result":"no object"}}` + "\n```\n\ngo on"
	if got[2].Role != ports.RoleUser || got[2].Text != results || len(got[2].Blocks) != 1 {
		t.Errorf("results: %s", got[2].Text)
	}
}

func TestAPromptBeginsAsTheOneBeforeIt(t *testing.T) {
	m := &model{text: now}
	r := request(user("what time is it?"))
	reply := m.generate(t, r)
	first := m.seen
	r.Entries = append(r.Entries, ports.Entry{Role: ports.RoleAssistant, Text: reply.Text, Calls: reply.Calls},
		ports.Entry{Role: ports.RoleTool, CallID: reply.Calls[0].ID, Text: "noon"})
	r.NoCalls = true
	m.generate(t, r)
	if m.seen.System != first.System || m.seen.Entries[0].Text != first.Entries[0].Text {
		t.Errorf("%+v\nfollows\n%+v", m.seen, first)
	}
	if last := m.seen.Entries[2].Text; !strings.HasSuffix(last, "\n\n"+textNoCalls) {
		t.Errorf("nothing tells the model that it may not call: %s", last)
	}
}

func TestOnlyTheModelsOwnWordsAreACall(t *testing.T) {
	m := &model{text: "I will not."}
	block := "```json\n" + now + "\n```"
	reply := m.generate(t, request(user(block), ports.Entry{Role: ports.RoleAssistant, Text: "hm", Calls: []ports.Call{{ID: "1", Name: "f__read", Arguments: json.RawMessage(`{}`)}}},
		ports.Entry{Role: ports.RoleTool, CallID: "1", Text: block}))
	if len(reply.Calls) > 0 || reply.Text != m.text || reply.Stop != ports.StopEnd {
		t.Errorf("%+v", reply)
	}
}

func TestIDsAreTheSameForTheSameAndOtherElsewhere(t *testing.T) {
	m := &model{text: now + "\n" + now + "\n" + now}
	r := request(user("twice"))
	one, two := m.generate(t, r), m.generate(t, r)
	seen := map[string]bool{}
	for i, c := range one.Calls {
		if c.ID == "" || seen[c.ID] || two.Calls[i].ID != c.ID {
			t.Errorf("call %d has the id %q, and %q the next time", i, c.ID, two.Calls[i].ID)
		}
		seen[c.ID] = true
	}
	r.Entries = append(r.Entries, ports.Entry{Role: ports.RoleAssistant, Calls: one.Calls}, user("again"))
	for _, c := range m.generate(t, r).Calls {
		if seen[c.ID] {
			t.Errorf("%s is used twice", c.ID)
		}
		seen[c.ID] = true
	}
	r.CacheKey = "another conversation"
	for _, c := range m.generate(t, r).Calls {
		if seen[c.ID] {
			t.Errorf("%s is used in two conversations", c.ID)
		}
	}
}

func TestAReplyThatDidNotEndWellHasNoCalls(t *testing.T) {
	torn := errors.New("torn")
	m := &model{text: "Wait. " + now, err: torn}
	var shown string
	reply, err := Generate(t.Context(), request(user("x")), func(s string) { shown += s }, m.ask)
	if !errors.Is(err, torn) || len(reply.Calls) > 0 || shown != "Wait." {
		t.Errorf("%v: %+v, shown %q", err, reply, shown)
	}
}

func TestStopSaysWhetherResultsAreDue(t *testing.T) {
	if reply := (&model{text: now}).generate(t, request(user("x"))); reply.Stop != ports.StopCalls || reply.Text != "" {
		t.Errorf("%+v", reply)
	}
	if reply := (&model{text: now + now[:20], stop: ports.StopLength}).generate(t, request(user("x"))); reply.Stop != ports.StopLength || len(reply.Calls) != 1 {
		t.Errorf("%+v", reply)
	}
}

func TestCallsThatAreNotWantedAreDropped(t *testing.T) {
	r := request(user("x"))
	r.NoCalls = true
	m := &model{text: now}
	if reply := m.generate(t, r); len(reply.Calls) > 0 || reply.Text != textDropped || reply.Stop != ports.StopEnd {
		t.Errorf("%+v", reply)
	}
	if !strings.Contains(m.seen.System, `{"name":"f__read"`) {
		t.Error("the tools are not listed")
	}
	r = request(ports.Entry{Role: ports.RoleAssistant, Calls: []ports.Call{{ID: "1", Name: "a", Arguments: json.RawMessage(`{}`)}}})
	r.Tools = nil // a summary is asked for without tools
	if reply := m.generate(t, r); len(reply.Calls) > 0 || reply.Text != textDropped {
		t.Errorf("without tools: %+v", reply)
	}
}

// TestWhatIsThoughtIsNeitherCalledNorShown: servers of models that know no tools
// seldom know where a model's thoughts end either.
func TestWhatIsThoughtIsNeitherCalledNorShown(t *testing.T) {
	thought := "<think>\nI could call\n" + now + "\n</think>\n\n"
	if reply := (&model{text: thought + "Noon."}).generate(t, request(user("x"))); len(reply.Calls) > 0 || reply.Text != "Noon." || reply.Stop != ports.StopEnd {
		t.Errorf("%+v", reply)
	}
	if reply := (&model{text: thought + now}).generate(t, request(user("x"))); len(reply.Calls) != 1 || reply.Text != "" {
		t.Errorf("%+v", reply)
	}
	if reply := (&model{text: "<think>" + now}).generate(t, request(user("x"))); len(reply.Calls) > 0 || reply.Text != "" {
		t.Errorf("%+v", reply)
	}
}

func TestAModelThatWasToldOfNoToolsMayWriteWhatItLikes(t *testing.T) {
	m := &model{text: now}
	if reply := m.generate(t, ports.ModelRequest{Entries: []ports.Entry{user("x")}}); reply.Text != now || m.seen.System != "" {
		t.Errorf("%+v", reply)
	}
}
