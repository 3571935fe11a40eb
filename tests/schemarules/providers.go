package schemarules

import (
	"encoding/json"
	"math"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

var (
	plainName  = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)
	geminiName = regexp.MustCompile(`^[a-zA-Z_][a-zA-Z0-9_.-]{0,63}$`)
	keyName    = regexp.MustCompile(`^[a-zA-Z0-9_.-]{1,64}$`)
)

// OpenAIChat returns what OpenAI refuses in the tools of POST chat/completions.
func OpenAIChat(list []byte) []string {
	var f faults
	for _, tool := range f.entries(list, nameInFunction, plainName) {
		f.keys("tool", tool, "type function", "")
		function, _ := tool["function"].(map[string]any)
		f.keys("function", function, "name parameters", "description strict")
		f.openAI(function)
	}
	return f
}

// OpenAIResponses returns what OpenAI refuses in the tools of POST responses.
func OpenAIResponses(list []byte) []string {
	var f faults
	for _, tool := range f.entries(list, func(t map[string]any) any { return t["name"] }, plainName) {
		f.keys("tool", tool, "type name parameters strict", "description")
		f.openAI(tool)
	}
	return f
}

// openAI has the rules that both wires share, of a tool that is not strict.
func (f *faults) openAI(function map[string]any) {
	at, _ := function["name"].(string)
	if function["strict"] == true {
		f.add(at, "strict: its demands are not those of a stranger's schema")
	}
	text, _ := function["description"].(string)
	if n := utf8.RuneCountInString(text); n > 1024 {
		f.add(at, "a description of %d signs", n)
	}
	s := f.object(at, function["parameters"])
	if _, ok := s["properties"]; !ok {
		f.add(at, "object schema missing properties")
	}
	walk(at, s, func(at string, s map[string]any) {
		if _, ok := s["items"].(map[string]any); !ok && (isType(s, "array") || s["items"] != nil) {
			f.add(at, "array schema missing items")
		}
		if pattern, ok := s["pattern"].(string); ok && strange(pattern) {
			f.add(at, "%q is not a 'regex'", pattern)
		}
		patterns, _ := s["patternProperties"].(map[string]any)
		for pattern := range patterns {
			if strange(pattern) {
				f.add(at, "%q is not a 'regex'", pattern)
			}
		}
	})
	f.draft2020(at, s)
	f.circles(at, s)
}

// circles refuses references among the definitions that lead to themselves for
// the same value: who expands them never ends.
func (f *faults) circles(at string, root map[string]any) {
	open, done := map[string]bool{}, map[string]bool{}
	var follow func(ref string)
	var in func(v any)
	in = func(v any) {
		s, _ := v.(map[string]any)
		if ref, ok := s["$ref"].(string); ok {
			follow(ref)
		}
		for _, key := range []string{"allOf", "anyOf", "oneOf"} {
			branches, _ := s[key].([]any)
			for _, b := range branches {
				in(b)
			}
		}
	}
	follow = func(ref string) {
		if open[ref] {
			f.add(at, "%s leads to itself", ref)
		}
		if open[ref] || done[ref] {
			return
		}
		open[ref] = true
		keyword, name, _ := strings.Cut(strings.TrimPrefix(ref, "#/"), "/")
		all, _ := root[keyword].(map[string]any)
		in(all[name])
		open[ref], done[ref] = false, true
	}
	for _, keyword := range []string{"$defs", "definitions"} {
		all, _ := root[keyword].(map[string]any)
		for name := range all {
			follow("#/" + keyword + "/" + name)
		}
	}
}

// strange reports whether an expression is one that Python's re refuses.
func strange(pattern string) bool {
	return strings.Contains(pattern, `\p`) || strings.Contains(pattern, `\P`) || strings.Contains(pattern, `\z`) ||
		strings.Contains(pattern, `\Q`) || strings.Contains(pattern, `(?<`) && !strings.Contains(pattern, `(?<=`) && !strings.Contains(pattern, `(?<!`)
}

// Anthropic returns what Anthropic refuses in the tools of POST messages.
func Anthropic(list []byte) []string {
	var f faults
	for _, tool := range f.entries(list, func(t map[string]any) any { return t["name"] }, plainName) {
		f.keys("tool", tool, "name input_schema", "description type cache_control")
		at, _ := tool["name"].(string)
		s := f.object(at, tool["input_schema"])
		walk(at, s, func(at string, s map[string]any) {
			for _, key := range []string{"$ref", "$dynamicRef", "$recursiveRef"} {
				if _, ok := s[key]; ok {
					f.add(at, "%s", key)
				}
			}
			properties, _ := s["properties"].(map[string]any)
			for name := range properties {
				if !keyName.MatchString(name) {
					f.add(at+".properties", "property keys should match %s: %q", keyName, name)
				}
			}
		})
		f.draft2020(at, s)
	}
	return f
}

