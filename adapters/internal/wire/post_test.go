package wire

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"dragoman/ports"
)

// answers is a whole reply.
func answers(w http.ResponseWriter) {
	w.Header().Set("Content-Type", "text/event-stream")
	_, _ = io.WriteString(w, word+ending)
}

// The key and the prompt go to the origin of base_url alone.
func TestRedirectsElsewhereAreNotFollowed(t *testing.T) {
	for _, status := range []int{301, 302, 303, 307, 308} {
		var asked atomic.Bool
		other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			asked.Store(true)
			answers(w)
		}))
		url := serve(t, func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, other.URL+"/v1/ask?session=hush&key="+testKey, status)
		})
		_, err := testClient(t, url).Generate(t.Context(), noBody, newWords(nil))
		other.Close()
		if !ports.IsKind(err, ports.KindProtocol) || asked.Load() {
			t.Errorf("%d: %v, asked %t", status, err, asked.Load())
			continue
		}
		if !strings.Contains(err.Error(), other.URL+"/v1") || strings.Contains(err.Error(), testKey) || strings.Contains(err.Error(), "hush") {
			t.Errorf("%d says %v", status, err)
		}
	}
}

func TestRedirectsAtHome(t *testing.T) {
	for name, c := range map[string]struct {
		status, most int
		fine         bool
	}{
		"the request stays as it is": {307, 2, true},
		"for good":                   {308, 1, true},
		"it would become a GET":      {302, 1, false},
		"round and round":            {307, 100, false},
	} {
		t.Run(name, func(t *testing.T) {
			var asked atomic.Int32
			url := serve(t, func(w http.ResponseWriter, r *http.Request) {
				if int(asked.Add(1)) <= c.most {
					http.Redirect(w, r, "/v1/ask", c.status)
					return
				}
				if r.Header.Get("X-Key") != testKey {
					t.Errorf("the key is %q", r.Header.Get("X-Key"))
				}
				answers(w)
			})
			reply, err := testClient(t, url).Generate(t.Context(), noBody, newWords(nil))
			if c.fine && (err != nil || reply.Text != "word") || !c.fine && !ports.IsKind(err, ports.KindProtocol) {
				t.Errorf("%q, %v", reply.Text, err)
			}
			if asked.Load() > 10 {
				t.Errorf("it asked %d times", asked.Load())
			}
		})
	}
}

// No error of the network tells a key, wherever it stands.
func TestNoKeyInErrorsOfTheNetwork(t *testing.T) {
	gone := httptest.NewServer(nil)
	gone.Close()
	for name, c := range map[string]*Client{
		"in the query":         testClient(t, gone.URL+"/v1?key="+testKey),
		"in a broken header":   testClient(t, gone.URL, func(o *Options) { o.Key = testKey + "\nX: y"; o.Header.Set("X-Key", o.Key.Reveal()) }),
		"in its usual place":   testClient(t, gone.URL),
		"where no host can be": testClient(t, "http://127.0.0.1:1/v1?key="+testKey),
	} {
		if _, err := c.Generate(t.Context(), noBody, newWords(nil)); err == nil || strings.Contains(err.Error(), testKey) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A peer that is no HTTP server is quoted, with what it was sent in it.
func TestNoKeyInTheWordsOfABrokenPeer(t *testing.T) {
	for _, answer := range []string{"HTTP/1.1 %s\r\n\r\n", "220 %s\r\n", "HTTP/1.1 307 x\r\nLocation: http://[%s\r\nContent-Length: 0\r\n\r\n"} {
		url := serve(t, func(w http.ResponseWriter, _ *http.Request) {
			conn, _, err := w.(http.Hijacker).Hijack()
			if err != nil {
				t.Error(err)
				return
			}
			defer func() { _ = conn.Close() }()
			_, _ = fmt.Fprintf(conn, answer, testKey)
		})
		_, err := testClient(t, url).Generate(t.Context(), noBody, newWords(nil))
		if err == nil || strings.Contains(err.Error(), testKey) || !strings.Contains(err.Error(), "[redacted]") {
			t.Errorf("%q: %v", answer, err)
		}
	}
}

// A connection serves the next request too.
func TestConnectionsAreKept(t *testing.T) {
	var from sync.Map
	url := serve(t, func(w http.ResponseWriter, r *http.Request) {
		from.Store(r.RemoteAddr, true)
		answers(w)
	})
	c := testClient(t, url)
	const asked = 20
	for range asked {
		if _, err := c.Generate(t.Context(), noBody, newWords(nil)); err != nil {
			t.Fatal(err)
		}
	}
	made := 0
	for range from.Range {
		made++
	}
	if made > asked/2 {
		t.Errorf("%d connections for %d requests", made, asked)
	}
}

// Words of a provider are shown without the key, wherever they stand.
func TestNoKeyInTheWordsOfAProvider(t *testing.T) {
	for name, answer := range map[string]http.HandlerFunc{
		"a status": func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusUnauthorized)
			fmt.Fprintf(w, `{"error":{"message":"bad key %[1]s","type":"t-%[1]s","code":"c-%[1]s","param":"p-%[1]s"}}`, testKey)
		},
		"a frame": func(w http.ResponseWriter, _ *http.Request) {
			fmt.Fprintf(w, "event: error\ndata: {\"error\":{\"message\":\"bad key %s\",\"type\":\"authentication_error\"}}\n\n", testKey)
		},
		"no stream": func(w http.ResponseWriter, _ *http.Request) {
			fmt.Fprintf(w, `{"error":{"message":"bad key %s","type":"authentication_error"}}`, testKey)
		},
		"a content type": func(w http.ResponseWriter, _ *http.Request) { w.Header().Set("Content-Type", "text/"+testKey) },
	} {
		_, err := testClient(t, serve(t, answer)).Generate(t.Context(), noBody, newWords(nil))
		if err == nil || strings.Contains(fmt.Sprintf("%v %#v", err, err), testKey) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// What breaks the wire is quoted in the error, whatever it says.
func TestNoKeyInTheWordsOfABrokenStream(t *testing.T) {
	c := testClient(t, "http://model.test")
	for name, err := range map[string]error{
		"a protocol error": Broken("no end: "+testKey, io.ErrUnexpectedEOF),
		"a filter's":       Declined("because of " + testKey),
		"the encoder's":    fmt.Errorf("%w: %s", errEncode, testKey),
	} {
		if got := c.wrap(t.Context(), err); strings.Contains(got.Error(), testKey) || ports.KindOf(got) == ports.KindTemporary {
			t.Errorf("%s: %v", name, got)
		}
	}
}
