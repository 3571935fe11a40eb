package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"dragoman/ports"
)

// inputRequest is something that a server wants of its client: a request of its
// own up to revision 2025-11-25, a part of a result from 2026-07-28 on (MCP
// basic/patterns/mrtr).
type inputRequest struct {
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
}

// The requests that can be served, where they were declared.
const (
	methodElicit = "elicitation/create"
	methodRoots  = "roots/list"
)

// answer serves a request while its call waits; served is false for what was not
// declared. f is the call that it belongs to; nil: nobody knows.
func (s *session) answer(ctx context.Context, r inputRequest, f *flight) (result any, served bool) {
	switch {
	case r.Method == methodRoots && len(s.offers.roots) > 0:
		return map[string]any{"roots": s.offers.roots}, true
	case r.Method != methodElicit || !s.offers.asks:
		return nil, false
	case f == nil:
		return elicited{Action: elicitCancel}, true
	}
	form, err := decodeForm(r.Params)
	if err != nil {
		s.log.Warn("mcp_form_refused", "err", err)
		return elicited{Action: elicitCancel}, true
	}
	f.clock.release() // a person takes as long as they take
	defer f.clock.again()
	answer, err := f.ask(ctx, ports.Question{Kind: ports.QuestionForm, Text: form.message, Fields: form.fields("")})
	if err != nil || answer.State != ports.QuestionAnswered {
		return elicited{Action: elicitCancel}, true
	}
	return form.filled(answer.Values, ""), true
}

// The actions of an answer (MCP client/elicitation, "Response Actions").
const (
	elicitAccept  = "accept"
	elicitDecline = "decline"
	elicitCancel  = "cancel"
)

// elicited is what came of a form.
type elicited struct {
	Action  string         `json:"action"`
	Content map[string]any `json:"content,omitempty"`
}

// form is what a server wants to know of a person (MCP client/elicitation, "Form Mode").
type form struct {
	message    string
	properties map[string]formValue
	required   []string
}

// formValue is the schema of one value, as far as it has to be understood.
type formValue struct {
	Type        string          `json:"type"`
	Title       string          `json:"title"`
	Description string          `json:"description"`
	Default     json.RawMessage `json:"default"`
	Enum        []string        `json:"enum"`
	EnumNames   []string        `json:"enumNames"`
	OneOf       []formChoice    `json:"oneOf"`
	Items       struct {
		Enum  []string     `json:"enum"`
		AnyOf []formChoice `json:"anyOf"`
	} `json:"items"`

	raw json.RawMessage
}

type formChoice struct {
	Const string `json:"const"`
	Title string `json:"title"`
}

// maxFields is how many values one form may ask for.
const maxFields = 50

func decodeForm(params json.RawMessage) (form, error) {
	var p struct {
		Mode    string `json:"mode"`
		Message string `json:"message"`
		Schema  struct {
			Properties map[string]json.RawMessage `json:"properties"`
			Required   []string                   `json:"required"`
		} `json:"requestedSchema"`
	}
	switch err := json.Unmarshal(params, &p); {
	case err != nil:
		return form{}, malformed("a form is malformed: %v", err)
	case p.Mode != "" && p.Mode != "form":
		return form{}, malformed("a form of mode %q was not offered", clip(p.Mode, 20))
	case len(p.Schema.Properties) > maxFields:
		return form{}, malformed("a form asks for %d values (at most %d)", len(p.Schema.Properties), maxFields)
	}
	f := form{message: clip(p.Message, 4*maxErrorText), required: p.Schema.Required, properties: map[string]formValue{}}
	for name, raw := range p.Schema.Properties {
		v := formValue{raw: raw}
		if err := json.Unmarshal(raw, &v); err != nil {
			return form{}, malformed("the form's value %q is malformed: %v", clip(name, 60), err)
		}
		f.properties[name] = v
	}
	return f, nil
}

