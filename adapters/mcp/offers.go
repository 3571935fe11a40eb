package mcp

import (
	"encoding/json"
	"net/url"
	"path/filepath"
	"strings"
)

// The keys of _meta that belong to the protocol (MCP basic, "_meta").
const (
	metaVersion      = "io.modelcontextprotocol/protocolVersion"
	metaClient       = "io.modelcontextprotocol/clientInfo"
	metaCapabilities = "io.modelcontextprotocol/clientCapabilities"
	metaLogLevel     = "io.modelcontextprotocol/logLevel"
	metaServer       = "io.modelcontextprotocol/serverInfo"
	extensionTasks   = "io.modelcontextprotocol/tasks"
)

// logLevel is from which level on a server's own log is wanted.
const logLevel = "info"

// offers are what this client can do for a server, and says so.
type offers struct {
	asks  bool   // its calls' people can be asked
	roots []root // where it may work
}

// root is a folder that a server may work in (MCP client/roots).
type root struct {
	URI  string `json:"uri"`
	Name string `json:"name,omitempty"`
}

// capabilities of the client. Nothing is declared that is not served.
func (o offers) capabilities(modern bool) map[string]any {
	can := map[string]any{}
	if o.asks {
		can["elicitation"] = map[string]any{"form": struct{}{}}
	}
	if len(o.roots) > 0 {
		can["roots"] = struct{}{}
	}
	if modern {
		can["extensions"] = map[string]any{extensionTasks: struct{}{}}
	}
	return can
}

// signature is what each request of a modern revision has in _meta: who asks, in
// which version and with which abilities. It is encoded once.
func (o offers) signature(version string) map[string]any {
	signed := map[string]any{metaVersion: version, metaClient: clientInfo(), metaCapabilities: o.capabilities(true), metaLogLevel: logLevel}
	for name, value := range signed {
		if raw, err := json.Marshal(value); err == nil {
			signed[name] = json.RawMessage(raw)
		}
	}
	return signed
}

func clientInfo() map[string]string {
	return map[string]string{"name": clientName, "version": clientVersion}
}

// rootsOf are the roots of a config: folders as file:// addresses.
func rootsOf(paths []string) []root {
	roots := make([]root, 0, len(paths))
	for _, path := range paths {
		if strings.HasPrefix(path, "file://") {
			roots = append(roots, root{URI: path})
			continue
		}
		if whole, err := filepath.Abs(path); err == nil {
			path = whole
		}
		at := url.URL{Scheme: "file", Path: filepath.ToSlash(path)}
		roots = append(roots, root{URI: at.String(), Name: filepath.Base(path)})
	}
	return roots
}

// capabilities are what a server said that it can.
type capabilities struct {
	toolsChange bool // it says when its tools change
	logging     bool
	resources   bool
	taskCalls   bool // revision 2025-11-25: a call of a tool may be a task
	taskCancel  bool
}

// decodeCapabilities takes what it understands; a member of the wrong type is not there.
func decodeCapabilities(raw json.RawMessage) capabilities {
	has := func(raw json.RawMessage, path ...string) bool {
		for _, name := range path {
			var members map[string]json.RawMessage
			if json.Unmarshal(raw, &members) != nil {
				return false
			}
			raw = members[name]
		}
		return len(raw) > 0 && string(raw) != "null" && string(raw) != "false"
	}
	return capabilities{
		toolsChange: has(raw, "tools", "listChanged"),
		logging:     has(raw, "logging"),
		resources:   has(raw, "resources"),
		taskCalls:   has(raw, "tasks", "requests", "tools", "call"),
		taskCancel:  has(raw, "tasks", "cancel"),
	}
}
