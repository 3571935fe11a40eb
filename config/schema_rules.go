package config

import (
	"slices"
	"strconv"
	"strings"

	"github.com/invopop/jsonschema"
)

// rule is one word of a validate tag.
type rule struct{ tag, param string }

// rules are a validate tag: what it says of the value, of a map's keys, and of
// the entries of a list or map.
type rules struct {
	own, keys []rule
	entries   *rules
}

// rulesOf reads a validate tag as validator does.
func rulesOf(tag string) rules {
	all := rules{}
	at := &all
	inKeys := false
	for word := range strings.SplitSeq(tag, ",") {
		name, param, _ := strings.Cut(word, "=")
		switch {
		case name == "":
		case name == "dive":
			at.entries = &rules{}
			at = at.entries
		case name == "keys", name == "endkeys":
			inKeys = name == "keys"
		case inKeys:
			at.keys = append(at.keys, rule{name, param})
		default:
			at.own = append(at.own, rule{name, param})
		}
	}
	if all.entries != nil { // validator has the rules of keys behind dive
		all.keys = all.entries.keys
	}
	return all
}

// inside are the rules of a list's or map's entries.
func (r rules) inside() rules {
	if r.entries == nil {
		return rules{}
	}
	inner := *r.entries
	inner.keys = nil
	if inner.entries != nil {
		inner.keys = inner.entries.keys
	}
	return inner
}

func (r rules) has(tag string) bool {
	return slices.ContainsFunc(r.own, func(rule rule) bool { return rule.tag == tag })
}

// without are the rules of the value less one.
func (r rules) without(tag string) rules {
	r.own = slices.DeleteFunc(slices.Clone(r.own), func(rule rule) bool { return rule.tag == tag })
	return r
}

func (r rules) param(tag string) string {
	for _, rule := range r.own {
		if rule.tag == tag {
			return rule.param
		}
	}
	return ""
}

// size are the limits of a length or a count; nil where there is none.
func (r rules) size() (least, most *uint64) {
	for _, rule := range r.own {
		n, err := strconv.ParseUint(rule.param, 10, 32)
		if err != nil {
			continue
		}
		switch rule.tag {
		case "min", "gte":
			least = new(n)
		case "gt":
			least = new(n + 1)
		case "max", "lte":
			most = new(n)
		case "lt":
			most = new(max(n, 1) - 1)
		case "len":
			least, most = new(n), new(n)
		}
	}
	if r.has("omitempty") {
		least = nil
	}
	return least, most
}

// between are the rules that look at another key of the same object. Where one
// key shuts out another, that one is taken out of the object's own properties,
// so that an editor offers it only where it fits.
func between(keys []schemaKey, s *jsonschema.Schema) (all []*jsonschema.Schema) {
	byName := map[string]schemaKey{}
	for _, k := range keys {
		byName[k.goName] = k
	}
	out := map[string][]*jsonschema.Schema{} // when a key must be left out
	for _, k := range keys {
		for _, r := range k.rules.own {
			verb, when := condition(r, byName)
			switch verb {
			case "required":
				all = append(all, &jsonschema.Schema{If: when, Then: given(k)})
			case "excluded":
				out[k.goName] = append(out[k.goName], when)
			}
			if r.tag == "excluded_with" && when != nil { // either of the two shuts out the other
				out[r.param] = append(out[r.param], given(k))
			}
		}
	}
	for _, k := range keys {
		if len(out[k.goName]) > 0 {
			all = append(all, shutOut(s, k, out[k.goName]))
		}
	}
	return all
}

// shutOut moves a key from an object's properties to where none of the conditions holds.
func shutOut(s *jsonschema.Schema, k schemaKey, out []*jsonschema.Schema) *jsonschema.Schema {
	yes, no := jsonschema.NewProperties(), jsonschema.NewProperties()
	for _, name := range k.names() {
		value, _ := s.Properties.Get(name)
		yes.Set(name, value)
		no.Set(name, jsonschema.FalseSchema)
		s.Properties.Set(name, jsonschema.TrueSchema)
	}
	when := out[0]
	if len(out) > 1 {
		when = &jsonschema.Schema{AnyOf: out}
	}
	return &jsonschema.Schema{If: when, Then: &jsonschema.Schema{Properties: no}, Else: &jsonschema.Schema{Properties: yes}}
}

// condition is a rule like required_if as a verb and the schema of the object
// for which it holds; "" for other rules.
func condition(r rule, byName map[string]schemaKey) (verb string, when *jsonschema.Schema) {
	verb, word, _ := strings.Cut(r.tag, "_")
	name, value, _ := strings.Cut(r.param, " ")
	other, known := byName[name]
	if !known || verb != "required" && verb != "excluded" {
		return "", nil
	}
	not := func(s *jsonschema.Schema) *jsonschema.Schema { return &jsonschema.Schema{Not: s} }
	switch word {
	case "with":
		return verb, given(other)
	case "without":
		return verb, not(given(other))
	case "if":
		return verb, is(other, value)
	case "unless":
		return verb, not(is(other, value))
	default:
		return "", nil
	}
}

// given is an object that has a key.
func given(k schemaKey) *jsonschema.Schema {
	var list []*jsonschema.Schema
	for _, name := range k.names() {
		list = append(list, &jsonschema.Schema{Required: []string{name}})
	}
	if len(list) == 1 {
		return list[0]
	}
	return &jsonschema.Schema{AnyOf: list}
}

// is an object in which a key has a value, be it by default.
func is(k schemaKey, value string) *jsonschema.Schema {
	byDefault := k.field.fallback != nil && *k.field.fallback == value
	var list []*jsonschema.Schema
	for _, name := range k.names() {
		list = append(list, hasValue(name, value, !byDefault))
	}
	switch {
	case len(list) == 1:
		return list[0]
	case byDefault:
		return &jsonschema.Schema{AllOf: list}
	default:
		return &jsonschema.Schema{AnyOf: list}
	}
}

// hasValue is an object in which a key, if it is there, has a value.
func hasValue(name, value string, required bool) *jsonschema.Schema {
	s := &jsonschema.Schema{Properties: jsonschema.NewProperties()}
	s.Properties.Set(name, &jsonschema.Schema{Const: value})
	if required {
		s.Required = []string{name}
	}
	return s
}
