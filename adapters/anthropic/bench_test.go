package anthropic

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"dragoman/adapters/internal/wire"
	"dragoman/ports"
)

// BenchmarkFrame is what each piece of a reply costs.
func BenchmarkFrame(b *testing.B) {
	for name, frame := range map[string]string{"text": says(0, " word"), "thinking": thinks(1, " hm"), "call": argues(2, `{"a`)} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			var r *reply
			for i := 0; b.Loop(); i++ {
				if i%1000 == 0 { // as long as a long reply
					r = newReply("m", nil)
					for _, f := range []string{startText(0), startThinking(1), startCall(2, "a", "n")} {
						if err := r.Read(wire.Event{Data: []byte(f)}); err != nil {
							b.Fatal(err)
						}
					}
				}
				if err := r.Read(wire.Event{Data: []byte(frame)}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func longRequest(turns, tools int) ports.ModelRequest {
	r := ports.ModelRequest{System: "You are a helpful assistant in a chat. Answer briefly and in plain words."}
	for i := range turns {
		r.Entries = append(r.Entries, user(fmt.Sprintf("What is the weather in town %d?", i)), said(strings.Repeat("It is cold and it rains. ", 8)))
	}
	for i := range tools {
		r.Tools = append(r.Tools, ports.ToolSpec{Name: fmt.Sprintf("files__tool_%02d", i), Description: "Reads a file of the shared folder, whole or in part.",
			InputSchema: json.RawMessage(`{"$schema":"http://json-schema.org/draft-07/schema#","type":"object","properties":{"path":{"type":"string","description":"Which file"},"head":{"type":"number","description":"First lines"},"tail":{"type":"number"},"edits":{"type":"array","items":{"type":"object","properties":{"old":{"type":"string"},"new":{"type":"string"}},"required":["old","new"],"additionalProperties":false}}},"required":["path"],"additionalProperties":false}`)})
	}
	return r
}

// BenchmarkRequest is what the body of each request costs.
func BenchmarkRequest(b *testing.B) {
	m := testModel(b, "http://model.test")
	for name, r := range map[string]ports.ModelRequest{"10 turns": longRequest(10, 0), "40 tools": longRequest(1, 40)} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := m.body(r); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
