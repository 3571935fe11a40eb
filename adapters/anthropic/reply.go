package anthropic

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"dragoman/adapters/internal/wire"
	"dragoman/ports"
)

// between divides two texts of one reply: there was thinking between them, which
// is not shown.
const between = "\n\n"

// event is a frame of the stream, as far as it is read here.
type event struct {
	Type         string `json:"type"`
	Index        int    `json:"index"`
	Message      struct{ Usage usage }
	ContentBlock struct {
		Type      string
		Text      string
		Thinking  string
		Signature string
		Data      string
		ID        string
		Name      string
		Input     json.RawMessage
	} `json:"content_block"`
	Delta struct {
		Type        string
		Text        string
		Thinking    string
		Signature   string
		PartialJSON string `json:"partial_json"`
		StopReason  string `json:"stop_reason"`
	}
	Usage usage
}

type usage struct {
	Input      wire.LooseInt `json:"input_tokens"`
	CacheRead  wire.LooseInt `json:"cache_read_input_tokens"`
	CacheWrite wire.LooseInt `json:"cache_creation_input_tokens"`
	Output     wire.LooseInt `json:"output_tokens"`
}

// merge takes the counts of a later frame, which has those that changed.
func (u *usage) merge(v usage) {
	for _, c := range []struct {
		old *wire.LooseInt
		new wire.LooseInt
	}{{&u.Input, v.Input}, {&u.CacheRead, v.CacheRead}, {&u.CacheWrite, v.CacheWrite}, {&u.Output, v.Output}} {
		if c.new > 0 {
			*c.old = c.new
		}
	}
}

// reply gathers the events of one reply.
type reply struct {
	wire.Draft

	pieces  []piece
	open    map[int]*part
	usage   usage
	stop    string
	stopped bool // message_stop was seen
	spoke   bool // a text was shown
	blank   bool // what was shown last ended with a blank
}

// part is a block in the making.
type part struct {
	at    int             // in pieces
	call  *wire.Call      // of a tool_use
	input json.RawMessage // of a tool_use that came whole; nil once it comes in pieces

	thinking, signature strings.Builder
}

var _ wire.Reader = (*reply)(nil)

func newReply(model string, onText func(string)) *reply {
	return &reply{Draft: wire.NewDraft(model, onText), open: map[int]*part{}}
}

// Read implements wire.Reader.
func (r *reply) Read(e wire.Event) error {
	var ev event
	if err := json.Unmarshal(e.Data, &ev); err != nil {
		return wire.Broken("a frame of the stream is not an event", err)
	}
	switch ev.Type {
	case "message_start":
		r.usage.merge(ev.Message.Usage)
	case "content_block_start":
		r.begin(ev)
	case "content_block_delta":
		return r.add(ev)
	case "message_delta":
		r.usage.merge(ev.Usage)
		if ev.Delta.StopReason != "" {
			r.stop = ev.Delta.StopReason
		}
	case "message_stop":
		r.stopped = true
		return io.EOF
	case "error":
		return wire.Failed(e.Data)
	}
	return nil // pings, ends of blocks, and what came into the world later
}

const pieceSize = 128 // what a piece costs beside its words

func (r *reply) begin(ev event) {
	b := ev.ContentBlock
	r.whole(r.open[ev.Index]) // some servers number every block 0
	p := &part{at: len(r.pieces)}
	r.open[ev.Index] = p
	piece := piece{Type: b.Type}
	switch b.Type {
	case "text":
	case "thinking":
		p.thinking.WriteString(b.Thinking)
		p.signature.WriteString(b.Signature)
	case "redacted_thinking":
		piece.Data = b.Data
	case "tool_use":
		p.call = r.Call()
		p.call.ID, p.call.Name = b.ID, b.Name
		if wire.IsObject(b.Input) && string(b.Input) != "{}" { // all at once, as some servers have it
			p.input = b.Input
		}
	default: // tools of the provider's own, which nobody asked for
		p.at = -1
		r.Keep(pieceSize)
		return
	}
	r.pieces = append(r.pieces, piece)
	r.Keep(pieceSize + len(b.Thinking) + len(b.Signature) + len(b.Data) + len(p.input))
	if b.Text != "" {
		r.say(p, b.Text)
	}
}

func (r *reply) add(ev event) error {
	p := r.open[ev.Index]
	switch {
	case p == nil:
		return wire.Broken("the stream goes on with a block that never began", fmt.Errorf("block %d", ev.Index))
	case p.at < 0:
		return nil
	}
	d, piece := ev.Delta, &r.pieces[p.at]
	switch {
	case d.Type == "text_delta" && piece.Type == "text":
		r.say(p, d.Text)
	case d.Type == "input_json_delta" && p.call != nil:
		if d.PartialJSON != "" {
			p.input = nil
		}
		p.call.Argue(d.PartialJSON)
	case d.Type == "thinking_delta" && piece.Type == "thinking":
		p.thinking.WriteString(d.Thinking)
		r.Keep(len(d.Thinking))
	case d.Type == "signature_delta" && piece.Type == "thinking":
		p.signature.WriteString(d.Signature)
		r.Keep(len(d.Signature))
	}
	return nil
}

// say shows a text. Its block's count has what divides it from the text before.
func (r *reply) say(p *part, text string) {
	if text == "" {
		return
	}
	piece := &r.pieces[p.at]
	if piece.Bytes == 0 && r.spoke && !r.blank {
		text = between + text
	}
	piece.Bytes += len(text)
	last := text[len(text)-1]
	r.spoke, r.blank = true, last == ' ' || last == '\n'
	r.Say(text)
}

// whole takes what came of a block, nil for none.
func (r *reply) whole(p *part) {
	switch {
	case p == nil:
	case p.input != nil:
		p.call.Argue(string(p.input))
	case p.at >= 0 && r.pieces[p.at].Type == "thinking":
		thought := p.thinking.String()
		r.pieces[p.at].Thinking, r.pieces[p.at].Signature = &thought, p.signature.String()
	}
}

// Reply implements wire.Reader: the end is a stop_reason and message_stop.
func (r *reply) Reply() (ports.ModelReply, bool, error) {
	if !r.stopped || r.stop == "" {
		return ports.ModelReply{}, false, nil
	}
	stop := ports.StopEnd
	switch r.stop {
	case "refusal":
		return ports.ModelReply{}, true, wire.Declined(r.stop)
	case "max_tokens", "model_context_window_exceeded",
		"pause_turn": // the provider's own tools take longer than it waits: there is more to come
		stop = ports.StopLength
	}
	for _, p := range r.open {
		r.whole(p)
	}
	r.Usage = ports.Tokens{
		Input:       int(r.usage.Input + r.usage.CacheRead + r.usage.CacheWrite),
		CachedInput: int(r.usage.CacheRead),
		CacheWrite:  int(r.usage.CacheWrite),
		Output:      int(r.usage.Output),
	}
	out, err := r.Done(stop)
	if err != nil {
		return ports.ModelReply{}, true, err
	}
	out.State = stateOf(r.pieces)
	return out, true, nil
}
