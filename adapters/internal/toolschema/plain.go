package toolschema

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
)

// What follows writes clean schemas in the words of OpenAPI 3.0 that Gemini
// knows. Every schema there has one type; what may be of several is an anyOf,
// which stands alone; of enums there are those of texts.

// plainProperties writes each property.
func (c *cleaner) plainProperties(properties map[string]any) map[string]any {
	out := make(map[string]any, len(properties))
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		schema, _ := properties[name].(map[string]any)
		c.text(name)
		out[name] = c.plain(schema)
	}
	return out
}

// plain writes one schema.
func (c *cleaner) plain(s map[string]any) map[string]any {
	if c.nodes++; c.nodes > maxNodes || c.over {
		c.over = true
		return s
	}
	s, branches, null := alternatives(withAll(s))
	kinds, nullable := kindsOf(s)
	var out []map[string]any
	for _, b := range branches {
		out = append(out, c.plain(b))
	}
	if len(out) == 0 {
		for _, kind := range kinds {
			out = append(out, c.plainOf(kind, s))
		}
	}
	return c.oneOf(out, s, nullable || null)
}

// oneOf makes one schema of alternatives.
func (c *cleaner) oneOf(all []map[string]any, s map[string]any, nullable bool) map[string]any {
	var flat []any
	seen := map[string]bool{}
	for _, a := range all {
		for _, b := range orItself(a) {
			if raw, err := encode(b); err == nil && !seen[string(raw)] {
				seen[string(raw)] = true
				flat = append(flat, b)
			}
		}
	}
	for _, b := range flat {
		b := b.(map[string]any)
		if nullable {
			b["nullable"] = true
		}
		for _, key := range []string{"title", "description"} {
			if text, ok := s[key].(string); ok && b[key] == nil {
				b[key] = text
				c.text(text)
			}
		}
	}
	if len(flat) == 1 {
		return flat[0].(map[string]any)
	}
	return map[string]any{"anyOf": flat}
}

func orItself(s map[string]any) []any {
	if all := list(s["anyOf"]); len(all) > 0 {
		return all
	}
	return []any{s}
}

// withAll merges the parts of an allOf into the schema.
func withAll(s map[string]any) map[string]any {
	parts := list(s["allOf"])
	if len(parts) == 0 {
		return s
	}
	out := without(s, "allOf")
	for _, part := range parts {
		out = bothClean(out, withAll(part.(map[string]any)))
	}
	return out
}

// bothClean is a schema for what satisfies two: of what both limit, the first's limit.
func bothClean(a, b map[string]any) map[string]any {
	out := maps.Clone(a)
	properties := map[string]any{}
	for _, s := range []map[string]any{b, a} {
		own, _ := s["properties"].(map[string]any)
		maps.Copy(properties, own)
	}
	if len(properties) > 0 {
		out["properties"] = properties
	}
	if names := union(required(a), required(b)); len(names) > 0 {
		out["required"] = names
	}
	for key, v := range b {
		if _, taken := out[key]; !taken {
			out[key] = v
		}
	}
	return out
}

// alternatives are the branches of an anyOf but for null. A schema that says more
// of an object or a list than its branches keeps that, and takes their properties in.
func alternatives(s map[string]any) (rest map[string]any, branches []map[string]any, null bool) {
	for _, v := range list(s["anyOf"]) {
		b := withAll(v.(map[string]any))
		if b["type"] == "null" {
			null = true
			continue
		}
		branches = append(branches, b)
	}
	rest = without(s, "anyOf")
	if s["properties"] == nil && s["items"] == nil && !slices.ContainsFunc(branches, shapeless) {
		for i, b := range branches {
			own := rest
			if b["type"] != nil {
				own = without(rest, "type")
			}
			branches[i] = bothClean(b, own)
		}
		return rest, branches, null
	}
	all := map[string][]any{}
	for _, b := range branches {
		theirs, _ := b["properties"].(map[string]any)
		for name, p := range theirs {
			all[name] = append(all[name], p)
		}
	}
	own, _ := s["properties"].(map[string]any)
	properties := maps.Clone(own)
	if properties == nil && len(all) > 0 {
		properties = map[string]any{}
	}
	for name, forms := range all {
		if _, ok := own[name]; !ok {
			properties[name] = map[string]any{"anyOf": forms}
		}
	}
	if len(properties) > 0 {
		rest["properties"] = properties
	}
	return rest, nil, null
}

// shapeless reports whether a branch says nothing of what a value is.
func shapeless(s map[string]any) bool {
	return s["type"] == nil && s["enum"] == nil && s["const"] == nil && s["properties"] == nil && s["anyOf"] == nil && s["items"] == nil
}

