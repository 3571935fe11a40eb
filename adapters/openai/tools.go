package openai

import (
	"slices"
	"sync"

	"dragoman/ports"
)

// maxKept bounds what a toolCache keeps, in bytes. It is far beyond the tools
// that one request may carry.
const maxKept = 16 << 20

// toolCache keeps each tool in the form that the wire takes: the list goes with
// every request, and its schemas change seldom. Safe for many goroutines.
type toolCache struct {
	mu   sync.RWMutex
	done map[toolKey][]byte
	size int
}

// toolKey is all that a tool's form depends on.
type toolKey struct{ name, description, schema string }

// appendTools adds the tools to a JSON list, divided by commas.
func (c *toolCache) appendTools(list []byte, tools []ports.ToolSpec) ([]byte, error) {
	all := make([][]byte, len(tools))
	size := len(tools)
	for i, t := range tools {
		raw, err := c.tool(t)
		if err != nil {
			return nil, err
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

func (c *toolCache) tool(t ports.ToolSpec) ([]byte, error) {
	c.mu.RLock()
	raw, ok := c.done[toolKey{t.Name, t.Description, string(t.InputSchema)}]
	c.mu.RUnlock()
	if ok {
		return raw, nil
	}
	raw, err := encode(toolParam{Type: "function", Function: functionParam{
		Name: t.Name, Description: t.Description, Parameters: projectSchema(t.InputSchema),
	}})
	if err != nil {
		return nil, err
	}
	c.keep(toolKey{t.Name, t.Description, string(t.InputSchema)}, raw)
	return raw, nil
}

// keep starts anew when it is full: the tools of today are soon there again, and
// those of yesterday are gone.
func (c *toolCache) keep(key toolKey, raw []byte) {
	size := len(key.name) + len(key.description) + len(key.schema) + len(raw)
	if size > maxKept {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, ok := c.done[key]; ok {
		return // another goroutine was first
	}
	if c.done == nil || c.size+size > maxKept {
		c.done, c.size = map[toolKey][]byte{}, 0
	}
	c.done[key] = raw
	c.size += size
}

type toolParam struct {
	Function functionParam `json:"function"`
	Type     string        `json:"type"`
}

type functionParam struct {
	Name        string         `json:"name"`
	Description string         `json:"description,omitempty"`
	Parameters  map[string]any `json:"parameters"`
}
