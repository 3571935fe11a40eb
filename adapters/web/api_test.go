package web

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"dragoman/ports"
	"dragoman/tests/channeltest"
)

func TestMessagesCountOnce(t *testing.T) {
	r := newRig(t)
	b := r.guest()
	for range 3 {
		if resp, body := b.say("id-1", " Hello\n<b> "); resp.StatusCode != http.StatusAccepted {
			t.Fatalf("%d %s", resp.StatusCode, body)
		}
	}
	if resp, _ := b.say("id-2", "again"); resp.StatusCode != http.StatusAccepted {
		t.Fatal(resp.StatusCode)
	}
	got := r.inbox.Messages()
	if len(got) != 2 || got[0].Event != "m-"+b.user+"-id-1" || got[0].Text != " Hello\n<b> " || got[0].From != b.user || got[0].In.Chat != b.user || !got[0].Private {
		t.Errorf("the core got %+v", got)
	}
	if feed := r.feed(b.user); !slices.Equal(feed, []string{"user  Hello\n<b> ", "user again"}) {
		t.Errorf("the feed has %q", feed)
	}
}

func TestTwoPeopleMayUseOneID(t *testing.T) {
	r := newRig(t)
	r.guest().say("1", "a")
	r.guest().say("1", "b")
	if got := r.inbox.Messages(); len(got) != 2 || got[0].In == got[1].In {
		t.Errorf("the core got %+v", got)
	}
}

func TestMessagesAreChecked(t *testing.T) {
	r := newRig(t)
	b := r.guest()
	const asJSON = "application/json"
	for name, c := range map[string]struct {
		kind, body string
		status     int
		words      string
	}{
		"empty":        {asJSON, `{"id":"a","text":" \n\t"}`, 400, "empty"},
		"no id":        {asJSON, `{"text":"x"}`, 400, "id"},
		"a strange id": {asJSON, `{"id":"a b","text":"x"}`, 400, "id"},
		"a long id":    {asJSON, `{"id":"` + strings.Repeat("a", 65) + `","text":"x"}`, 400, "id"},
		"too long":     {asJSON, encode(map[string]string{"id": "a", "text": strings.Repeat("x", 64<<10+1)}), 413, "64 KiB"},
		"far too long": {asJSON, `{"id":"a","text":"` + strings.Repeat("x", 1<<20) + `"}`, 413, "64 KiB"},
		"no json":      {asJSON, `hello`, 400, "JSON"},
		"a form":       {"application/x-www-form-urlencoded", `{"id":"a","text":"x"}`, 415, "JSON"},
		"plain text":   {"text/plain", `{"id":"a","text":"x"}`, 415, "JSON"},
		"the longest":  {asJSON + "; charset=utf-8", encode(map[string]string{"id": "long", "text": strings.Repeat("\x01", 64<<10)}), 202, "long"},
	} {
		t.Run(name, func(t *testing.T) {
			resp, body := b.do(http.MethodPost, "/api/messages", c.kind, c.body)
			if resp.StatusCode != c.status || !strings.Contains(body, c.words) {
				t.Errorf("%d %s", resp.StatusCode, body)
			}
		})
	}
	if got := r.inbox.Messages(); len(got) != 1 || got[0].Event != "m-"+b.user+"-long" {
		t.Errorf("the core got %d messages", len(got))
	}
}

func TestForeignRequestsAreRefused(t *testing.T) {
	r := newRig(t)
	b := r.guest()
	for i, c := range []struct {
		headers []string
		status  int
	}{
		{[]string{"Sec-Fetch-Site", "cross-site"}, 403},
		{[]string{"Sec-Fetch-Site", "same-site"}, 403},
		{[]string{"Origin", "https://evil.example"}, 403},
		{[]string{"Origin", "null"}, 403},
		{[]string{"Sec-Fetch-Site", "same-origin"}, 202},
		{[]string{"Origin", r.server.URL}, 202},
	} {
		if resp, body := b.say(fmt.Sprint(i), "x", c.headers...); resp.StatusCode != c.status {
			t.Errorf("%v: %d %s", c.headers, resp.StatusCode, body)
		}
		if c.status != 403 {
			continue
		}
		for _, path := range []string{"/api/press", "/login", "/login/guest"} {
			if resp, _ := b.form(path, nil, c.headers...); resp.StatusCode != 403 {
				t.Errorf("%s %v: %d", path, c.headers, resp.StatusCode)
			}
		}
	}
}

