package demo

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// filler finds a tool's arguments in a message; each value serves once.
type filler struct {
	message
	tool  tool
	taken map[int]bool
	used  int
}

// fill gives the arguments that the message names, the required ones that it
// does not, and how many of its values were used.
func fill(m message, t tool) (args map[string]any, missing params, used int) {
	f := &filler{message: m, tool: t, taken: map[int]bool{}}
	args = map[string]any{}
	for _, p := range t.params {
		if v, ok := f.explicit(p); ok {
			args[p.name] = v
		}
	}
	for _, p := range t.params {
		if _, there := args[p.name]; there {
			continue
		}
		if v, ok := f.find(p); ok {
			args[p.name] = v
		} else if p.required {
			missing = append(missing, p)
		}
	}
	if f.used == 0 && len(t.required()) == 0 && f.strong() > 0 {
		f.optional(args)
	}
	return args, missing, f.used
}

// explicit finds "name=value" and "name: value"; of a number also "name 5".
func (f *filler) explicit(p param) (any, bool) {
	between := `\s*[=:]\s*`
	if p.kind == "number" || p.kind == "integer" {
		between = `\s*[=:]?\s*`
	}
	form, err := regexp.Compile(`(?i)(?:^|[\s,(])` + regexp.QuoteMeta(p.name) + between + `("[^"]*"|'[^']*'|[^\s,;]+)`)
	if err != nil {
		return nil, false
	}
	at := form.FindStringSubmatchIndex(f.text)
	if at == nil {
		return nil, false
	}
	v, ok := convert(strings.Trim(f.text[at[2]:at[3]], `"'`), p.kind)
	if ok {
		f.take(value{start: at[2], end: at[3]})
		f.used++
	}
	return v, ok
}

// find finds a value by what the schema and the name of the parameter say. One
// that is not required is filled in only by a word of its enum.
func (f *filler) find(p param) (any, bool) {
	if len(p.enum) > 0 {
		said := split(f.text)
		for _, option := range p.enum {
			if contains(said, split(fmt.Sprint(option))) {
				return option, true
			}
		}
	}
	if !p.required {
		return nil, false
	}
	if v, ok := f.pick(p); ok && len(p.enum) == 0 {
		return v, true
	}
	return p.preset, p.preset != nil
}

func (f *filler) pick(p param) (any, bool) {
	switch p.kind {
	case "number", "integer":
		for i, v := range f.values {
			if v.kind == number && !f.taken[i] {
				if n, ok := convert(v.text, p.kind); ok {
					return n, f.use(i)
				}
			}
		}
	case "array":
		return f.list(p)
	case "string":
		for _, try := range wanted(p) {
			for i, v := range f.values {
				if !f.taken[i] && v.kind == try.kind && try.allows(v) && !f.isToolsOwn(v) {
					return v.text, f.use(i)
				}
			}
		}
		return f.rest(p)
	}
	return nil, false
}

// list takes all values of the surest kind.
func (f *filler) list(p param) (any, bool) {
	kinds := []valueKind{quoted, file, proper, phrase}
	if roleOf(p) == rolePath {
		kinds = []valueKind{file, glob, quoted, phrase}
	}
	if p.items == "number" || p.items == "integer" {
		kinds = []valueKind{number}
	}
	for _, kind := range kinds {
		var all []any
		for i, v := range f.values {
			if v.kind != kind || f.taken[i] {
				continue
			}
			if item, ok := convert(v.text, p.items); ok && f.use(i) {
				all = append(all, item)
			}
		}
		if len(all) > 0 {
			return all, true
		}
	}
	return nil, false
}

// rest takes what stands behind the tool's own word ("echo good morning") for
// the one text that a tool needs.
func (f *filler) rest(p param) (any, bool) {
	if !f.tool.takesOneText() || roleOf(p) != roleText || len(f.taken) > 0 {
		return nil, false
	}
	for _, at := range token.FindAllStringIndex(f.text, -1) {
		own := words(f.text[at[0]:at[1]])
		if len(own) != 1 || !f.tool.inName[own[0]] {
			continue
		}
		if rest := strings.Trim(f.text[at[1]:], " \t\n:.?!"); rest != "" {
			f.used++
			return rest, true
		}
	}
	return nil, false
}

