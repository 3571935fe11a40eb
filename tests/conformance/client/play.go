package main

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"time"

	"dragoman/ports"
)

// listOnly are the scenarios whose server has tools to look at, and not to call.
var listOnly = map[string]bool{"request-metadata": true, "json-schema-ref-no-deref": true}

// game is a scenario as it goes.
type game struct {
	scene *scene
	log   *slog.Logger
	board *board
	admin *admin
}

// play calls every tool in the order of the catalog, as a model would. What needs
// a form is taken up again when all have been called, as a parked turn is.
func (g *game) play(ctx context.Context) error {
	catalog, err := g.ready(ctx)
	if err != nil || listOnly[g.scene.name] {
		return err
	}
	var failed []error
	var parked []func() error
	for _, tool := range catalog.Tools {
		for _, args := range g.scene.arguments(tool.Spec(), catalog) {
			call := ports.ToolCall{Call: ports.Call{Name: tool.Spec().Name, Arguments: args}}
			result, err := g.call(ctx, tool, call)
			failed = append(failed, err)
			if form := result.NeedsInput; form != nil {
				call.Resume = &ports.Resume{State: form.State}
				parked = append(parked, func() error {
					_, err := g.call(ctx, tool, call)
					return err
				})
			}
		}
	}
	for _, resume := range parked {
		failed = append(failed, resume())
	}
	return errors.Join(failed...)
}

// call calls the tool, and again when a login that it wanted is there.
func (g *game) call(ctx context.Context, tool ports.ToolPort, call ports.ToolCall) (ports.ToolResult, error) {
	for {
		result, err := tool.Call(ctx, call, person{g.log})
		g.log.Info("tool_called", "tool", call.Name, "args", string(call.Arguments), "resumed", call.Resume != nil, "result", result, "err", err)
		if !ports.IsKind(err, ports.KindUnauthorized) {
			return result, err
		}
		if none := g.login(ctx); none != nil {
			return result, errors.Join(err, none)
		}
	}
}

// login opens the link that a refused call led to. Without one the server is not
// to be asked again: the admin waits a moment, and gives up.
func (g *game) login(ctx context.Context) error {
	moment := time.After(2 * time.Second)
	for {
		_, state, news := g.board.look()
		if state.Login != "" && !g.admin.seen[state.Login] {
			_, err := g.ready(ctx)
			return err
		}
		select {
		case <-news:
		case <-moment:
			return errors.New("there is no link to log in by")
		}
	}
}

// ready waits until the server's tools are there, and logs in where that is
// wanted. A server that cannot be had is an error at once: no second try mends a
// scenario.
func (g *game) ready(ctx context.Context) (ports.Catalog, error) {
	for {
		catalog, state, news := g.board.look()
		switch {
		case state.Login != "" && !g.admin.seen[state.Login]:
			if err := g.admin.open(ctx, state.Login); err != nil {
				return catalog, err
			}
		case state.Phase == ports.PhaseReady:
			return catalog, nil
		case state.Login == "" && state.Err != "":
			return catalog, errors.New(state.Err)
		}
		select {
		case <-news:
		case <-ctx.Done():
			return catalog, ctx.Err()
		}
	}
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