func TestRefusedMessageIsTakenLater(t *testing.T) {
	r := newRig(t)
	b := r.guest()
	r.inbox.Refuse(1)
	if resp, body := b.say("1", "x"); resp.StatusCode != http.StatusServiceUnavailable || !strings.Contains(body, "tried again") {
		t.Fatalf("%d %s", resp.StatusCode, body)
	}
	if feed := r.feed(b.user); len(feed) > 0 {
		t.Errorf("the feed shows %q, which nobody accepted", feed)
	}
	if resp, _ := b.say("1", "x"); resp.StatusCode != http.StatusAccepted {
		t.Fatal(resp.StatusCode)
	}
	if feed := r.feed(b.user); len(feed) != 1 || len(r.inbox.Messages()) != 1 {
		t.Errorf("the feed has %q, the core %d", feed, len(r.inbox.Messages()))
	}
}

func TestOutsideOfRun(t *testing.T) {
	r := newIdleRig(t)
	b := r.guest()
	check := func() {
		t.Helper()
		if resp, body := b.say("1", "x"); resp.StatusCode != 503 || !strings.Contains(body, "error") {
			t.Errorf("a message: %d %s", resp.StatusCode, body)
		}
		if resp, body := b.get("/api/stream"); resp.StatusCode != 503 || !strings.Contains(body, "not ready") {
			t.Errorf("the stream: %d %s", resp.StatusCode, body)
		}
		if resp, body := r.browser().form("/login/guest", nil); resp.StatusCode != 503 || !strings.Contains(body, "not ready") {
			t.Errorf("a guest: %d %s", resp.StatusCode, body)
		}
	}
	check()
	r.run(r.inbox)
	if resp, _ := b.say("1", "x"); resp.StatusCode != http.StatusAccepted {
		t.Errorf("in Run: %d", resp.StatusCode)
	}
	r.stop()
	check()
}

func TestPress(t *testing.T) {
	r := newRig(t)
	b, other := r.guest(), r.guest()
	id := r.send(b.user, "n", "May I?", ports.Choice{Question: "q1", Field: "ok", Value: "yes", Label: "Yes"})
	press := func(b *browser, fields ...string) int {
		body := map[string]string{"message": string(id), "question": "q1", "field": "ok", "value": "yes"}
		for i := 0; i < len(fields); i += 2 {
			body[fields[i]] = fields[i+1]
		}
		resp, _ := b.do(http.MethodPost, "/api/press", "application/json", encode(body))
		return resp.StatusCode
	}
	for name, got := range map[string]int{
		"another's message": press(other),
		"no message":        press(b, "message", "nothing"),
		"no question":       press(b, "question", ""),
		"too large":         press(b, "value", strings.Repeat("x", 60)),
		"a strange id":      press(b, "id", "a/b"),
	} {
		if got != http.StatusBadRequest {
			t.Errorf("%s: %d", name, got)
		}
	}
	for range 2 {
		if got := press(b, "id", "p1"); got != http.StatusAccepted {
			t.Fatal(got)
		}
	}
	got := r.inbox.Messages()
	if len(got) != 1 || got[0].ID != id || *got[0].Choice != (ports.Choice{Question: "q1", Field: "ok", Value: "yes"}) || got[0].Text != "" {
		t.Fatalf("the core got %+v", got)
	}
	if press(b, "id", "p2"); len(r.inbox.Messages()) != 2 {
		t.Error("a second press is no event of its own")
	}
	if feed := r.feed(b.user); !slices.Equal(feed, []string{"bot May I?", "press ", "press "}) {
		t.Errorf("the feed has %q", feed)
	}
}

// hasty is a core that answers before Receive has returned.
type hasty struct {
	ports.Receiver
	answer  func(chat string)
	answers sync.WaitGroup
}

func (h *hasty) Receive(ctx context.Context, b ports.Batch) error {
	err := h.Receiver.Receive(ctx, b)
	began := make(chan struct{})
	h.answers.Go(func() {
		close(began)
		h.answer(b.Messages[0].In.Chat)
	})
	<-began
	return err
}

