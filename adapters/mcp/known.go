package mcp

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"slices"
	"time"

	"dragoman/ports"
)

const (
	// knownKind and knownKey are of the one record that a server's tools are kept in.
	knownKind = "mcp_tools"
	knownKey  = "tools"
	// maxKnown is the longest record of them, in bytes. More is learned anew at each start.
	maxKnown = 1 << 20
	// knownWithin is how long the store may take.
	knownWithin = 2 * time.Second
)

// known are the tools that a server had when it was connected last. For is what
// the server is; of another one it says nothing.
type known struct {
	For   string      `json:"for"`
	Tools []knownTool `json:"tools"`
}

// knownTool is a tool with its schemas as text: as JSON they would be laid out
// anew, and a schema is passed on as its server wrote it.
type knownTool struct {
	definition
	Input  string `json:"input"`
	Output string `json:"output,omitempty"`
}

// recall gives the tools that the server had; nil if that is not known.
func (v *supervisor) recall(ctx context.Context) []definition {
	if v.deps.Records == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, knownWithin)
	defer cancel()
	r, err := v.deps.Records.Get(ctx, v.deps.Scope, knownKind, knownKey)
	if err != nil {
		if !ports.IsKind(err, ports.KindNotFound) {
			v.log.Warn("mcp_tools_not_recalled", "kind", ports.KindOf(err), "err", err)
		}
		return nil
	}
	var k known
	if json.Unmarshal(r.Body, &k) != nil || k.For != v.cfg.identity() || k.Tools == nil {
		return nil
	}
	tools := make([]definition, len(k.Tools))
	for i, t := range k.Tools {
		tools[i] = t.definition
		spec := &tools[i].Spec
		spec.InputSchema, spec.OutputSchema = json.RawMessage(t.Input), nil
		if t.Output != "" {
			spec.OutputSchema = json.RawMessage(t.Output)
		}
		if checkName(spec.Name) != nil || !json.Valid(spec.InputSchema) || t.Output != "" && !json.Valid(spec.OutputSchema) {
			return nil
		}
	}
	return tools
}

// remember keeps the tools for the next start. If that fails they are learned
// then, by a connection.
func (v *supervisor) remember(ctx context.Context, tools []definition) {
	if v.deps.Records == nil {
		return
	}
	k := known{For: v.cfg.identity(), Tools: make([]knownTool, len(tools))}
	for i, t := range tools {
		k.Tools[i] = knownTool{definition: t, Input: string(t.Spec.InputSchema), Output: string(t.Spec.OutputSchema)}
		k.Tools[i].Spec.InputSchema, k.Tools[i].Spec.OutputSchema = nil, nil
	}
	body, err := json.Marshal(k)
	if err != nil || len(body) > maxKnown {
		v.log.Warn("mcp_tools_not_kept", "bytes", len(body), "err", err)
		return
	}
	ctx, cancel := context.WithTimeout(ctx, knownWithin)
	defer cancel()
	r, err := v.deps.Records.Get(ctx, v.deps.Scope, knownKind, knownKey)
	if err == nil || ports.IsKind(err, ports.KindNotFound) {
		_, err = v.deps.Records.Put(ctx, ports.Record{Scope: v.deps.Scope, Kind: knownKind, Key: knownKey, Version: r.Version, Body: body})
	}
	if err != nil && ctx.Err() == nil {
		v.log.Warn("mcp_tools_not_kept", "kind", ports.KindOf(err), "err", err)
	}
}

// identity changes with what decides which server it is. No secret goes into it:
// with another token a server may offer other tools, which its next connection shows.
func (c Config) identity() string {
	raw, _ := json.Marshal([]any{
		c.Transport, c.Command, c.Args, c.Cwd, slices.Sorted(maps.Keys(c.Env)), c.redactor().Replace(c.URL.Reveal()),
		slices.Sorted(maps.Keys(c.Headers)), c.Trusted, c.ProtocolVersion, c.Roots,
	}) // of texts and truths, which always can be marshalled
	sum := sha256.Sum256(raw)
	return hex.EncodeToString(sum[:])
}
