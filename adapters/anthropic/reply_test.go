package anthropic

import (
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"dragoman/adapters/internal/wire"
	"dragoman/ports"
)

// calls gives a reply's calls as "id name arguments".
func calls(r ports.ModelReply) []string {
	var out []string
	for _, c := range r.Calls {
		out = append(out, c.ID+" "+c.Name+" "+string(c.Arguments))
	}
	return out
}

func TestStreams(t *testing.T) {
	p := newPeer(t)
	m := testModel(t, p.URL)
	for _, c := range []struct {
		name   string
		frames []string
		text   string
		calls  []string
		stop   ports.StopReason
	}{
		{name: "a text", frames: oneWord, text: "x", stop: ports.StopEnd},
		{name: "nothing", frames: []string{begun, stops("end_turn"), stopped}, stop: ports.StopEnd},
		{name: "a stop sequence", frames: []string{begun, startText(0), says(0, "x"), ended(0), stops("stop_sequence"), stopped}, text: "x", stop: ports.StopEnd},
		{name: "cut at the limit", frames: []string{begun, startText(0), says(0, "x"), stops("max_tokens"), stopped}, text: "x", stop: ports.StopLength},
		{name: "cut at the window", frames: []string{begun, startText(0), says(0, "x"), stops("model_context_window_exceeded"), stopped}, text: "x", stop: ports.StopLength},
		{name: "paused", frames: []string{begun, startText(0), says(0, "x"), ended(0), stops("pause_turn"), stopped}, text: "x", stop: ports.StopLength},
		{name: "a reason of tomorrow", frames: []string{begun, startText(0), says(0, "x"), ended(0), stops("bored"), stopped}, text: "x", stop: ports.StopEnd},
		{name: "cut in the second call", frames: []string{begun, startCall(0, "a", "n"), argues(0, `{"x":1}`), ended(0), startCall(1, "b", "rm"), argues(1, `{"all":tr`), stops("max_tokens"), stopped},
			calls: []string{`a n {"x":1}`}, stop: ports.StopLength},
		{name: "cut before the arguments", frames: []string{begun, startCall(0, "a", "rm"), stops("max_tokens"), stopped}, stop: ports.StopLength},
		{name: "a text beside calls", frames: []string{begun, startText(0), says(0, "Let me "), says(0, "see."), ended(0), startCall(1, "a", "n"), argues(1, ""), argues(1, `{"x"`), argues(1, `:1}`), ended(1), startCall(2, "b", "m"), ended(2), stops("tool_use"), stopped},
			text: "Let me see.", calls: []string{`a n {"x":1}`, `b m {}`}, stop: ports.StopCalls},
		{name: "pieces of two calls mixed", frames: []string{begun, startCall(0, "a", "n"), startCall(1, "b", "m"), argues(1, `{"y"`), argues(0, `{"x"`), argues(1, `:2}`), argues(0, `:1}`), stops("tool_use"), stopped},
			calls: []string{`a n {"x":1}`, `b m {"y":2}`}, stop: ports.StopCalls},
		{name: "arguments all at once", frames: []string{begun, `{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"a","name":"n","input":{"x":1}}}`, ended(0), stops("tool_use"), stopped},
			calls: []string{`a n {"x":1}`}, stop: ports.StopCalls},
		{name: "all numbered 0", frames: []string{begun, `{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"a","name":"n","input":{"x":1}}}`, ended(0),
			`{"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"b","name":"m","input":{"y":1}}}`, ended(0), stops("tool_use"), stopped},
			calls: []string{`a n {"x":1}`, `b m {"y":1}`}, stop: ports.StopCalls},
		{name: "calls that end as a text", frames: []string{begun, startCall(0, "a", "n"), ended(0), stops("end_turn"), stopped}, calls: []string{`a n {}`}, stop: ports.StopCalls},
		{name: "a text in its beginning", frames: []string{begun, `{"type":"content_block_start","index":0,"content_block":{"type":"text","text":"x"}}`, ended(0), stops("end_turn"), stopped}, text: "x", stop: ports.StopEnd},
		{name: "two texts", frames: []string{begun, startText(0), says(0, "à"), ended(0), startThinking(1), thinks(1, "hm"), signs(1, "s"), ended(1), startText(2), says(2, "b "), ended(2), startText(3), says(3, "c"), ended(3), stops("end_turn"), stopped},
			text: "à\n\nb c", stop: ports.StopEnd},
		{name: "what comes tomorrow", frames: []string{begun, `{"type":"ping"}`, `{"type":"weather","sun":1}`, `{"type":"content_block_start","index":0,"content_block":{"type":"server_tool_use","id":"s","name":"web_search","input":{}}}`, argues(0, `{"q":1}`), ended(0),
			startText(1), `{"type":"content_block_delta","index":1,"delta":{"type":"citations_delta","citation":{"x":1}}}`, says(1, "x"), ended(1), stops("end_turn"), stopped}, text: "x", stop: ports.StopEnd},
		{name: "an end without a final count", frames: []string{begun, startText(0), says(0, "x"), `{"type":"message_delta","delta":{"stop_reason":"end_turn"}}`, stopped}, text: "x", stop: ports.StopEnd},
	} {
		t.Run(c.name, func(t *testing.T) {
			p.says(c.frames...)
			var heard strings.Builder
			reply, err := m.Generate(t.Context(), hello(), func(d string) { heard.WriteString(d) })
			if err != nil {
				t.Fatal(err)
			}
			if reply.Text != c.text || heard.String() != c.text || reply.Stop != c.stop || !slices.Equal(calls(reply), c.calls) {
				t.Errorf("%q %q %s %q", reply.Text, heard.String(), reply.Stop, calls(reply))
			}
		})
	}
}

