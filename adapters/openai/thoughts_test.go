package openai

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"dragoman/ports"
)

// TestWhatALocalModelThinksIsNotItsAnswer: OpenAI itself never leaves thoughts in a
// text, so what looks like one there is what was asked for.
func TestWhatALocalModelThinksIsNotItsAnswer(t *testing.T) {
	frames := []string{
		`{"choices":[{"delta":{"content":"<th"}}]}`,
		`{"choices":[{"delta":{"content":"ink>\nHm.</think>\n"}}]}`,
		`{"choices":[{"delta":{"content":"\nHello <"}}]}`,
		`{"choices":[{"delta":{"content":"b>"}}]}`,
		`{"choices":[{"delta":{},"finish_reason":"stop"}]}`,
	}
	p := newPeer(t)
	m := testModel(t, p.URL+"/v1")
	for official, want := range map[bool]string{false: "Hello <b>", true: "<think>\nHm.</think>\n\nHello <b>"} {
		p.says(append(frames, "[DONE]")...)
		m.official = official
		var shown strings.Builder
		reply, err := m.Generate(t.Context(), hello(), func(delta string) { shown.WriteString(delta) })
		if err != nil || reply.Text != want || shown.String() != want {
			t.Errorf("official %v: %v, %q, shown %q", official, err, reply.Text, shown.String())
		}
	}
	p.says(`{"choices":[{"delta":{"content":"<thi"},"finish_reason":"stop"}]}`, "[DONE]")
	m.official = false
	if reply, err := m.Generate(t.Context(), hello(), nil); err != nil || reply.Text != "<thi" {
		t.Errorf("%v: %q", err, reply.Text)
	}
}

// TestAThoughtThatNeverEndsIsCutOff, where a text of its length would be.
func TestAThoughtThatNeverEndsIsCutOff(t *testing.T) {
	sent := make(chan int, 1)
	p := newPeer(t)
	p.answer(func(w http.ResponseWriter, r *http.Request) {
		s, n := newSSE(w), 0
		defer func() { sent <- n }()
		s.frame(`{"choices":[{"delta":{"content":"<think>"}}]}`)
		piece := `data: {"choices":[{"delta":{"content":"` + strings.Repeat("think ", 10_000) + `"}}]}` + "\n\n"
		for r.Context().Err() == nil {
			if _, err := io.WriteString(w, piece); err != nil {
				return
			}
			n += len(piece)
		}
	})
	_, err := testModel(t, p.URL+"/v1").Generate(t.Context(), hello(), nil)
	if ports.KindOf(err) != ports.KindProtocol {
		t.Errorf("%v", err)
	}
	if n := <-sent; n > 32<<20 { // the network holds some too
		t.Errorf("%d bytes were taken", n)
	}
}
