package dts

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Differences say where a JSON value, as encoding/json decodes it, is not of the type
// with this name: what is missing, what nobody knows, what is of another type. where
// stands before each. None: it is.
func (d Types) Differences(where string, v any, name string) []string {
	if _, known := d[name]; !known {
		return []string{where + ": there is no type " + name}
	}
	return d.differences(where, v, typ{name: name})
}

func (d Types) differences(where string, v any, t typ) []string {
	wrong := func() []string { return []string{fmt.Sprintf("%s is %T %.60v", where, v, v)} }
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
		if number, ok := v.(float64); ok && fmt.Sprintf("%.0f", number) == t.literal || fmt.Sprint(v) == t.literal {
			return nil
		}
		return wrong()
	case t.name == "NonNullable" && len(t.args) == 1:
		return d.differences(where, v, t.args[0])
	}
	if kind, ok := map[string]string{"string": "string", "number": "float64", "boolean": "bool", "null": "<nil>", "undefined": "never", "never": "never"}[t.name]; ok {
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
	object, ok := v.(map[string]any)
	if !ok {
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
	decl, ok := d[t.name]
	if !ok || t.name == "" {
		return typ{}, false
	}
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
// that is open may have others.
type shape struct {
	fields map[string][]field
	open   bool
}

// shapes are the shapes that a type allows; known is false if nothing is known of it.
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
	return nil, false
}

// changed applies one of the compiler's types.
func (s shape) changed(how string, args []typ) shape {
	out := shape{fields: map[string][]field{}, open: s.open}
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
			joined := shape{fields: maps.Clone(l.fields), open: l.open || r.open}
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
