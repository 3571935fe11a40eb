package web

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"dragoman/ports"
	"dragoman/tests/channeltest"
)

func TestStream(t *testing.T) {
	r := newRig(t)
	b := r.guest()
	r.send(b.user, "n1", "before", ports.Choice{Question: "q", Field: "f", Value: "v", Label: "L"})
	s := b.tail("")
	if s.status != http.StatusOK || s.header.Get("Content-Type") != "text/event-stream" {
		t.Fatalf("%d %v", s.status, s.header)
	}
	e := s.next("item")
	var it item
	if err := json.Unmarshal([]byte(e.data), &it); err != nil {
		t.Fatal(err)
	}
	if e.id != "1" || it.Seq != 1 || it.Kind != "bot" || it.ID != b.user+"/1" || it.Text != "before" || it.At.IsZero() || len(it.Choices) != 1 || it.Choices[0].Label != "L" {
		t.Errorf("id %s, %s", e.id, e.data)
	}
	s.next("ready")
	b.say("1", "hello")
	if it := s.item(); it.Kind != "user" || it.Text != "hello" || it.ID != "m-"+b.user+"-1" {
		t.Errorf("%+v", it)
	}
	in := ports.Conversation{Chat: b.user}
	if err := r.Typing(t.Context(), in); err != nil {
		t.Fatal(err)
	}
	s.next("typing")
	if err := r.Draft(t.Context(), in, "so *far*\n```\nx"); err != nil {
		t.Fatal(err)
	}
	if d := s.next("draft").data; !strings.Contains(d, `em\u003e`) || !strings.Contains(d, `/pre\u003e`) {
		t.Errorf("the draft is %s", d)
	}
	id := r.send(b.user, "n2", "after")
	if it := s.item(); it.ID != string(id) {
		t.Errorf("%+v", it)
	}
	if err := r.Edit(t.Context(), id, out(b.user, "n3", "changed")); err != nil {
		t.Fatal(err)
	}
	if it := s.item(); it.Kind != "edit" || it.ID != string(id) || it.Text != "changed" {
		t.Errorf("%+v", it)
	}
}

func TestStreamIsOfOnesOwnChat(t *testing.T) {
	r := newRig(t)
	b, other := r.guest(), r.guest()
	s := b.tail("")
	s.next("ready")
	r.send(other.user, "n", "for another")
	if err := r.Typing(t.Context(), ports.Conversation{Chat: other.user}); err != nil {
		t.Fatal(err)
	}
	r.send(b.user, "n", "for me")
	if it := s.item(); it.Text != "for me" {
		t.Errorf("%+v", it)
	}
}

func TestStreamResumes(t *testing.T) {
	r := newRig(t)
	b := r.guest()
	for i := range 450 {
		r.send(b.user, fmt.Sprint(i), fmt.Sprint("text ", i+1))
	}
	expect := func(s *tail, from, to int64) {
		t.Helper()
		for seq := from; seq <= to; seq++ {
			if it := s.item(); it.Seq != seq {
				t.Fatalf("got item %d, want %d", it.Seq, seq)
			}
		}
		s.next("ready")
		s.close()
	}
	expect(b.tail(""), 251, 450)
	expect(b.tail("?after=0"), 251, 450)
	expect(b.tail("?after=448"), 449, 450)
	expect(b.tail("?after=1", "Last-Event-ID", "449"), 450, 450)
	expect(b.tail("", "Last-Event-ID", "5"), 6, 450)
	expect(b.tail("?after=450"), 451, 450)
	if resp, body := b.get("/api/stream?after=451"); resp.StatusCode != http.StatusGone || !strings.Contains(body, "load the page again") {
		t.Errorf("a page that has seen more than there is: %d %s", resp.StatusCode, body)
	}
	for _, bad := range []string{"-1", "x", "1e3"} {
		if resp, _ := b.get("/api/stream?after=" + bad); resp.StatusCode != http.StatusBadRequest {
			t.Errorf("after=%s is %d", bad, resp.StatusCode)
		}
	}
}

func TestStreamsAreBounded(t *testing.T) {
	r := newRig(t)
	b := r.guest()
	first := b.tail("")
	first.next("ready")
	for range maxStreams - 1 {
		b.tail("").next("ready")
	}
	if resp, body := b.get("/api/stream"); resp.StatusCode != http.StatusTooManyRequests || !strings.Contains(body, "too many windows") {
		t.Fatalf("%d %s", resp.StatusCode, body)
	}
	r.guest().tail("").next("ready")
	first.close()
	until(t, "a closed stream makes room", func() bool {
		s := b.tail("")
		return s.status == http.StatusOK
	})
}

func TestStreamsEndWithRun(t *testing.T) {
	r := newRig(t)
	var all []*tail
	for range 5 {
		s := r.guest().tail("")
		s.next("ready")
		all = append(all, s)
	}
	began := time.Now()
	r.stop()
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("the drain took %v", took)
	}
	for _, s := range all {
		select {
		case _, more := <-s.events:
			if more {
				t.Error("an ending stream says something")
			}
		case <-time.After(10 * time.Second):
			t.Fatal("a stream outlives Run")
		}
	}
	r.run(r.inbox)
	r.guest().tail("").next("ready")
}

