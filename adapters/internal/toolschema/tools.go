package toolschema

import (
	"encoding/json"
	"fmt"
	"slices"
	"sync"

	"dragoman/ports"
)

// maxKept bounds what a Tools keeps, in bytes. It is far beyond the tools that
// one request may carry.
const maxKept = 16 << 20

// Tools keeps each tool in the form that a wire takes: the list goes with every
// request, and its schemas change seldom. Safe for many goroutines.
type Tools struct {
	profile  Profile
	envelope Envelope

	mu   sync.RWMutex
	done map[toolKey]tool
	size int
}

// NewTools makes an empty Tools.
func NewTools(p Profile, e Envelope) *Tools { return &Tools{profile: p, envelope: e} }

// toolKey is all that a tool's form depends on.
type toolKey struct{ name, description, schema string }

// tool is a tool in the form of the wire.
type tool struct {
	raw   []byte
	names map[string]string
}

func (t tool) size() int {
	size := len(t.raw)
	for name, own := range t.names {
		size += len(name) + len(own)
	}
	return size
}

// Append adds the tools to a JSON list, divided by commas and without the list's
// brackets. Each is an object that ends with its brace. Equal tools give equal bytes.
func (t *Tools) Append(list []byte, tools []ports.ToolSpec) ([]byte, error) {
	all := make([][]byte, len(tools))
	size := len(tools)
	for i, spec := range tools {
		done, err := t.tool(spec)
		if err != nil {
			return nil, fmt.Errorf("tool %s: %w", spec.Name, err)
		}
		all[i] = done.raw
		size += len(done.raw)
	}
	list = slices.Grow(list, size)
	for i, raw := range all {
		if i > 0 {
			list = append(list, ',')
		}
		list = append(list, raw...)
	}
	return list, nil
}

// Arguments gives a call's arguments with the names that the tool's own schema
// has: a provider may have been shown others. A wire passes every call of a reply
// through it before it lets it out.
func (t *Tools) Arguments(tools []ports.ToolSpec, call string, args json.RawMessage) json.RawMessage {
	i := slices.IndexFunc(tools, func(s ports.ToolSpec) bool { return s.Name == call })
	if i < 0 || profiles[t.profile].names == nil {
		return args
	}
	tool, err := t.tool(tools[i])
	if err != nil {
		return args
	}
	return Projection{Names: tool.names}.Restore(args)
}

func (t *Tools) tool(spec ports.ToolSpec) (tool, error) {
	key := toolKey{spec.Name, spec.Description, string(spec.InputSchema)}
	t.mu.RLock()
	done, ok := t.done[key]
	t.mu.RUnlock()
	if ok {
		return done, nil
	}
	description, rest := continued(spec.Description, profiles[t.profile].description)
	p := project(t.profile, spec.InputSchema, rest)
	raw, err := encode(t.envelope(t.Name(spec.Name), description, p.Schema))
	if err != nil {
		return tool{}, err
	}
	done = tool{raw: raw, names: p.Names}
	t.keep(key, done)
	return done, nil
}

// continued splits a text that is too long, with a sign at either end.
func continued(text string, most int) (head, rest string) {
	if _, beyond := cut(text, most); beyond == "" {
		return text, ""
	}
	head, rest = cut(text, most-1)
	return head + "…", "… " + rest
}

// keep starts anew when it is full: the tools of today are soon there again, and
// those of yesterday are gone.
func (t *Tools) keep(key toolKey, done tool) {
	size := len(key.name) + len(key.description) + len(key.schema) + done.size()
	if size > maxKept {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if _, ok := t.done[key]; ok {
		return // another goroutine was first
	}
	if t.done == nil || t.size+size > maxKept {
		t.done, t.size = map[toolKey]tool{}, 0
	}
	t.done[key] = done
	t.size += size
}
