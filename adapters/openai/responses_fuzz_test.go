package openai

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"dragoman/adapters/internal/wire"
	"dragoman/ports"
)

// benchEvents are what most of a reply over responses is made of.
var benchEvents = map[string]string{
	"text":    `{"type":"response.output_text.delta","sequence_number":42,"item_id":"msg_68d1","output_index":1,"content_index":0,"delta":" word","logprobs":[],"obfuscation":"Tm3bKq"}`,
	"summary": `{"type":"response.reasoning_summary_text.delta","sequence_number":7,"item_id":"rs_68d1","output_index":0,"summary_index":0,"delta":" hm","obfuscation":"Tm3bKqJ8d"}`,
	"call":    `{"type":"response.function_call_arguments.delta","sequence_number":9,"item_id":"fc_68d1","output_index":2,"delta":"{\"a","obfuscation":"Tm3bKqJ8d"}`,
}

// BenchmarkEvent is what each piece of a reply costs.
func BenchmarkEvent(b *testing.B) {
	for name, data := range benchEvents {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			a := newAnswer("m", nil)
			for i := 0; b.Loop(); i++ {
				if i%1000 == 0 { // as long as a long reply
					a = newAnswer("m", nil)
				}
				if err := a.Read(wire.Event{Data: []byte(data)}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkResponsesRequest is what the body of each request costs.
func BenchmarkResponsesRequest(b *testing.B) {
	m := testModel(b, "http://model.test/v1", overResponses)
	for name, r := range map[string]ports.ModelRequest{"10 turns": longRequest(10, 0), "40 tools": longRequest(1, 40)} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := m.responsesBody(r, options{cipher: true, state: true}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// FuzzEvents must find no events that end the process, whatever a peer sends, and
// no reply whose state the provider would refuse.
func FuzzEvents(f *testing.F) {
	for _, data := range benchEvents {
		f.Add([]byte(data + "\n" + completedEvent))
	}
	f.Add([]byte(doneEvent(0, `{"type":"reasoning","encrypted_content":"x"}`) + "\n" + textEvent(1, "x") + "\n" + doneEvent(2, `{"type":"function_call","name":"n","arguments":"{"}`) + "\n" + textEvent(3, "y") + "\n" + completedEvent))
	f.Add([]byte(textEvent(0, "x") + "\n" + textEvent(1, "y") + "\n" + textEvent(0, "z") + "\n" + doneEvent(2, `{"type":"reasoning","encrypted_content":"x","summary":7}`) + "\n" + incompleteEvent("max_output_tokens")))
	f.Add([]byte(`{"type":"response.completed","response":{"status":"completed","output":[null,5,{"type":"message","content":[null,{"text":7}]}],"usage":{"input_tokens":"9"}}}`))
	f.Add([]byte("null\n[]\n{}\n{\"type\":5}\n" + `{"type":"response.failed"}`))
	m := testModel(f, "http://model.test/v1", overResponses)
	f.Fuzz(func(t *testing.T, stream []byte) {
		var shown strings.Builder
		a := newAnswer(m.name, func(d string) { shown.WriteString(d) })
		for line := range bytes.Lines(stream) {
			if line = bytes.TrimSpace(line); len(line) == 0 {
				continue
			}
			if err := a.Read(wire.Event{Data: line}); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				return
			}
		}
		reply, ended, err := a.Reply()
		if err != nil || !ended {
			return
		}
		if reply.Text != shown.String() {
			t.Errorf("shown %q, the text is %q", shown.String(), reply.Text)
		}
		goesBack(t, m, reply)
	})
}

// goesBack holds the request that follows a reply against the provider's rules.
func goesBack(t *testing.T, m *Model, reply ports.ModelReply) {
	t.Helper()
	r := hello()
	r.Entries = append(r.Entries, ports.Entry{Role: ports.RoleAssistant, Text: reply.Text, Calls: reply.Calls, State: reply.State, Model: reply.Model})
	for _, c := range reply.Calls {
		if !json.Valid(c.Arguments) || c.Name == "" || c.ID == "" {
			t.Errorf("call %+v", c)
		}
		r.Entries = append(r.Entries, ports.Entry{Role: ports.RoleTool, CallID: c.ID, Text: "x"})
	}
	raw, err := m.responsesBody(r, options{cipher: true, state: true})
	if err == nil {
		_, err = checkResponses(raw)
	}
	if err != nil {
		t.Errorf("%v: %s", err, raw)
	}
}

// A peer that never ends is left before its reply fills the memory.
func TestAResponseWithoutAnEndIsLeft(t *testing.T) {
	piece := strings.Repeat("x", 64<<10)
	for name, event := range map[string]string{
		"text":      textEvent(0, piece),
		"arguments": `{"type":"response.function_call_arguments.delta","output_index":0,"delta":"` + piece + `"}`,
		"reasoning": doneEvent(0, `{"type":"reasoning","encrypted_content":"`+piece+`"}`),
		"items":     strings.Repeat(addedEvent(0, `{"type":"message"}`)+"\n\ndata: ", 1000) + "{}",
	} {
		t.Run(name, func(t *testing.T) {
			p := newPeer(t)
			sent := 0
			gone := make(chan struct{})
			p.answer(func(w http.ResponseWriter, _ *http.Request) {
				defer close(gone)
				w.Header().Set("Content-Type", "text/event-stream")
				for sent < 16*wire.MaxReply {
					n, err := fmt.Fprintf(w, "data: %s\n\n", event)
					if err != nil {
						return
					}
					sent += n
				}
			})
			cfg := testConfig(p.URL + "/v1")
			cfg.API = apiResponses
			m, err := New(cfg, slog.New(slog.DiscardHandler))
			if err != nil {
				t.Fatal(err)
			}
			_, err = m.Generate(t.Context(), hello(), func(string) {})
			if !ports.IsKind(err, ports.KindProtocol) || !strings.Contains(err.Error(), "no end") {
				t.Errorf("it gives %v", err)
			}
			select {
			case <-gone:
			case <-time.After(2 * time.Minute):
				t.Fatal("the peer was not left, or never asked")
			}
			if sent > wire.MaxReply+wire.MaxReply/2+(8<<20) { // the sockets hold some too
				t.Errorf("%d bytes were taken, want about %d", sent, wire.MaxReply)
			}
		})
	}
}
