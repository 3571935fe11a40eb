package toolschema

import (
	"maps"
	"slices"
)

// cleaner writes a schema anew, floor by floor. Everything that it leaves out
// makes the schema looser; keywords that would turn that around (not, if, oneOf,
// maxContains) are left out or replaced.
type cleaner struct {
	rules rules
	floor floor
	refs  *refs
	open  map[string]bool // references that are being inlined
	used  []string        // definitions that stay, in the order of their first use
	names map[string]string
	nodes int
	spent int
	over  bool // the projection is beyond its bounds, and of no use
}

// document cleans what the merger made of the root.
func (c *cleaner) document(merged map[string]any) map[string]any {
	out := c.schema(merged, 0)
	if _, ok := out["properties"]; !ok {
		out["properties"] = map[string]any{}
	}
	for i := 0; i < len(c.used) && !c.over; i++ { // it grows meanwhile
		keyword, name, _ := c.refs.definition(c.used[i])
		all, ok := out[keyword].(map[string]any)
		if !ok {
			all = map[string]any{}
			out[keyword] = all
		}
		all[name] = c.schema(c.refs.resolve(c.used[i]), 1)
		c.text(name)
	}
	if c.rules.openAPI && !c.over {
		c.nodes, c.spent = 0, 0
		return c.plainObject(out)
	}
	return out
}

// schema cleans one schema and what is in it.
func (c *cleaner) schema(v any, depth int) map[string]any {
	if f, ok := v.(forms); ok {
		v = f.schema()
	}
	s, ok := v.(map[string]any)
	if c.nodes++; c.nodes > maxNodes {
		c.over = true
	}
	c.spend(len(s))
	if !ok || c.over {
		return map[string]any{}
	}
	if ref, ok := s["$ref"].(string); ok {
		return c.reference(s, ref, depth)
	}
	if depth >= c.floor.depth && depth > 0 {
		return c.stub(s)
	}
	out := map[string]any{}
	c.annotations(out, s)
	c.values(out, s)
	bounds(out, s)
	c.object(out, s, depth)
	c.array(out, s, depth)
	c.combinators(out, s, depth)
	return out
}

// stub is what is left of a schema that is too deep.
func (c *cleaner) stub(s map[string]any) map[string]any {
	out := map[string]any{}
	if t := typeOf(s); t != nil {
		out["type"] = t
	}
	if hasType(out, "array") {
		out["items"] = map[string]any{}
	}
	return out
}

// reference keeps a reference where the provider takes them, and else puts in its
// place what it stands for. One that leads into itself ends there.
func (c *cleaner) reference(s map[string]any, ref string, depth int) map[string]any {
	c.text(ref)
	beside := without(s, "$ref")
	if c.refs.refAlone() {
		beside = annotationsOf(beside)
	}
	target, ok := c.refs.resolve(ref).(map[string]any)
	if !ok || c.refs.looping(ref) {
		return c.schema(beside, depth)
	}
	if _, _, ok := c.refs.definition(ref); c.rules.references && (ok || ref == "#") {
		out := c.schema(beside, depth)
		out["$ref"] = ref
		if ok && !slices.Contains(c.used, ref) {
			c.used = append(c.used, ref)
		}
		return out
	}
	if c.open[ref] || depth >= c.floor.depth {
		return c.stub(target)
	}
	c.open[ref] = true
	out := c.schema(target, depth)
	delete(c.open, ref)
	own := c.schema(beside, depth)
	for key := range own {
		if !slices.Contains([]string{"title", "description", "default", "examples"}, key) {
			own["allOf"] = append(list(own["allOf"]), out)
			return own
		}
	}
	maps.Copy(out, own)
	return out
}

func (c *cleaner) object(out, s map[string]any, depth int) {
	complete, renamed := true, map[string]string{}
	if named, ok := s["properties"].(map[string]any); ok {
		out["properties"], complete = c.properties(named, renamed, depth)
	}
	if patterns, ok := s["patternProperties"].(map[string]any); ok {
		kept := map[string]any{}
		c.spend(len(patterns))
		for _, pattern := range slices.Sorted(maps.Keys(patterns)) {
			if v, ok := schemaOrTrue(patterns[pattern]); ok && goodPattern(pattern) && !c.over {
				c.text(pattern)
				kept[pattern] = c.schema(v, depth+1)
			} else {
				complete = false
			}
		}
		if len(kept) > 0 {
			out["patternProperties"] = kept
		}
	}
	switch v := s["additionalProperties"].(type) {
	case map[string]any:
		out["additionalProperties"] = c.schema(v, depth+1)
	case bool:
		out["additionalProperties"] = v
	}
	if !complete { // what was left out is not forbidden
		delete(out, "additionalProperties")
	}
	if v, ok := s["propertyNames"].(map[string]any); ok && len(renamed) == 0 {
		out["propertyNames"] = c.schema(v, depth+1)
	}
	c.demands(out, s, renamed)
}

