package config

import (
	"fmt"
	"reflect"
	"slices"
)

// Section is an object of the file whose keys belong to an adapter. It knows
// where it stands and which of its keys were taken by the struct around it.
// The zero Section is an empty object of no file. Safe for many goroutines;
// prints as its path, for its texts may be secrets.
type Section struct {
	doc      *document
	node     *node
	taken    map[string]bool
	known    []string // keys that may stand here besides the adapter's
	defaults map[string]any
	foreign  map[string]string
}

// Decode fills the struct that into points to from the keys that are left,
// sets defaults for absent ones and checks the validate tags. The error is
// Faults; into then holds what could be read. It panics where into is not a
// pointer to a struct, or a tag of it is wrong: these are mistakes in the program.
func (s Section) Decode(into any) error {
	v := reflect.ValueOf(into)
	if v.Kind() != reflect.Pointer || v.IsNil() || v.Elem().Kind() != reflect.Struct {
		panic(fmt.Sprintf("config: Decode wants a pointer to a struct, not %T", into))
	}
	s = s.orEmpty()
	if len(s.node.faults) > 0 {
		return s.node.faults.err()
	}
	rest := s.node.without(s.taken)
	d := newDecoder(s.doc)
	d.object(rest, v.Elem(), v.Elem().Type().Name(), extras{known: s.known, defaults: s.defaults, foreign: s.foreign})
	d.validate(v.Elem(), rest)
	return d.faults.err()
}

// With is the section with a default for a key that is absent, stronger than
// the default tag. The value is of the field's type; where Decode's struct has
// no such key it is not used.
func (s Section) With(key string, value any) Section {
	s.defaults = with(s.defaults, key, value)
	return s
}

// Fault is a fault at one of the section's keys, also at one that was taken, or
// at the section itself for "".
func (s Section) Fault(key, text string) Fault {
	s = s.orEmpty()
	if key == "" {
		return s.doc.fault(s.node.key, s.node.path, "%s", text)
	}
	if value := s.node.get(key); value != nil {
		return s.doc.fault(value.at, value.path, "%s", text)
	}
	return s.doc.fault(s.node.at, join(s.node.path, key), "%s", text)
}

// OneOf checks that the text of a key is one of the known words; the error is a
// Fault or Faults. It is for words that only the program knows, like types.
func (s Section) OneOf(key string, known ...string) error {
	s = s.orEmpty()
	value := s.node.get(key)
	right := oneOf(slices.Sorted(slices.Values(known)))
	switch {
	case len(s.node.faults) > 0:
		return s.node.faults.err()
	case value == nil:
		return s.Fault(key, "is missing (must be text)")
	case value.kind != isText:
		return s.Fault(key, "is "+kindWords(value)+" (must be text)")
	case len(value.faults) > 0:
		return value.faults.err()
	case value.literal == "":
		return s.Fault(key, emptyText(value)+" (must be text)")
	case slices.Contains(known, value.literal):
		return nil
	}
	return s.Fault(key, shown(value)+" ("+right+")")
}

// Path is where the section stands in the file, like channels.tg.
func (s Section) Path() string { return s.orEmpty().node.path }

// String is the path.
func (s Section) String() string { return s.Path() }

// GoString keeps the section's texts out of %#v.
func (s Section) GoString() string { return fmt.Sprintf("config.Section(%q)", s.Path()) }

func (s Section) orEmpty() Section {
	if s.doc == nil {
		s.doc = newDocument("config", nil, "")
		s.doc.rules = newRules()
		s.node = &node{kind: isObject}
	}
	return s
}