// takesOneText tells that any words could be the tool's argument.
func (t tool) takesOneText() bool {
	required := t.required()
	return len(required) == 1 && required[0].kind == "string" && len(required[0].enum) == 0 && roleOf(required[0]) == roleText
}

// optional gives the message's value to the first parameter that takes one, for
// tools that need nothing but can be told more.
func (f *filler) optional(args map[string]any) {
	for _, p := range f.tool.params {
		if _, there := args[p.name]; there || p.kind != "string" || len(p.enum) > 0 {
			continue
		}
		p.required = true
		if v, ok := f.pick(p); ok {
			args[p.name] = v
			return
		}
	}
}

// isToolsOwn tells that a phrase only repeats what the tool is called: "of
// files" is no value for read_file.
func (f *filler) isToolsOwn(v value) bool {
	said := words(v.text)
	return v.kind == phrase && len(said) > 0 && !slices.ContainsFunc(said, func(w string) bool {
		return !f.tool.inName[w] && !f.tool.inParams[w]
	})
}

func (f *filler) use(i int) bool {
	f.take(f.values[i])
	f.used++
	return true
}

func (f *filler) take(v value) {
	for i, o := range f.values {
		if v.overlaps(o) {
			f.taken[i] = true
		}
	}
}

// role is what a text argument is for, told by its name.
type role int

const (
	roleText role = iota
	rolePath
	roleAddress
	rolePattern
	rolePlace
	roleTarget
)

func roleOf(p param) role {
	for _, r := range []struct {
		role  role
		words string
	}{
		{roleTarget, "destination dest target to"},
		{roleAddress, "url uri link href website"},
		{rolePattern, "pattern glob regex"},
		{rolePath, "path paths file files filename filepath dir directory folder source src"},
		{rolePlace, "place city location country timezone zone tz region town where"},
	} {
		names := words(r.words)
		if r.role == roleTarget {
			names = append(names, "to")
		}
		if slices.ContainsFunc(append(words(p.name), strings.ToLower(p.name)), func(w string) bool { return slices.Contains(names, w) }) {
			return r.role
		}
	}
	if p.format == "uri" {
		return roleAddress
	}
	return roleText
}

// want is a kind of value that a parameter takes, after which words.
type want struct {
	kind  valueKind
	after string // "" = any but "to" and its like
}

const targetLeads = "to into as"

func (w want) allows(v value) bool {
	if w.after == "" {
		return v.kind == quoted || !slices.Contains(strings.Fields(targetLeads), v.lead)
	}
	return slices.Contains(strings.Fields(w.after), v.lead)
}

// wanted are the kinds of value that a parameter takes, the surest first.
func wanted(p param) []want {
	switch roleOf(p) {
	case roleTarget:
		return []want{{file, targetLeads}, {quoted, targetLeads}, {phrase, targetLeads}, {file, ""}, {quoted, ""}}
	case roleAddress:
		return []want{{kind: address}, {address, targetLeads}, {kind: file}, {kind: quoted}}
	case rolePattern:
		return []want{{kind: glob}, {kind: quoted}, {phrase, "for named called"}, {kind: file}}
	case rolePath:
		return []want{{kind: file}, {file, targetLeads}, {phrase, "in inside of from at on named called"}, {kind: quoted},
			{kind: glob}, {phrase, "into"}, {kind: proper}}
	case rolePlace:
		return []want{{phrase, "in at for of"}, {kind: proper}, {kind: file}, {kind: quoted}}
	}
	return []want{{kind: quoted}, {kind: glob}, {phrase, "for about named called titled of"}, {kind: proper}, {kind: address}, {kind: file}, {kind: phrase}}
}

// convert reads a text as a JSON Schema type.
func convert(text, kind string) (any, bool) {
	switch kind {
	case "integer":
		n, err := strconv.ParseInt(text, 10, 64)
		return n, err == nil
	case "number":
		n, err := strconv.ParseFloat(text, 64)
		if err != nil || math.IsNaN(n) || math.IsInf(n, 0) {
			return nil, false
		}
		return n, true
	case "boolean":
		b, err := strconv.ParseBool(strings.ToLower(text))
		return b, err == nil
	case "string":
		return text, text != ""
	}
	return nil, false
}

// contains tells that part stands in all, word for word.
func contains(all, part []string) bool {
	for i := 0; len(part) > 0 && i+len(part) <= len(all); i++ {
		if slices.Equal(all[i:i+len(part)], part) {
			return true
		}
	}
	return false
}
