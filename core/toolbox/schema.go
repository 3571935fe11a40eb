package toolbox

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
	"golang.org/x/text/language"
	"golang.org/x/text/message"
)

const (
	// schemaMax bounds the schemas that are compiled, in bytes.
	schemaMax = 256 << 10
	// schemaNodes bounds them in values.
	schemaNodes = 10_000
	// schemaDepth bounds how deep they are: the time to compile one grows with the
	// cube of it, to minutes for the 100 KiB that make three thousand levels.
	schemaDepth = 128
	// valueMax bounds what is checked against a schema, in bytes: decoded it takes
	// many times that.
	valueMax = 1 << 20
	// schemaURL is where a schema seems to stand, in words about it: a plain name
	// would be taken for a file of ours.
	schemaURL = "https://tool.invalid/schema.json"
	// faultsShown bounds what the model reads about a value that breaks its schema.
	faultsShown = 20
)

// noLoader refuses references of untrusted schemas to files and the network.
type noLoader struct{}

func (noLoader) Load(url string) (any, error) {
	return nil, fmt.Errorf("a schema may not refer to %s", url)
}

// schema is a tool's schema, ready to be checked against. nil takes everything.
type schema struct{ compiled *jsonschema.Schema }

// compile prepares a tool's schema: JSON Schema 2020-12, or the draft that its
// $schema names. One that does not compile, or is too large or too tangled to be
// checked safely, costs the check and not the tool.
func compile(raw json.RawMessage) *schema {
	if len(raw) == 0 || len(raw) > schemaMax {
		return nil
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil || !checkable(doc) {
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
	return &schema{s}
}

// checkArguments says in words what is wrong with a call's arguments, "" if nothing is.
func (s *schema) checkArguments(args json.RawMessage) string {
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(args))
	if err != nil {
		return "they are not valid JSON"
	}
	if _, ok := v.(map[string]any); !ok {
		return "they must be a JSON object"
	}
	return s.faults(v)
}

// checkStructured says in words what is wrong with what a tool gave, "" if nothing is.
func (s *schema) checkStructured(raw json.RawMessage) string {
	if s == nil || len(raw) > valueMax {
		return ""
	}
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		return "- it is not valid JSON"
	}
	return s.faults(v)
}

// faults lists what is wrong with a value. One that takes too much work to be
// checked is taken as it is.
func (s *schema) faults(v any) string {
	if s == nil || !affordable(s.compiled, v) {
		return ""
	}
	err := s.compiled.Validate(v)
	if err == nil {
		return ""
	}
	var invalid *jsonschema.ValidationError
	switch {
	case !errors.As(err, &invalid):
		return err.Error()
	case circular(invalid): // it says nothing about any arguments
		return ""
	}
	return strings.Join(leaves(nil, invalid, message.NewPrinter(language.English)), "\n")
}

// circular reports whether the schema came back to itself without an end.
func circular(e *jsonschema.ValidationError) bool {
	_, cycle := e.ErrorKind.(*kind.RefCycle)
	return cycle || slices.ContainsFunc(e.Causes, circular)
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
