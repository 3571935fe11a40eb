package toolbox

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

const (
	// effortMax bounds what one check of a value may cost, in visits of a schema
	// at a value: a few hundred bytes of references can double it with each level,
	// and each visit that fails is remembered.
	effortMax = 50_000
	// charsPerVisit is how much of a text is as much work as a visit.
	charsPerVisit = 256
	// membersPerVisit is how many members of a value are as much work: each visit
	// notes which of them it has seen.
	membersPerVisit = 16
	// exponentMax bounds the decimal exponents of numbers: they are compared
	// exactly, digit by digit.
	exponentMax = 400
)

// checkable reports whether a schema can be checked at a cost that affordable
// can tell.
func checkable(doc any) bool {
	s := survey{left: schemaNodes}
	return s.walk(doc, schemaDepth) && !(s.dynamic && s.foreign)
}

// survey looks at a schema as it was written.
type survey struct {
	left    int
	dynamic bool // it has references whose target depends on the way to them
	foreign bool // it has parts that count as other schemas, or refers to some
}

func (s *survey) walk(v any, levels int) bool {
	if s.left--; s.left < 0 || levels == 0 {
		return false
	}
	switch v := v.(type) {
	case json.Number:
		return plain(v)
	case []any:
		for _, e := range v {
			if !s.walk(e, levels-1) {
				return false
			}
		}
	case map[string]any:
		for k, e := range v {
			switch k {
			case "$dynamicRef", "$dynamicAnchor", "$recursiveRef", "$recursiveAnchor":
				s.dynamic = true
			case "$id", "id":
				s.foreign = true
			case "$ref":
				ref, _ := e.(string)
				s.foreign = s.foreign || !strings.HasPrefix(ref, "#")
			}
			if !s.walk(e, levels-1) {
				return false
			}
		}
	}
	return true
}

// plain reports whether a number can be worked with at little cost.
func plain(n json.Number) bool {
	s := string(n)
	if len(s) > charsPerVisit {
		return false
	}
	i := strings.IndexAny(s, "eE")
	if i < 0 {
		return true
	}
	exponent, err := strconv.Atoi(s[i+1:])
	return err == nil && exponent <= exponentMax && exponent >= -exponentMax
}

// affordable reports whether checking a value stays within effortMax. It goes the
// ways that the check goes, and more where it does not know which.
func affordable(s *jsonschema.Schema, v any) bool {
	e := effort{left: effortMax}
	e.visit(s, v)
	return e.left >= 0
}

type effort struct{ left int }

// visit counts a schema at a value. A nil schema costs nothing.
func (e *effort) visit(s *jsonschema.Schema, v any) {
	if s == nil || e.left < 0 {
		return
	}
	e.left--
	if s.Enum != nil {
		e.left -= len(s.Enum.Values) / 16
	}
	if s.Const != nil || s.Enum != nil || s.UniqueItems {
		e.weigh(v)
	}
	e.visit(s.Ref, v)
	e.visit(s.RecursiveRef, v)
	if s.DynamicRef != nil {
		e.visit(s.DynamicRef.Ref, v)
	}
	for _, one := range []*jsonschema.Schema{s.Not, s.If, s.Then, s.Else} {
		e.visit(one, v)
	}
	for _, list := range [][]*jsonschema.Schema{s.AllOf, s.AnyOf, s.OneOf} {
		e.visitAll(list, v)
	}
	switch v := v.(type) {
	case string:
		e.left -= len(v) / charsPerVisit
	case json.Number:
		if !plain(v) {
			e.left = -1
		}
	case map[string]any:
		e.left -= len(v) / membersPerVisit
		e.visitObject(s, v)
	case []any:
		e.left -= len(v) / membersPerVisit
		e.visitArray(s, v)
	}
}

func (e *effort) visitAll(list []*jsonschema.Schema, v any) {
	for _, s := range list {
		e.visit(s, v)
	}
}

func (e *effort) visitObject(s *jsonschema.Schema, v map[string]any) {
	for _, one := range s.DependentSchemas {
		e.visit(one, v)
	}
	for _, one := range s.Dependencies {
		if one, ok := one.(*jsonschema.Schema); ok {
			e.visit(one, v)
		}
	}
	additional, _ := s.AdditionalProperties.(*jsonschema.Schema)
	for key, member := range v {
		if e.left < 0 {
			return
		}
		e.left -= len(key) / charsPerVisit
		e.visit(s.PropertyNames, key)
		known := s.Properties[key]
		e.visit(known, member)
		for _, one := range s.PatternProperties { // whether or not it matches
			e.left -= len(key) / charsPerVisit
			e.visit(one, member)
		}
		if known == nil {
			e.visit(additional, member)
		}
		e.visit(s.UnevaluatedProperties, member)
	}
}

func (e *effort) visitArray(s *jsonschema.Schema, v []any) {
	prefix := s.PrefixItems
	if list, ok := s.Items.([]*jsonschema.Schema); ok {
		prefix = list
	}
	items, _ := s.Items.(*jsonschema.Schema)
	additional, _ := s.AdditionalItems.(*jsonschema.Schema)
	for i, item := range v {
		if e.left < 0 {
			return
		}
		e.visit(s.Contains, item)
		e.visit(items, item)
		if i < len(prefix) {
			e.visit(prefix[i], item)
		} else {
			e.visit(additional, item)
			e.visit(s.Items2020, item)
		}
		e.visit(s.UnevaluatedItems, item)
	}
}

// weigh counts the values in a value, which are compared as they are.
func (e *effort) weigh(v any) {
	if e.left--; e.left < 0 {
		return
	}
	switch v := v.(type) {
	case string:
		e.left -= len(v) / charsPerVisit
	case json.Number:
		if !plain(v) {
			e.left = -1
		}
	case map[string]any:
		for _, one := range v {
			e.weigh(one)
		}
	case []any:
		for _, one := range v {
			e.weigh(one)
		}
	}
}
