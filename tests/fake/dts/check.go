package dts

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// Differences say where a JSON value, as encoding/json decodes it, is not of a type,
// which may be a name or any other expression: what is missing, what nobody knows, what
// is of another type. where stands before each. None: it is.
func (d Types) Differences(where string, v any, expression string) []string {
	p := parse(expression)
	t := p.union()
	if p.peek() != "" {
		return []string{where + ": " + expression + " is no type"}
	}
	return d.differences(where, v, t)
}

// Fields are the names of the fields that a type itself has, in the order of its
// declaration.
func (d Types) Fields(name string) []string { return d.own(typ{name: name}) }

func (d Types) own(t typ) (names []string) {
	if inner, ok := d.named(t); ok {
		t = inner
	}
	for _, f := range t.object {
		names = append(names, f.name)
	}
	return names
}

// Method is one of a type whose methods take an object: the names of that object's
// fields, and the type of the result, an expression for Differences.
func (d Types) Method(of, name string) (params []string, result string, ok bool) {
	for _, f := range d[of].of.object {
		if f.name == name && f.of.name == "method" {
			return d.own(f.of.args[0]), f.of.literal, true
		}
	}
	return nil, "", false
}

// kinds are the primitive types as encoding/json decodes them; of some no JSON can be.
var kinds = map[string]string{
	"string": "string", "number": "float64", "boolean": "bool", "null": "<nil>", "undefined": "never", "never": "never", "method": "never",
}

func (d Types) differences(where string, v any, t typ) []string {
	wrong := func() []string { return []string{fmt.Sprintf("%s is %T %.200s", where, v, fmt.Sprint(v))} }
	switch {
	case t.array != nil:
		list, ok := v.([]any)
		if !ok {
			return wrong()
		}
		var out []string
		for i, one := range list {
			out = append(out, d.differences(fmt.Sprintf("%s[%d]", where, i), one, *t.array)...)
		}
		return out
	case t.union != nil:
		return d.best(where, v, t.union)
	case t.name == "literal":
		if number, ok := v.(float64); ok && strconv.FormatFloat(number, 'f', -1, 64) == t.literal || fmt.Sprint(v) == t.literal {
			return nil
		}
		return wrong()
	}
	if kind, ok := kinds[t.name]; ok {
		if fmt.Sprintf("%T", v) != kind {
			return wrong()
		}
		return nil
	}
	if inner, ok := d.named(t); ok && inner.both == nil && inner.object == nil && inner.bases == nil {
		return d.differences(where, v, inner)
	}
	shapes, known := d.shapes(t)
	if !known {
		return nil
	}
	for _, s := range shapes {
		if s.unknown != "" {
			return []string{where + ": there is no type " + s.unknown}
		}
	}
	object, ok := v.(map[string]any)
	if !ok || len(shapes) == 0 {
		return append(wrong(), "not an object of "+t.name)
	}
	var best []string
	for i, s := range shapes {
		if out := d.fields(where, object, s); i == 0 || len(out) < len(best) {
			best = out
		}
	}
	return best
}

// best are the differences to the type of a union that has the fewest.
func (d Types) best(where string, v any, union []typ) []string {
	var best []string
	for i, one := range union {
		if out := d.differences(where, v, one); i == 0 || len(out) < len(best) {
			best = out
		}
	}
	return best
}

func (d Types) fields(where string, v map[string]any, s shape) []string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(v)) {
		fields, known := s.fields[name]
		if !known && !s.open {
			out = append(out, where+"."+name+" is not known")
		}
		for _, f := range fields {
			out = append(out, d.differences(where+"."+name, v[name], f.of)...)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.fields)) {
		must := func(f field) bool { return !f.optional && f.of.name != "undefined" }
		never := func(f field) bool { return f.of.name == "undefined" || f.of.name == "never" }
		if _, there := v[name]; !there && slices.ContainsFunc(s.fields[name], must) && !slices.ContainsFunc(s.fields[name], never) {
			out = append(out, where+"."+name+" is missing")
		}
	}
	return out
}

// named is what a name stands for, with its arguments put in.
func (d Types) named(t typ) (typ, bool) {
	full, ok := d.full(t)
	if !ok {
		return d.built(t)
	}
	decl := d[full]
	bound := map[string]typ{}
	for i, p := range decl.params {
		switch {
		case i < len(t.args):
			bound[p.name] = t.args[i]
		case p.fallback != nil:
			bound[p.name] = *p.fallback
		default:
			bound[p.name] = anything
		}
	}
	return decl.of.with(bound), true
}

