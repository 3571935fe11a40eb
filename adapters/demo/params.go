package demo

import (
	"bytes"
	"encoding/json"
	"slices"
)

// param is one argument of a tool, as far as the stand-in understands its schema.
type param struct {
	name, text string
	kind       string // JSON Schema's type; "string" if it does not say
	items      string // of an array: the type of what is in it
	format     string
	enum       []any
	preset     any // const, or else default
	required   bool
}

type params []param

// readParams reads an input schema: the required ones first, in their order,
// then the others in the schema's.
func readParams(schema json.RawMessage) params {
	var s struct {
		Properties json.RawMessage
		Required   []string
	}
	if json.Unmarshal(schema, &s) != nil {
		return nil
	}
	var all params
	for _, p := range members(s.Properties) {
		p.required = slices.Contains(s.Required, p.name)
		all = append(all, p)
	}
	place := func(p param) int {
		if i := slices.Index(s.Required, p.name); i >= 0 {
			return i
		}
		return len(s.Required)
	}
	slices.SortStableFunc(all, func(a, b param) int { return place(a) - place(b) })
	return all
}

// members reads the properties in the order of the text, which a map would lose.
func members(properties json.RawMessage) params {
	dec := json.NewDecoder(bytes.NewReader(properties))
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return nil
	}
	var all params
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			return all
		}
		var raw json.RawMessage
		if dec.Decode(&raw) != nil {
			return all
		}
		if name, ok := key.(string); ok {
			all = append(all, readParam(name, raw))
		}
	}
	return all
}

type rawParam struct {
	Type        any
	Description string
	Format      string
	Enum        []any
	Const       any
	Default     any
	Items       json.RawMessage
	AnyOf       []json.RawMessage
	OneOf       []json.RawMessage
}

func readParam(name string, raw json.RawMessage) param {
	p := param{name: name, kind: "string", items: "string"}
	var s rawParam
	if json.Unmarshal(raw, &s) != nil {
		return p
	}
	if s.Type == nil { // an optional value is often "a string or null"
		for _, branch := range append(s.AnyOf, s.OneOf...) {
			var b rawParam
			if json.Unmarshal(branch, &b) == nil && typeOf(b.Type) != "" {
				s.Type, s.Enum, s.Items = b.Type, append(s.Enum, b.Enum...), b.Items
				break
			}
		}
	}
	p.text, p.format, p.enum = s.Description, s.Format, s.Enum
	if kind := typeOf(s.Type); kind != "" {
		p.kind = kind
	}
	if p.preset = s.Const; p.preset == nil {
		p.preset = s.Default
	}
	var items rawParam
	if json.Unmarshal(s.Items, &items) == nil && typeOf(items.Type) != "" {
		p.items = typeOf(items.Type)
	}
	return p
}

// typeOf is a schema's type, the first one that is not null; "" if it has none.
func typeOf(t any) string {
	switch t := t.(type) {
	case string:
		if t != "null" {
			return t
		}
	case []any:
		for _, one := range t {
			if name := typeOf(one); name != "" {
				return name
			}
		}
	}
	return ""
}
