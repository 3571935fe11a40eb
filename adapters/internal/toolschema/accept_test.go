package toolschema

import (
	"bytes"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"dragoman/tests/schemarules"
)

// TestWhatTheToolTakesTheProjectionTakes gives each projection arguments that the
// original accepts.
func TestWhatTheToolTakesTheProjectionTakes(t *testing.T) {
	given, without := 0, []string{}
	for _, tool := range collection(t) {
		original := compile(tool.InputSchema)
		if original == nil {
			continue // nothing is known of it, and everything taken
		}
		arguments := accepted(t, tool, original)
		if given += len(arguments); len(arguments) == 0 {
			without = append(without, tool.Name)
		}
		for p, name := range map[Profile]string{ForOpenAI: "openai", ForAnthropic: "anthropic", ForGemini: "gemini"} {
			checkTaken(t, name, p, tool, arguments)
		}
	}
	t.Logf("%d arguments; none for %q", given, without)
	if given < 1000 || len(without) > 10 {
		t.Errorf("%d arguments were made, and none for %q", given, without)
	}
}

func checkTaken(t *testing.T, name string, p Profile, tool schemarules.Tool, arguments []any) {
	t.Helper()
	done := Project(p, tool.InputSchema)
	if done.Schema == nil {
		return // no arguments are spoken of
	}
	schema := done.Schema
	if p == ForGemini {
		schema = withoutNullable(t, schema)
	}
	projected := compile(schema)
	if projected == nil {
		t.Fatalf("%s %q: the projection does not compile: %.300s", name, tool.Name, schema)
	}
	for _, v := range arguments {
		raw, err := encode(v)
		if err != nil {
			t.Fatal(err)
		}
		shown := toModel(done, v)
		if err := projected.Validate(shown); err != nil {
			t.Errorf("%s %q: %.300s is refused by %.600s: %.300v", name, tool.Name, raw, schema, err)
			return
		}
		given, err := encode(shown)
		if err != nil {
			t.Fatal(err)
		}
		if back := done.Restore(given); !bytes.Equal(back, raw) {
			t.Errorf("%s %q: %s comes back as %s", name, tool.Name, raw, back)
		}
	}
}

// toModel gives arguments the names that the model is shown.
func toModel(p Projection, v any) any {
	shown := map[string]string{}
	for name, own := range p.Names {
		shown[own] = name
	}
	var walk func(v any) any
	walk = func(v any) any {
		switch v := v.(type) {
		case []any:
			out := make([]any, len(v))
			for i, e := range v {
				out[i] = walk(e)
			}
			return out
		case map[string]any:
			out := map[string]any{}
			for name, e := range v {
				if other, ok := shown[name]; ok {
					name = other
				}
				out[name] = walk(e)
			}
			return out
		}
		return v
	}
	return walk(v)
}

// withoutNullable writes OpenAPI's nullable as JSON Schema has it.
func withoutNullable(t *testing.T, raw []byte) []byte {
	t.Helper()
	var walk func(v any) any
	walk = func(v any) any {
		switch v := v.(type) {
		case []any:
			for i, e := range v {
				v[i] = walk(e)
			}
		case map[string]any:
			for key, e := range v {
				v[key] = walk(e)
			}
			if v["nullable"] == true {
				return map[string]any{"anyOf": []any{v, map[string]any{"type": "null"}}}
			}
		}
		return v
	}
	out, err := json.Marshal(walk(decode(raw)))
	if err != nil {
		t.Fatal(err)
	}
	return out
}

type nowhere struct{}

func (nowhere) Load(url string) (any, error) { return nil, fmt.Errorf("%s is abroad", url) }

// compile is nil for what is no schema, and what is too large to be checked with.
func compile(raw []byte) *jsonschema.Schema {
	const large, deep = 512 << 10, 200 // the time to compile grows with the cube of the depth
	if len(raw) > large || bytes.Count(raw, []byte("}}")) > deep && bytes.Contains(raw, bytes.Repeat([]byte("}"), deep)) {
		return nil
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		return nil
	}
	if _, ok := doc.(map[string]any); !ok {
		return nil
	}
	c := jsonschema.NewCompiler()
	c.UseLoader(nowhere{})
	if c.AddResource("https://tool.invalid/s.json", doc) != nil {
		return nil
	}
	s, err := c.Compile("https://tool.invalid/s.json")
	if err != nil {
		return nil
	}
	return s
}

