package toolsourcetest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"

	"dragoman/ports"
)

func catalogRules() []Rule {
	return []Rule{
		{"specs_complete", "A tool without a name or with a schema that is no object schema breaks every prompt it is in.", specsComplete},
		{"specs_unique", "Two tools of one name cannot both be called.", specsUnique},
		{"specs_stable", "The toolbox indexes, pins and projects a spec once; a changed tool is a new ToolPort.", specsStable},
		{"specs_same_next_time", "Names and order that change between runs spoil the prompt cache and the pins.", specsSameNextTime},
		{"offers_what_it_reads", "A prompt or a resource that is listed is asked for: its source must be able to give it.", offersWhatItReads},
		{"server_left_empty", "An adapter does not know its config name; the gateway stamps it.", serverLeftEmpty},
		{"class_unsafe_unless_trusted", "What a server says of itself decides whether a call may run twice and unasked: only an admin's trust makes it count.", classUnsafeUnlessTrusted},
	}
}

// eachSpec runs check on the specs of a ready source.
func eachSpec(ctx context.Context, h Harness, check func(ports.ToolSpec) error) error {
	return h.with(ctx, func(r *running) error {
		if len(r.tools()) == 0 {
			return errors.New("no tool is registered")
		}
		for _, t := range r.tools() {
			if err := check(t.Spec()); err != nil {
				return fmt.Errorf("tool %q: %w", t.Spec().Name, err)
			}
		}
		return nil
	})
}

func specsComplete(ctx context.Context, h Harness) error {
	return eachSpec(ctx, h, func(s ports.ToolSpec) error {
		if s.Name == "" {
			return errors.New("it has no name")
		}
		var schema map[string]json.RawMessage
		if err := json.Unmarshal(s.InputSchema, &schema); err != nil || schema == nil {
			return fmt.Errorf("its input schema %s is no object", s.InputSchema)
		}
		if p, ok := schema["properties"]; ok {
			var properties map[string]json.RawMessage
			if json.Unmarshal(p, &properties) != nil || properties == nil {
				return fmt.Errorf("properties of its input schema are no object: %s", p)
			}
		}
		if len(s.OutputSchema) > 0 && !json.Valid(s.OutputSchema) {
			return errors.New("its output schema is no JSON")
		}
		return nil
	})
}

func specsUnique(ctx context.Context, h Harness) error {
	seen := make(map[string]bool)
	return eachSpec(ctx, h, func(s ports.ToolSpec) error {
		if seen[s.Name] {
			return errors.New("it is there twice")
		}
		seen[s.Name] = true
		return nil
	})
}

func specsStable(ctx context.Context, h Harness) error {
	return h.with(ctx, func(r *running) error {
		tools := r.tools()
		before := specsOf(tools)
		if err := r.echo(ctx, h, 1); err != nil {
			return err
		}
		if !reflect.DeepEqual(before, specsOf(tools)) {
			return errors.New("the specs of the same tools changed")
		}
		return nil
	})
}

func specsSameNextTime(ctx context.Context, h Harness) error {
	var runs [2][]ports.ToolSpec
	for i := range runs {
		err := h.with(ctx, func(r *running) error {
			for _, e := range r.rec.all() {
				if e.catalog != nil {
					runs[i] = specsOf(e.catalog.Tools)
					break
				}
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	if !reflect.DeepEqual(runs[0], runs[1]) {
		return errors.New("two runs of the same source registered other specs, or in another order")
	}
	return nil
}

func offersWhatItReads(ctx context.Context, h Harness) error {
	return h.with(ctx, func(r *running) error {
		_, prompts := r.src.(ports.PromptSource)
		_, resources := r.src.(ports.ResourceSource)
		for _, e := range r.rec.all() {
			switch {
			case e.catalog == nil:
			case len(e.catalog.Prompts) > 0 && !prompts:
				return fmt.Errorf("it lists %d prompts and is no PromptSource", len(e.catalog.Prompts))
			case len(e.catalog.Resources) > 0 && !resources:
				return fmt.Errorf("it lists %d resources and is no ResourceSource", len(e.catalog.Resources))
			}
		}
		return nil
	})
}

func serverLeftEmpty(ctx context.Context, h Harness) error {
	return eachSpec(ctx, h, func(s ports.ToolSpec) error {
		if s.Server != "" {
			return fmt.Errorf("Server is %q", s.Server)
		}
		return nil
	})
}

func classUnsafeUnlessTrusted(ctx context.Context, h Harness) error {
	return eachSpec(ctx, h, func(s ports.ToolSpec) error {
		switch s.Class {
		case ports.ClassUnsafe:
			return nil
		case ports.ClassRead, ports.ClassIdempotent:
			if h.Trusted {
				return nil
			}
			return fmt.Errorf("it is of class %s and the source is not trusted", s.Class)
		}
		return fmt.Errorf("its class is %q", s.Class)
	})
}

func specsOf(tools []ports.ToolPort) []ports.ToolSpec {
	specs := make([]ports.ToolSpec, len(tools))
	for i, t := range tools {
		specs[i] = t.Spec()
		specs[i].InputSchema = append(json.RawMessage(nil), specs[i].InputSchema...)
	}
	return specs
}