func TestAnswerStandsBelowItsQuestion(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { // an answer waits for two seconds, and no machine holds up this clock
		mem := newMemory()
		c, err := New(Config{}, Deps{Feed: mem, Records: mem, Log: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		r := &rig{Channel: c, t: t, mem: mem}
		core := &hasty{Receiver: &channeltest.Inbox{}}
		core.answer = func(chat string) {
			if _, err := r.Send(t.Context(), out(chat, "", "answer")); err != nil {
				t.Error(err)
			}
		}
		ctx, cancel := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() { _ = r.Run(ctx, core) })
		synctest.Wait()
		for range 20 {
			token, user, err := r.sessions.open(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			req := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/api/messages", strings.NewReader(`{"id":"1","text":"question"}`))
			req.Header.Set("Content-Type", "application/json")
			req.AddCookie(&http.Cookie{Name: cookieName, Value: token})
			resp := httptest.NewRecorder()
			r.Handler().ServeHTTP(resp, req)
			core.answers.Wait()
			if feed := r.feed(user); resp.Code != http.StatusAccepted || !slices.Equal(feed, []string{"user question", "bot answer"}) {
				t.Fatalf("%d, the feed has %q", resp.Code, feed)
			}
		}
		if len(r.hub.chats) > 0 {
			t.Errorf("%d chats are remembered that nobody uses", len(r.hub.chats))
		}
		cancel()
		running.Wait()
	})
}

func TestTextsAndTokensAreNotLogged(t *testing.T) {
	r := newRig(t)
	b := r.guest()
	r.inbox.Refuse(-1)
	b.say("1", "my-doctor-said")
	b.get("/api/stream?after=x")
	if r.log.String() == "" {
		t.Fatal("a refused message is not logged at all")
	}
	for _, secret := range []string{"my-doctor-said", b.token} {
		if strings.Contains(r.log.String(), secret) {
			t.Errorf("the log has %q: %s", secret, r.log)
		}
	}
}

// doorkeeper is a core that knows who is let in.
type doorkeeper struct {
	ports.Receiver
	known atomic.Bool
	err   error
}

func (d *doorkeeper) Receive(ctx context.Context, b ports.Batch) error {
	err := d.Receiver.Receive(ctx, b)
	if err == nil && b.Messages[0].Text == "/start letmein" {
		d.known.Store(true)
	}
	return err
}

func (d *doorkeeper) Known(context.Context, ports.Message) (bool, error) {
	return d.known.Load(), d.err
}

func TestWhatStrangersWriteIsNotKept(t *testing.T) {
	r := newIdleRig(t)
	core := &doorkeeper{Receiver: r.inbox}
	r.run(core)
	b := r.guest()
	id := r.send(b.user, "n", "Who are you?", ports.Choice{Question: "q", Field: "f", Value: "v"})
	press := func() int {
		resp, _ := b.do(http.MethodPost, "/api/press", "application/json",
			encode(map[string]string{"message": string(id), "question": "q", "field": "f", "value": "v"}))
		return resp.StatusCode
	}
	if resp, body := b.say("1", "hello"); resp.StatusCode != http.StatusAccepted || press() != http.StatusAccepted {
		t.Fatalf("%d %s", resp.StatusCode, body)
	}
	if feed := r.feed(b.user); len(r.inbox.Messages()) != 2 || !slices.Equal(feed, []string{"bot Who are you?"}) {
		t.Errorf("the core got %d, the feed has %q", len(r.inbox.Messages()), feed)
	}
	// The message that lets its sender in is kept, and so is all after it.
	b.say("2", "/start letmein")
	b.say("3", "hello again")
	if feed := r.feed(b.user); press() != http.StatusAccepted || !slices.Equal(feed, []string{"bot Who are you?", "user /start letmein", "user hello again"}) {
		t.Errorf("the feed has %q", feed)
	}
	if feed := r.feed(b.user); len(feed) != 4 || feed[3] != "press " {
		t.Errorf("the feed has %q", feed)
	}
}

func TestInDoubtAMessageIsKept(t *testing.T) {
	r := newIdleRig(t)
	r.run(&doorkeeper{Receiver: r.inbox, err: ports.Errorf(ports.KindUnavailable, "test", "no store")})
	b := r.guest()
	if resp, body := b.say("1", "hello"); resp.StatusCode != http.StatusAccepted {
		t.Fatalf("%d %s", resp.StatusCode, body)
	}
	if feed := r.feed(b.user); !slices.Equal(feed, []string{"user hello"}) {
		t.Errorf("the feed has %q", feed)
	}
	if !strings.Contains(r.log.String(), "web_sender_not_looked_up") {
		t.Errorf("the log has %q", r.log)
	}
}