// properties is true if all that were there are there.
func (c *cleaner) properties(named map[string]any, renamed map[string]string, depth int) (map[string]any, bool) {
	out := make(map[string]any, min(len(named), maxNodes))
	complete := true
	c.spend(len(named))
	for _, name := range slices.Sorted(maps.Keys(named)) {
		if c.over {
			return out, false
		}
		v, ok := schemaOrTrue(named[name])
		if !ok {
			complete = false
			continue
		}
		c.text(name)
		p := c.schema(v, depth+1)
		if c.rules.names == nil || c.rules.names.MatchString(name) {
			out[name] = p
			continue
		}
		other := rename(name)
		if _, taken := named[other]; taken {
			complete = false
			continue
		}
		renamed[name], c.names[other] = other, name
		shown, _ := cut(name, 200)
		text, _ := p["description"].(string)
		p["description"] = joinText(text, "(Its own name is "+quoted(shown)+".)")
		out[other] = p
	}
	return out, complete
}

// demands keeps of "required" and "dependentRequired" what is there to be given.
// Draft 3 had a boolean there.
func (c *cleaner) demands(out, s map[string]any, renamed map[string]string) {
	properties, _ := out["properties"].(map[string]any)
	known := func(names []any) []any {
		var kept []any
		for _, n := range names {
			name := n.(string)
			if other, ok := renamed[name]; ok {
				name = other
			}
			if _, ok := properties[name]; ok {
				kept = append(kept, name)
				c.text(name)
			}
		}
		return kept
	}
	c.spend(len(list(s["required"])))
	if names := known(required(s)); len(names) > 0 {
		out["required"] = names
	}
	dependent, _ := s["dependentRequired"].(map[string]any)
	kept := map[string]any{}
	c.spend(len(dependent))
	for _, name := range slices.Sorted(maps.Keys(dependent)) {
		c.spend(len(list(dependent[name])))
		own := known([]any{name})
		names := known(required(map[string]any{"required": dependent[name]}))
		if len(own) > 0 && len(names) > 0 && !c.over {
			kept[own[0].(string)] = names
		}
	}
	if len(kept) > 0 {
		out["dependentRequired"] = kept
	}
}

// array makes sure that an array says what is in it, in one schema: a tuple
// becomes a list of any of its kinds.
func (c *cleaner) array(out, s map[string]any, depth int) {
	tuple, rest := list(s["prefixItems"]), s["items"]
	if old := list(s["items"]); old != nil {
		tuple, rest = old, s["additionalItems"]
	}
	if len(tuple) > 0 {
		c.tuple(out, tuple, rest, depth)
	} else if items, ok := rest.(map[string]any); ok {
		out["items"] = c.schema(items, depth+1)
	} else if hasType(out, "array") {
		out["items"] = map[string]any{}
	}
	if v, ok := s["contains"].(map[string]any); ok {
		out["contains"] = c.schema(v, depth+1)
	} else {
		delete(out, "minContains")
	}
	if v, ok := s["uniqueItems"].(bool); ok {
		out["uniqueItems"] = v
	}
}

// tuple lists the kinds, with that of the items behind them unless there can be none.
func (c *cleaner) tuple(out map[string]any, kinds []any, rest any, depth int) {
	most, bounded := count(out["maxItems"])
	if forbidden, ok := rest.(bool); ok && !forbidden {
		if !bounded || most > int64(len(kinds)) {
			out["maxItems"] = len(kinds)
		}
	} else if !bounded || most > int64(len(kinds)) {
		if _, ok := rest.(map[string]any); !ok {
			rest = true
		}
		kinds = append(slices.Clip(kinds), rest)
	}
	items := map[string]any{}
	if branches := c.branches(kinds, depth+2); len(branches) > 0 {
		items["anyOf"] = branches
	}
	out["items"] = items
}

// combinators keeps allOf and anyOf. A value that is to fit exactly one of its
// alternatives may fit several of the looser ones, so oneOf becomes anyOf.
func (c *cleaner) combinators(out, s map[string]any, depth int) {
	all := list(out["allOf"])
	if branches := c.branches(list(s["allOf"]), depth+1); len(branches) > 0 {
		all = append(all, branches...)
	}
	anyOf := c.branches(list(s["anyOf"]), depth+1)
	oneOf := c.branches(list(s["oneOf"]), depth+1)
	switch {
	case len(anyOf) == 0:
		anyOf = oneOf
	case len(oneOf) > 0:
		all = append(all, map[string]any{"anyOf": oneOf})
	}
	if len(anyOf) > 0 {
		out["anyOf"] = anyOf
	}
	if len(all) > 0 {
		out["allOf"] = all
	}
}

// branches cleans alternatives, each once; what is no schema is none of them.
func (c *cleaner) branches(all []any, depth int) []any {
	var out []any
	seen := map[string]bool{}
	c.spend(len(all))
	for _, v := range all {
		s, ok := schemaOrTrue(v)
		if !ok || c.over {
			continue
		}
		b := c.schema(s, depth)
		raw, err := encode(b)
		if err != nil || seen[string(raw)] {
			continue
		}
		seen[string(raw)] = true
		out = append(out, b)
	}
	return out
}

// schemaOrTrue is a schema, "anything" as providers know it: {}. "Nothing" is none.
func schemaOrTrue(v any) (any, bool) {
	switch v := v.(type) {
	case map[string]any, forms:
		return v, true
	case bool:
		return map[string]any{}, v
	}
	return nil, false
}
