package openai

import (
	"net/http"
	"testing"
)

const oneWord = `{"choices":[{"index":0,"delta":{"content":"x"},"finish_reason":"stop"}]}`

func TestHeaders(t *testing.T) {
	p := newPeer(t)
	got := make(chan *http.Request, 1)
	p.answer(func(w http.ResponseWriter, r *http.Request) {
		got <- r.Clone(r.Context())
		newSSE(w).frame(oneWord)
	})
	if _, err := testModel(t, p.URL+"/v1/?version=2").Generate(t.Context(), hello(), nil); err != nil {
		t.Fatal(err)
	}
	r := <-got
	for name, want := range map[string]string{"Authorization": "Bearer " + testKey, "Content-Type": "application/json", "Accept": "text/event-stream", "User-Agent": "dragoman"} {
		if v := r.Header.Get(name); v != want {
			t.Errorf("%s is %q", name, v)
		}
	}
	if r.RequestURI != "/v1/chat/completions?version=2" || r.ContentLength <= 0 {
		t.Errorf("%s, %d bytes", r.RequestURI, r.ContentLength)
	}
}
