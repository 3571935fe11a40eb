package toolbox

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"golang.org/x/text/language"
	"golang.org/x/text/message"
)

const (
	// schemaMax bounds the schemas that are compiled, in bytes: compiling holds
	// everybody up.
	schemaMax = 256 << 10
	// schemaNodes bounds what a schema comes to with its references followed: a few
	// hundred bytes can double with each level of them.
	schemaNodes = 10_000
	// schemaURL is where a schema seems to stand, in words about it: a plain name
	// would be taken for a file of ours.
	schemaURL = "https://tool.invalid/schema.json"
	// faultsShown bounds what the model reads about bad arguments.
	faultsShown = 20
)

// noLoader refuses references of untrusted schemas to files and the network.
type noLoader struct{}

func (noLoader) Load(url string) (any, error) {
	return nil, fmt.Errorf("a schema may not refer to %s", url)
}

// compile prepares a tool's schema. One that does not compile, or is too large
// to be checked safely, costs the check and not the tool.
func compile(schema json.RawMessage) *jsonschema.Schema {
	if len(schema) > schemaMax {
		return nil
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(schema))
	if err != nil || !newExpansion(doc).fits(doc) {
		return nil
	}
	c := jsonschema.NewCompiler()
	c.UseLoader(noLoader{})
	if c.AddResource(schemaURL, doc) != nil {
		return nil
	}
	s, err := c.Compile(schemaURL)
	if err != nil {
		return nil
	}
	return s
}

// check says in words what is wrong with arguments, "" if nothing is.
func (t *tool) check(args json.RawMessage) string {
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(args))
	if err != nil {
		return "they are not valid JSON"
	}
	if _, ok := v.(map[string]any); !ok {
		return "they must be a JSON object"
	}
	if t.schema == nil {
		return ""
	}
	err = t.schema.Validate(v)
	if err == nil {
		return ""
	}
	var invalid *jsonschema.ValidationError
	if !errors.As(err, &invalid) {
		return err.Error()
	}
	return strings.Join(leaves(nil, invalid, message.NewPrinter(language.English)), "\n")
}

// leaves adds the faults themselves, without the branches that lead to them.
func leaves(list []string, e *jsonschema.ValidationError, p *message.Printer) []string {
	if len(list) >= faultsShown {
		return list
	}
	if len(e.Causes) == 0 {
		fault := clip(e.ErrorKind.LocalizedString(p), 300)
		return append(list, fmt.Sprintf("- at /%s: %s", clip(strings.Join(e.InstanceLocation, "/"), 200), fault))
	}
	for _, c := range e.Causes {
		list = leaves(list, c, p)
	}
	return list
}

// expansion counts what a schema comes to with its local references followed,
// each cycle once.
type expansion struct {
	root    any
	left    int
	current map[string]bool // references that are being followed
}

func newExpansion(root any) *expansion {
	return &expansion{root: root, left: schemaNodes, current: map[string]bool{}}
}

// fits reports whether the count stays within schemaNodes.
func (x *expansion) fits(v any) bool {
	if x.left--; x.left < 0 {
		return false
	}
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			if !x.fits(e) {
				return false
			}
		}
	case map[string]any:
		for k, e := range v {
			if k == "$defs" || k == "definitions" {
				continue // counted where they are referred to
			}
			if !x.fits(e) {
				return false
			}
		}
		ref, ok := v["$ref"].(string)
		if !ok || x.current[ref] {
			return true
		}
		x.current[ref] = true
		defer delete(x.current, ref)
		return x.fits(x.find(ref))
	}
	return true
}

// find follows a JSON pointer in the document (RFC 6901), nil if it leads nowhere.
func (x *expansion) find(ref string) any {
	pointer, local := strings.CutPrefix(ref, "#/")
	if !local {
		return nil
	}
	v := x.root
	for part := range strings.SplitSeq(pointer, "/") {
		m, ok := v.(map[string]any)
		if !ok {
			return nil
		}
		v = m[strings.NewReplacer("~1", "/", "~0", "~").Replace(part)]
	}
	return v
}
