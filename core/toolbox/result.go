package toolbox

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
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

// blocksMax bounds the images and sounds of one result, in bytes: they stay in
// the journal and in the prompts that follow.
const blocksMax = 4 << 20

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

// result turns what a tool said into what the model reads, the long part of it
// kept as an artifact of the conversation.
func (b *Toolbox) result(ctx context.Context, c ports.ToolCall, r ports.ToolResult) ports.CallResult {
	if r.NeedsInput != nil {
		return ports.CallResult{Outcome: ports.CallToolError, Text: "The tool asks for input that cannot be given in this chat."}
	}
	out := ports.CallResult{Outcome: ports.CallOK, Structured: r.Structured, Content: r.Content}
	if r.IsError {
		out.Outcome = ports.CallToolError
	}
	var text []string
	room := blocksMax
	for _, block := range r.Content {
		switch block.Kind {
		case ports.BlockText:
			text = append(text, block.Text)
		case ports.BlockImage, ports.BlockAudio:
			if room -= len(block.Data); room >= 0 {
				out.Blocks = append(out.Blocks, block)
			}
			text = append(text, fmt.Sprintf("[%s, %s, %d bytes]", block.Kind, block.MIME, len(block.Data)))
		case ports.BlockLink:
			text = append(text, strings.TrimSpace(fmt.Sprintf("[%s](%s) %s", block.Name, block.URI, block.Text)))
		default:
			text = append(text, resourceText(block))
		}
	}
	if len(text) == 0 && len(r.Structured) > 0 {
		text = append(text, string(r.Structured))
	}
	out.Text = strings.ToValidUTF8(strings.Join(text, "\n"), "\uFFFD")
	if b.cfg.ResultBytes > 0 && len(out.Text) > b.cfg.ResultBytes && c.Turn != "" {
		out.Text = b.cut(ctx, c, out.Text)
	}
	return out
}

// cut keeps the head and the tail of a long text and saves the whole of it. The
// artifact's id is the call's, so that a repeated call saves it once.
func (b *Toolbox) cut(ctx context.Context, c ports.ToolCall, text string) string {
	sum := sha256.Sum256([]byte(c.Key))
	id := hex.EncodeToString(sum[:6])
	head, tail := clip(text, b.cfg.ResultBytes*3/4), text[len(text)-b.cfg.ResultBytes/4:]
	for len(tail) > 0 && !utf8.RuneStart(tail[0]) {
		tail = tail[1:]
	}
	note := fmt.Sprintf("[%d bytes left out here. The whole is artifact %q: read it in parts with read_artifact.]", len(text)-len(head)-len(tail), id)
	if err := b.artifacts.Save(ctx, ports.Artifact{In: c.In, ID: id, Name: c.Name, MIME: "text/plain", Data: []byte(text)}); err != nil {
		b.log.Warn("artifact_not_saved", ports.TurnAttr(c.Turn), "tool", c.Name, "kind", ports.KindOf(err), "err", err)
		note = "[The rest is left out here and could not be kept.]"
	}
	return head + "\n\n" + note + "\n\n" + tail
}

func resourceText(b ports.Block) string {
	if b.Text != "" {
		return b.Text
	}
	return fmt.Sprintf("[resource %s, %s, %d bytes]", b.URI, b.MIME, len(b.Data))
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
