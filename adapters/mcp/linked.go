package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"strings"
	"time"

	"dragoman/ports"
)

const methodRead = "resources/read"

// What is read of the resources that a result links to. One with more links is a list
// of what there is, and no gift.
const (
	linksMost  = 5
	linksBytes = 20 << 20         // together
	linksTime  = 10 * time.Second // together
)

// readLinks puts into the links of a result what they lead to, for as far as the
// server lets it be read (MCP server/resources, "Reading Resources"). It cannot fail:
// a link that is not read stays one. What is on the web the client reads by itself
// ("Common URI Schemes", https://), and nobody here does: a server must not choose
// what we connect to.
func (x *toolCall) readLinks(ctx context.Context, r ports.ToolResult) {
	var links []*ports.Block
	for i, b := range r.Content {
		if b.Kind == ports.BlockLink && !isWeb(b.URI) {
			links = append(links, &r.Content[i])
		}
	}
	if len(links) == 0 || len(links) > linksMost || r.IsError {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, linksTime)
	defer cancel()
	l, err := x.source.borrow(ctx, x.call)
	if err != nil {
		return
	}
	defer l.done(nil) // what came of the call itself counts, and that is known
	if !l.session.can.resources {
		return
	}
	room := x.source.linkRoom
	for _, b := range links {
		if b.Size > room {
			continue
		}
		found, err := l.session.resource(ctx, b.URI)
		if err != nil || int64(len(found.Data)) > room {
			x.source.log.Debug("mcp_link_not_read", "tool", x.def.Spec.Name, "bytes", len(found.Data), "err", err)
			continue
		}
		room -= int64(len(found.Data))
		b.Data, b.MIME = found.Data, first(found.MIME, b.MIME)
	}
}

// isWeb reports whether a URI is for whoever wants to look at it.
func isWeb(uri string) bool {
	scheme, _, _ := strings.Cut(uri, ":")
	return strings.EqualFold(scheme, "https") || strings.EqualFold(scheme, "http")
}

// resource reads one. Its Data is what it holds, also where that is text.
func (s *session) resource(ctx context.Context, uri string) (ports.Block, error) {
	raw, err := s.call(ctx, s.lastID.Add(1), ask{method: methodRead, name: uri, params: map[string]any{"uri": uri}})
	if err != nil {
		return ports.Block{}, err
	}
	var read struct {
		Contents json.RawMessage `json:"contents"`
	}
	if err := json.Unmarshal(raw, &read); err != nil {
		return ports.Block{}, malformed("the resource is malformed: %v", err)
	}
	var found *ports.Block
	err = eachItem(read.Contents, func(one json.RawMessage) bool {
		b := resourceBlock(one, one)
		if b.Kind == ports.BlockResource && (found == nil || b.URI == uri) {
			found = &b
		}
		return found == nil || found.URI != uri // a folder has more, and may begin with others
	})
	if err != nil || found == nil {
		return ports.Block{}, malformed("the resource has no contents")
	}
	if found.Data == nil {
		found.Data = bytes.ToValidUTF8([]byte(found.Text), []byte("\uFFFD"))
	}
	return *found, nil
}
