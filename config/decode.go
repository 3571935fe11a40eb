package config

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"

	"github.com/tailscale/hujson"
)

var rawType = reflect.TypeFor[json.RawMessage]()

// decoder fills Go values from nodes and gathers what does not fit. It
// remembers each field under the name that the validator has for it, so that a
// rule that is broken can be shown in the file.
type decoder struct {
	doc    *document
	faults Faults
	places map[string]place
	failed map[string]bool // fields that have a fault already
}

// place is where a field stands, or where it is missing.
type place struct {
	at   int
	path string
	node *node // nil: the key is absent
}

func newDecoder(doc *document) *decoder {
	return &decoder{doc: doc, places: map[string]place{}, failed: map[string]bool{}}
}

// extras is what a Section brings along for the keys of its object.
type extras struct {
	known    []string          // keys that are taken already, for suggestions
	defaults map[string]any    // for absent keys
	foreign  map[string]string // keys of other programs, and what would be right here
}

// value sets v from n. rule is the validator's name for v. A value that does
// not fit leaves v as it is.
func (d *decoder) value(n *node, v reflect.Value, rule string) {
	d.places[rule] = place{at: n.at, path: n.path, node: n}
	if len(n.faults) > 0 {
		d.fail(rule, n.faults...)
		return
	}
	t := v.Type()
	switch {
	case t == rawType:
		if d.sound(n, rule) {
			v.SetBytes(n.json(nil))
		}
	case t.Kind() == reflect.Pointer && n.kind == isNull:
	case t.Kind() == reflect.Pointer:
		target := reflect.New(t.Elem())
		d.value(n, target.Elem(), rule)
		v.Set(target)
	case isScalar(t):
		d.scalar(n, v, rule)
	case t.Kind() == reflect.Interface:
		d.anything(n, v, rule)
	case wantedKind(t) == 0:
		panic(fmt.Sprintf("config: a field of type %v cannot be configured (%s)", t, rule))
	case n.kind != wantedKind(t):
		d.fail(rule, d.wrongType(n, t))
		d.voidSection(n, v)
	case t == sectionType:
		v.Set(reflect.ValueOf(Section{doc: d.doc, node: n}))
	case t.Kind() == reflect.Struct:
		d.object(n, v, rule, extras{})
	case t.Kind() == reflect.Map:
		d.mapping(n, v, rule)
	default:
		d.list(n, v, rule)
	}
}

// voidSection gives a struct that could not be read a Section that says so.
func (d *decoder) voidSection(n *node, v reflect.Value) {
	if v.Kind() != reflect.Struct || v.Type() == sectionType {
		return
	}
	if _, rest := fieldsOf(v.Type()); rest != nil {
		void := &node{kind: isObject, at: n.at, key: n.key, path: n.path, faults: Faults{d.wrongType(n, v.Type())}}
		v.FieldByIndex(rest).Set(reflect.ValueOf(Section{doc: d.doc, node: void}))
	}
}

func (d *decoder) fail(rule string, faults ...Fault) {
	d.failed[rule] = true
	d.faults = append(d.faults, faults...)
}

// sound reports whether all texts in n could be made.
func (d *decoder) sound(n *node, rule string) bool {
	problems := n.problems(nil)
	if len(problems) > 0 {
		d.fail(rule, problems...)
	}
	return len(problems) == 0
}

func (d *decoder) scalar(n *node, v reflect.Value, rule string) {
	fromVariable := n.kind == isText && len(n.refs) > 0
	if n.kind != wantedKind(v.Type()) && !fromVariable {
		d.fail(rule, d.wrongType(n, v.Type()))
		return
	}
	if err := setText(v, n.literal); err != nil {
		d.fail(rule, d.doc.fault(n.at, n.path, "%s (%s)", shown(n), requirement(err, n)))
	}
}

func (d *decoder) anything(n *node, v reflect.Value, rule string) {
	if v.NumMethod() > 0 {
		panic(fmt.Sprintf("config: a field of type %v cannot be configured (%s)", v.Type(), rule))
	}
	if !d.sound(n, rule) {
		return
	}
	var value any
	if err := json.Unmarshal(n.json(nil), &value); err != nil { // a number that float64 cannot hold
		d.fail(rule, d.doc.fault(n.at, n.path, "holds a number that is too large (must be at most about 1.7e308)"))
		return
	}
	if value != nil {
		v.Set(reflect.ValueOf(value))
	}
}

func (d *decoder) mapping(n *node, v reflect.Value, rule string) {
	t := v.Type()
	if t.Key().Kind() != reflect.String {
		panic(fmt.Sprintf("config: a map must have text as keys, not %v (%s)", t.Key(), rule))
	}
	entries := reflect.MakeMapWithSize(t, len(n.members))
	for _, m := range n.members {
		// An entry with a fault stays in the map: what refers to it is right.
		entry := reflect.New(t.Elem()).Elem()
		d.value(m.value, entry, rule+"["+m.name+"]")
		entries.SetMapIndex(reflect.ValueOf(m.name).Convert(t.Key()), entry)
	}
	v.Set(entries)
}

