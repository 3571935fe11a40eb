package openai

import (
	"errors"
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

func TestAThoughtThatNeverEndsIsCutOff(t *testing.T) {
	p := newPeer(t)
	p.answer(func(w http.ResponseWriter, r *http.Request) {
		s := newSSE(w)
		s.frame(`{"choices":[{"delta":{"content":"<think>"}}]}`)
		piece := `{"choices":[{"delta":{"content":"` + strings.Repeat("think ", 10_000) + `"}}]}`
		for r.Context().Err() == nil {
			if _, err := io.WriteString(w, "data: "+piece+"\n\n"); err != nil {
				return
			}
		}
	})
	_, err := testModel(t, p.URL+"/v1").Generate(t.Context(), hello(), nil)
	if ports.KindOf(err) != ports.KindProtocol || errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("%v", err)
	}
}
