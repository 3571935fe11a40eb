package mcp

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/net/http/httpguts"

	"dragoman/ports"
)

const (
	// paramMark is the keyword by which a schema asks for an argument in a header.
	paramMark   = "x-mcp-header"
	paramPrefix = "Mcp-Param-"

	encodedPrefix, encodedSuffix = "=?base64?", "?="
	// maxSafeInteger is the largest whole number that every JSON reader keeps exact.
	maxSafeInteger = 1<<53 - 1
)

// param is an argument that goes into a header too: the keys that lead to it
// from the root of the arguments, and the header's name.
type param struct {
	path   []string
	header string
}

// checkParamHeaders says what is wrong with the x-mcp-header annotations of a
// tool's input schema (MCP 2026-07-28 basic/transports/streamable-http, "Schema
// Extension"); nil if nothing is, or there are none. Over HTTP a tool with a
// wrong one must be left out.
func checkParamHeaders(schema json.RawMessage) error {
	_, err := params(schema)
	return err
}

// paramHeaders are the headers for a call with args, an object, of a tool with
// the schema (MCP 2026-07-28 basic/transports/streamable-http, "Client
// Behavior"). An argument that is absent or null has none. An argument that no
// header can carry is KindInvalid.
func paramHeaders(schema, args json.RawMessage) (http.Header, error) {
	asked, err := params(schema)
	if err != nil || len(asked) == 0 {
		return nil, err
	}
	headers := make(http.Header, len(asked))
	for _, p := range asked {
		raw := valueAt(args, p.path)
		if isNull(raw) {
			continue
		}
		value, err := paramText(raw)
		if err != nil {
			return nil, ports.Errorf(ports.KindInvalid, "mcp tools/call", "argument %s cannot go into the header %s%s: %v", strings.Join(p.path, "."), paramPrefix, p.header, err)
		}
		headers.Set(paramPrefix+p.header, headerValue(value))
	}
	return headers, nil
}

// headerValue is text as the value of a header that MCP mirrors (Mcp-Name and
// Mcp-Param-*): as it is, or in base64 if it might not arrive so.
func headerValue(text string) string {
	odd := strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r > '~' })
	marked := strings.HasPrefix(text, encodedPrefix) && strings.HasSuffix(text, encodedSuffix)
	if !odd && !marked && text == strings.Trim(text, " ") {
		return text
	}
	return encodedPrefix + base64.StdEncoding.EncodeToString([]byte(text)) + encodedSuffix
}

// paramText is an argument as text: only what JSON writes in one way can be
// compared with the body by whoever reads the header.
func paramText(raw json.RawMessage) (string, error) {
	var value any
	if err := json.Unmarshal(raw, &value); err != nil {
		return "", err
	}
	switch v := value.(type) {
	case string:
		return v, nil
	case bool:
		return strconv.FormatBool(v), nil
	case float64:
		if whole := int64(v); v >= -maxSafeInteger && v <= maxSafeInteger && float64(whole) == v {
			return strconv.FormatInt(whole, 10), nil
		}
		return "", fmt.Errorf("it must be a whole number between -%d and %d", maxSafeInteger, maxSafeInteger)
	}
	return "", fmt.Errorf("it must be a string, a whole number or a boolean")
}

// valueAt is what the keys lead to in a document; nil if there is nothing.
func valueAt(doc json.RawMessage, path []string) json.RawMessage {
	for _, key := range path {
		var members map[string]json.RawMessage
		if json.Unmarshal(doc, &members) != nil {
			return nil
		}
		doc = members[key]
	}
	return doc
}

// params finds the annotated properties of a schema, in the order of their names.
func params(schema json.RawMessage) ([]param, error) {
	if !strings.Contains(string(schema), paramMark) && !strings.Contains(string(schema), `\u`) {
		return nil, nil
	}
	var root any
	if err := json.Unmarshal(schema, &root); err != nil {
		return nil, fmt.Errorf("inputSchema is no JSON: %w", err)
	}
	w := paramWalk{seen: make(map[string]bool)}
	err := w.schema(root, nil, true)
	return w.found, err
}

// paramWalk looks through a schema for annotations.
type paramWalk struct {
	found []param
	seen  map[string]bool // headers, in lower case
}

// schema takes one schema. path leads to the property that it describes, and
// reached says that nothing but properties does.
func (w *paramWalk) schema(value any, path []string, reached bool) error {
	members, ok := value.(map[string]any)
	if !ok {
		return nil // true and false are schemas too
	}
	if mark, ok := members[paramMark]; ok {
		if err := w.mark(mark, members["type"], path, reached); err != nil {
			return err
		}
	}
	for _, keyword := range slices.Sorted(maps.Keys(members)) {
		if err := w.keyword(keyword, members[keyword], path, reached); err != nil {
			return err
		}
	}
	return nil
}

// keyword looks into the schemas within a schema. What is no schema, like the
// example of a value, may hold anything.
func (w *paramWalk) keyword(keyword string, value any, path []string, reached bool) error {
	switch keyword {
	case "properties":
		members, _ := value.(map[string]any)
		for _, name := range slices.Sorted(maps.Keys(members)) {
			if err := w.schema(members[name], append(slices.Clip(path), name), reached); err != nil {
				return err
			}
		}
	case "patternProperties", "dependentSchemas", "dependencies", "$defs", "definitions":
		members, _ := value.(map[string]any)
		for _, name := range slices.Sorted(maps.Keys(members)) {
			if err := w.schema(members[name], append(slices.Clip(path), keyword), false); err != nil {
				return err
			}
		}
	case "items", "prefixItems", "additionalItems", "unevaluatedItems", "contains", "additionalProperties", "unevaluatedProperties",
		"propertyNames", "contentSchema", "oneOf", "anyOf", "allOf", "not", "if", "then", "else":
		list, ok := value.([]any)
		if !ok {
			list = []any{value}
		}
		for _, one := range list {
			if err := w.schema(one, append(slices.Clip(path), keyword), false); err != nil {
				return err
			}
		}
	}
	return nil
}

// mark takes one annotation.
func (w *paramWalk) mark(mark, kind any, path []string, reached bool) error {
	name, ok := mark.(string)
	at := clip(strings.Join(path, "."), maxSample)
	switch {
	case !reached || len(path) == 0:
		return fmt.Errorf("%s is where no call has an argument (at %q; only properties may have it)", paramMark, at)
	case !ok || name == "":
		return fmt.Errorf("%s of %q is not the name of a header", paramMark, at)
	case !httpguts.ValidHeaderFieldName(name):
		return fmt.Errorf("%s %q of %q cannot be the name of a header", paramMark, clip(name, 60), at)
	case !fitsHeader(kind):
		return fmt.Errorf("%s of %q is for a string, an integer or a boolean alone", paramMark, at)
	case w.seen[strings.ToLower(name)]:
		return fmt.Errorf("%s %q is there twice", paramMark, clip(name, 60))
	}
	w.seen[strings.ToLower(name)] = true
	w.found = append(w.found, param{path: path, header: name})
	return nil
}

// fitsHeader reports whether a schema's type has values that a header can carry.
// Beside one of them there may be null, which has no header.
func fitsHeader(kind any) bool {
	kinds, ok := kind.([]any)
	if !ok {
		kinds = []any{kind}
	}
	fits := false
	for _, one := range kinds {
		switch one {
		case "string", "integer", "boolean":
			fits = true
		case "null":
		default:
			return false
		}
	}
	return fits
}
