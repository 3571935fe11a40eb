package openai

import (
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"dragoman/adapters/internal/wire"
	"dragoman/ports"
)

// A peer that never ends is left before its reply fills the memory, also where
// it sends no text that anybody could show.
func TestAReplyWithoutAnEndIsLeft(t *testing.T) {
	piece := strings.Repeat("x", 64<<10)
	for name, frame := range map[string]string{
		"text":      `data: {"choices":[{"index":0,"delta":{"content":"` + piece + `"}}]}` + "\n\n",
		"state":     `data: {"choices":[{"index":0,"delta":{"reasoning_content":"` + piece + `"}}]}` + "\n\n",
		"calls":     `data: {"choices":[{"index":0,"delta":{"tool_calls":[` + strings.Repeat(`{"id":"a","function":{"name":"n"}},{"id":"b","function":{"name":"n"}},`, 1000) + `{}]}}]}` + "\n\n",
		"arguments": `data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"c","function":{"name":"f","arguments":"` + piece + `"}}]}}]}` + "\n\n",
	} {
		t.Run(name, func(t *testing.T) {
			p := newPeer(t)
			sent := 0
			gone := make(chan struct{})
			p.answer(func(w http.ResponseWriter, _ *http.Request) {
				defer close(gone)
				w.Header().Set("Content-Type", "text/event-stream")
				for sent < 16*wire.MaxReply {
					n, err := io.WriteString(w, frame)
					if err != nil {
						return
					}
					sent += n
				}
			})
			m, err := New(testConfig(p.URL+"/v1"), slog.New(slog.DiscardHandler))
			if err != nil {
				t.Fatal(err)
			}
			_, err = m.Generate(t.Context(), hello(), func(string) {})
			if !ports.IsKind(err, ports.KindProtocol) || !strings.Contains(err.Error(), "no end") {
				t.Errorf("it gives %v", err)
			}
			<-gone
			if sent > wire.MaxReply+wire.MaxReply/2+(8<<20) { // the sockets hold some too
				t.Errorf("%d bytes were taken, want about %d", sent, wire.MaxReply)
			}
		})
	}
}
