package main

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"

	"dragoman/ports"
)

// listOnly are the scenarios whose server has tools to look at, and not to call.
var listOnly = map[string]bool{"request-metadata": true, "json-schema-ref-no-deref": true}

// play calls every tool in the order of the catalog, as a model would. What needs
// a form is taken up again when all have been called, as a parked turn is.
func (s *scene) play(ctx context.Context, log *slog.Logger, b *board) error {
	catalog, err := b.ready(ctx)
	if err != nil || listOnly[s.name] {
		return err
	}
	var failed []error
	parked := map[ports.ToolPort]ports.ToolCall{}
	for _, tool := range catalog.Tools {
		for _, args := range s.arguments(tool.Spec(), catalog) {
			call := ports.ToolCall{Call: ports.Call{Name: tool.Spec().Name, Arguments: args}}
			result, err := tool.Call(ctx, call, person{log})
			log.Info("tool_called", "tool", call.Name, "args", string(args), "result", result, "err", err)
			failed = append(failed, err)
			if form := result.NeedsInput; form != nil {
				call.Resume = &ports.Resume{State: form.State}
				parked[tool] = call
			}
		}
	}
	for tool, call := range parked {
		result, err := tool.Call(ctx, call, person{log})
		log.Info("tool_resumed", "tool", call.Name, "result", result, "err", err)
		failed = append(failed, err)
	}
	return errors.Join(failed...)
}

// arguments are what a tool is called with, once each: what the suite wants,
// else something that fits the schema.
func (s *scene) arguments(tool ports.ToolSpec, catalog ports.Catalog) []json.RawMessage {
	var wanted []json.RawMessage
	for _, call := range s.about.ToolCalls {
		if call.Name == tool.Name {
			wanted = append(wanted, call.Arguments)
		}
	}
	switch {
	case wanted != nil:
		return wanted
	case tool.Name == "json_schema_echo": // wants to see what we see of another tool
		return []json.RawMessage{mustJSON(map[string]any{"schema": schemaOf(catalog, "json_schema_2020_12_tool")})}
	}
	return []json.RawMessage{example(tool.InputSchema)}
}

func schemaOf(catalog ports.Catalog, name string) json.RawMessage {
	for _, tool := range catalog.Tools {
		if tool.Spec().Name == name {
			return tool.Spec().InputSchema
		}
	}
	return nil
}

// example is an object with a value for each required property.
func example(schema json.RawMessage) json.RawMessage {
	var shape struct {
		Required   []string
		Properties map[string]struct{ Type any }
	}
	_ = json.Unmarshal(schema, &shape) // what does not fit this shape is called with {}
	values := map[string]any{}
	for _, name := range shape.Required {
		switch shape.Properties[name].Type {
		case "number", "integer":
			values[name] = 2
		case "boolean":
			values[name] = true
		default:
			values[name] = "some " + name
		}
	}
	return mustJSON(values)
}

func mustJSON(v any) json.RawMessage {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // a value of ours
	}
	return b
}

// person accepts every form, and leaves all of it as it stands.
type person struct{ log *slog.Logger }

var _ ports.Host = person{}

// Ask accepts the form.
func (p person) Ask(_ context.Context, q ports.Question) (ports.Answer, error) {
	p.log.Info("asked", "text", q.Text, "fields", len(q.Fields))
	return ports.Answer{State: ports.QuestionAnswered}, nil
}

// Sample is not offered.
func (person) Sample(context.Context, ports.ModelRequest) (ports.ModelReply, error) {
	return ports.ModelReply{}, ports.Errorf(ports.KindForbidden, "sample", "there is no model here")
}

// Progress is not looked at.
func (person) Progress(context.Context, ports.Progress) {}