func (d *decoder) list(n *node, v reflect.Value, rule string) {
	items := reflect.MakeSlice(v.Type(), len(n.items), len(n.items))
	for i, item := range n.items {
		d.value(item, items.Index(i), rule+"["+strconv.Itoa(i)+"]")
	}
	v.Set(items)
}

// object sets a struct's fields, with defaults for absent keys.
func (d *decoder) object(n *node, v reflect.Value, rule string, more extras) {
	fields, rest := fieldsOf(v.Type())
	mine := map[string]bool{}
	names := slices.Clone(more.known)
	for _, f := range fields {
		mine[f.name] = true
		names = append(names, f.name)
		if f.alias != "" {
			mine[f.alias] = true
		}
		target := v.FieldByIndex(f.index)
		inner := below(rule, f.rule)
		if value := d.named(n, f); value != nil {
			d.value(value, target, inner)
		} else {
			d.absent(n, f, target, inner, more.defaults)
		}
		if f.path && !d.failed[inner] {
			target.SetString(relativeTo(d.doc.dir, target.String()))
		}
	}
	if rest != nil {
		v.FieldByIndex(rest).Set(reflect.ValueOf(Section{doc: d.doc, node: n, taken: mine, known: names}))
		return
	}
	for _, m := range n.members {
		if mine[m.name] {
			continue
		}
		right, foreign := more.foreign[m.name]
		if !foreign {
			right = Instead(m.name, names)
		}
		d.faults = append(d.faults, d.doc.fault(m.value.key, m.value.path, "is not a known key (%s)", right))
	}
}

// below is the validator's name for a field; a struct type without a name has none.
func below(rule, field string) string {
	if rule == "" {
		return field
	}
	return rule + "." + field
}

// named is the value of a field's key or of its alias; of objects under both it is one with the keys of both.
func (d *decoder) named(n *node, f field) *node {
	value := n.get(f.name)
	if f.alias == "" || n.get(f.alias) == nil {
		return value
	}
	other := n.get(f.alias)
	switch {
	case value == nil:
		return other
	case value.kind != isObject || other.kind != isObject:
		d.faults = append(d.faults, d.doc.fault(other.key, other.path, "is another name of %q, which is given on line %d (keep one)", f.name, d.doc.line(value.key)))
		return value
	}
	both := value.without(nil)
	for _, m := range other.members {
		if first := value.get(m.name); first != nil {
			d.faults = append(d.faults, d.doc.fault(m.value.key, m.value.path, "is given under %q too, on line %d (keep one)", f.name, d.doc.line(first.key)))
			continue
		}
		both.add(m.name, m.value)
	}
	return both
}

// absent sets a field whose key is not in n.
func (d *decoder) absent(n *node, f field, v reflect.Value, rule string, defaults map[string]any) {
	path := join(n.path, f.name)
	d.places[rule] = place{at: n.at, path: path}
	if value, ok := defaults[f.name]; ok {
		setGiven(v, value, path)
		return
	}
	if f.fallback != nil {
		setDefault(v, *f.fallback, rule)
		return
	}
	if v.Kind() == reflect.Struct && v.Type() != sectionType && !isScalar(v.Type()) {
		d.object(&node{kind: isObject, at: n.at, key: n.at, path: path}, v, rule, extras{})
	}
	if v.Type() == sectionType {
		v.Set(reflect.ValueOf(Section{doc: d.doc, node: &node{kind: isObject, at: n.at, key: n.at, path: path}}))
	}
}

// setDefault sets v from a default tag. A tag that does not fit is a mistake in the program.
func setDefault(v reflect.Value, text, rule string) {
	if v.Kind() == reflect.Pointer && !isScalar(v.Type()) {
		v.Set(reflect.New(v.Type().Elem()))
		setDefault(v.Elem(), text, rule)
		return
	}
	if isScalar(v.Type()) {
		if err := setText(v, text); err != nil {
			panic(fmt.Sprintf("config: the default %q of %s: %v", text, rule, err))
		}
		return
	}
	doc := newDocument("default", []byte(text), "")
	root, err := hujson.Parse(doc.text)
	if err != nil {
		panic(fmt.Sprintf("config: the default %q of %s: %v", text, rule, err))
	}
	d := newDecoder(doc)
	d.value((&builder{doc: doc}).build(root, ""), v, rule)
	if len(d.faults) > 0 {
		panic(fmt.Sprintf("config: the default %q of %s: %v", text, rule, d.faults))
	}
}

// setGiven sets v to a value that Section.With brought. One that does not fit is a mistake in the program.
func setGiven(v reflect.Value, value any, path string) {
	if v.Kind() == reflect.Pointer {
		v.Set(reflect.New(v.Type().Elem()))
		v = v.Elem()
	}
	given := reflect.ValueOf(value)
	if !given.IsValid() || given.Kind() != v.Kind() || !given.CanConvert(v.Type()) {
		panic(fmt.Sprintf("config: %s is a %v, which cannot be %#v", path, v.Type(), value))
	}
	v.Set(given.Convert(v.Type()))
}

// with is a copy of a map with one more entry.
func with(m map[string]any, key string, value any) map[string]any {
	more := maps.Clone(m)
	if more == nil {
		more = map[string]any{}
	}
	more[key] = value
	return more
}