func TestStreamsThatAreNone(t *testing.T) {
	p := newPeer(t)
	m := testModel(t, p.URL)
	for name, c := range map[string]struct {
		frames []string
		kind   ports.Kind
	}{
		"a block that never began": {[]string{begun, says(3, "x"), stops("end_turn"), stopped}, ports.KindProtocol},
		"a frame that is a list":   {[]string{begun, `[1]`}, ports.KindProtocol},
		"an index of no form":      {[]string{begun, `{"type":"content_block_start","index":"x"}`}, ports.KindProtocol},
		"a call without a name":    {[]string{begun, startCall(0, "a", ""), ended(0), stops("tool_use"), stopped}, ports.KindProtocol},
		"a refusal":                {[]string{begun, startText(0), says(0, "I"), ended(0), stops("refusal"), stopped}, ports.KindRefused},
	} {
		p.says(c.frames...)
		if reply, err := m.Generate(t.Context(), hello(), nil); !ports.IsKind(err, c.kind) {
			t.Errorf("%s: %s: %v (%+v)", name, ports.KindOf(err), err, reply)
		}
	}
}

// What the model thought comes back as it went, in its place.
func TestThoughtsAreKeptAsTheyCame(t *testing.T) {
	p := newPeer(t)
	m := testModel(t, p.URL)
	p.says(begun, startThinking(0), thinks(0, "Let "), thinks(0, "me."), signs(0, "c2ln"), signs(0, "bmVk"), ended(0), startText(1), says(1, "A"), ended(1),
		redacted(2, "b3BhcXVl"), ended(2), startCall(3, "toolu_1", "a__look"), argues(3, `{"n":1}`), ended(3),
		startThinking(4), signs(4, "b21pdHRlZA"), ended(4), startCall(5, "toolu_2", "a__look"), ended(5), startThinking(6), thinks(6, "unsealed"), stops("tool_use"), stopped)
	reply, err := m.Generate(t.Context(), hello(), nil)
	if err != nil {
		t.Fatal(err)
	}
	e := ports.Entry{Role: ports.RoleAssistant, Text: reply.Text, Calls: reply.Calls, State: reply.State, Model: reply.Model}
	got := bodyOf(t, m, ports.ModelRequest{Tools: []ports.ToolSpec{look}, Entries: []ports.Entry{user("Hello!"), e, gave("toolu_1", "x"), gave("toolu_2", "y")}})
	raw, err := wire.Encode(got.Messages[1].Content)
	if err != nil {
		t.Fatal(err)
	}
	const want = `[{"type":"thinking","thinking":"Let me.","signature":"c2lnbmVk"},{"type":"text","text":"A"},{"type":"redacted_thinking","data":"b3BhcXVl"},` +
		`{"type":"tool_use","id":"toolu_1","name":"a__look","input":{"n":1}},{"type":"thinking","thinking":"","signature":"b21pdHRlZA"},{"type":"tool_use","id":"toolu_2","name":"a__look","input":{}}]`
	if string(raw) != want {
		t.Errorf("sent back as\n%s\nwant\n%s", raw, want)
	}
}