// fields are the form's values as questions, by name, each name behind the prefix.
func (f form) fields(prefix string) []ports.Field {
	var list []ports.Field
	for _, name := range slices.Sorted(maps.Keys(f.properties)) {
		v := f.properties[name]
		label := first(v.Title, name)
		if v.Description != "" {
			label += ": " + v.Description
		}
		list = append(list, ports.Field{Name: prefix + name, Label: clip(label, maxErrorText), Choices: v.choices(),
			Required: slices.Contains(f.required, name), Schema: v.raw})
	}
	return list
}

// choices of a value that is one of a few.
func (v formValue) choices() []ports.Choice {
	var list []ports.Choice
	for i, value := range v.Enum {
		label := value
		if i < len(v.EnumNames) {
			label = v.EnumNames[i]
		}
		list = append(list, ports.Choice{Value: value, Label: label})
	}
	for _, c := range v.OneOf {
		list = append(list, ports.Choice{Value: c.Const, Label: first(c.Title, c.Const)})
	}
	return list
}

// filled is the answer of somebody who filled the form in. What they left out has
// its default (MCP client/elicitation, SEP-1034).
func (f form) filled(values map[string]string, prefix string) elicited {
	content := map[string]any{}
	for name, v := range f.properties {
		text, given := values[prefix+name]
		if given {
			content[name] = v.value(text)
		} else if len(v.Default) > 0 {
			content[name] = v.Default
		}
	}
	return elicited{Action: elicitAccept, Content: content}
}

// value is a text as the type that the schema wants; the server checks it.
func (v formValue) value(text string) any {
	switch v.Type {
	case "boolean":
		if b, err := strconv.ParseBool(strings.ToLower(strings.TrimSpace(text))); err == nil {
			return b
		}
	case "integer", "number":
		number := strings.TrimSpace(text)
		if _, err := strconv.ParseFloat(number, 64); err == nil && json.Valid([]byte(number)) {
			return json.Number(number)
		}
	case "array":
		var list []string
		if json.Unmarshal([]byte(text), &list) == nil {
			return list
		}
		return []string{text}
	}
	return text
}

// openInput is what a tool wants before it goes on, and what goes with the answer.
type openInput struct {
	Requests map[string]inputRequest `json:"requests,omitempty"`
	State    *string                 `json:"state,omitempty"` // the server's own, opaque
}

// needs puts what can be asked of a person into one form for the core. Its State
// is o, so that the answers find their way in another process. alone is true if
// nobody has to be asked.
func (s *session) needs(o openInput) (n *ports.NeedsInput, alone bool, err error) {
	state, err := json.Marshal(o)
	if err != nil {
		return nil, false, fmt.Errorf("encode the state of an open call: %w", err)
	}
	n = &ports.NeedsInput{State: state}
	var words []string
	for _, key := range slices.Sorted(maps.Keys(o.Requests)) {
		r := o.Requests[key]
		switch {
		case r.Method == methodRoots && len(s.offers.roots) > 0:
		case r.Method == methodElicit && s.offers.asks:
			f, err := decodeForm(r.Params)
			if err != nil {
				return nil, false, err
			}
			n.Requests = append(n.Requests, f.fields(key+"/")...)
			words = append(words, f.message)
		default:
			return nil, false, malformed("the tool wants %s, which it was not offered", clip(r.Method, 60))
		}
	}
	n.Text = strings.Join(words, "\n")
	return n, len(words) == 0, nil
}

// responses are the answers to what was asked. nil answers: the person did not
// want to, or nobody was there.
func (s *session) responses(o openInput, answers map[string]string) map[string]any {
	all := make(map[string]any, len(o.Requests))
	for key, r := range o.Requests {
		if r.Method == methodRoots {
			all[key] = map[string]any{"roots": s.offers.roots}
			continue
		}
		f, err := decodeForm(r.Params)
		if err != nil || answers == nil {
			all[key] = elicited{Action: elicitDecline}
			continue
		}
		all[key] = f.filled(answers, key+"/")
	}
	return all
}
