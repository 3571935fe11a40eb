package toolschema

import (
	"maps"
	"reflect"
	"slices"
	"strings"
)

// The bounds of what the root of a schema may unfold.
const (
	maxUnfolded = 200    // references and alternatives
	maxMerged   = 20_000 // properties, and names of them
	maxForms    = 32     // of one property
)

// merger folds what stands at the top of a schema into one object: no provider
// takes combinators there.
type merger struct {
	*refs
	unfolded, merged int
}

// top gives the root with its properties, uncleaned, and without any keyword
// that providers refuse at the top.
func (m *merger) top(s map[string]any) map[string]any {
	out := m.merge(s, 0)
	for _, forbidden := range []string{"enum", "const", "not", "if", "then", "else"} {
		delete(out, forbidden)
	}
	out["type"] = "object"
	if _, ok := out["properties"].(map[string]any); !ok {
		out["properties"] = map[string]any{}
	}
	return out
}

func (m *merger) merge(s map[string]any, depth int) map[string]any {
	out := maps.Clone(s)
	for _, key := range []string{"$ref", "allOf", "oneOf", "anyOf"} {
		delete(out, key)
	}
	if p, ok := s["properties"].(map[string]any); ok {
		out["properties"] = maps.Clone(p)
		m.merged += len(p)
	}
	m.merged += len(list(s["required"]))
	if m.unfolded++; depth > maxUnfolded/4 || m.spent() {
		return out
	}
	if ref, ok := s["$ref"].(string); ok {
		if target, ok := m.resolve(ref).(map[string]any); ok {
			if m.refAlone() {
				out = annotationsOf(out)
			}
			out = m.both(m.merge(target, depth+1), out)
		}
	}
	for _, branch := range list(s["allOf"]) {
		if m.spent() {
			delete(out, "additionalProperties") // what is left out must not be forbidden
			break
		}
		if b, ok := branch.(map[string]any); ok {
			out = m.both(out, m.merge(b, depth+1))
		}
	}
	for _, key := range []string{"oneOf", "anyOf"} {
		m.either(out, list(s[key]), depth)
	}
	return out
}

func (m *merger) spent() bool { return m.unfolded > maxUnfolded || m.merged > maxMerged }

// both merges two schemas that hold at once, into the first. Where both say
// something different of one thing the result says what the first says, or less.
func (m *merger) both(a, b map[string]any) map[string]any {
	if m.properties(a, b) {
		delete(a, "additionalProperties") // whoever writes it in a part means the part
	}
	if names := union(required(a), required(b)); len(names) > 0 {
		a["required"] = names
	}
	for key, value := range b {
		if _, taken := a[key]; !taken && key != "additionalProperties" {
			a[key] = value
		}
	}
	return a
}

// either merges alternatives into a schema: of what one of them demands or
// forbids, only what all demand holds.
func (m *merger) either(out map[string]any, branches []any, depth int) {
	var common []any
	var ways []string
	first := true
	for _, branch := range branches {
		if m.spent() {
			delete(out, "additionalProperties")
			return
		}
		s, ok := branch.(map[string]any)
		if !ok {
			common, first = nil, false // true, or nonsense: it demands nothing
			continue
		}
		b := m.merge(s, depth+1)
		if names := required(b); first {
			common, first = names, false
		} else {
			common = intersection(common, names)
		}
		ways = append(ways, wayOf(b))
		if m.properties(out, b) {
			delete(out, "additionalProperties")
		}
	}
	if names := union(required(out), common); len(names) > 0 {
		out["required"] = names
	}
	noteWays(out, ways)
}

// properties adds those of b to a, and reports whether there were new names. One
// that both have takes either form.
func (m *merger) properties(a, b map[string]any) (added bool) {
	theirs, _ := b["properties"].(map[string]any)
	if m.merged += len(theirs); len(theirs) == 0 {
		return false
	} else if m.merged > maxMerged {
		return true // what is left out must not be forbidden
	}
	own, ok := a["properties"].(map[string]any)
	if !ok {
		own = map[string]any{}
		a["properties"] = own
	}
	for name, schema := range theirs {
		there, ok := own[name]
		if ok {
			schema = eitherForm(there, schema)
		}
		own[name], added = schema, added || !ok
	}
	return added
}

// forms are the shapes that a property has in several branches of the root.
type forms []any

func eitherForm(a, b any) any {
	all, ok := a.(forms)
	if !ok {
		all = forms{a}
	}
	more, ok := b.(forms)
	if !ok {
		more = forms{b}
	}
	for _, f := range more {
		known := slices.ContainsFunc(all, func(other any) bool { return reflect.DeepEqual(other, f) })
		switch {
		case known:
		case len(all) >= maxForms:
			return map[string]any{}
		default:
			all = append(slices.Clip(all), f)
		}
	}
	if len(all) == 1 {
		return all[0]
	}
	return all
}

// schema is the forms in one.
func (f forms) schema() map[string]any { return map[string]any{"anyOf": []any(f)} }

// wayOf names the arguments of one alternative.
func wayOf(branch map[string]any) string {
	var names []string
	for _, name := range required(branch) {
		names = append(names, name.(string))
	}
	if len(names) == 0 {
		properties, _ := branch["properties"].(map[string]any)
		if len(properties) > maxForms {
			return ""
		}
		names = slices.Sorted(maps.Keys(properties))
	}
	if len(names) > maxForms {
		return ""
	}
	for i, name := range names {
		names[i], _ = cut(name, 64)
	}
	return strings.Join(names, " + ")
}

// noteWays says in the description what the merge took out of the structure.
func noteWays(s map[string]any, ways []string) {
	ways = slices.DeleteFunc(ways, func(w string) bool { return w == "" })
	slices.Sort(ways)
	ways = slices.Compact(ways)
	if len(ways) < 2 || len(ways) > maxForms {
		return
	}
	text, _ := s["description"].(string)
	s["description"] = joinText(text, "Give one of: "+strings.Join(ways, "; or ")+".")
}

// required is the list of names, each once, whatever else stands there.
func required(s map[string]any) []any {
	names, seen := []any{}, map[string]bool{}
	for _, v := range list(s["required"]) {
		if name, ok := v.(string); ok && !seen[name] {
			seen[name] = true
			names = append(names, name)
		}
	}
	return names
}

func union(a, b []any) []any {
	seen := map[any]bool{}
	var out []any
	for _, name := range slices.Concat(a, b) {
		if !seen[name] {
			seen[name] = true
			out = append(out, name)
		}
	}
	return out
}

func intersection(a, b []any) []any {
	in := map[any]bool{}
	for _, name := range b {
		in[name] = true
	}
	return slices.DeleteFunc(slices.Clone(a), func(name any) bool { return !in[name] })
}

func list(v any) []any {
	l, _ := v.([]any)
	return l
}
