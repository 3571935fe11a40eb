package openai

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"dragoman/ports"
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

// The key and the prompt go to the origin of base_url alone.
func TestRedirectsElsewhereAreNotFollowed(t *testing.T) {
	for _, status := range []int{301, 302, 303, 307, 308} {
		var asked atomic.Bool
		other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			asked.Store(true)
			newSSE(w).frame(oneWord)
		}))
		p := newPeer(t)
		p.answer(func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, other.URL+"/v1/chat/completions?session=hush&key="+testKey, status)
		})
		_, err := testModel(t, p.URL+"/v1").Generate(t.Context(), hello(), nil)
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
			p := newPeer(t)
			var asked atomic.Int32
			p.answer(func(w http.ResponseWriter, r *http.Request) {
				if int(asked.Add(1)) <= c.most {
					http.Redirect(w, r, "/v1/chat/completions", c.status)
					return
				}
				if r.Header.Get("Authorization") != "Bearer "+testKey {
					t.Errorf("the key is %q", r.Header.Get("Authorization"))
				}
				newSSE(w).frame(oneWord)
			})
			reply, err := testModel(t, p.URL+"/v1").Generate(t.Context(), hello(), nil)
			if c.fine && (err != nil || reply.Text != "x") || !c.fine && !ports.IsKind(err, ports.KindProtocol) {
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
	for name, m := range map[string]*Model{
		"in the query":         testModel(t, gone.URL+"/v1?key="+testKey),
		"in a broken header":   testModel(t, gone.URL+"/v1", func(c *Config) { c.APIKey = testKey + "\nX: y" }),
		"in its usual place":   testModel(t, gone.URL+"/v1"),
		"where no host can be": testModel(t, "http://127.0.0.1:1/v1?key="+testKey),
	} {
		if _, err := m.Generate(t.Context(), hello(), nil); err == nil || strings.Contains(err.Error(), testKey) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A peer that is no HTTP server is quoted, with what it was sent in it.
func TestNoKeyInTheWordsOfABrokenPeer(t *testing.T) {
	for _, answer := range []string{"HTTP/1.1 %s\r\n\r\n", "220 %s\r\n", "HTTP/1.1 307 x\r\nLocation: http://[%s\r\nContent-Length: 0\r\n\r\n"} {
		p := newPeer(t)
		p.answer(func(w http.ResponseWriter, _ *http.Request) {
			conn, _, err := w.(http.Hijacker).Hijack()
			if err != nil {
				t.Error(err)
				return
			}
			defer func() { _ = conn.Close() }()
			_, _ = fmt.Fprintf(conn, answer, testKey)
		})
		_, err := testModel(t, p.URL+"/v1").Generate(t.Context(), hello(), nil)
		if err == nil || strings.Contains(err.Error(), testKey) || !strings.Contains(err.Error(), "[redacted]") {
			t.Errorf("%q: %v", answer, err)
		}
	}
}

// A connection serves the next request too.
func TestConnectionsAreKept(t *testing.T) {
	p := newPeer(t)
	var from sync.Map
	p.answer(func(w http.ResponseWriter, r *http.Request) {
		from.Store(r.RemoteAddr, true)
		s := newSSE(w)
		s.frame(oneWord)
		s.frame("[DONE]")
	})
	m := testModel(t, p.URL+"/v1")
	const asked = 20
	for range asked {
		if _, err := m.Generate(t.Context(), hello(), nil); err != nil {
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
