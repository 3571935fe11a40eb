package toolbox

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"golang.org/x/text/language"
	"golang.org/x/text/message"

	"dragoman/core/internal/guard"
	"dragoman/ports"
)

// View is the toolbox as one agent sees it.
type View struct {
	box     *Toolbox
	filter  Filter
	servers []string // nil or "*" = all
}

// View gives an agent its view: the tools of these servers (nil: all) whose
// names the filter lets through.
func (b *Toolbox) View(f Filter, servers []string) *View {
	return &View{box: b, filter: f, servers: servers}
}

// Specs lists the tools for the model, by name. Denied ones are not shown.
func (v *View) Specs() []ports.ToolSpec {
	v.box.mu.RLock()
	defer v.box.mu.RUnlock()
	var list []ports.ToolSpec
	for _, name := range sortedKeys(v.box.tools) {
		if t := v.box.tools[name]; v.sees(t) && t.policy != ports.PolicyDeny {
			list = append(list, t.spec)
		}
	}
	return list
}

// Check decides whether a call may run, must ask, or cannot. It waits for a
// server that is still connecting, up to its timeout.
func (v *View) Check(ctx context.Context, c ports.Call) ports.Ruling {
	t := v.box.find(ctx, c.Name)
	if t == nil || !v.sees(t) {
		return ports.Ruling{Outcome: ports.CallNotFound, Why: fmt.Sprintf("There is no tool named %q.", c.Name)}
	}
	r := ports.Ruling{Policy: t.policy, Class: t.spec.Class}
	if r.Class == "" {
		r.Class = ports.ClassUnsafe
	}
	if t.policy == ports.PolicyDeny {
		r.Outcome, r.Why = ports.CallDenied, "The admin does not allow this tool."
	} else if why := t.check(c.Arguments); why != "" {
		r.Outcome, r.Why = ports.CallInvalidParams, "The arguments do not fit the tool's schema:\n"+why
	}
	return r
}

// Call runs the tool once and makes a result of whatever comes of it.
func (v *View) Call(ctx context.Context, c ports.ToolCall, host ports.Host) ports.CallResult {
	t := v.box.find(ctx, c.Name)
	if t == nil {
		return ports.CallResult{Outcome: ports.CallNotFound, Text: fmt.Sprintf("There is no tool named %q.", c.Name)}
	}
	c.Name = t.own
	r, err := guard.Do(ctx, guard.Grace, v.box.leaks, "tool call", func(ctx context.Context) (ports.ToolResult, error) {
		return t.port.Call(ctx, c, host)
	})
	if err != nil {
		v.box.log.Warn("tool_call_failed", "mcp_server", t.source.Name, "tool", t.own, "turn", c.Turn, "kind", ports.KindOf(err), "err", err)
		return failed(err)
	}
	return v.box.result(ctx, c, r)
}

func (v *View) sees(t *tool) bool {
	if t.source.Name != "" && v.servers != nil && !slices.Contains(v.servers, "*") && !slices.Contains(v.servers, t.source.Name) {
		return false
	}
	if len(v.filter.Allow) > 0 && !matchesAny(v.filter.Allow, t.spec.Name) {
		return false
	}
	return !matchesAny(v.filter.Deny, t.spec.Name)
}

// noLoader refuses references of untrusted schemas to files and the network.
type noLoader struct{}

func (noLoader) Load(url string) (any, error) {
	return nil, fmt.Errorf("a schema may not refer to %s", url)
}

// schemaMax bounds the schemas that are compiled: compiling holds everybody up.
const schemaMax = 256 << 10

// compile prepares a tool's schema. One that does not compile costs the check,
// not the tool.
func compile(schema json.RawMessage) *jsonschema.Schema {
	if len(schema) > schemaMax {
		return nil
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(schema))
	if err != nil {
		return nil
	}
	c := jsonschema.NewCompiler()
	c.UseLoader(noLoader{})
	if c.AddResource("tool.json", doc) != nil {
		return nil
	}
	s, err := c.Compile("tool.json")
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
	invalid, ok := err.(*jsonschema.ValidationError)
	if !ok {
		return err.Error()
	}
	return strings.Join(leaves(invalid, message.NewPrinter(language.English)), "\n")
}

// leaves are the faults themselves, without the branches that lead to them.
func leaves(e *jsonschema.ValidationError, p *message.Printer) []string {
	if len(e.Causes) == 0 {
		at := "/" + strings.Join(e.InstanceLocation, "/")
		return []string{fmt.Sprintf("- at %s: %s", at, e.ErrorKind.LocalizedString(p))}
	}
	var list []string
	for _, c := range e.Causes {
		list = append(list, leaves(c, p)...)
	}
	return list
}
