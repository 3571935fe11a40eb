package wire

import (
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"dragoman/ports"
)

const testKey = "sk-test-0123456789abcdef"

// words is a wire of the test's own: each event is a word, one called end is the
// end.
type words struct {
	Draft
	ended bool
}

func newWords(onText func(string)) *words {
	return &words{Draft: NewDraft("test/words", onText)}
}

func (w *words) Read(e Event) error {
	switch e.Name {
	case "end":
		w.ended = true
		return io.EOF
	case "error":
		return Failed(e.Data)
	}
	w.Say(string(e.Data))
	return nil
}

func (w *words) Reply() (ports.ModelReply, bool, error) {
	reply, err := w.Done(ports.StopEnd)
	return reply, w.ended, err
}

func noBody() ([]byte, error) { return []byte("{}"), nil }

func testClient(t testing.TB, base string, change ...func(*Options)) *Client {
	t.Helper()
	endpoint, err := ParseBase(base)
	if err != nil {
		t.Fatal(err)
	}
	o := Options{Op: "test words", Name: "test/words", Endpoint: endpoint, Key: testKey, Header: http.Header{"X-Key": {testKey}}, Mark: "end",
		Limits: Limits{ContextTokens: 1000, MaxOutputTokens: 100, Timeout: time.Minute, IdleTimeout: 20 * time.Second, MaxConcurrency: 8}}
	for _, c := range change {
		c(&o)
	}
	return NewClient(o, slog.New(slog.DiscardHandler))
}

func serve(t *testing.T, h http.HandlerFunc) string {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s.URL
}

// What stands behind the end is not waited for, and a text that follows it is
// not of the reply.
func TestNothingIsReadBehindTheEnd(t *testing.T) {
	release := make(chan struct{})
	defer close(release)
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, word+ending+word)
		w.(http.Flusher).Flush()
		select {
		case <-release:
		case <-r.Context().Done():
		}
	})
	reply, err := testClient(t, url).Generate(t.Context(), noBody, newWords(nil))
	if err != nil || reply.Text != "word" || reply.Stop != ports.StopEnd {
		t.Errorf("%+v, %v", reply, err)
	}
}

func TestABodyThatCannotBeMadeIsOurFault(t *testing.T) {
	_, err := testClient(t, "http://127.0.0.1:1").Generate(t.Context(), func() ([]byte, error) { return nil, io.ErrShortWrite }, newWords(nil))
	if !ports.IsKind(err, ports.KindInternal) {
		t.Errorf("%s: %v", ports.KindOf(err), err)
	}
}
