package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"dragoman/ports"
)

const (
	maxPages     = 100
	maxTools     = 1000
	maxToolName  = 256 // MCP says 128 and SHOULD
	maxNoteTools = 3   // tools named in a note
)

// definition is a tool as its server described it.
type definition struct {
	Spec ports.ToolSpec `json:"spec"`
	// AsTask says that it runs as a task only (revision 2025-11-25, execution.taskSupport).
	AsTask bool `json:"as_task,omitempty"`
}

// wanted is what is taken of a list.
type wanted struct {
	trusted  bool // annotations are believed
	headers  bool // arguments may have to go into headers: those marked wrong cost their tool
	maxBytes int  // of all definitions
}

// listing is what tools/list gave: the tools that can be used, in the server's
// order, and in words what was wrong.
type listing struct {
	tools   []definition
	faults  []string // malformed tools, in words
	cut     string   // why the list was cut
	seen    map[string]bool
	bytes   int
	dropped int
}

// note is the listing's faults for the State; "" if there are none.
func (l *listing) note() string {
	var parts []string
	if l.dropped > 0 {
		text := fmt.Sprintf("%d malformed tools left out: %s", l.dropped, strings.Join(l.faults, "; "))
		if l.dropped > len(l.faults) {
			text += "; …"
		}
		parts = append(parts, text)
	}
	if l.cut != "" {
		parts = append(parts, l.cut)
	}
	return strings.Join(parts, ". ")
}

func (l *listing) drop(raw json.RawMessage, index int, err error) {
	l.dropped++
	if len(l.faults) < maxNoteTools {
		l.faults = append(l.faults, fmt.Sprintf("%s: %v", toolLabel(raw, index), err))
	}
}

// list reads all pages of tools/list (MCP server/utilities/pagination). A
// server that repeats a cursor, or goes on for ever, is cut off. A server
// without the method has no tools. Tools are decoded one by one, so that a
// malformed one costs the others nothing.
func (s *session) list(ctx context.Context, want wanted) (*listing, error) {
	l := &listing{seen: make(map[string]bool)}
	cursors := make(map[string]bool)
	params := map[string]any{}
	for range maxPages {
		raw, err := s.request(ctx, ask{method: "tools/list", params: params})
		if err != nil {
			if answer, ok := err.(*answerError); ok && answer.kind() == ports.KindNotFound {
				return l, nil
			}
			return nil, s.noisy(fmt.Errorf("tools/list: %w", err))
		}
		next, err := l.page(raw, want)
		switch {
		case err != nil:
			return nil, err
		case next == "" || l.cut != "":
			return l, nil
		case cursors[next]:
			l.cut = "tools/list repeats a cursor; what came before it is used"
			return l, nil
		}
		cursors[next] = true
		params = map[string]any{"cursor": next}
	}
	l.cut = fmt.Sprintf("tools/list has more than %d pages; the rest is ignored", maxPages)
	return l, nil
}

// page adds one answer and gives the cursor of the next.
func (l *listing) page(raw json.RawMessage, want wanted) (string, error) {
	var p struct {
		Tools      json.RawMessage `json:"tools"`
		NextCursor json.RawMessage `json:"nextCursor"`
	}
	if err := json.Unmarshal(raw, &p); err != nil {
		return "", malformed("the answer to tools/list is malformed: %v", err)
	}
	if isNull(p.Tools) {
		return "", malformed("the answer to tools/list has no tools")
	}
	at := -1
	err := eachItem(p.Tools, func(one json.RawMessage) bool {
		at++
		return l.add(one, at, want)
	})
	switch {
	case err != nil:
		return "", malformed("the answer to tools/list is malformed: %v", err)
	case l.cut != "":
		return "", nil
	}
	if isNull(p.NextCursor) {
		return "", nil
	}
	var next string
	if json.Unmarshal(p.NextCursor, &next) != nil {
		l.cut = "tools/list has a cursor that is no string; what came with it is used"
	}
	return next, nil
}

// add takes one tool of a page, and reports whether there is room for more.
func (l *listing) add(one json.RawMessage, index int, want wanted) bool {
	if len(l.tools)+l.dropped >= maxTools || l.bytes+len(one) > want.maxBytes {
		l.cut = fmt.Sprintf("tools/list gives more than %d tools or %d bytes; the rest is ignored", maxTools, want.maxBytes)
		return false
	}
	l.bytes += len(one)
	d, err := decodeTool(one, want.trusted)
	if err == nil && l.seen[d.Spec.Name] {
		err = fmt.Errorf("there are two of that name")
	}
	if err == nil && want.headers {
		err = checkParamHeaders(d.Spec.InputSchema)
	}
	if err != nil {
		l.drop(one, index, err)
		return true
	}
	l.seen[d.Spec.Name] = true
	l.tools = append(l.tools, d)
	return true
}

