package toolschema

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// The bounds of the walk into a schema: how deep, and how many references and
// alternatives the root may unfold. Servers are not trusted.
const (
	maxSchemaDepth = 40
	maxUnfolded    = 200
)

// Profile is the rules of a provider.
type Profile int

const (
	ForOpenAI    Profile = iota // and everyone who speaks its wires, but for Gemini
	ForAnthropic                // messages
	ForGemini                   // generativelanguage.googleapis.com, its OpenAI-compatible endpoint included
)

// Projection is a schema as a provider takes it.
type Projection struct {
	Schema json.RawMessage // an object's schema
}

// Project turns a tool's own input schema into what the profile's provider takes.
//
// At the top it makes sure of type object and properties, and merges a $ref,
// oneOf, anyOf and allOf into the root. Everywhere it drops what is no schema,
// gives arrays their items, drops references that lead nowhere or abroad, and
// puts draft 4's boolean exclusive bounds right.
func Project(_ Profile, pristine json.RawMessage) Projection {
	schema, err := encode(project(pristine))
	if err != nil { // there is nothing in it that JSON has no form for
		schema = json.RawMessage(`{"properties":{},"type":"object"}`)
	}
	return Projection{Schema: schema}
}

func project(pristine json.RawMessage) map[string]any {
	dec := json.NewDecoder(bytes.NewReader(pristine))
	dec.UseNumber() // a float64 would round large integers
	var root map[string]any
	if dec.Decode(&root) != nil || root == nil {
		return map[string]any{"type": "object", "properties": map[string]any{}}
	}
	p := &projector{root: root}
	out := p.mergeRoot(root, 0)
	delete(out, "$schema")
	for _, forbidden := range []string{"enum", "const", "not", "if", "then", "else"} {
		delete(out, forbidden)
	}
	out = p.schema(out, 0)
	out["type"] = "object"
	properties, _ := out["properties"].(map[string]any)
	if properties == nil {
		properties = map[string]any{}
	}
	out["properties"] = properties
	return out
}

type projector struct {
	root     map[string]any
	unfolded int
}

// mergeRoot folds the alternatives of a top-level schema into it.
func (p *projector) mergeRoot(s map[string]any, depth int) map[string]any {
	out := maps.Clone(s)
	for _, key := range []string{"$ref", "allOf", "oneOf", "anyOf"} {
		delete(out, key)
	}
	if p.unfolded++; depth > maxSchemaDepth || p.unfolded > maxUnfolded {
		return out
	}
	if ref, ok := s["$ref"].(string); ok {
		if target, ok := p.resolve(ref).(map[string]any); ok {
			out = mergeBranch(p.mergeRoot(target, depth+1), out)
			out["required"] = union(required(target), required(s))
		}
	}
	for _, branch := range schemas(s["allOf"]) {
		b := p.mergeRoot(branch, depth+1)
		all := union(required(out), required(b))
		out = mergeBranch(out, b)
		out["required"] = all
	}
	for _, key := range []string{"oneOf", "anyOf"} {
		branches := schemas(s[key])
		if len(branches) == 0 {
			continue
		}
		var common []any
		var ways []string
		before := required(out)
		for i, branch := range branches {
			b := p.mergeRoot(branch, depth+1)
			if i == 0 {
				common = required(b)
			} else {
				common = slices.DeleteFunc(common, func(name any) bool { return !slices.Contains(required(b), name) })
			}
			ways = append(ways, wayOf(b))
			out = mergeBranch(out, b)
		}
		out["required"] = union(before, common)
		noteWays(out, ways)
	}
	return out
}

// mergeBranch adds a branch's properties to s. A property that both have takes
// either form.
func mergeBranch(s, branch map[string]any) map[string]any {
	out := maps.Clone(s)
	properties := map[string]any{}
	if own, ok := s["properties"].(map[string]any); ok {
		maps.Copy(properties, own)
	}
	theirs, _ := branch["properties"].(map[string]any)
	for name, schema := range theirs {
		if there, ok := properties[name]; ok && !sameJSON(there, schema) {
			schema = map[string]any{"anyOf": append(alternatives(there), schema)}
		}
		properties[name] = schema
	}
	out["properties"] = properties
	for key, value := range branch {
		if _, taken := out[key]; !taken && key != "additionalProperties" {
			out[key] = value
		}
	}
	// What one branch forbids another may need.
	delete(out, "additionalProperties")
	return out
}

// schema cleans a schema at any depth.
func (p *projector) schema(s map[string]any, depth int) map[string]any {
	if depth > maxSchemaDepth {
		return map[string]any{}
	}
	out := maps.Clone(s)
	if ref, ok := out["$ref"].(string); ok {
		if _, found := p.resolve(ref).(map[string]any); !found {
			delete(out, "$ref")
		}
	}
	for _, key := range []string{"properties", "$defs", "definitions", "patternProperties", "dependentSchemas"} {
		if named, ok := out[key].(map[string]any); ok {
			out[key] = p.named(named, depth)
		} else {
			delete(out, key)
		}
	}
	for _, key := range []string{"anyOf", "oneOf", "allOf", "prefixItems"} {
		p.list(out, key, depth)
	}
	for _, key := range []string{"not", "contains", "propertyNames", "if", "then", "else", "additionalProperties"} {
		switch v := out[key].(type) {
		case map[string]any:
			out[key] = p.schema(v, depth+1)
		case bool: // a schema in itself, and taken where it is
		default:
			delete(out, key)
		}
	}
	p.items(out, depth)
	fixType(out)
	fixRequired(out)
	fixBound(out, "exclusiveMinimum", "minimum")
	fixBound(out, "exclusiveMaximum", "maximum")
	return out
}

