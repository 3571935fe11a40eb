package config

import (
	"encoding/json"
	"fmt"
	"reflect"
	"regexp"
	"strings"

	"github.com/invopop/jsonschema"
)

// The forms of texts. A text is literal parts and references; reference is what
// expander.value takes, and a ${ that begins none is written $${. Patterns have
// no lookahead: not every validator knows it.
const (
	literalPart = `[^$]|\$+[^${]|\$\$+\{`
	inReference = `(?:[^$}]|\$+[^${}])*\$*`
	reference   = `\$\{(?:[A-Za-z_][A-Za-z0-9_]*(?::-` + inReference + `)?|file:` + inReference + `)\}`
	textPattern = `^(?:` + literalPart + `|` + reference + `)*\$*$`
	// variablePattern is a text with one reference at least.
	variablePattern = `^(?:` + literalPart + `)*` + reference + `(?:` + literalPart + `|` + reference + `)*\$*$`

	unit             = `(?:ns|us|µs|μs|ms|s|m|h)`
	amounts          = `(?:(?:\d+(?:\.\d*)?|\.\d+)` + unit + `)`
	notZero          = `(?:\d*[1-9]\d*(?:\.\d*)?|\d*\.\d*[1-9]\d*)` + unit
	moreThanZero     = `\+?` + amounts + `*` + notZero + amounts + `*`
	positiveDuration = `^` + moreThanZero + `$`
	durationFromZero = `^(?:[+-]?0|\+?` + amounts + `+)$`
	anyDuration      = `^[+-]?(?:0|` + amounts + `+)$`
)

// The definitions that most values refer to.
const (
	textRef     = "#/$defs/text"
	variableRef = "#/$defs/variable"
)

func definitions() jsonschema.Definitions {
	return jsonschema.Definitions{
		"text":     {Type: "string", Pattern: textPattern, Extras: wording(howToExpand)},
		"variable": {Type: "string", Pattern: variablePattern, Extras: wording(howToExpand)},
	}
}

// wording is what VS Code says where a pattern does not match.
func wording(words string) map[string]any { return map[string]any{"patternErrorMessage": words} }

// scalarSchema is the schema of one word. What a reference stands for is not
// known, so each may stand in the place of any word, as the decoder has it.
func scalarSchema(t reflect.Type, r rules) *jsonschema.Schema {
	switch {
	case r.has("oneof"):
		return orVariable(orEmpty(&jsonschema.Schema{Enum: anys(strings.Fields(r.param("oneof")))}, r))
	case t == durationType:
		return orVariable(durationForm(r))
	case wantedKind(t) == isText:
		if form, ok := reflect.Zero(t).Interface().(interface{ Pattern() string }); ok {
			return orVariable(&jsonschema.Schema{Type: "string", Pattern: form.Pattern()})
		}
		return textSchema(r)
	case wantedKind(t) == isBool:
		return orVariable(&jsonschema.Schema{Type: "boolean"})
	default:
		return orVariable(numberForm(t, r))
	}
}

// textSchema is a free text. Rules that a reference cannot break need no choice.
func textSchema(r rules) *jsonschema.Schema {
	form := textForm(r)
	bare := *form
	bare.Type, bare.MinLength = "", nil
	form.Type, form.Ref = "", textRef
	if reflect.DeepEqual(bare, jsonschema.Schema{}) && (form.MinLength == nil || *form.MinLength <= 1) {
		return form
	}
	return orVariable(orEmpty(form, r))
}

// orEmpty lets an empty text stand where omitempty does. It is no const, which editors would offer.
func orEmpty(s *jsonschema.Schema, r rules) *jsonschema.Schema {
	if !r.has("omitempty") {
		return s
	}
	return either(s, &jsonschema.Schema{Type: "string", MaxLength: new(uint64(0))})
}

