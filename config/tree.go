package config

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/tailscale/hujson"
)

// The kinds of node, by the first byte of their JSON.
const (
	isNull   = hujson.Kind('n')
	isBool   = hujson.Kind('t')
	isText   = hujson.Kind('"')
	isNumber = hujson.Kind('0')
	isObject = hujson.Kind('{')
	isList   = hujson.Kind('[')
)

// node is one value of the file with its variables put in. A tree of them is
// never changed once it is built.
type node struct {
	kind    hujson.Kind
	at      int    // offset of the value
	key     int    // offset of its key; where it has none, the same as at
	path    string // as a person would write it
	literal string // of a text: with variables put in; of a number, true or false: as it stands
	refs    []string
	faults  Faults // why the text could not be made
	items   []*node
	members []member // in the order of the file, each key once
	byKey   map[string]*node
}

type member struct {
	name  string
	value *node
}

// get is the value of a key, or nil.
func (n *node) get(key string) *node { return n.byKey[key] }

func (n *node) add(name string, value *node) {
	if n.byKey == nil {
		n.byKey = map[string]*node{}
	}
	n.byKey[name] = value
	n.members = append(n.members, member{name, value})
}

// without is the object less some of its keys.
func (n *node) without(keys map[string]bool) *node {
	rest := &node{kind: n.kind, at: n.at, key: n.key, path: n.path}
	for _, m := range n.members {
		if !keys[m.name] {
			rest.add(m.name, m.value)
		}
	}
	return rest
}

// problems adds the faults of all texts in the tree.
func (n *node) problems(to Faults) Faults {
	to = append(to, n.faults...)
	for _, item := range n.items {
		to = item.problems(to)
	}
	for _, m := range n.members {
		to = m.value.problems(to)
	}
	return to
}

// json is the value as standard JSON, with variables put in.
func (n *node) json(to []byte) []byte {
	switch n.kind {
	case isText:
		quoted, _ := json.Marshal(n.literal) // of a string it cannot fail
		return append(to, quoted...)
	case isList:
		to = append(to, '[')
		for i, item := range n.items {
			if i > 0 {
				to = append(to, ',')
			}
			to = item.json(to)
		}
		return append(to, ']')
	case isObject:
		to = append(to, '{')
		for i, m := range n.members {
			if i > 0 {
				to = append(to, ',')
			}
			name, _ := json.Marshal(m.name)
			to = append(append(to, name...), ':')
			to = m.value.json(to)
		}
		return append(to, '}')
	default:
		return append(to, n.literal...)
	}
}

// builder makes nodes of the parser's tree. With a nil expander texts stay as they stand.
type builder struct {
	doc    *document
	expand *expander
	faults Faults // keys given twice
}

func (b *builder) build(v hujson.Value, path string) *node {
	n := &node{kind: v.Value.Kind(), at: v.StartOffset, key: v.StartOffset, path: path}
	switch value := v.Value.(type) {
	case *hujson.Object:
		b.members(n, value)
	case *hujson.Array:
		for i, element := range value.Elements {
			n.items = append(n.items, b.build(element, path+"["+strconv.Itoa(i)+"]"))
		}
	case hujson.Literal:
		b.literal(n, value)
	}
	return n
}

func (b *builder) members(n *node, object *hujson.Object) {
	for _, m := range object.Members {
		name := m.Name.Value.(hujson.Literal).String()
		at := m.Name.StartOffset
		path := join(n.path, name)
		if first := n.get(name); first != nil {
			b.faults = append(b.faults, b.doc.fault(at, path, "is given twice, first on line %d (keep one)", b.doc.line(first.key)))
			continue
		}
		value := b.build(m.Value, path)
		value.key = at
		n.add(name, value)
	}
}

func (b *builder) literal(n *node, value hujson.Literal) {
	if n.kind == 'f' {
		n.kind = isBool
	}
	n.literal = value.String()
	if n.kind != isText || b.expand == nil {
		return
	}
	var wrong []string
	n.literal, n.refs, wrong = b.expand.text(n.literal)
	for _, w := range wrong {
		n.faults = append(n.faults, b.doc.fault(n.at, n.path, "%s", w))
	}
}

// join is the path of a key below a path: a.b, or a["b c"] where the key is no plain word.
func join(path, key string) string {
	plain := key != "" && strings.IndexFunc(key, func(r rune) bool {
		return !(r == '$' || r == '-' || r == '_' || r >= '0' && r <= '9' || r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z')
	}) < 0
	switch {
	case !plain:
		return path + "[" + strconv.Quote(key) + "]"
	case path == "":
		return key
	default:
		return path + "." + key
	}
}