func (p *projector) named(all map[string]any, depth int) map[string]any {
	out := make(map[string]any, len(all))
	for name, v := range all {
		switch v := v.(type) {
		case map[string]any:
			out[name] = p.schema(v, depth+1)
		case bool:
			if v { // "anything", which the wire knows only as {}
				out[name] = map[string]any{}
			}
		}
	}
	return out
}

func (p *projector) list(s map[string]any, key string, depth int) {
	branches := schemas(s[key])
	if len(branches) == 0 {
		delete(s, key)
		return
	}
	clean := make([]any, len(branches))
	for i, b := range branches {
		clean[i] = p.schema(b, depth+1)
	}
	s[key] = clean
}

// items makes sure that an array says what is in it, in one schema: a tuple
// becomes a list of any of its kinds.
func (p *projector) items(s map[string]any, depth int) {
	switch v := s["items"].(type) {
	case map[string]any:
		s["items"] = p.schema(v, depth+1)
	case []any:
		kinds := make([]any, 0, len(v))
		for _, kind := range schemas(v) {
			kinds = append(kinds, p.schema(kind, depth+1))
		}
		s["items"] = map[string]any{}
		if len(kinds) > 0 {
			s["items"] = map[string]any{"anyOf": kinds}
		}
		delete(s, "additionalItems")
	default:
		delete(s, "items")
		if hasType(s, "array") {
			s["items"] = map[string]any{}
		}
	}
}

// resolve follows a reference within the same document (RFC 6901), nil if it
// leads nowhere.
func (p *projector) resolve(ref string) any {
	path, local := strings.CutPrefix(ref, "#")
	if !local {
		return nil
	}
	var at any = p.root
	for part := range strings.SplitSeq(strings.TrimPrefix(path, "/"), "/") {
		if path == "" {
			break
		}
		object, ok := at.(map[string]any)
		if !ok {
			return nil
		}
		at = object[strings.NewReplacer("~1", "/", "~0", "~").Replace(part)]
	}
	return at
}

// fixType keeps the types that JSON Schema has.
func fixType(s map[string]any) {
	known := func(t any) bool {
		name, _ := t.(string)
		return slices.Contains([]string{"string", "number", "integer", "boolean", "array", "object", "null"}, name)
	}
	if list, ok := s["type"].([]any); ok {
		list = slices.DeleteFunc(slices.Clone(list), func(t any) bool { return !known(t) })
		if s["type"] = list; len(list) == 0 {
			delete(s, "type")
		}
		return
	}
	if !known(s["type"]) {
		delete(s, "type")
	}
}

// fixRequired keeps of "required" what is there to be given. Draft 3 had a
// boolean there.
func fixRequired(s map[string]any) {
	if _, ok := s["required"]; !ok {
		return
	}
	properties, _ := s["properties"].(map[string]any)
	names := slices.DeleteFunc(required(s), func(name any) bool {
		_, known := properties[name.(string)]
		return !known
	})
	if len(names) == 0 {
		delete(s, "required")
		return
	}
	s["required"] = names
}

// fixBound turns draft 4's {"minimum":0,"exclusiveMinimum":true} into today's form.
func fixBound(s map[string]any, exclusive, bound string) {
	flag, ok := s[exclusive].(bool)
	if !ok {
		return
	}
	delete(s, exclusive)
	if limit, ok := s[bound]; ok && flag {
		s[exclusive] = limit
		delete(s, bound)
	}
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

// required is the list of names, strings only, never nil-panicking on nonsense.
func required(s map[string]any) []any {
	list, _ := s["required"].([]any)
	names := make([]any, 0, len(list))
	for _, name := range list {
		if _, ok := name.(string); ok {
			names = append(names, name)
		}
	}
	return names
}

func union(a, b []any) []any {
	out := slices.Clone(a)
	for _, name := range b {
		if !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	return out
}

func schemas(v any) []map[string]any {
	list, _ := v.([]any)
	var out []map[string]any
	for _, item := range list {
		if s, ok := item.(map[string]any); ok {
			out = append(out, s)
		}
	}
	return out
}

func alternatives(schema any) []any {
	if s, ok := schema.(map[string]any); ok && len(s) == 1 {
		if list, ok := s["anyOf"].([]any); ok {
			return slices.Clone(list)
		}
	}
	return []any{schema}
}

func sameJSON(a, b any) bool {
	x, errX := json.Marshal(a)
	y, errY := json.Marshal(b)
	return errX == nil && errY == nil && bytes.Equal(x, y)
}

// wayOf names the arguments of one alternative.
func wayOf(branch map[string]any) string {
	var names []string
	for _, name := range required(branch) {
		names = append(names, fmt.Sprint(name))
	}
	if len(names) == 0 {
		properties, _ := branch["properties"].(map[string]any)
		names = slices.Sorted(maps.Keys(properties))
	}
	return strings.Join(names, " + ")
}

// noteWays says in the description what the merge took out of the structure.
func noteWays(s map[string]any, ways []string) {
	ways = slices.DeleteFunc(ways, func(w string) bool { return w == "" })
	if len(ways) < 2 {
		return
	}
	note := "Give one of: " + strings.Join(ways, "; or ") + "."
	if text, ok := s["description"].(string); ok && text != "" {
		note = text + " " + note
	}
	s["description"] = note
}