// accepted makes arguments by the schema, at random but always the same, and
// keeps those that it really accepts.
func accepted(t *testing.T, tool schemarules.Tool, original *jsonschema.Schema) []any {
	t.Helper()
	sum := fnv.New64a()
	_, _ = sum.Write([]byte(tool.Server + tool.Name)) // never fails
	root := decode(tool.InputSchema)
	g := &maker{refs: &refs{root: root}, rand: rand.New(rand.NewPCG(sum.Sum64(), 1))}
	var all []any
	for range 200 {
		v, ok := g.value(root, 0).(map[string]any)
		if ok && original.Validate(v) == nil {
			all = append(all, v)
		}
		if len(all) == 12 {
			break
		}
	}
	return all
}

// maker makes values that a schema may accept.
type maker struct {
	*refs
	rand *rand.Rand
}

func (g *maker) value(v any, depth int) any {
	s, ok := v.(map[string]any)
	if !ok || len(s) == 0 || depth > 6 {
		return g.pick([]any{"x", json.Number("1"), true, "any", nil})
	}
	if ref, ok := s["$ref"].(string); ok && g.resolve(ref) != nil {
		return g.together(g.value(g.resolve(ref), depth+1), g.plain(without(s, "$ref"), depth))
	}
	if v, ok := s["const"]; ok {
		return v
	}
	if all := list(s["enum"]); len(all) > 0 {
		return g.pick(all)
	}
	out := g.plain(s, depth)
	for _, part := range list(s["allOf"]) {
		out = g.together(out, g.value(part, depth+1))
	}
	for _, key := range []string{"anyOf", "oneOf"} {
		if all := list(s[key]); len(all) > 0 {
			out = g.together(out, g.value(g.pick(all), depth+1))
		}
	}
	return out
}

func (g *maker) pick(all []any) any { return all[g.rand.IntN(len(all))] }

// together merges two objects; of others the second counts, if it says anything.
func (g *maker) together(a, b any) any {
	x, isX := a.(map[string]any)
	y, isY := b.(map[string]any)
	if !isX || !isY {
		if b == nil {
			return a
		}
		return b
	}
	out := maps.Clone(x)
	maps.Copy(out, y)
	return out
}

// plain goes by the type, and by what shows it.
func (g *maker) plain(s map[string]any, depth int) any {
	kind, _ := s["type"].(string)
	if all := list(s["type"]); len(all) > 0 {
		kind, _ = g.pick(all).(string)
	}
	if kind == "" && (s["properties"] != nil || s["required"] != nil || depth == 0) {
		kind = "object"
	}
	switch kind {
	case "object":
		return g.object(s, depth)
	case "array":
		return g.array(s, depth)
	case "string":
		return g.pick([]any{"x", "abc", "ABC", "https://example.org/a", "2026-11-20T10:00:00Z", "a longer text", "k1", ""})
	case "integer":
		return json.Number(fmt.Sprint(g.rand.IntN(12)))
	case "number":
		return g.pick([]any{json.Number("0.5"), json.Number("1"), json.Number("7"), json.Number("0.25")})
	case "boolean":
		return g.rand.IntN(2) == 0
	}
	return nil
}

func (g *maker) object(s map[string]any, depth int) any {
	out := map[string]any{}
	properties, _ := s["properties"].(map[string]any)
	needed := required(s)
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		if slices.Contains(needed, any(name)) || g.rand.IntN(2) == 0 && len(out) < 20 {
			out[name] = g.value(properties[name], depth+1)
		}
	}
	for _, name := range needed {
		if _, ok := out[name.(string)]; !ok {
			out[name.(string)] = "demanded"
		}
	}
	if more, ok := s["additionalProperties"].(map[string]any); ok {
		out[g.pick([]any{"extra", "more"}).(string)] = g.value(more, depth+1)
	}
	patterns, _ := s["patternProperties"].(map[string]any)
	for _, pattern := range slices.Sorted(maps.Keys(patterns)) {
		out[g.pick([]any{"ABC", "x", "yy"}).(string)] = g.value(patterns[pattern], depth+1)
	}
	if s["additionalProperties"] == nil && g.rand.IntN(4) == 0 {
		out["nobody_knows"] = "what this is"
	}
	return out
}

func (g *maker) array(s map[string]any, depth int) any {
	out := []any{}
	tuple := list(s["prefixItems"])
	if len(tuple) == 0 {
		tuple = list(s["items"])
	}
	for _, kind := range tuple {
		out = append(out, g.value(kind, depth+1))
	}
	if s["contains"] != nil {
		out = append(out, g.value(s["contains"], depth+1))
	}
	for range g.rand.IntN(3) {
		out = append(out, g.value(s["items"], depth+1))
	}
	return out
}
