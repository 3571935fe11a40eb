package config

import (
	"reflect"
	"strings"
)

var sectionType = reflect.TypeFor[Section]()

// field is one key of a struct, also one that an embedded struct brings in.
type field struct {
	name, alias string
	fallback    *string // the default tag
	path        bool    // format:"path"
	index       []int
	rule        string // what the validator calls it, after the struct's own name
}

// fieldsOf are the keys of a struct, in order. rest is the index of its embedded Section, or nil.
func fieldsOf(t reflect.Type) (fields []field, rest []int) {
	for i := range t.NumField() {
		sf := t.Field(i)
		name, _, _ := strings.Cut(sf.Tag.Get("json"), ",")
		switch {
		case name == "-" || !sf.IsExported() && !sf.Anonymous:
			continue
		case sf.Type == sectionType && sf.Anonymous:
			rest = sf.Index
			continue
		case sf.Anonymous && name == "" && sf.Type.Kind() == reflect.Struct:
			inner, innerRest := fieldsOf(sf.Type)
			for _, f := range inner {
				f.index = append([]int{i}, f.index...)
				f.rule = sf.Name + "." + f.rule
				fields = append(fields, f)
			}
			if innerRest != nil {
				rest = append([]int{i}, innerRest...)
			}
			continue
		case name == "":
			name = sf.Name
		}
		f := field{name: name, alias: sf.Tag.Get("alias"), path: sf.Tag.Get("format") == "path", index: sf.Index, rule: name}
		if text, ok := sf.Tag.Lookup("default"); ok {
			f.fallback = &text
		}
		fields = append(fields, f)
	}
	return fields, rest
}

// ruleName is how validator is told to name a field: as fieldsOf does.
func ruleName(sf reflect.StructField) string {
	name, _, _ := strings.Cut(sf.Tag.Get("json"), ",")
	if name == "-" {
		return ""
	}
	return name
}
