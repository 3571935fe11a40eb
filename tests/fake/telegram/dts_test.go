package telegram

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// The declarations of npm's @grammyjs/types, read as far as they describe JSON.

// declarations are types by their name; those in a namespace also by its name and a dot.
type declarations map[string]typ

// typ is a type expression: one of the fields below.
type typ struct {
	name    string  // a named type, a primitive one, or "literal"
	literal string  // of a literal: as fmt.Sprint prints the value
	args    []typ   // of a generic
	array   *typ    // elements
	object  []field // an interface or an object type …
	bases   []typ   // … and what it extends
	union   []typ   // one of
	both    []typ   // all of
	scope   string  // the namespace that the name was written in
}

type field struct {
	name     string
	optional bool
	of       typ
}

var (
	comments  = regexp.MustCompile(`(?s)/\*.*?\*/`)
	dtsTokens = regexp.MustCompile("`[^`]*`|\"[^\"]*\"|0x[0-9A-Fa-f]+|-?\\d+|[A-Za-z_$][\\w$.]*|=>|[{}()\\[\\]<>|&?:;,=]")
)

// readDeclarations reads all .d.ts files of a folder.
func readDeclarations(t *testing.T, dir string) declarations {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.d.ts"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no declarations in %s: %v", dir, err)
	}
	d := declarations{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		p := &dtsParser{tokens: dtsTokens.FindAllString(comments.ReplaceAllString(string(text), ""), -1), into: d}
		p.declarations("")
	}
	return d
}

type dtsParser struct {
	tokens []string
	scope  string
	into   declarations
}

func (p *dtsParser) peek() string {
	if len(p.tokens) == 0 {
		return ""
	}
	return p.tokens[0]
}

func (p *dtsParser) next() string {
	token := p.peek()
	if token != "" {
		p.tokens = p.tokens[1:]
	}
	return token
}

// take passes over a token if it is the next.
func (p *dtsParser) take(token string) bool {
	if p.peek() != token {
		return false
	}
	p.next()
	return true
}

// declarations reads until the end or a closing brace.
func (p *dtsParser) declarations(scope string) {
	for p.peek() != "" && !p.take("}") {
		p.scope = scope
		switch p.next() {
		case "namespace":
			name := p.next()
			p.take("{")
			p.declarations(name + ".")
		case "interface":
			name := p.next()
			p.generics()
			t := typ{}
			for p.take("extends") || p.take(",") {
				t.bases = append(t.bases, p.union())
			}
			t.object = p.object().object
			p.into[scope+name] = t
		case "type":
			name := p.next()
			p.generics()
			if p.take("=") {
				p.into[scope+name] = p.union()
			}
		case "import":
			for p.peek() != "" && !p.take(";") {
				p.next()
			}
		}
	}
}

// generics passes over the parameters of a type.
func (p *dtsParser) generics() {
	if !p.take("<") {
		return
	}
	for depth := 1; depth > 0 && p.peek() != ""; {
		switch p.next() {
		case "<":
			depth++
		case ">":
			depth--
		}
	}
}

func (p *dtsParser) union() typ {
	p.take("|")
	all := []typ{p.both()}
	for p.take("|") {
		all = append(all, p.both())
	}
	if len(all) == 1 {
		return all[0]
	}
	return typ{union: all}
}

func (p *dtsParser) both() typ {
	all := []typ{p.array()}
	for p.take("&") {
		all = append(all, p.array())
	}
	if len(all) == 1 {
		return all[0]
	}
	return typ{both: all}
}

func (p *dtsParser) array() typ {
	t := p.single()
	for p.take("[") {
		if p.take("]") {
			element := t
			t = typ{array: &element}
			continue
		}
		p.union() // T[P], a part of a type
		p.take("]")
		t = typ{name: "any"}
	}
	return t
}

