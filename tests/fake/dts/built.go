package dts

import (
	"reflect"
	"slices"
)

// built is what one of the compiler's types stands for that is made of others.
func (d Types) built(t typ) (typ, bool) {
	switch n := len(t.args); {
	case n == 1 && (t.name == "Array" || t.name == "ReadonlyArray"):
		return typ{array: &t.args[0]}, true
	case n == 1 && t.name == "NonNullable":
		return d.without(t.args[0], typ{union: []typ{{name: "null"}, {name: "undefined"}}}), true
	case n == 2 && t.name == "Exclude":
		return d.without(t.args[0], t.args[1]), true
	case n == 2 && t.name == "Record":
		return d.record(t.args[0], t.args[1]), true
	case n == 2 && t.name == "[]":
		return d.part(t.args[0], t.args[1]), true
	}
	return typ{}, false
}

// members are the types that a union is of in the end, or the type itself.
func (d Types) members(t typ) (all []typ) {
	if t.union != nil {
		for _, one := range t.union {
			all = append(all, d.members(one)...)
		}
		return all
	}
	if inner, ok := d.named(t); ok {
		if inner.object == nil && inner.bases == nil && inner.both == nil {
			return d.members(inner)
		}
		if full, ok := d.full(t); ok { // one type may be written in two namespaces
			t.name, t.scope = full, ""
		}
	}
	return []typ{t}
}

// without is a type without the members of another. One that stays though the compiler
// would drop it, as "a" of string, only lets more pass.
func (d Types) without(t, gone typ) typ {
	out := d.members(gone)
	left := slices.DeleteFunc(d.members(t), func(one typ) bool {
		return slices.ContainsFunc(out, func(other typ) bool { return reflect.DeepEqual(one, other) })
	})
	switch len(left) {
	case 0:
		return typ{name: "never"}
	case 1:
		return left[0]
	}
	return typ{union: left}
}

// record is an object whose keys are listed; with other keys it is any.
func (d Types) record(keys, of typ) typ {
	t := typ{object: []field{}}
	for _, key := range d.members(keys) {
		if key.name != "literal" {
			return anything
		}
		t.object = append(t.object, field{name: key.literal, of: of})
	}
	return t
}

// part is the type of fields of a type; where they are not listed it is any.
func (d Types) part(of, keys typ) typ {
	shapes, _ := d.shapes(of)
	var all []typ
	for _, key := range d.members(keys) {
		for _, s := range shapes {
			if s.unknown != "" {
				return typ{name: s.unknown}
			}
			fields := s.fields[key.literal]
			if key.name != "literal" || len(fields) == 0 {
				return anything
			}
			all = append(all, fields[0].of) // where several hold, they hold all
		}
	}
	if len(all) == 0 {
		return anything
	}
	return typ{union: all}
}
