package openai

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"

	"dragoman/adapters/internal/toolschema"
	"dragoman/ports"
	"dragoman/tests/modeltest"
)

func TestManyAskForToolsAtOnce(t *testing.T) {
	m := testModel(t, "http://model.test/v1")
	r := longRequest(1, 40)
	want, err := m.body(r)
	if err != nil {
		t.Fatal(err)
	}
	m.tools = toolschema.NewTools(toolschema.ForOpenAI, toolschema.Chat)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 5 {
				if got, err := m.body(r); err != nil || !bytes.Equal(got, want) {
					t.Errorf("%d bytes, not %d; %v", len(got), len(want), err)
				}
			}
		})
	}
	all.Wait()
}

func TestTheToolThatIsRefusedIsNamed(t *testing.T) {
	p := newPeer(t)
	p.answer(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusBadRequest)
		_, _ = io.WriteString(w, `{"error":{"message":"Invalid schema for function 'b': In context=('properties', 'x'), array schema missing items.","type":"invalid_request_error","param":"tools[1].function.parameters","code":"invalid_function_parameters"}}`)
	})
	r := hello()
	r.Tools = []ports.ToolSpec{{Name: "a"}, {Name: "b"}}
	_, err := testModel(t, p.URL+"/v1").Generate(t.Context(), r, nil)
	if refused := as[*ports.RefusedTool](t, err); refused.Name != "b" || ports.KindOf(err) != ports.KindInvalid {
		t.Errorf("%+v of kind %v", refused, ports.KindOf(err))
	}
}

func TestGeminiGetsItsOwnWordsForTools(t *testing.T) {
	r := hello()
	r.Tools = []ports.ToolSpec{{Name: "a", InputSchema: json.RawMessage(`{"properties":{"n":{"type":["integer","null"],"exclusiveMinimum":0}},"additionalProperties":false}`)}}
	for base, want := range map[string]string{
		"https://generativelanguage.googleapis.com/v1beta/openai": `"n":{"minimum":1,"nullable":true,"type":"integer"}`,
		"https://api.openai.com/v1":                               `"n":{"exclusiveMinimum":0,"type":["integer","null"]}`,
	} {
		body, err := testModel(t, base).body(r)
		if err != nil || !strings.Contains(string(body), want) {
			t.Errorf("%s gets %s, %v", base, body, err)
		}
	}
}

// TestACallOnGeminiIsKnownByItsOwnName: Gemini refuses names that begin with a
// digit, also where an entry tells of a call.
func TestACallOnGeminiIsKnownByItsOwnName(t *testing.T) {
	const own, shown = "1password__read", "_1password__read"
	p := newPeer(t)
	m := testModel(t, p.URL+"/v1")
	m.tools = toolschema.NewTools(toolschema.ForGemini, toolschema.Chat)
	if err := p.script(t.Context(), modeltest.Act{Do: modeltest.Reply, Calls: []ports.Call{{ID: "1", Name: shown, Arguments: json.RawMessage(`{"a":1}`)}}}); err != nil {
		t.Fatal(err)
	}
	r := hello()
	r.Tools = []ports.ToolSpec{{Name: own, InputSchema: json.RawMessage(`{"properties":{"a":{"type":"integer"}}}`)}}
	reply, err := m.Generate(t.Context(), r, nil)
	if err != nil || len(reply.Calls) != 1 || reply.Calls[0].Name != own {
		t.Fatalf("%v: %+v", err, reply)
	}
	r.Entries = append(r.Entries, ports.Entry{Role: ports.RoleAssistant, Calls: reply.Calls}, ports.Entry{Role: ports.RoleTool, CallID: "1", Text: "x"})
	if _, err := m.Generate(t.Context(), r, nil); err != nil {
		t.Fatal(err)
	}
	seen, err := p.got(t.Context())
	if body := string(seen.Body); err != nil || strings.Contains(body, `"`+own) || strings.Count(body, `"name":"`+shown) != 2 {
		t.Errorf("%v: sent %s", err, body)
	}
}
