package web

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"dragoman/ports"
	"dragoman/tests/channeltest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// rig is a channel that runs, with its store, its core's inbox and a server.
type rig struct {
	*Channel
	t      *testing.T
	mem    *memory
	inbox  *channeltest.Inbox
	log    *lockedBuffer
	server *httptest.Server
	stop   func() // ends Run and waits for it
}

func newRig(t *testing.T) *rig {
	t.Helper()
	r := newIdleRig(t)
	r.run(r.inbox)
	return r
}

// newIdleRig is a rig whose channel does not run.
func newIdleRig(t *testing.T) *rig {
	t.Helper()
	r := &rig{t: t, mem: newMemory(), inbox: &channeltest.Inbox{}, log: &lockedBuffer{}, stop: func() {}}
	c, err := New(Config{}, Deps{Feed: r.mem, Records: r.mem, Log: slog.New(slog.NewTextHandler(r.log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	r.Channel = c
	r.server = httptest.NewServer(c.Handler())
	t.Cleanup(r.server.Close)
	return r
}

func (r *rig) run(in ports.Receiver) {
	ctx, cancel := context.WithCancel(r.t.Context())
	done := make(chan error, 1)
	go func() { done <- r.Run(ctx, in) }()
	r.stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			r.t.Errorf("Run returned %v", err)
		}
	})
	r.t.Cleanup(r.stop)
	until(r.t, "Run has begun", func() bool { return r.shift.Load() != nil })
}

// browser is a client with cookies of its own, which goes where it is sent only
// if asked.
func (r *rig) browser() *browser {
	r.t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		r.t.Fatal(err)
	}
	client := &http.Client{
		Transport:     r.server.Client().Transport,
		Jar:           jar,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return &browser{rig: r, client: client}
}

// guest is a browser with a session.
func (r *rig) guest() *browser {
	r.t.Helper()
	b := r.browser()
	token, user, err := r.sessions.open(r.t.Context())
	if err != nil {
		r.t.Fatal(err)
	}
	at, err := url.Parse(r.server.URL)
	if err != nil {
		r.t.Fatal(err)
	}
	b.client.Jar.SetCookies(at, []*http.Cookie{{Name: cookieName, Value: token, Path: "/"}})
	b.user, b.token = user, token
	return b
}

func (r *rig) send(chat, nonce, text string, choices ...ports.Choice) ports.MessageID {
	r.t.Helper()
	id, err := r.Send(r.t.Context(), out(chat, nonce, text, choices...))
	if err != nil {
		r.t.Fatal(err)
	}
	return id
}

func out(chat, nonce, text string, choices ...ports.Choice) ports.Outgoing {
	return ports.Outgoing{In: ports.Conversation{Chat: chat}, Content: ports.Content{Text: text, Choices: choices}, Nonce: nonce}
}

// feed is what the chat's feed has, in short: "kind text".
func (r *rig) feed(chat string) []string {
	r.t.Helper()
	stored, err := r.mem.Tail(r.t.Context(), chat, 0, 10_000)
	if err != nil {
		r.t.Fatal(err)
	}
	var lines []string
	for _, f := range stored {
		it, err := newItem(chat, f)
		if err != nil {
			r.t.Fatal(err)
		}
		lines = append(lines, it.Kind+" "+it.Text)
	}
	return lines
}

type browser struct {
	*rig
	client      *http.Client
	user, token string
}

// do makes a request as the page's own script or form does, and reads the answer.
func (b *browser) do(method, path, kind, body string, headers ...string) (*http.Response, string) {
	b.t.Helper()
	req, err := http.NewRequestWithContext(b.t.Context(), method, b.server.URL+path, strings.NewReader(body))
	if err != nil {
		b.t.Fatal(err)
	}
	if kind != "" {
		req.Header.Set("Content-Type", kind)
	}
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	resp, err := b.client.Do(req)
	if err != nil {
		b.t.Fatal(err)
	}
	defer resp.Body.Close()
	all, err := io.ReadAll(resp.Body)
	if err != nil {
		b.t.Fatal(err)
	}
	return resp, string(all)
}

func (b *browser) get(path string, headers ...string) (*http.Response, string) {
	b.t.Helper()
	return b.do(http.MethodGet, path, "", "", headers...)
}

func (b *browser) form(path string, values url.Values, headers ...string) (*http.Response, string) {
	b.t.Helper()
	return b.do(http.MethodPost, path, "application/x-www-form-urlencoded", values.Encode(), headers...)
}

func (b *browser) say(id, text string, headers ...string) (*http.Response, string) {
	b.t.Helper()
	return b.do(http.MethodPost, "/api/messages", "application/json", encode(map[string]string{"id": id, "text": text}), headers...)
}

// tail opens the stream; the events come until the test or the stream ends.
func (b *browser) tail(query string, headers ...string) *tail {
	b.t.Helper()
	ctx, cancel := context.WithCancel(b.t.Context())
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, b.server.URL+"/api/stream"+query, nil)
	if err != nil {
		b.t.Fatal(err)
	}
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	resp, err := b.client.Do(req)
	if err != nil {
		b.t.Fatal(err)
	}
	s := &tail{t: b.t, status: resp.StatusCode, header: resp.Header, events: make(chan event, 1000)}
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer close(s.events)
		readEvents(resp.Body, s.events)
	}()
	s.close = sync.OnceFunc(func() {
		cancel()
		<-done
		resp.Body.Close()
	})
	b.t.Cleanup(s.close)
	return s
}

type event struct{ id, name, data string }

type tail struct {
	t      *testing.T
	status int
	header http.Header
	events chan event
	close  func()
}

// next waits for an event of this name; others before it fail the test.
func (s *tail) next(name string) event {
	s.t.Helper()
	select {
	case e, ok := <-s.events:
		if !ok {
			s.t.Fatalf("the stream ended before %q", name)
		}
		if e.name != name {
			s.t.Fatalf("got %+v, want %q", e, name)
		}
		return e
	case <-time.After(10 * time.Second):
		s.t.Fatalf("no %q came", name)
	}
	return event{}
}

func (s *tail) item() item {
	s.t.Helper()
	var it item
	if err := json.Unmarshal([]byte(s.next("item").data), &it); err != nil {
		s.t.Fatal(err)
	}
	return it
}

func readEvents(body io.Reader, into chan<- event) {
	var e event
	lines := bufio.NewScanner(body)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		key, value, _ := strings.Cut(lines.Text(), ": ")
		switch key {
		case "id":
			e.id = value
		case "event":
			e.name = value
		case "data":
			e.data = value
		case "":
			if value == "" && e.name != "" {
				into <- e
			}
			e = event{}
		}
	}
}

func encode(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(b)
}

func until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); !ok(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("never: %s", what)
		}
	}
}

type lockedBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}
