// Package dts reads TypeScript declarations as far as they describe JSON, and says
// where a JSON value is not of a type: the newest descriptions of the platforms' APIs
// are such declarations, and a fake is held to them.
//
// It knows interfaces, aliases, enums, namespaces, unions, intersections and generics,
// and of the compiler's own types those that pick fields or members. What else a type
// says (conditions, mapped keys, tuples) it takes for any; a name that nothing declares
// is a difference, so that no declaration is left out unnoticed.
package dts

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
)

// Types are declarations by their name, those of a namespace by its name and a dot
// before their own.
type Types map[string]declaration

type declaration struct {
	params []param
	of     typ
}

type param struct {
	name     string
	fallback *typ
}

// typ is a type expression: one of the fields below.
type typ struct {
	name    string  // a named type, a primitive one, "any", "literal", "method" or "[]" (a part of a type)
	scope   string  // the namespace that the name was written in, and a dot
	literal string  // of a literal: as fmt.Sprint prints the value; of a method: the type of its result
	args    []typ   // of a generic; of a method: the type of its parameter; of a part: the type and the key
	array   *typ    // elements
	object  []field // an interface or an object type …
	bases   []typ   // … and what it extends
	union   []typ   // one of
	both    []typ   // all of
}

type field struct {
	name     string
	optional bool
	of       typ
}

var anything = typ{name: "any"}

var (
	comments = regexp.MustCompile(`(?s)/\*.*?\*/|(?m)^//.*$`)
	tokens   = regexp.MustCompile("`[^`]*`|\"[^\"]*\"|'[^']*'|0x[0-9A-Fa-f]+|-?\\d+(?:\\.\\d+)?|[A-Za-z_$][\\w$.]*|=>|[{}()\\[\\]<>|&?:;,=]")
)

// Read reads all .d.ts files of folders.
func Read(dirs ...string) (Types, error) {
	t := Types{}
	for _, dir := range dirs {
		files, err := filepath.Glob(filepath.Join(dir, "*.d.ts"))
		if err != nil || len(files) == 0 {
			return nil, fmt.Errorf("no declarations in %s: %w", dir, err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				return nil, err
			}
			parse(comments.ReplaceAllString(string(text), "")).declarations(t)
		}
	}
	return t, nil
}

// parser reads tokens.
type parser struct {
	tokens []string
	scope  string // the namespace that it reads, and a dot
}

func parse(text string) *parser { return &parser{tokens: tokens.FindAllString(text, -1)} }

func (p *parser) peek() string {
	if len(p.tokens) == 0 {
		return ""
	}
	return p.tokens[0]
}

func (p *parser) next() string {
	token := p.peek()
	if token != "" {
		p.tokens = p.tokens[1:]
	}
	return token
}

// take passes over a token if it is the next.
func (p *parser) take(token string) bool {
	if p.peek() != token {
		return false
	}
	p.next()
	return true
}

// skip passes over tokens up to one of these that stands in no bracket, and takes it
// unless it closes one that was open before.
func (p *parser) skip(until string) {
	for depth := 0; p.peek() != ""; {
		token := p.peek()
		if depth == 0 && (strings.Contains(until, token) || strings.Contains("})]", token)) {
			p.take(";")
			return
		}
		switch token {
		case "{", "(", "[":
			depth++
		case "}", ")", "]":
			depth--
		}
		p.next()
	}
}

// declarations reads to the end of the file or of the namespace.
func (p *parser) declarations(into Types) {
	for p.peek() != "" && (p.scope == "" || !p.take("}")) {
		switch p.next() {
		case "namespace":
			outer := p.scope
			p.scope = outer + p.next() + "."
			p.take("{")
			p.declarations(into)
			p.scope = outer
		case "interface":
			name := p.next()
			d := declaration{params: p.params()}
			for p.take("extends") || p.take(",") {
				d.of.bases = append(d.of.bases, p.single())
			}
			d.of.object = p.object().object
			into[p.scope+name] = d
		case "type":
			name := p.next()
			d := declaration{params: p.params()}
			if p.take("=") {
				d.of = p.whole(";")
				p.skip(";")
				into[p.scope+name] = d
			}
		case "enum":
			name := p.next()
			p.enum(p.scope+name, into)
		case "import", "const", "function":
			p.skip(";")
		}
	}
}

