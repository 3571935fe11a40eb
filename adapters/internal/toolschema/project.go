package toolschema

import (
	"bytes"
	"encoding/json"
	"regexp"
)

// Profile is the rules of a provider.
type Profile int

const (
	ForOpenAI    Profile = iota // and everyone who speaks its wires, but for Gemini
	ForAnthropic                // messages
	ForGemini                   // generativelanguage.googleapis.com, its OpenAI-compatible endpoint included
)

// Projection is a schema as a provider takes it.
type Projection struct {
	// Schema is an object's schema, in equal bytes for equal schemas. It is nil
	// where the provider wants none of a tool without arguments.
	Schema json.RawMessage
	// Names are the properties that have another name in Schema, each with its
	// own: what the model gives under the key belongs to the value.
	Names map[string]string
}

// Project turns a tool's own input schema into what the profile's provider takes.
//
// At the top it makes sure of type object and properties, and merges a $ref,
// oneOf, anyOf and allOf into the root. Everywhere it keeps the keywords of JSON
// Schema 2020-12 that are in order and that stay true when others go; those of
// older drafts become what they are today. Depth, size and text are bounded: of
// a schema beyond that the lower floors go first.
func Project(p Profile, pristine json.RawMessage) Projection {
	return project(p, pristine, "")
}

// rules are what providers differ in (facts of their APIs, and of their error messages).
type rules struct {
	references  bool           // local ones into $defs may stay; else they are inlined
	openAPI     bool           // knows the words of OpenAPI 3.0 alone
	names       *regexp.Regexp // of properties; nil = any
	depth       int            // of schemas within schemas
	description int            // longest description of a tool, in runes
	omitEmpty   bool           // no schema rather than one without properties
	lettersLead bool           // a tool's name begins with a letter or "_"
}

var profiles = map[Profile]rules{
	// Some hosts of its wires still refuse a tool's description beyond 1024.
	ForOpenAI:    {references: true, depth: 32, description: 1024},
	ForAnthropic: {names: regexp.MustCompile(`^[a-zA-Z0-9_.-]{1,64}$`), depth: 32, description: 16 << 10},
	// Protocol buffers read JSON of at most a hundred levels, and here one of ours can be four of them.
	ForGemini: {openAPI: true, depth: 16, description: 16 << 10, omitEmpty: true, lettersLead: true},
}

// The bounds of what is read and of what is made. Servers are not trusted.
const (
	maxInput = 512 << 10 // bytes
	maxBytes = 128 << 10 // of a projection
	maxNodes = 8_000     // schemas in it
	// A schema may grow by so much, where references are written out: the core reckons
	// with the size that its server gave it.
	growsBy, growsFree = 4, 4 << 10
)

// floor is how much of a schema is kept.
type floor struct {
	depth int // of schemas within schemas; 0 = what the provider bears
	text  int // runes of one description
	enum  int // values of one enum; one with more goes
}

// floors are tried in turn until the projection is within its bounds.
var floors = []floor{{0, 4096, 2000}, {8, 400, 200}, {4, 120, 50}, {1, 0, 0}}

// project has more beside the schema: the end of a tool's description for which
// the provider has no other place.
func project(p Profile, pristine json.RawMessage, more string) Projection {
	r := profiles[p]
	root := decode(pristine)
	in := &refs{root: root}
	merged := (&merger{refs: in}).top(root)
	if text, _ := merged["description"].(string); more != "" {
		merged["description"] = joinText(more, text)
	}
	most := min(maxBytes, growsBy*(len(pristine)+len(more))+growsFree)
	for _, f := range floors {
		if f.depth == 0 {
			f.depth = r.depth
		}
		c := &cleaner{rules: r, floor: f, refs: in, open: map[string]bool{}, names: map[string]string{}}
		out := c.document(merged)
		if c.over {
			continue
		}
		if raw, err := encode(out); err == nil && len(raw) <= most {
			return c.projection(out, raw)
		}
	}
	return (&cleaner{rules: r}).projection(map[string]any{}, []byte(`{"properties":{},"type":"object"}`))
}

func (c *cleaner) projection(out map[string]any, raw []byte) Projection {
	if properties, _ := out["properties"].(map[string]any); len(properties) == 0 && c.rules.omitEmpty {
		return Projection{}
	}
	done := Projection{Schema: raw}
	if len(c.names) > 0 {
		done.Names = c.names
	}
	return done
}

// decode gives an empty schema for what is no object, or too large to be one.
func decode(pristine json.RawMessage) map[string]any {
	if len(pristine) > maxInput {
		return map[string]any{}
	}
	dec := json.NewDecoder(bytes.NewReader(pristine))
	dec.UseNumber() // a float64 would round large integers
	var root map[string]any
	if dec.Decode(&root) != nil || root == nil {
		return map[string]any{}
	}
	return root
}

// encode leaves <, > and & as they are, unlike json.Marshal: they are no danger
// here, and tokens to a model.
func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// cut gives the first runes of a text, and the rest.
func cut(text string, most int) (head, rest string) {
	if len(text) <= most {
		return text, ""
	}
	n := 0
	for at := range text {
		if n == most {
			return text[:at], text[at:]
		}
		n++
	}
	return text, ""
}

func joinText(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + " " + b
}