func (p *dtsParser) single() typ {
	switch token := p.peek(); {
	case token == "{":
		return p.object()
	case token == "(":
		p.next()
		t := p.union()
		p.take(")")
		return t
	case token == "keyof" || token == "typeof" || token == "readonly":
		p.next()
		p.array()
		return typ{name: "any"}
	case strings.HasPrefix(token, "`"):
		p.next()
		return typ{name: "string"}
	case strings.HasPrefix(token, `"`):
		return typ{name: "literal", literal: strings.Trim(p.next(), `"`)}
	case token == "true" || token == "false" || token[0] == '-' || token[0] >= '0' && token[0] <= '9':
		literal := p.next()
		var n int
		if _, err := fmt.Sscanf(literal, "0x%x", &n); err == nil {
			literal = fmt.Sprint(n)
		}
		return typ{name: "literal", literal: literal}
	}
	t := typ{name: p.next(), scope: p.scope}
	if p.take("<") {
		for !p.take(">") && p.peek() != "" {
			t.args = append(t.args, p.union())
			p.take(",")
		}
	}
	return t
}

// object reads { name?: type; … }. A method in it counts as a field of its result, with its parameter's type as args.
func (p *dtsParser) object() typ {
	t := typ{object: []field{}}
	p.take("{")
	for !p.take("}") && p.peek() != "" {
		f := field{name: strings.Trim(p.next(), `"`)}
		if f.name == "[" { // a mapped type
			for p.peek() != "" && !p.take("]") {
				p.next()
			}
		}
		f.optional = p.take("?")
		if p.take("(") {
			args := typ{object: []field{}}
			if !p.take(")") {
				p.next()
				p.take("?")
				p.take(":")
				args = p.union()
				p.take(")")
			}
			p.take(":")
			f.of = typ{name: "method", args: []typ{args, p.union()}}
		} else {
			p.take("?")
			p.take(":")
			f.of = p.union()
		}
		p.take(";")
		p.take(",")
		t.object = append(t.object, f)
	}
	return t
}

// find is a named type, seen from a namespace.
func (d declarations) find(t typ) (typ, bool) {
	if inner, ok := d[t.scope+t.name]; ok {
		return inner, true
	}
	inner, ok := d[t.name]
	return inner, ok
}

// shape are the fields that an object may have: by name, all of its types there.
type shape map[string][]field

// shapes are the shapes that a type allows; none if it is no object.
func (d declarations) shapes(t typ) []shape {
	switch {
	case t.object != nil || t.bases != nil:
		all := []shape{{}}
		for _, f := range t.object {
			all[0][f.name] = append(all[0][f.name], f)
		}
		for _, base := range t.bases {
			all = cross(all, d.shapes(base))
		}
		return all
	case t.both != nil:
		all := []shape{{}}
		for _, one := range t.both {
			all = cross(all, d.shapes(one))
		}
		return all
	case t.union != nil:
		var all []shape
		for _, one := range t.union {
			all = append(all, d.shapes(one)...)
		}
		return all
	}
	return d.namedShapes(t)
}

func (d declarations) namedShapes(t typ) []shape {
	switch t.name {
	case "MsgWith": // a message that has one of its fields
		s := shape{}
		for _, f := range d["Message"].object {
			if f.name == t.args[0].literal {
				s[f.name] = []field{{f.name, false, f.of}}
			}
		}
		return []shape{s}
	case "Partial", "Omit", "Exclude":
		all := d.shapes(t.args[0])
		for _, s := range all {
			s.change(t)
		}
		return all
	}
	if inner, ok := d.find(t); ok {
		return d.shapes(inner)
	}
	return nil
}

// change applies Partial or Omit.
func (s shape) change(t typ) {
	switch t.name {
	case "Partial":
		for name, fields := range s {
			s[name] = []field{{name, true, fields[0].of}}
		}
	case "Omit":
		for _, gone := range append(t.args[1].union, t.args[1]) {
			delete(s, gone.literal)
		}
	}
}

// cross joins each shape of a with each of b.
func cross(a, b []shape) []shape {
	var all []shape
	for _, left := range a {
		for _, right := range b {
			joined := maps.Clone(left)
			for name, fields := range right {
				joined[name] = slices.Concat(joined[name], fields)
			}
			all = append(all, joined)
		}
	}
	return all
}