// textForm is what rules say of a text.
func textForm(r rules) *jsonschema.Schema {
	s := &jsonschema.Schema{Type: "string"}
	s.MinLength, s.MaxLength = r.without("omitempty").size() // orEmpty is what allows an empty text
	if r.has("required") && s.MinLength == nil {
		s.MinLength = new(uint64(1))
	}
	var patterns []string
	for _, rule := range r.own {
		if form := textPatternOf(rule); form != "" {
			patterns = append(patterns, form)
		}
	}
	if len(patterns) == 1 {
		s.Pattern = patterns[0]
		return s
	}
	for _, form := range patterns {
		s.AllOf = append(s.AllOf, &jsonschema.Schema{Pattern: form})
	}
	return s
}

// textPatternOf is a rule as a pattern; "" for one that has none.
func textPatternOf(r rule) string {
	quoted := regexp.QuoteMeta(r.param)
	switch r.tag {
	case "http_url":
		return `^[Hh][Tt][Tt][Pp][Ss]?://.`
	case "https_url":
		return `^[Hh][Tt][Tt][Pp][Ss]://.`
	case "url", "uri":
		return `^[A-Za-z][A-Za-z0-9+.-]*:.`
	case "startswith":
		return "^" + quoted
	case "endswith":
		return quoted + "$"
	case "contains":
		return quoted
	case "excludesall":
		return "^[^" + strings.NewReplacer(`\`, `\\`, "]", `\]`, "^", `\^`, "-", `\-`).Replace(r.param) + "]*$"
	case "excludes":
		if len(r.param) == 1 {
			return textPatternOf(rule{"excludesall", r.param})
		}
	case "printascii":
		return `^[ -~]*$`
	case "alphanum":
		return "^[A-Za-z0-9]+$"
	case "numeric":
		return "^[-+]?[0-9]+(?:\\.[0-9]+)?$"
	}
	return ""
}

// durationForm is a duration as time.ParseDuration takes it. Of limits it knows 0.
func durationForm(r rules) *jsonschema.Schema {
	form := func(pattern string) *jsonschema.Schema {
		return &jsonschema.Schema{Type: "string", Pattern: pattern, Extras: wording(`must be a duration like "15s", "5m" or "1h30m"`)}
	}
	switch {
	case r.param("gt") == "0":
		return form(positiveDuration)
	case r.param("gte") == "0", r.param("min") == "0":
		return form(durationFromZero)
	default:
		return form(anyDuration)
	}
}

// numberForm is a number with its limits: those of its Go type and those of its rules.
func numberForm(t reflect.Type, r rules) *jsonschema.Schema {
	s := &jsonschema.Schema{Type: "number"}
	if isInt(t) || isUint(t) {
		s.Type = "integer"
	}
	switch bits := t.Bits(); {
	case isUint(t):
		s.Minimum = "0"
		if bits < 64 {
			s.Maximum = json.Number(fmt.Sprint(uint64(1)<<bits - 1))
		}
	case isInt(t) && bits < 64:
		s.Minimum, s.Maximum = json.Number(fmt.Sprint(-1<<(bits-1))), json.Number(fmt.Sprint(1<<(bits-1)-1))
	}
	for _, rule := range r.own {
		limit := json.Number(rule.param)
		switch rule.tag {
		case "gt":
			s.ExclusiveMinimum = limit
		case "gte", "min":
			s.Minimum = limit
		case "lt":
			s.ExclusiveMaximum = limit
		case "lte", "max":
			s.Maximum = limit
		case "eq":
			s.Const = limit
		}
	}
	if r.has("omitempty") {
		return either(s, &jsonschema.Schema{Const: 0})
	}
	return s
}

// orVariable lets a reference stand in a value's place.
func orVariable(s *jsonschema.Schema) *jsonschema.Schema {
	return either(s, &jsonschema.Schema{Ref: variableRef})
}

// either is a choice of two, flat where the first is one already.
func either(a, b *jsonschema.Schema) *jsonschema.Schema {
	if only := (jsonschema.Schema{AnyOf: a.AnyOf}); len(a.AnyOf) > 0 && reflect.DeepEqual(*a, only) {
		return &jsonschema.Schema{AnyOf: append(a.AnyOf, b)}
	}
	return &jsonschema.Schema{AnyOf: []*jsonschema.Schema{a, b}}
}
