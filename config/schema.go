package config

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"

	"github.com/invopop/jsonschema"
)

// Adapters are the structs that the program decodes sections into: those of
// models and channels by the word under "type" that chooses them.
type Adapters struct {
	Models, Channels map[string]reflect.Type
	Server           reflect.Type
}

// Schema is the JSON Schema (2020-12) of a config file as it is written: with
// variables in place and defaults left out. It is made of what the decoder
// reads: the structs' keys and tags, with a key's doc tag as its description. A
// file that Parse and the sections take is valid under it, unless it has a key
// beside one that shuts it out, and empty. One that they refuse may be valid too:
// where the fault lies between keys, or in what a variable holds.
func Schema(a Adapters) ([]byte, error) {
	b := &schemaBuilder{typed: map[reflect.Type]map[string]reflect.Type{
		reflect.TypeFor[Model]():   a.Models,
		reflect.TypeFor[Channel](): a.Channels,
		reflect.TypeFor[Server]():  {"": a.Server},
	}}
	root := b.object(reflect.TypeFor[Config]())
	root.Version = jsonschema.Version
	root.Title = "Dragoman's config"
	root.Definitions = definitions()
	// VS Code's, which takes this file for strict JSON otherwise.
	root.Extras = map[string]any{"allowComments": true, "allowTrailingCommas": true}
	return json.MarshalIndent(root, "", "  ")
}

// schemaBuilder makes schemas of types.
type schemaBuilder struct {
	// The structs that take an embedded Section's keys. Under "" is the one that
	// is always taken, under other words those that "type" chooses.
	typed map[reflect.Type]map[string]reflect.Type
}

// object is the schema of a struct: its keys and no others.
func (b *schemaBuilder) object(t reflect.Type) *jsonschema.Schema {
	s := &jsonschema.Schema{Type: "object", Properties: jsonschema.NewProperties(), AdditionalProperties: jsonschema.FalseSchema}
	keys := b.keys(s, t)
	_, rest := fieldsOf(t)
	switch kinds := b.typed[t]; {
	case rest == nil:
	case kinds == nil:
		s.AdditionalProperties = nil // nobody said whose section it is
	case kinds[""] != nil:
		keys = append(keys, b.keys(s, kinds[""])...)
	default:
		b.chosen(s, keys, kinds)
	}
	s.AllOf = append(s.AllOf, between(keys, s)...)
	return s
}

// chosen adds the keys of the sections, of which the key "type" chooses one.
// What "type" is may come from a variable; nothing is said of the other keys then.
func (b *schemaBuilder) chosen(s *jsonschema.Schema, own []schemaKey, kinds map[string]reflect.Type) {
	words := slices.Sorted(maps.Keys(kinds))
	chooser, _ := s.Properties.Get("type")
	described := orVariable(&jsonschema.Schema{Enum: anys(words)})
	described.Description = chooser.Description
	s.Properties.Set("type", described)
	s.AdditionalProperties = nil
	for _, word := range words {
		section := b.object(kinds[word])
		section.Type = ""
		for _, k := range own {
			section.Properties.Set(k.field.name, jsonschema.TrueSchema)
		}
		s.AllOf = append(s.AllOf, &jsonschema.Schema{If: hasValue("type", word, true), Then: section})
	}
}

// schemaKey is one key of an object, with all that its tags say.
type schemaKey struct {
	field  field
	goName string // what rules of other fields call it
	rules  rules
}

// names are the key's own and its alias.
func (k schemaKey) names() []string {
	if k.field.alias == "" {
		return []string{k.field.name}
	}
	return []string{k.field.name, k.field.alias}
}

// keys adds a struct's keys to an object.
func (b *schemaBuilder) keys(s *jsonschema.Schema, t reflect.Type) []schemaKey {
	fields, _ := fieldsOf(t)
	var keys []schemaKey
	for _, f := range fields {
		sf := t.FieldByIndex(f.index)
		k := schemaKey{field: f, goName: sf.Name, rules: rulesOf(sf.Tag.Get("validate"))}
		keys = append(keys, k)
		value := b.value(sf.Type, k.rules)
		if form, ok := entryNames[f.name]; ok && t == reflect.TypeFor[Config]() {
			value.PropertyNames = &jsonschema.Schema{Pattern: form.allowed.String(), Extras: wording(form.words)}
		}
		value.Description = sf.Tag.Get("doc")
		if f.fallback != nil {
			value.Default = defaultOf(sf.Type, *f.fallback)
		}
		s.Properties.Set(f.name, value)
		if f.alias != "" {
			other := *value
			other.Description = "Another name of " + f.name
			s.Properties.Set(f.alias, &other)
			if value.Type != "object" { // objects under both are joined
				s.AllOf = append(s.AllOf, &jsonschema.Schema{Not: &jsonschema.Schema{Required: k.names()}})
			}
		}
		if k.rules.has("required") && f.fallback == nil {
			require(s, k)
		}
	}
	return keys
}

// require makes a key, or its alias, one that must be there.
func require(s *jsonschema.Schema, k schemaKey) {
	if k.field.alias == "" {
		s.Required = append(s.Required, k.field.name)
		return
	}
	s.AllOf = append(s.AllOf, given(k))
}

// value is the schema of a value by its Go type, as the decoder's value reads it.
func (b *schemaBuilder) value(t reflect.Type, r rules) *jsonschema.Schema {
	switch {
	case t == rawType, t.Kind() == reflect.Interface, t == sectionType:
		return &jsonschema.Schema{}
	case t.Kind() == reflect.Pointer && len(r.own) > 0 && !r.has("omitempty"): // rules that no value breaks too
		return b.value(t.Elem(), r)
	case t.Kind() == reflect.Pointer: // and its omitempty is about null, not about what is empty
		return either(b.value(t.Elem(), r.without("omitempty")), &jsonschema.Schema{Type: "null"})
	case isScalar(t):
		return scalarSchema(t, r)
	case t.Kind() == reflect.Struct:
		return b.object(t)
	case t.Kind() == reflect.Map:
		s := &jsonschema.Schema{Type: "object", AdditionalProperties: b.value(t.Elem(), r.inside())}
		s.MinProperties, s.MaxProperties = r.size()
		if len(r.keys) > 0 {
			s.PropertyNames = textForm(rules{own: r.keys})
		}
		return s
	default:
		s := &jsonschema.Schema{Type: "array", Items: b.value(t.Elem(), r.inside())}
		s.MinItems, s.MaxItems = r.size()
		s.UniqueItems = r.has("unique")
		return s
	}
}

// defaultOf is a default tag as JSON: a text stands for itself, and so does what is not JSON.
func defaultOf(t reflect.Type, text string) any {
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if wantedKind(t) == isText || !json.Valid([]byte(text)) {
		return text
	}
	return json.RawMessage(text)
}

func anys(words []string) []any {
	list := make([]any, len(words))
	for i, w := range words {
		list[i] = w
	}
	return list
}
