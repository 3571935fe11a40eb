package toolschema

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestProject(t *testing.T) {
	for _, c := range []struct{ name, in, want string }{
		{"nothing", ``, `{"type":"object","properties":{}}`},
		{"no object", `[1]`, `{"type":"object","properties":{}}`},
		{"null", `null`, `{"type":"object","properties":{}}`},
		{"empty", `{}`, `{"type":"object","properties":{}}`},
		{"as it should be", `{"type":"object","properties":{"a":{"type":"string","minLength":1}},"required":["a"],"additionalProperties":false}`,
			`{"type":"object","properties":{"a":{"type":"string","minLength":1}},"required":["a"],"additionalProperties":false}`},
		{"dialect", `{"$schema":"http://json-schema.org/draft-07/schema#","type":"object","properties":{}}`, `{"type":"object","properties":{}}`},
		{"type list", `{"type":["object","null"]}`, `{"type":"object","properties":{}}`},
		{"large integer", `{"properties":{"a":{"maximum":9007199254740993}}}`, `{"type":"object","properties":{"a":{"maximum":9007199254740993}}}`},
		{"oneOf", `{"oneOf":[{"properties":{"a":{"type":"string"},"c":{}},"required":["a","c"]},{"properties":{"b":{"type":"integer"},"c":{}},"required":["b","c"]}]}`,
			`{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"integer"},"c":{}},"required":["c"],"description":"Give one of: a + c; or b + c."}`},
		{"anyOf keeps the root's own", `{"description":"D.","properties":{"x":{}},"required":["x"],"anyOf":[{"required":["y"],"properties":{"y":{}}},{"required":["z"],"properties":{"z":{}}}]}`,
			`{"type":"object","description":"D. Give one of: y; or z.","properties":{"x":{},"y":{},"z":{}},"required":["x"]}`},
		{"alternatives of one property", `{"oneOf":[{"properties":{"k":{"const":"a"}},"required":["k"]},{"properties":{"k":{"const":"b"}},"required":["k"]}]}`,
			`{"type":"object","properties":{"k":{"anyOf":[{"const":"a"},{"const":"b"}]}},"required":["k"]}`},
		{"allOf", `{"allOf":[{"properties":{"a":{}},"required":["a"]},{"properties":{"b":{}},"required":["b"]}]}`,
			`{"type":"object","properties":{"a":{},"b":{}},"required":["a","b"]}`},
		{"reference at the root", `{"$ref":"#/$defs/In","$defs":{"In":{"type":"object","properties":{"a":{"$ref":"#/$defs/A"}},"required":["a"]},"A":{"type":"string"}}}`,
			`{"type":"object","properties":{"a":{"$ref":"#/$defs/A"}},"required":["a"],"$defs":{"A":{"type":"string"}}}`},
		{"reference to itself", `{"$ref":"#","allOf":[{"$ref":"#"},{"$ref":"#"}],"properties":{"a":{}}}`, `{"type":"object","properties":{"a":{}}}`},
		{"references abroad and nowhere", `{"properties":{"a":{"$ref":"https://example.org/s.json","description":"x"},"b":{"$ref":"#/$defs/none"}}}`,
			`{"type":"object","properties":{"a":{"description":"x"},"b":{}}}`},
		{"forbidden at the top", `{"type":"object","enum":[1],"not":{},"const":1,"if":{},"then":{},"else":{}}`, `{"type":"object","properties":{}}`},
		{"what is no schema", `{"properties":{"a":"string","b":null,"c":true,"d":false,"e":{"type":"string"}},"required":["a","c","e"]}`,
			`{"type":"object","properties":{"c":{},"e":{"type":"string"}},"required":["c","e"]}`},
		{"properties in a wrong form", `{"properties":[1],"required":["a"]}`, `{"type":"object","properties":{}}`},
		{"required in draft 3", `{"properties":{"a":{"type":"string","required":true}}}`, `{"type":"object","properties":{"a":{"type":"string"}}}`},
		{"arrays", `{"properties":{"a":{"type":"array"},"b":{"type":"array","items":true},"c":{"type":"array","items":[{"type":"string"},{"type":"array"}],"additionalItems":false},"d":{"type":["array","null"]}}}`,
			`{"type":"object","properties":{"a":{"type":"array","items":{}},"b":{"type":"array","items":{}},"c":{"type":"array","items":{"anyOf":[{"type":"string"},{"type":"array","items":{}}]},"maxItems":2},"d":{"type":["array","null"],"items":{}}}}`},
		{"deep inside", `{"properties":{"a":{"type":"object","properties":{"b":{"anyOf":[{"type":"array"},7,{"type":"null"}]}}}}}`,
			`{"type":"object","properties":{"a":{"type":"object","properties":{"b":{"anyOf":[{"type":"array","items":{}},{"type":"null"}]}}}}}`},
		{"properties with the names of keywords", `{"properties":{"items":{"type":"array"},"type":{"type":"string"},"required":{"type":"boolean"}},"required":["type"]}`,
			`{"type":"object","properties":{"items":{"type":"array","items":{}},"type":{"type":"string"},"required":{"type":"boolean"}},"required":["type"]}`},
		{"bounds of draft 4", `{"properties":{"a":{"minimum":0,"exclusiveMinimum":true},"b":{"maximum":9,"exclusiveMaximum":false}}}`,
			`{"type":"object","properties":{"a":{"exclusiveMinimum":0},"b":{"maximum":9}}}`},
		{"types that there are not", `{"properties":{"a":{"type":"any"},"b":{"type":["string","date"]},"c":{"type":7}}}`,
			`{"type":"object","properties":{"a":{},"b":{"type":["string"]},"c":{}}}`},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := Project(ForOpenAI, json.RawMessage(c.in)).Schema
			if want := canonical(t, c.want); string(got) != want {
				t.Errorf("got  %s\nwant %s", got, want)
			}
		})
	}
}

func TestProjectIsBounded(t *testing.T) {
	deep := strings.Repeat(`{"properties":{"a":`, 2000) + `{}` + strings.Repeat(`}}`, 2000)
	bomb := `{"$defs":{"a":{"allOf":[{"$ref":"#/$defs/a"},{"$ref":"#/$defs/a"},{"$ref":"#/$defs/a"}]}},"$ref":"#/$defs/a"}`
	for name, in := range map[string]string{"deep": deep, "bomb": bomb} {
		out := Project(ForOpenAI, json.RawMessage(in)).Schema
		if len(out) > len(in)+1000 {
			t.Errorf("%s: %d bytes became %d", name, len(in), len(out))
		}
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