func TestTokensAreCounted(t *testing.T) {
	p := newPeer(t)
	m := testModel(t, p.URL)
	start := func(usage string) string { return `{"type":"message_start","message":{"usage":` + usage + `}}` }
	end := func(usage string) string {
		return `{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":` + usage + `}`
	}
	for name, c := range map[string]struct {
		frames []string
		want   ports.Tokens
	}{
		"cold":             {[]string{start(`{"input_tokens":3,"cache_creation_input_tokens":500,"cache_read_input_tokens":0,"output_tokens":1}`), end(`{"output_tokens":9}`)}, ports.Tokens{Input: 503, CacheWrite: 500, Output: 9}},
		"warm":             {[]string{start(`{"input_tokens":3,"cache_creation_input_tokens":40,"cache_read_input_tokens":500,"output_tokens":1}`), end(`{"output_tokens":9}`)}, ports.Tokens{Input: 543, CachedInput: 500, CacheWrite: 40, Output: 9}},
		"again at the end": {[]string{start(`{"input_tokens":3,"cache_read_input_tokens":500,"output_tokens":1}`), end(`{"input_tokens":3,"cache_read_input_tokens":500,"cache_creation_input_tokens":0,"output_tokens":9}`)}, ports.Tokens{Input: 503, CachedInput: 500, Output: 9}},
		"only at the end":  {[]string{start(`{"input_tokens":0,"output_tokens":0}`), end(`{"input_tokens":12,"output_tokens":9}`)}, ports.Tokens{Input: 12, Output: 9}},
		"none":             {[]string{start(`null`), end(`null`)}, ports.Tokens{}},
	} {
		p.says(append(c.frames, stopped)...)
		if reply, err := m.Generate(t.Context(), hello(), nil); err != nil || reply.Usage != c.want {
			t.Errorf("%s: %+v %v", name, reply.Usage, err)
		}
	}
}

// A peer that never ends is left before its reply fills the memory.
func TestAReplyWithoutAnEndIsLeft(t *testing.T) {
	piece := strings.Repeat("x", 64<<10)
	for name, again := range map[string]string{
		"text":      says(0, piece),
		"thoughts":  thinks(1, piece),
		"seals":     signs(1, piece),
		"arguments": argues(2, piece),
		"blocks":    strings.Repeat(startText(7)+"\n\ndata: ", 500) + startCall(8, "a", "n"),
	} {
		t.Run(name, func(t *testing.T) {
			p := newPeer(t)
			sent := 0
			gone := make(chan struct{})
			p.answer(func(w http.ResponseWriter, _ *http.Request) {
				defer close(gone)
				s := newSSE(w)
				for _, f := range []string{begun, startText(0), startThinking(1), startCall(2, "a", "n")} {
					s.frame(f)
				}
				for sent < 16*wire.MaxReply {
					n, err := io.WriteString(w, "data: "+again+"\n\n")
					if err != nil {
						return
					}
					sent += n
				}
			})
			_, err := testModel(t, p.URL).Generate(t.Context(), hello(), nil)
			if !ports.IsKind(err, ports.KindProtocol) || !strings.Contains(err.Error(), "no end") {
				t.Errorf("it gives %v", err)
			}
			<-gone
			if sent > wire.MaxReply*3/2+(8<<20) { // the sockets hold some too
				t.Errorf("%d bytes were taken, want about %d", sent, wire.MaxReply)
			}
		})
	}
}

// FuzzFrames must find no frames that end the process, whatever a peer sends, and
// no reply that cannot be sent back.
func FuzzFrames(f *testing.F) {
	f.Add(strings.Join(oneWord, "\n"))
	f.Add(strings.Join([]string{begun, startThinking(0), thinks(0, "a"), signs(0, "b"), startCall(1, "a", "n"), argues(1, `{}`), redacted(2, "d"), startText(1), says(1, "x"), stops("tool_use"), stopped}, "\n"))
	f.Add(`{"type":"content_block_start","content_block":null}` + "\n" + `{"type":"content_block_delta","delta":null}` + "\n" + stops("max_tokens") + "\n" + stopped)
	m := testModel(f, "http://model.test")
	f.Fuzz(func(t *testing.T, frames string) {
		r := newReply(m.name, nil)
		for frame := range strings.SplitSeq(frames, "\n") {
			if r.Read(wire.Event{Data: []byte(frame)}) != nil {
				break
			}
		}
		reply, whole, err := r.Reply()
		if err != nil || !whole {
			return
		}
		e := ports.Entry{Role: ports.RoleAssistant, Text: reply.Text, Calls: reply.Calls, State: reply.State, Model: reply.Model}
		for _, c := range reply.Calls {
			if !json.Valid(c.Arguments) || c.Name == "" || c.ID == "" {
				t.Errorf("call %+v of %s", c, frames)
			}
		}
		raw, err := m.body(ports.ModelRequest{Entries: []ports.Entry{user("a"), e, user("b")}})
		if err == nil {
			err = checkBody(raw)
		}
		if err != nil {
			t.Errorf("%v\n%s\n%s", err, frames, raw)
		}
	})
}
