package toolschema

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"dragoman/ports"
	"dragoman/tests/schemarules"
)

// wires are the forms in which tools go out, each with whoever would refuse them.
var wires = []struct {
	name     string
	profile  Profile
	envelope Envelope
	check    func(list []byte) []string
}{
	{"chat", ForOpenAI, Chat, schemarules.OpenAIChat},
	{"responses", ForOpenAI, Responses, schemarules.OpenAIResponses},
	{"anthropic", ForAnthropic, Anthropic, schemarules.Anthropic},
	{"gemini", ForGemini, Chat, schemarules.Gemini},
}

// collection is every tool that the projections are tried with.
func collection(t testing.TB) []schemarules.Tool {
	t.Helper()
	real, err := schemarules.Real()
	if err != nil {
		t.Fatal(err)
	}
	nasty := schemarules.Nasty()
	if len(real) < 60 || len(nasty) < 40 {
		t.Fatalf("%d real and %d nasty tools", len(real), len(nasty))
	}
	return append(real, nasty...)
}

func spec(i int, tool schemarules.Tool) ports.ToolSpec {
	return ports.ToolSpec{Name: fmt.Sprintf("tool_%d", i), Description: tool.Description, InputSchema: tool.InputSchema}
}

func listOf(t testing.TB, p Profile, e Envelope, specs ...ports.ToolSpec) []byte {
	t.Helper()
	list, err := NewTools(p, e).Append([]byte("["), specs)
	if err != nil {
		t.Fatal(err)
	}
	return append(list, ']')
}

func TestNoProviderRefusesWhatIsProjected(t *testing.T) {
	all := collection(t)
	for _, w := range wires {
		t.Run(w.name, func(t *testing.T) {
			var specs []ports.ToolSpec
			for i, tool := range all {
				start := time.Now()
				list := listOf(t, w.profile, w.envelope, spec(i, tool))
				if took := time.Since(start); took > 30*time.Second {
					t.Errorf("%s: it took %v", tool.Name, took)
				}
				for _, fault := range w.check(list) {
					t.Errorf("%s %q: %s", tool.Server, tool.Name, fault)
				}
				if len(list) > maxBytes+100<<10 {
					t.Errorf("%q became %d bytes", tool.Name, len(list))
				}
				if again := listOf(t, w.profile, w.envelope, spec(i, tool)); !bytes.Equal(list, again) {
					t.Errorf("%q has two forms", tool.Name)
				}
				specs = append(specs, spec(i, tool))
			}
			for _, fault := range w.check(listOf(t, w.profile, w.envelope, specs[:100]...)) {
				t.Errorf("in one list: %s", fault)
			}
		})
	}
}

// TestProvidersRefuseTheSchemasAsTheyAre shows that the checkers can fail.
func TestProvidersRefuseTheSchemasAsTheyAre(t *testing.T) {
	all := collection(t)
	for _, w := range wires {
		refused := map[string]int{}
		for i, tool := range all {
			kind := "real"
			if tool.Server == "nasty" {
				kind = "nasty"
			}
			raw, err := encode(w.envelope(fmt.Sprintf("tool_%d", i), "", tool.InputSchema))
			if err != nil || len(w.check(append(append([]byte("["), raw...), ']'))) > 0 {
				refused[kind]++
			}
		}
		t.Logf("%s refuses as they are: %v", w.name, refused)
		least := map[string]int{"chat": 55, "responses": 55, "anthropic": 65, "gemini": 80}[w.name]
		if refused["nasty"] < least {
			t.Errorf("%s refuses %d nasty schemas as they are, want at least %d", w.name, refused["nasty"], least)
		}
	}
}

func TestALongDescriptionGoesOnInTheSchema(t *testing.T) {
	long := strings.Repeat("Words. ", 300)
	list := listOf(t, ForOpenAI, Chat, ports.ToolSpec{Name: "a", Description: long, InputSchema: json.RawMessage(`{"type":"object","description":"Own."}`)})
	var tools []struct {
		Function struct {
			Description string
			Parameters  struct{ Description string }
		}
	}
	if err := json.Unmarshal(list, &tools); err != nil {
		t.Fatal(err)
	}
	f := tools[0].Function
	if got := strings.TrimSuffix(f.Description, "…") + strings.TrimPrefix(f.Parameters.Description, "… "); got != long+" Own." {
		t.Errorf("%q and %q", f.Description, f.Parameters.Description)
	}
	if faults := schemarules.OpenAIChat(list); len(faults) > 0 {
		t.Error(faults)
	}
}

// FuzzProject holds the projections to what the providers demand, whatever a server sends.
func FuzzProject(f *testing.F) {
	for _, tool := range schemarules.Nasty() {
		if len(tool.InputSchema) < 2000 {
			f.Add(string(tool.InputSchema))
		}
	}
	f.Add(`{"oneOf":[{"$ref":"#"},{"properties":{"a":[]}}]}`)
	f.Add(`{"$ref":"#/properties/a/~0~1","properties":{"a":{"items":[{}],"exclusiveMinimum":true}}}`)
	f.Fuzz(func(t *testing.T, in string) {
		for _, w := range wires {
			s := ports.ToolSpec{Name: "fuzzed", Description: in, InputSchema: json.RawMessage(in)}
			list := listOf(t, w.profile, w.envelope, s)
			for _, fault := range w.check(list) {
				t.Errorf("%s: %s\nof %s", w.name, fault, list)
			}
			if len(list) > maxBytes+100<<10 {
				t.Errorf("%s: %d bytes", w.name, len(list))
			}
			if again := listOf(t, w.profile, w.envelope, s); !bytes.Equal(list, again) {
				t.Errorf("%s has two forms:\n%s\n%s", w.name, list, again)
			}
		}
	})
}