// enum is the union of its members, each of which has a name, too.
func (p *parser) enum(name string, into Types) {
	var all typ
	p.take("{")
	for !p.take("}") && p.peek() != "" {
		member := strings.Trim(p.next(), `"'`)
		value := typ{name: "any"}
		if p.take("=") {
			value = typ{name: "literal", literal: strings.Trim(p.next(), `"'`)}
		}
		p.take(",")
		into[name+"."+member] = declaration{of: value}
		all.union = append(all.union, value)
	}
	if strings.HasSuffix(name, "Flags") {
		all = typ{name: "number"}
	}
	into[name] = declaration{of: all}
}

// params are those of a generic.
func (p *parser) params() (list []param) {
	if !p.take("<") {
		return nil
	}
	for !p.take(">") && p.peek() != "" {
		one := param{name: p.next()}
		if p.take("extends") {
			p.union()
		}
		if p.take("=") {
			t := p.union()
			one.fallback = &t
		}
		p.take(",")
		list = append(list, one)
	}
	return list
}

// whole is a type up to a token; any if it goes on in a way that is not known.
func (p *parser) whole(end string) typ {
	t := p.union()
	if !strings.Contains(end, p.peek()) {
		p.skip(end)
		return anything
	}
	return t
}

func (p *parser) union() typ {
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

func (p *parser) both() typ {
	all := []typ{p.array()}
	for p.take("&") {
		all = append(all, p.array())
	}
	if len(all) == 1 {
		return all[0]
	}
	return typ{both: all}
}

func (p *parser) array() typ {
	t := p.single()
	for p.take("[") {
		if p.take("]") {
			element := t
			t = typ{array: &element}
			continue
		}
		t = typ{name: "[]", args: []typ{t, p.whole("]")}}
		p.take("]")
	}
	return t
}

func (p *parser) single() typ {
	switch token := p.peek(); {
	case token == "{":
		return p.object()
	case token == "(":
		p.next()
		t := p.whole(")")
		p.take(")")
		if p.take("=>") {
			p.union()
			return anything
		}
		return t
	case token == "[": // a tuple
		p.next()
		p.skip("]")
		p.take("]")
		return anything
	case token == "keyof" || token == "typeof" || token == "readonly" || token == "infer" || token == "unique":
		p.next()
		t := p.array()
		if token == "readonly" {
			return t
		}
		return anything
	case strings.HasPrefix(token, "`"):
		p.next()
		return typ{name: "string"}
	case strings.HasPrefix(token, `"`) || strings.HasPrefix(token, "'"):
		return typ{name: "literal", literal: strings.Trim(p.next(), `"'`)}
	case token == "": // the text ends where a type should stand
		return typ{name: "never"}
	case strings.HasPrefix(token, "0x"):
		n, _ := strconv.ParseUint(p.next(), 0, 64)
		return typ{name: "literal", literal: fmt.Sprint(n)}
	case token == "true" || token == "false" || token[0] == '-' || token[0] >= '0' && token[0] <= '9':
		return typ{name: "literal", literal: p.next()}
	}
	t := typ{name: p.next(), scope: p.scope}
	if p.take("<") {
		for !p.take(">") && p.peek() != "" {
			t.args = append(t.args, p.union())
			if !p.take(",") && p.peek() != ">" { // a condition
				return anything
			}
		}
	}
	return t
}

// object reads { name?: type; … }. One with keys that are made up is any.
func (p *parser) object() typ {
	t := typ{object: []field{}}
	p.take("{")
	made := false
	for !p.take("}") && p.peek() != "" {
		p.take("readonly")
		if p.take("[") {
			made = true
			p.skip("]")
			p.take("]")
		} else {
			t.object = append(t.object, field{name: strings.Trim(p.next(), `"'`)})
		}
		optional := p.take("?")
		of := anything
		if p.take("(") {
			of = p.method()
		} else if p.take(":") {
			of = p.whole(";,}")
		}
		if n := len(t.object); !made && n > 0 {
			t.object[n-1].optional, t.object[n-1].of = optional, of
		}
		p.take(";")
		p.take(",")
	}
	if made {
		return anything
	}
	return t
}

// method reads the rest of one after its opening bracket: of its parameters the first,
// and the result as it is written.
func (p *parser) method() typ {
	parameter := typ{object: []field{}}
	if p.peek() != ")" {
		p.next()
		p.take("?")
		if p.take(":") {
			parameter = p.whole(",)")
		}
	}
	p.skip(")")
	p.take(")")
	t := typ{name: "method", args: []typ{parameter}}
	if p.take(":") {
		from := p.tokens
		p.whole(";,}")
		t.literal = strings.Join(from[:len(from)-len(p.tokens)], " ")
	}
	return t
}