// kindsOf lists the types of a schema but for null, as it says or as its keywords show.
func kindsOf(s map[string]any) (kinds []string, nullable bool) {
	said, listed := s["type"].([]any)
	if !listed && s["type"] != nil {
		said = []any{s["type"]}
	}
	for _, t := range said {
		if t == "null" {
			nullable = true
		} else {
			kinds = append(kinds, t.(string))
		}
	}
	values := valuesOf(s)
	for _, v := range values {
		if v == nil {
			nullable = nullable || len(said) == 0
		} else if kind := kindOf(v); len(said) == 0 && !slices.Contains(kinds, kind) {
			kinds = append(kinds, kind)
		}
	}
	switch {
	case len(kinds) > 0:
	case nullable:
		kinds = []string{"string"}
	case s["properties"] != nil || s["required"] != nil:
		kinds = []string{"object"}
	case s["items"] != nil:
		kinds = []string{"array"}
	case s["minLength"] != nil || s["maxLength"] != nil || s["pattern"] != nil || s["format"] != nil:
		kinds = []string{"string"}
	case s["minimum"] != nil || s["maximum"] != nil || s["exclusiveMinimum"] != nil || s["exclusiveMaximum"] != nil || s["multipleOf"] != nil:
		kinds = []string{"number"}
	default:
		kinds, nullable = []string{"string", "number", "boolean", "object", "array"}, true
	}
	if slices.Contains(kinds, "number") {
		kinds = slices.DeleteFunc(kinds, func(k string) bool { return k == "integer" })
	}
	return kinds, nullable
}

// valuesOf is what an enum or a const allows, nil if there is neither.
func valuesOf(s map[string]any) []any {
	if v, ok := s["const"]; ok {
		return []any{v}
	}
	return list(s["enum"])
}

func kindOf(v any) string {
	switch v.(type) {
	case string:
		return "string"
	case json.Number:
		return "number"
	case bool:
		return "boolean"
	case []any:
		return "array"
	}
	return "object"
}

// plainOf writes what a schema says of one type.
func (c *cleaner) plainOf(kind string, s map[string]any) map[string]any {
	switch kind {
	case "object":
		return c.plainObject(s)
	case "array":
		return c.plainArray(s)
	}
	out := begin(kind, s)
	switch kind {
	case "string":
		keep(out, s, "minLength", "maxLength", "pattern")
		if s["format"] == "date-time" {
			out["format"] = "date-time"
		}
		texts, all := textsOf(s)
		if len(texts) > 0 && all {
			out["enum"] = texts
		}
		for _, text := range texts {
			c.text(text.(string))
		}
	case "integer", "number":
		keep(out, s, "minimum", "maximum")
		inclusive(out, s, "exclusiveMinimum", "minimum", 1)
		inclusive(out, s, "exclusiveMaximum", "maximum", -1)
	}
	if values := valuesOf(s); len(values) > 0 && out["enum"] == nil {
		c.noteValues(out, values)
	}
	return out
}

func (c *cleaner) plainObject(s map[string]any) map[string]any {
	out := begin("object", s)
	keep(out, s, "minProperties", "maxProperties", "required")
	properties, _ := s["properties"].(map[string]any)
	if len(properties) > 0 {
		out["properties"] = c.plainProperties(properties)
	}
	names := slices.DeleteFunc(required(s), func(name any) bool { return properties[name.(string)] == nil })
	if out["required"] = names; len(names) == 0 {
		delete(out, "required")
	}
	return out
}

func (c *cleaner) plainArray(s map[string]any) map[string]any {
	out := begin("array", s)
	keep(out, s, "minItems", "maxItems")
	if items, ok := s["items"].(map[string]any); ok {
		out["items"] = c.plain(items)
	} else { // nothing is said of what is in it, and there is an end to saying "anything"
		out["items"] = map[string]any{"type": "string"}
	}
	return out
}

func begin(kind string, s map[string]any) map[string]any {
	out := map[string]any{"type": kind}
	keep(out, s, "title", "description")
	return out
}

func keep(out, s map[string]any, keys ...string) {
	for _, key := range keys {
		if v, ok := s[key]; ok {
			out[key] = v
		}
	}
}

// textsOf are the texts among a schema's values, and whether they can be an enum:
// it has no empty ones.
func textsOf(s map[string]any) (texts []any, ok bool) {
	for _, v := range valuesOf(s) {
		if text, is := v.(string); is {
			texts = append(texts, text)
		}
	}
	return texts, !slices.Contains(texts, any(""))
}

// inclusive folds an exclusive bound into the inclusive one: of an integer the
// next, of a number the same, which is looser.
func inclusive(out, s map[string]any, exclusive, bound string, step int64) {
	limit, ok := s[exclusive].(json.Number)
	if !ok {
		return
	}
	f, _ := limit.Float64()
	if out["type"] == "integer" && f == math.Trunc(f) && math.Abs(f) < 1<<52 {
		limit = json.Number(fmt.Sprint(int64(f) + step))
	}
	if there, ok := out[bound].(json.Number); ok {
		t, _ := there.Float64()
		if l, _ := limit.Float64(); (t-l)*float64(step) >= 0 {
			return // the other one is tighter
		}
	}
	out[bound] = limit
}

// noteValues says in words what an enum cannot.
func (c *cleaner) noteValues(out map[string]any, values []any) {
	const most = 20
	var words []string
	for _, v := range values[:min(len(values), most)] {
		raw, err := encode(v)
		if err != nil || len(raw) > 100 {
			return
		}
		words = append(words, string(raw))
	}
	if len(values) > most {
		words = append(words, "…")
	}
	note := "One of: " + strings.Join(words, ", ") + "."
	text, _ := out["description"].(string)
	out["description"] = joinText(text, note)
	c.text(note)
}
