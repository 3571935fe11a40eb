package schemarules

import (
	"fmt"
	"strings"
	"testing"
)

// forms writes a schema into a list of one tool, as each provider gets it.
var forms = map[string]struct {
	form  string
	check func([]byte) []string
}{
	"chat":      {`[{"type":"function","function":{"name":"a","description":"d","parameters":%s}}]`, OpenAIChat},
	"responses": {`[{"type":"function","name":"a","description":"d","strict":false,"parameters":%s}]`, OpenAIResponses},
	"anthropic": {`[{"name":"a","description":"d","input_schema":%s}]`, Anthropic},
	"gemini":    {`[{"type":"function","function":{"name":"a","description":"d","parameters":%s}}]`, Gemini},
}

const all = "chat responses anthropic gemini"

func TestEachRuleRefuses(t *testing.T) {
	for _, c := range []struct{ schema, refusedBy string }{
		{`{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]}`, ""},
		{`{"type":"object","properties":{"a":{"type":"array","items":{"type":"string"}}}}`, ""},
		{`{"type":"object","properties":{}}`, "gemini"},
		{`{"type":"object"}`, "chat responses gemini"},
		{`{"properties":{"a":{"type":"string"}}}`, all},
		{`{"type":["object","null"],"properties":{"a":{"type":"string"}}}`, all},
		{`[]`, all},
		{`{"type":"object","properties":{"a":{"type":"string"}},"anyOf":[{"required":["a"]}]}`, all},
		{`{"type":"object","properties":{"a":{"type":"string"}},"not":{"required":["b"]}}`, all},
		{`{"type":"object","properties":{"a":"string"}}`, all},
		{`{"type":"object","properties":{"a":true}}`, all},
		{`{"type":"object","properties":{"a":{"type":"any"}}}`, all},
		{`{"type":"object","properties":{"a":{"type":"array"}}}`, "chat responses gemini"},
		{`{"type":"object","properties":{"a":{"type":"array","items":[{"type":"string"}]}}}`, all},
		{`{"type":"object","properties":{"a":{"type":"integer","minimum":0,"exclusiveMinimum":true}}}`, all},
		{`{"type":"object","properties":{"a":{"type":"integer","exclusiveMinimum":0}}}`, "gemini"},
		{`{"type":"object","properties":{"a":{"type":"integer","maximum":1e999}}}`, all},
		{`{"type":"object","properties":{"a":{"type":["string","null"]}}}`, "gemini"},
		{`{"type":"object","properties":{"a":{"type":"integer","enum":[1]}}}`, "gemini"},
		{`{"type":"object","properties":{"a":{"type":"string","enum":[""]}}}`, "gemini"},
		{`{"type":"object","properties":{"a":{"type":"string","format":"uri"}}}`, "gemini"},
		{`{"type":"object","properties":{"a":{"type":"string","const":"x"}}}`, "gemini"},
		{`{"type":"object","properties":{"a":{}}}`, "gemini"},
		{`{"type":"object","properties":{"a":{"description":"d","anyOf":[{"type":"string"},{"type":"integer"}]}}}`, "gemini"},
		{`{"type":"object","properties":{"a":{"type":"object","properties":{}}}}`, "gemini"},
		{`{"type":"object","properties":{"a":{"type":"string"}},"required":["b"]}`, "gemini"},
		{`{"type":"object","properties":{"a":{"type":"string"}},"additionalProperties":false}`, "gemini"},
		{`{"type":"object","properties":{"a":{"type":"string","pattern":"["}}}`, "chat responses anthropic"},
		{`{"type":"object","properties":{"a":{"type":"string","pattern":"\\p{L}"}}}`, "chat responses"},
		{`{"type":"object","properties":{"a":{"$ref":"#/$defs/A"}},"$defs":{"A":{"type":"string"}}}`, "anthropic gemini"},
		{`{"type":"object","properties":{"a":{"$ref":"#/$defs/B"}},"$defs":{"A":{"type":"string"}}}`, all},
		{`{"type":"object","properties":{"a":{"$ref":"https://example.org/s.json"}}}`, all},
		{`{"type":"object","properties":{"a":{"$ref":"#/$defs/A"}},"$defs":{"A":{"$ref":"#/$defs/B"},"B":{"anyOf":[{"$ref":"#/$defs/A"}]}}}`, all},
		{`{"type":"object","properties":{"$a":{"type":"string"}}}`, "anthropic"},
		{`{"type":"object","properties":{"o":{"type":"object","properties":{"a b":{"type":"string"}}}}}`, "anthropic"},
		{`{"$schema":"http://json-schema.org/draft-07/schema#","type":"object","properties":{"a":{"type":"string"}}}`, all},
		{`{"type":"object","properties":{"a":` + strings.Repeat(`{"type":"array","items":`, 120) + `{"type":"string"}` + strings.Repeat(`}`, 120) + `}}`, "gemini"},
	} {
		for name, p := range forms {
			faults := p.check(fmt.Appendf(nil, p.form, c.schema))
			if want := strings.Contains(c.refusedBy, name); (len(faults) > 0) != want {
				t.Errorf("%s refuses %.200s: %v with %v, want %v", name, c.schema, len(faults) > 0, faults, want)
			}
		}
	}
}

func TestEachListIsRefused(t *testing.T) {
	many := strings.TrimSuffix(strings.Repeat(`{"name":"a","input_schema":{"type":"object"}},`, 129), ",")
	for _, c := range []struct {
		why   string
		list  string
		check func([]byte) []string
	}{
		{"no list", `{}`, OpenAIChat},
		{"nothing in it", `[]`, OpenAIChat},
		{"not JSON", `[`, OpenAIResponses},
		{"no object", `[1]`, Anthropic},
		{"too many", `[` + many + `]`, Anthropic},
		{"a bad name", `[{"name":"a.b","input_schema":{"type":"object"}}]`, Anthropic},
		{"a long name", `[{"name":"` + strings.Repeat("a", 65) + `","input_schema":{"type":"object"}}]`, Anthropic},
		{"a name twice", `[{"name":"a","input_schema":{"type":"object"}},{"name":"a","input_schema":{"type":"object"}}]`, Anthropic},
		{"a name that begins with a digit", `[{"type":"function","function":{"name":"1a"}}]`, Gemini},
		{"another wire's form", `[{"type":"function","name":"a","parameters":{"type":"object","properties":{}}}]`, OpenAIChat},
		{"strict is not said", `[{"type":"function","name":"a","parameters":{"type":"object","properties":{}}}]`, OpenAIResponses},
		{"strict", `[{"type":"function","name":"a","strict":true,"parameters":{"type":"object","properties":{}}}]`, OpenAIResponses},
		{"a long description", `[{"type":"function","function":{"name":"a","description":"` + strings.Repeat("d", 1025) + `","parameters":{"type":"object","properties":{}}}}]`, OpenAIChat},
	} {
		if len(c.check([]byte(c.list))) == 0 {
			t.Errorf("%s is taken", c.why)
		}
	}
}

func TestTheCollectionIsLargeEnough(t *testing.T) {
	real, err := Real()
	if err != nil {
		t.Fatal(err)
	}
	servers := map[string]bool{}
	for _, tool := range real {
		servers[tool.Server] = true
		if tool.Name == "" || len(tool.InputSchema) == 0 || !strings.Contains(tool.Server[1:], "@") {
			t.Errorf("%+v", tool)
		}
	}
	if nasty := Nasty(); len(real) < 60 || len(servers) < 5 || len(nasty) < 40 {
		t.Errorf("%d real tools of %d servers, %d nasty ones", len(real), len(servers), len(nasty))
	}
}