// decodeTool takes what a tool needs and is lenient about the rest.
func decodeTool(raw json.RawMessage, trusted bool) (definition, error) {
	var t struct {
		Name         json.RawMessage `json:"name"`
		Title        json.RawMessage `json:"title"`
		Description  json.RawMessage `json:"description"`
		InputSchema  json.RawMessage `json:"inputSchema"`
		OutputSchema json.RawMessage `json:"outputSchema"`
		Annotations  json.RawMessage `json:"annotations"`
		Execution    json.RawMessage `json:"execution"`
	}
	raw = bytes.ToValidUTF8(raw, []byte("\uFFFD")) // model providers refuse a whole request for one such schema
	if json.Unmarshal(raw, &t) != nil {
		return definition{}, fmt.Errorf("it is no object")
	}
	name := text(t.Name)
	if err := checkName(name); err != nil {
		return definition{}, err
	}
	schema, err := checkSchema(t.InputSchema)
	if err != nil {
		return definition{}, err
	}
	hints := decodeHints(t.Annotations)
	spec := ports.ToolSpec{
		Name:        name,
		Title:       text(t.Title),
		Description: text(t.Description),
		InputSchema: schema,
		Class:       ports.ClassUnsafe,
	}
	if spec.Title == "" {
		spec.Title = hints.title
	}
	if isObject(t.OutputSchema) {
		spec.OutputSchema = slices.Clone(t.OutputSchema)
	}
	if trusted {
		spec.Class = hints.class()
	}
	var execution struct {
		TaskSupport json.RawMessage `json:"taskSupport"`
	}
	_ = json.Unmarshal(t.Execution, &execution) // of the wrong type it is not there
	return definition{Spec: spec, AsTask: text(execution.TaskSupport) == "required"}, nil
}

func checkName(name string) error {
	switch {
	case name == "":
		return fmt.Errorf("it has no name")
	case len(name) > maxToolName:
		return fmt.Errorf("its name is longer than %d bytes", maxToolName)
	case !utf8.ValidString(name) || strings.ContainsFunc(name, unicode.IsControl):
		return fmt.Errorf("its name has control characters")
	}
	return nil
}

// checkSchema gives the schema as it was written. Left out, it is one that takes
// any object; PHP's empty object, "properties": [], is mended. A schema that
// cannot describe an object of arguments makes the tool unusable.
func checkSchema(raw json.RawMessage) (json.RawMessage, error) {
	if isNull(raw) {
		return json.RawMessage(`{"type":"object"}`), nil
	}
	var members map[string]json.RawMessage
	if !isObject(raw) || json.Unmarshal(raw, &members) != nil {
		return nil, fmt.Errorf("its inputSchema is no object")
	}
	if t, ok := members["type"]; ok && !mayBeObject(t) {
		return nil, fmt.Errorf("its inputSchema is not for an object")
	}
	if r, ok := members["required"]; ok {
		var names []string
		if json.Unmarshal(r, &names) != nil {
			return nil, fmt.Errorf("required in its inputSchema is no list of names")
		}
	}
	properties, ok := members["properties"]
	if !ok || isObject(properties) {
		return slices.Clone(raw), nil
	}
	var list []json.RawMessage
	if json.Unmarshal(properties, &list) != nil || len(list) > 0 {
		return nil, fmt.Errorf("properties in its inputSchema is no object")
	}
	members["properties"] = json.RawMessage(`{}`)
	return json.Marshal(members)
}

func mayBeObject(t json.RawMessage) bool {
	var one string
	if json.Unmarshal(t, &one) == nil {
		return one == "object"
	}
	var many []string
	return json.Unmarshal(t, &many) == nil && slices.Contains(many, "object")
}

// hints are a tool's annotations; one of the wrong type is not there.
type hints struct {
	title                string
	readOnly, idempotent bool
}

func (h hints) class() ports.Class {
	switch {
	case h.readOnly:
		return ports.ClassRead
	case h.idempotent:
		return ports.ClassIdempotent
	}
	return ports.ClassUnsafe
}

func decodeHints(raw json.RawMessage) hints {
	var a map[string]json.RawMessage
	if json.Unmarshal(raw, &a) != nil {
		return hints{}
	}
	return hints{
		title:      text(a["title"]),
		readOnly:   string(a["readOnlyHint"]) == "true",
		idempotent: string(a["idempotentHint"]) == "true",
	}
}

func toolLabel(raw json.RawMessage, index int) string {
	var t struct {
		Name json.RawMessage `json:"name"`
	}
	if json.Unmarshal(raw, &t) == nil {
		if name := text(t.Name); name != "" {
			return clip(name, 64)
		}
	}
	return fmt.Sprintf("tool %d", index+1)
}

// text is a JSON string's value, "" for anything else.
func text(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) != nil {
		return ""
	}
	return s
}

func isNull(raw json.RawMessage) bool {
	return len(raw) == 0 || string(raw) == "null"
}

func isObject(raw json.RawMessage) bool {
	raw = bytes.TrimLeft(raw, " \t\r\n")
	return len(raw) > 0 && raw[0] == '{'
}