// stuckCore does not answer until it is told to leave.
type stuckCore struct{ entered chan struct{} }

func (s stuckCore) Receive(ctx context.Context, _ ports.Batch) error {
	close(s.entered)
	<-ctx.Done()
	return ctx.Err()
}
func (s stuckCore) Cursor(context.Context) (string, error) { return "", nil }

func TestRunWaitsForNobodyWhoIsStuck(t *testing.T) {
	r := newIdleRig(t)
	core := stuckCore{entered: make(chan struct{})}
	r.run(core)
	b := r.guest()
	status := make(chan int, 1)
	go func() {
		resp, _ := b.say("1", "x")
		status <- resp.StatusCode
	}()
	<-core.entered
	r.stop()
	if got := <-status; got != http.StatusServiceUnavailable {
		t.Errorf("the message that was not stored is answered with %d", got)
	}
}

// inBubble runs a stream without a network, in bubble time.
func inBubble(t *testing.T, w http.ResponseWriter, check func(c *Channel, mem *memory, user string, left <-chan struct{})) {
	synctest.Test(t, func(t *testing.T) {
		mem := newMemory()
		c, err := New(Config{}, Deps{Feed: mem, Records: mem, Log: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		token, user, err := c.sessions.open(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		var all sync.WaitGroup
		all.Go(func() { _ = c.Run(ctx, &channeltest.Inbox{}) })
		synctest.Wait()
		left := make(chan struct{})
		all.Go(func() {
			defer close(left)
			r := httptest.NewRequestWithContext(ctx, http.MethodGet, "/api/stream", nil)
			r.AddCookie(&http.Cookie{Name: cookieName, Value: token})
			c.Handler().ServeHTTP(w, r)
		})
		synctest.Wait()
		check(c, mem, user, left)
		cancel()
		all.Wait()
	})
}

func TestStreamSeesOtherNodes(t *testing.T) {
	w := &paper{header: http.Header{}}
	inBubble(t, w, func(_ *Channel, mem *memory, user string, _ <-chan struct{}) {
		if _, err := mem.Append(t.Context(), user, "n", json.RawMessage(`{"kind":"bot","text":"from afar"}`)); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if strings.Contains(w.String(), "from afar") {
			t.Fatal("nobody told the stream, and it read")
		}
		time.Sleep(4 * time.Second)
		synctest.Wait()
		if strings.Count(w.String(), "from afar") != 1 {
			t.Errorf("the stream wrote %q", w)
		}
	})
}

func TestStreamHasAHeartbeat(t *testing.T) {
	w := &paper{header: http.Header{}}
	inBubble(t, w, func(*Channel, *memory, string, <-chan struct{}) {
		time.Sleep(time.Minute + time.Second)
		synctest.Wait()
		if n := strings.Count(w.String(), ": still here\n\n"); n != 4 {
			t.Errorf("%d heartbeats in a minute", n)
		}
	})
}

func TestStreamSkipsWhatItCannotRead(t *testing.T) {
	w := &paper{header: http.Header{}}
	inBubble(t, w, func(c *Channel, mem *memory, user string, _ <-chan struct{}) {
		if _, err := mem.Append(t.Context(), user, "n", json.RawMessage(`[]`)); err != nil {
			t.Fatal(err)
		}
		if _, err := c.Send(t.Context(), out(user, "m", "still fine")); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		if !strings.Contains(w.String(), "still fine") {
			t.Errorf("the stream wrote %q", w)
		}
	})
}

func TestSlowReaderIsDropped(t *testing.T) {
	w := &paper{header: http.Header{}}
	inBubble(t, w, func(c *Channel, _ *memory, user string, left <-chan struct{}) {
		w.stall()
		for i := range 1000 { // a reader that takes nothing costs nothing
			if err := c.Draft(t.Context(), ports.Conversation{Chat: user}, fmt.Sprint("draft ", i)); err != nil {
				t.Fatal(err)
			}
		}
		time.Sleep(writeTimeout + time.Second)
		synctest.Wait()
		select {
		case <-left:
		default:
			t.Error("a reader that reads nothing is still served")
		}
		if len(c.hub.chats) > 0 {
			t.Error("a stream that ended is still told of news")
		}
	})
}

// paper is a ResponseWriter in memory whose reader may stall, with the deadline
// that a connection has.
type paper struct {
	mu       sync.Mutex
	header   http.Header
	b        bytes.Buffer
	stalled  bool
	deadline time.Time
}

func (p *paper) Header() http.Header { return p.header }
func (p *paper) WriteHeader(int)     {}
func (p *paper) Flush()              {}

func (p *paper) SetWriteDeadline(at time.Time) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.deadline = at
	return nil
}

func (p *paper) Write(b []byte) (int, error) {
	p.mu.Lock()
	stalled, deadline := p.stalled, p.deadline
	p.mu.Unlock()
	if stalled {
		<-time.After(time.Until(deadline)) // what a peer that reads nothing does to a write
		return 0, os.ErrDeadlineExceeded
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.b.Write(b)
}

func (p *paper) stall() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stalled = true
}

func (p *paper) String() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.b.String()
}