// full is the name of a declaration, which a namespace may leave out inside itself.
func (d Types) full(t typ) (name string, ok bool) {
	for _, name := range []string{t.scope + t.name, t.name} {
		if _, ok := d[name]; ok {
			return name, true
		}
	}
	return "", false
}

// with is the type with parameters replaced.
func (t typ) with(bound map[string]typ) typ {
	if len(bound) == 0 {
		return t
	}
	if to, is := bound[t.name]; is {
		return to
	}
	each := func(list []typ) []typ {
		if list == nil {
			return nil
		}
		out := make([]typ, len(list))
		for i := range list {
			out[i] = list[i].with(bound)
		}
		return out
	}
	t.args, t.bases, t.union, t.both = each(t.args), each(t.bases), each(t.union), each(t.both)
	if t.array != nil {
		element := t.array.with(bound)
		t.array = &element
	}
	if t.object != nil {
		t.object = slices.Clone(t.object)
		for i := range t.object {
			t.object[i].of = t.object[i].of.with(bound)
		}
	}
	return t
}

// shape are the fields that an object may have: by name, all of its types there. One
// that is open may have others; of one with an unknown type nothing can be said.
type shape struct {
	fields  map[string][]field
	open    bool
	unknown string
}

// shapes are the shapes that a type allows, none if it is no object; known is false if
// it may be anything.
func (d Types) shapes(t typ) (all []shape, known bool) {
	switch {
	case t.object != nil || t.bases != nil:
		own := shape{fields: map[string][]field{}}
		for _, f := range t.object {
			own.fields[f.name] = append(own.fields[f.name], f)
		}
		all = []shape{own}
		for _, base := range t.bases {
			// What an interface says of a field of its base is more exact.
			all = d.cross(all, base, true)
		}
		return all, true
	case t.both != nil:
		all = []shape{{fields: map[string][]field{}}}
		for _, one := range t.both {
			all = d.cross(all, one, false)
		}
		return all, true
	case t.union != nil:
		for _, one := range t.union {
			some, ok := d.shapes(one)
			if !ok {
				return nil, false
			}
			all = append(all, some...)
		}
		return all, true
	}
	return d.namedShapes(t)
}

func (d Types) namedShapes(t typ) ([]shape, bool) {
	switch name := strings.TrimPrefix(strings.TrimPrefix(t.name, "_"), "Strict"); name {
	case "Partial", "Required", "Omit", "Pick", "Readonly", "NonNullableFields", "Nullable", "DistributiveOmit", "DistributivePick":
		if len(t.args) == 0 {
			return nil, false
		}
		all, known := d.shapes(t.args[0])
		for i := range all {
			all[i] = all[i].changed(strings.TrimPrefix(name, "Distributive"), t.args)
		}
		return all, known
	}
	if inner, ok := d.named(t); ok {
		return d.shapes(inner)
	}
	switch {
	case t.name == "any" || t.name == "unknown" || t.name == "object":
		return nil, false
	case t.array != nil || t.name == "literal" || kinds[t.name] != "":
		return nil, true
	}
	return []shape{{unknown: t.name}}, true
}

// changed applies one of the compiler's types.
func (s shape) changed(how string, args []typ) shape {
	out := shape{fields: map[string][]field{}, open: s.open, unknown: s.unknown}
	names := map[string]bool{}
	for _, a := range args[1:] {
		for _, one := range append(a.union, a) {
			names[one.literal] = true
		}
	}
	for name, fields := range s.fields {
		if how == "Omit" && names[name] || how == "Pick" && !names[name] {
			continue
		}
		for _, f := range fields {
			switch how {
			case "Partial":
				f.optional = true
			case "Required":
				f.optional = false
			case "Nullable":
				f.of = typ{union: []typ{f.of, {name: "null"}}}
			}
			out.fields[name] = append(out.fields[name], f)
		}
	}
	return out
}

// cross joins each shape with each of a type; of a field that both have the type must
// fit both, or with over that of the first alone.
func (d Types) cross(left []shape, t typ, over bool) []shape {
	right, known := d.shapes(t)
	if !known {
		right = []shape{{open: true}}
	}
	var all []shape
	for _, l := range left {
		for _, r := range right {
			joined := shape{fields: maps.Clone(l.fields), open: l.open || r.open, unknown: cmp.Or(l.unknown, r.unknown)}
			for name, fields := range r.fields {
				if over && len(l.fields[name]) > 0 {
					continue
				}
				joined.fields[name] = slices.Concat(joined.fields[name], fields)
			}
			all = append(all, joined)
		}
	}
	return all
}
