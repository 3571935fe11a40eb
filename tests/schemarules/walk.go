package schemarules

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"regexp"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// maxTools is how many tools OpenAI takes in a request (array_above_max_length).
const maxTools = 128

// faults are what a provider refuses, each with its place.
type faults []string

func (f *faults) add(at, format string, args ...any) {
	*f = append(*f, at+": "+fmt.Sprintf(format, args...))
}

// entries reads the list, and what all providers want of it.
func (f *faults) entries(list []byte, name func(map[string]any) any, allowed *regexp.Regexp) []map[string]any {
	var all []any
	dec := json.NewDecoder(bytes.NewReader(list))
	dec.UseNumber()
	if err := dec.Decode(&all); err != nil || dec.More() {
		f.add("tools", "no JSON list: %v", err)
		return nil
	}
	if len(all) == 0 || len(all) > maxTools {
		f.add("tools", "%d tools", len(all))
	}
	seen := map[any]bool{}
	var tools []map[string]any
	for i, v := range all {
		at := fmt.Sprintf("tools[%d]", i)
		tool, ok := v.(map[string]any)
		if !ok {
			f.add(at, "no object")
			continue
		}
		n, ok := name(tool).(string)
		if !ok || !allowed.MatchString(n) {
			f.add(at+".name", "%q does not match %s", n, allowed)
		}
		if seen[n] {
			f.add(at+".name", "%q is there twice", n)
		}
		seen[n] = true
		f.numbers(at, tool)
		tools = append(tools, tool)
	}
	return tools
}

// keys refuses what an object has beside the known, and what it lacks.
func (f *faults) keys(at string, object map[string]any, needed, known string) {
	for _, key := range strings.Fields(needed) {
		if _, ok := object[key]; !ok {
			f.add(at, "%s is missing", key)
		}
	}
	for key := range object {
		if !slices.Contains(strings.Fields(needed+" "+known), key) {
			f.add(at, "unknown field %s", key)
		}
	}
}

// numbers refuses those that are beyond a float64.
func (f *faults) numbers(at string, v any) {
	switch v := v.(type) {
	case json.Number:
		if n, err := v.Float64(); err != nil || math.IsInf(n, 0) {
			f.add(at, "%.20s is beyond every number", v)
		}
	case []any:
		for i, e := range v {
			f.numbers(fmt.Sprintf("%s[%d]", at, i), e)
		}
	case map[string]any:
		for key, e := range v {
			f.numbers(at+"."+key, e)
		}
	}
}

// walk visits a schema and all schemas in it, in every place where JSON Schema has one.
func walk(at string, v any, visit func(at string, s map[string]any)) {
	s, ok := v.(map[string]any)
	if !ok {
		return
	}
	visit(at, s)
	for _, key := range slices.Sorted(maps.Keys(s)) {
		under := at + "." + key
		switch key {
		case "properties", "patternProperties", "$defs", "definitions", "dependentSchemas", "dependencies":
			named, _ := s[key].(map[string]any)
			for name, e := range named {
				walk(under+"."+name, e, visit)
			}
		case "items", "prefixItems", "anyOf", "oneOf", "allOf":
			if all, ok := s[key].([]any); ok {
				for i, e := range all {
					walk(fmt.Sprintf("%s[%d]", under, i), e, visit)
				}
				continue
			}
			walk(under, s[key], visit)
		case "not", "if", "then", "else", "contains", "additionalProperties", "additionalItems", "propertyNames", "unevaluatedItems", "unevaluatedProperties":
			walk(under, s[key], visit)
		}
	}
}

// nowhere refuses references to files and the network.
type nowhere struct{}

func (nowhere) Load(url string) (any, error) { return nil, fmt.Errorf("%s is abroad", url) }

// draft2020 refuses what JSON Schema 2020-12 does not have, and references that
// lead nowhere.
func (f *faults) draft2020(at string, schema any) {
	const deepest = 200 // for a parser that recurses
	if d := deep(schema); d > deepest {
		f.add(at, "%d levels", d)
		return
	}
	raw, err := json.Marshal(schema)
	if err != nil {
		f.add(at, "%v", err)
		return
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		f.add(at, "%v", err)
		return
	}
	walk(at, doc, func(at string, s map[string]any) {
		if dialect, ok := s["$schema"]; ok && dialect != "https://json-schema.org/draft/2020-12/schema" {
			f.add(at, "another dialect: %v", dialect)
		}
		delete(s, "$schema")
	})
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	c.UseLoader(nowhere{})
	if err = c.AddResource("https://tool.invalid/s.json", doc); err == nil {
		_, err = c.Compile("https://tool.invalid/s.json")
	}
	if err != nil {
		f.add(at, "%.2000s", err)
	}
}

// object refuses what no provider takes as the schema of arguments.
func (f *faults) object(at string, v any) map[string]any {
	s, ok := v.(map[string]any)
	if !ok {
		f.add(at, "no object")
		return nil
	}
	if s["type"] != "object" {
		f.add(at, "type %v, not object", s["type"])
	}
	for _, key := range []string{"oneOf", "anyOf", "allOf", "enum", "not", "$ref"} {
		if _, ok := s[key]; ok {
			f.add(at, "%s at the top", key)
		}
	}
	walk(at, s, func(at string, s map[string]any) {
		named, ok := s["properties"]
		if !ok {
			return
		}
		properties, ok := named.(map[string]any)
		if !ok {
			f.add(at+".properties", "no object")
		}
		for name, p := range properties {
			if _, ok := p.(map[string]any); !ok {
				f.add(at+".properties."+name, "%v is no schema", p)
			}
		}
	})
	return s
}

func isType(s map[string]any, name string) bool {
	if all, ok := s["type"].([]any); ok {
		return slices.Contains(all, any(name))
	}
	return s["type"] == name
}

// deep is how many levels of objects and lists a value has.
func deep(v any) int {
	most := 0
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			most = max(most, deep(e))
		}
	case map[string]any:
		for _, e := range v {
			most = max(most, deep(e))
		}
	default:
		return 0
	}
	return most + 1
}
