package toolschema

import (
	"bytes"
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
	done map[toolKey][]byte
	size int
}

// NewTools makes an empty Tools.
func NewTools(p Profile, e Envelope) *Tools { return &Tools{profile: p, envelope: e} }

// toolKey is all that a tool's form depends on.
type toolKey struct{ name, description, schema string }

// Append adds the tools to a JSON list, divided by commas and without the list's
// brackets. Each is an object that ends with its brace. Equal tools give equal bytes.
func (t *Tools) Append(list []byte, tools []ports.ToolSpec) ([]byte, error) {
	all := make([][]byte, len(tools))
	size := len(tools)
	for i, spec := range tools {
		raw, err := t.tool(spec)
		if err != nil {
			return nil, fmt.Errorf("tool %s: %w", spec.Name, err)
		}
		all[i] = raw
		size += len(raw)
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

func (t *Tools) tool(spec ports.ToolSpec) ([]byte, error) {
	t.mu.RLock()
	raw, ok := t.done[toolKey{spec.Name, spec.Description, string(spec.InputSchema)}]
	t.mu.RUnlock()
	if ok {
		return raw, nil
	}
	raw, err := encode(t.envelope(spec.Name, spec.Description, Project(t.profile, spec.InputSchema).Schema))
	if err != nil {
		return nil, err
	}
	t.keep(toolKey{spec.Name, spec.Description, string(spec.InputSchema)}, raw)
	return raw, nil
}

// keep starts anew when it is full: the tools of today are soon there again, and
// those of yesterday are gone.
func (t *Tools) keep(key toolKey, raw []byte) {
	size := len(key.name) + len(key.description) + len(key.schema) + len(raw)
	if size > maxKept {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if _, ok := t.done[key]; ok {
		return // another goroutine was first
	}
	if t.done == nil || t.size+size > maxKept {
		t.done, t.size = map[toolKey][]byte{}, 0
	}
	t.done[key] = raw
	t.size += size
}

// encode leaves <, > and & as they are, unlike json.Marshal: they are no danger
// here, and tokens to a model.
func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}