// Gemini returns what Gemini refuses in the tools of its OpenAI-compatible
// endpoint, which makes parameters of them as they are.
func Gemini(list []byte) []string {
	var f faults
	for _, tool := range f.entries(list, nameInFunction, geminiName) {
		f.keys("tool", tool, "type function", "")
		function, _ := tool["function"].(map[string]any)
		f.keys("function", function, "name", "description parameters")
		if d := deep(tool); d+2 > 100 { // the request and its list are two more
			f.add("tool", "%d levels", d)
		}
		parameters, ok := function["parameters"]
		if !ok {
			continue
		}
		at, _ := function["name"].(string)
		s := f.object(at, parameters)
		if _, ok := s["properties"]; !ok {
			f.add(at+".properties", "should be non-empty for OBJECT type")
		}
		f.gemini(at, s)
	}
	return f
}

func nameInFunction(tool map[string]any) any {
	function, _ := tool["function"].(map[string]any)
	return function["name"]
}

// geminiWords are the fields of a Schema that the compatible endpoint takes.
var geminiWords = strings.Fields("type format title description nullable enum properties required items minItems maxItems minProperties maxProperties minLength maxLength pattern minimum maximum anyOf")

func (f *faults) gemini(at string, v any) {
	s, ok := v.(map[string]any)
	if !ok {
		f.add(at, "%v is no schema", v)
		return
	}
	for key := range s {
		if !slices.Contains(geminiWords, key) {
			f.add(at, "Unknown name %q: Cannot find field.", key)
		}
	}
	if branches, ok := s["anyOf"]; ok {
		if len(s) > 1 {
			f.add(at, "When using any_of, it must be the only field set")
		}
		all, _ := branches.([]any)
		if len(all) == 0 {
			f.add(at, "anyOf is empty")
		}
		for _, b := range all {
			f.gemini(at+".anyOf", b)
		}
		return
	}
	f.geminiValues(at, s)
	switch s["type"] {
	case "object":
		f.geminiObject(at, s)
	case "array":
		if _, ok := s["items"]; !ok {
			f.add(at+".items", "missing field.")
			return
		}
		f.gemini(at+".items", s["items"])
	case "string", "number", "integer", "boolean":
		for _, key := range []string{"properties", "items", "required"} {
			if _, ok := s[key]; ok {
				f.add(at+"."+key, "only allowed for OBJECT and ARRAY type")
			}
		}
	default:
		f.add(at+".type", "%v", s["type"])
	}
}

func (f *faults) geminiObject(at string, s map[string]any) {
	properties, ok := s["properties"].(map[string]any)
	if _, there := s["properties"]; there && len(properties) == 0 {
		f.add(at+".properties", "should be non-empty for OBJECT type (%v)", ok)
	}
	for name, p := range properties {
		f.gemini(at+".properties."+name, p)
	}
	names, ok := s["required"].([]any)
	if _, there := s["required"]; there && !ok {
		f.add(at+".required", "no list")
	}
	seen := map[any]bool{}
	for _, name := range names {
		if text, _ := name.(string); properties[text] == nil || seen[name] {
			f.add(at+".required", "%v: property is not defined", name)
		}
		seen[name] = true
	}
}

// geminiFormats are the formats of each type.
var geminiFormats = map[any][]any{
	"string": {"date-time", "enum"}, "number": {"float", "double"}, "integer": {"int32", "int64"},
}

func (f *faults) geminiValues(at string, s map[string]any) {
	if format, ok := s["format"]; ok && !slices.Contains(geminiFormats[s["type"]], format) {
		f.add(at+".format", "%v is not supported for %v", format, s["type"])
	}
	if enum, ok := s["enum"]; ok {
		values, _ := enum.([]any)
		if s["type"] != "string" || len(values) == 0 {
			f.add(at+".enum", "only allowed for STRING type")
		}
		for _, v := range values {
			if text, ok := v.(string); !ok || text == "" {
				f.add(at+".enum", "%v: cannot be empty", v)
			}
		}
	}
	for _, key := range []string{"minItems", "maxItems", "minLength", "maxLength", "minProperties", "maxProperties"} {
		if v, ok := s[key]; ok && !isCount(v) {
			f.add(at+"."+key, "%v", v)
		}
	}
	for _, key := range []string{"minimum", "maximum"} {
		if _, ok := s[key].(json.Number); !ok && s[key] != nil {
			f.add(at+"."+key, "%v", s[key])
		}
	}
	for _, key := range []string{"title", "description", "pattern"} {
		if _, ok := s[key].(string); !ok && s[key] != nil {
			f.add(at+"."+key, "%v", s[key])
		}
	}
	if _, ok := s["nullable"].(bool); !ok && s["nullable"] != nil {
		f.add(at+".nullable", "%v", s["nullable"])
	}
}

func isCount(v any) bool {
	n, ok := v.(json.Number)
	if !ok {
		return false
	}
	i, err := n.Int64()
	return err == nil && i >= 0 && i < math.MaxInt64
}
