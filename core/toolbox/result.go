package toolbox

import (
	"context"
	"fmt"
	"strings"
	"unicode/utf8"

	"dragoman/ports"
)

// outcomes of a failed call, with the words that the model gets. The cause is for the log.
var outcomes = map[ports.Kind]struct {
	outcome ports.CallOutcome
	text    string
}{
	ports.KindTimeout:      {ports.CallTimeout, "The tool did not answer in time. It is not known whether it had an effect."},
	ports.KindCancelled:    {ports.CallCancelled, "The call was cancelled. It is not known whether it had an effect."},
	ports.KindUnsure:       {ports.CallTransport, "The tool's server went away while this ran. It is not known whether it had an effect."},
	ports.KindUnavailable:  {ports.CallTransport, "The tool's server is not connected at the moment."},
	ports.KindUnauthorized: {ports.CallTransport, "The tool's server refused our login."},
	ports.KindNotFound:     {ports.CallNotFound, "The server no longer has this tool."},
	ports.KindInvalid:      {ports.CallInvalidParams, "The server refused the arguments"},
	ports.KindProtocol:     {ports.CallProtocol, "The tool's server answered with something that makes no sense."},
	ports.KindTooLarge:     {ports.CallProtocol, "The tool's answer was too large to be taken."},
}

func failed(err error) ports.CallResult {
	kind := ports.KindOf(err)
	o, ok := outcomes[kind]
	if !ok {
		return ports.CallResult{Outcome: ports.CallTransport, Text: "The tool's server failed."}
	}
	if kind == ports.KindInvalid {
		o.text += ": " + clip(err.Error(), 500)
	}
	return ports.CallResult{Outcome: o.outcome, Text: o.text}
}

// result turns what a tool said into what the model reads: each thing once, the
// long and the binary parts kept as artifacts of the conversation.
func (b *Toolbox) result(ctx context.Context, t *tool, c ports.ToolCall, r ports.ToolResult) ports.CallResult {
	if r.NeedsInput != nil {
		return ports.CallResult{Outcome: ports.CallToolError, Text: "The tool asks for input that cannot be given in this chat."}
	}
	out := ports.CallResult{Outcome: ports.CallOK, Structured: r.Structured, Content: r.Content}
	a := b.newAnswer(c)
	a.failed = r.IsError
	out.Text = a.text(ctx, r)
	out.Blocks, out.Files, out.Links = a.blocks, a.files, a.links(r)
	if r.IsError {
		out.Outcome = ports.CallToolError
	} else if faults := b.outputFaults(t, c, r); faults != "" {
		out.Outcome = ports.CallProtocol
		out.Text = "The tool ran, but what it gave breaks its own outputSchema:\n" + faults + "\nIt gave:\n" + out.Text
	}
	out.Text = strings.ToValidUTF8(out.Text, "\uFFFD")
	// Built-in tools keep their results short by themselves; what they read of an
	// artifact must not become another one.
	if t.source.Name != "" && b.cfg.ResultBytes > 0 && len(out.Text) > b.cfg.ResultBytes && c.Turn != "" {
		out.Text = b.cut(ctx, c, out.Text)
	}
	return out
}

// outputFaults says in what a result breaks the tool's outputSchema (MCP
// server/tools, "Output Schema"). Structured content that is missing is none:
// many servers forget it, and the text says the same.
func (b *Toolbox) outputFaults(t *tool, c ports.ToolCall, r ports.ToolResult) string {
	if len(t.spec.OutputSchema) == 0 {
		return ""
	}
	if len(r.Structured) == 0 {
		b.log.Debug("structured_content_missing", "mcp_server", t.source.Name, "tool", t.own, ports.TurnAttr(c.Turn))
		return ""
	}
	faults := t.output().checkStructured(r.Structured)
	if faults != "" {
		b.log.Warn("structured_content_invalid", "mcp_server", t.source.Name, "tool", t.own, ports.TurnAttr(c.Turn), "err", faults)
	}
	return faults
}

// cut keeps the head and the tail of a long text and saves the whole of it.
func (b *Toolbox) cut(ctx context.Context, c ports.ToolCall, text string) string {
	id := artifactID(c.Key, []byte(text))
	head, tail := clip(text, b.cfg.ResultBytes*3/4), text[len(text)-b.cfg.ResultBytes/4:]
	for len(tail) > 0 && !utf8.RuneStart(tail[0]) {
		tail = tail[1:]
	}
	note := fmt.Sprintf("[%d bytes left out here. The whole is artifact %q: read it in parts with read_artifact.]", len(text)-len(head)-len(tail), id)
	if !b.save(ctx, c, ports.Artifact{ID: id, Name: c.Name, MIME: "text/plain", Data: []byte(text)}) {
		note = "[The rest is left out here and could not be kept.]"
	}
	return head + "\n\n" + note + "\n\n" + tail
}

// clip cuts a text at max bytes, on a rune's border.
func clip(s string, max int) string {
	if len(s) <= max {
		return s
	}
	for max > 0 && !utf8.RuneStart(s[max]) {
		max--
	}
	return s[:max]
}
