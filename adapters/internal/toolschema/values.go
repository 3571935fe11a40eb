package toolschema

import (
	"encoding/json"
	"maps"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// annotations keeps what explains a value, and the words that limit its text.
func (c *cleaner) annotations(out, s map[string]any) {
	for _, key := range []string{"title", "description"} {
		if text, ok := s[key].(string); ok && text != "" {
			if out[key] = c.short(text); out[key] == "" {
				delete(out, key)
			}
		}
	}
	for _, key := range []string{"format", "contentEncoding", "contentMediaType"} {
		if text, ok := s[key].(string); ok && len(text) <= 64 {
			out[key] = text
			c.text(text)
		}
	}
	if pattern, ok := s["pattern"].(string); ok && goodPattern(pattern) {
		out["pattern"] = pattern
		c.text(pattern)
	}
	if t := typeOf(s); t != nil {
		out["type"] = t
	}
}

// short cuts a text to the floor's length, and counts it.
func (c *cleaner) short(text string) string {
	head, rest := cut(text, c.floor.text)
	if rest != "" && head != "" {
		head += "…"
	}
	c.text(head)
	return head
}

// text counts what is written down.
func (c *cleaner) text(s string) { c.spend(len(s)) }

// spend counts what is written down or looked at, in bytes and in things.
func (c *cleaner) spend(n int) {
	if c.spent += n; c.spent > 2*maxBytes {
		c.over = true
	}
}

// values keeps the values that a schema names, if they can be written down.
func (c *cleaner) values(out, s map[string]any) {
	if all := list(s["enum"]); len(all) > 0 && len(all) <= c.floor.enum && c.sound(all, 0) {
		out["enum"] = unique(all)
	}
	if v, ok := s["const"]; ok && c.sound(v, 0) {
		out["const"] = v
	}
	if c.floor.enum == 0 {
		return
	}
	if v, ok := s["default"]; ok && c.sound(v, 0) {
		out["default"] = v
	}
	if v := list(s["examples"]); len(v) > 0 && c.sound(v, 0) {
		out["examples"] = v
	}
}

// sound reports whether a value is flat enough, and its numbers small enough, for
// any parser.
func (c *cleaner) sound(v any, depth int) bool {
	const deepest = 16
	if depth > deepest || c.over {
		return false
	}
	c.text("0,")
	switch v := v.(type) {
	case json.Number:
		c.text(v.String())
		return finite(v)
	case string:
		c.text(v)
	case []any:
		return !slices.ContainsFunc(v, func(e any) bool { return !c.sound(e, depth+1) })
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			c.text(name)
			if !c.sound(v[name], depth+1) {
				return false
			}
		}
	}
	return true
}

// unique leaves out what stands there twice.
func unique(all []any) []any {
	seen := map[string]bool{}
	var out []any
	for _, v := range all {
		raw, err := encode(v)
		if err == nil && !seen[string(raw)] {
			seen[string(raw)] = true
			out = append(out, v)
		}
	}
	return out
}

// bounds keeps the limits that are numbers, and puts draft 4's
// {"minimum":0,"exclusiveMinimum":true} into today's form.
func bounds(out, s map[string]any) {
	for _, key := range []string{"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"} {
		if n, ok := s[key].(json.Number); ok && finite(n) && (key != "multipleOf" || positive(n)) {
			out[key] = n
		}
	}
	for exclusive, bound := range map[string]string{"exclusiveMinimum": "minimum", "exclusiveMaximum": "maximum"} {
		if strict, ok := s[exclusive].(bool); ok && strict && out[bound] != nil {
			out[exclusive] = out[bound]
			delete(out, bound)
		}
	}
	for _, key := range []string{"minLength", "maxLength", "minItems", "maxItems", "minContains", "minProperties", "maxProperties"} {
		if n, ok := count(s[key]); ok {
			out[key] = n
		}
	}
}

// count is a number of things.
func count(v any) (int64, bool) {
	n, ok := v.(json.Number)
	if !ok {
		if n, ok := v.(int64); ok {
			return n, true
		}
		return 0, false
	}
	if !finite(n) {
		return 0, false
	}
	if i, err := n.Int64(); err == nil {
		return i, i >= 0
	}
	f, err := n.Float64()
	return int64(f), err == nil && f >= 0 && f < 1<<53 && f == math.Trunc(f)
}

func finite(n json.Number) bool {
	const longest = 40
	if len(n) > longest {
		return false
	}
	_, err := n.Float64()
	return err == nil
}

func positive(n json.Number) bool {
	f, err := n.Float64()
	return err == nil && f > 0
}

// goodPattern reports whether every provider's engine (RE2, Python's, ECMA's)
// reads an expression, and reads it alike. Groups with a question mark and
// classes with a name are where they differ.
func goodPattern(pattern string) bool {
	if len(pattern) > 1000 || strings.Contains(strings.ReplaceAll(pattern, "(?:", ""), "(?") || strings.Contains(pattern, "[:") {
		return false
	}
	for i := 0; i < len(pattern)-1; i++ {
		if pattern[i] != '\\' {
			continue
		}
		if i++; strings.IndexByte("pPzZAaQECxUGkhHRKXvN", pattern[i]) >= 0 {
			return false
		}
	}
	_, err := regexp.Compile(pattern)
	return err == nil
}

var types = []string{"string", "number", "integer", "boolean", "array", "object", "null"}

// typeOf keeps the types that JSON Schema has: a name, a list of names, or nil.
func typeOf(s map[string]any) any {
	known := func(t any) bool {
		name, _ := t.(string)
		return slices.Contains(types, name)
	}
	if all, ok := s["type"].([]any); ok {
		all = slices.DeleteFunc(unique(all[:min(len(all), 2*len(types))]), func(t any) bool { return !known(t) })
		if len(all) == 0 {
			return nil
		}
		return all
	}
	if known(s["type"]) {
		return s["type"]
	}
	return nil
}

func hasType(s map[string]any, name string) bool {
	switch t := s["type"].(type) {
	case string:
		return t == name
	case []any:
		return slices.Contains(t, any(name))
	}
	return false
}

func quoted(text string) string { return strconv.Quote(text) }
