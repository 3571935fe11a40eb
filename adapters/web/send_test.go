package web

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"dragoman/ports"
)

func TestNonceShowsOnce(t *testing.T) {
	r := newRig(t)
	b := r.guest()
	var ids sync.Map
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			id, err := r.Send(t.Context(), out(b.user, "n1", "once"))
			if err != nil {
				t.Error(err)
			}
			ids.Store(id, true)
		})
	}
	all.Wait()
	n := 0
	ids.Range(func(any, any) bool { n++; return true })
	if feed := r.feed(b.user); n != 1 || !slices.Equal(feed, []string{"bot once"}) {
		t.Errorf("%d ids, the feed has %q", n, feed)
	}
	r.send(b.user, "", "no nonce")
	r.send(b.user, "", "no nonce")
	if feed := r.feed(b.user); len(feed) != 3 {
		t.Errorf("the feed has %q", feed)
	}
}

func TestUnsureAppendIsTriedAgain(t *testing.T) {
	r := newRig(t)
	b := r.guest()
	var done atomic.Bool
	r.mem.fail(func(_ context.Context, op string, act func()) error {
		act()
		if op == "append sent" && !done.Swap(true) {
			return ports.Errorf(ports.KindUnsure, "memory append", "the commit's answer is lost")
		}
		return nil
	})
	if _, err := r.Send(t.Context(), out(b.user, "n", "x")); !ports.IsKind(err, ports.KindTemporary) {
		t.Fatalf("the error is %v", err)
	}
	r.send(b.user, "n", "x")
	if feed := r.feed(b.user); len(feed) != 1 {
		t.Errorf("the feed has %q", feed)
	}
}

func TestEdit(t *testing.T) {
	r := newRig(t)
	b := r.guest()
	b.say("1", "x")
	id := r.send(b.user, "n", "first")
	for range 2 {
		if err := r.Edit(t.Context(), id, out(b.user, "e", "second")); err != nil {
			t.Fatal(err)
		}
	}
	if err := r.Edit(t.Context(), id, out(b.user, "e", "third")); err != nil {
		t.Fatal(err)
	}
	if feed := r.feed(b.user); !slices.Equal(feed, []string{"user x", "bot first", "edit second", "edit third"}) {
		t.Errorf("the feed has %q", feed)
	}
	for _, id := range []ports.MessageID{"", "x", "/1", messageID(b.user, 1), messageID(b.user, 3), messageID(b.user, 99), messageID("other", 1), ports.MessageID(b.user + "/02")} {
		if err := r.Edit(t.Context(), id, out(b.user, "g", "x")); !ports.IsKind(err, ports.KindNotFound) {
			t.Errorf("an edit of %q gives %v", id, err)
		}
	}
}

func TestSendRefusesWhatItCannotShow(t *testing.T) {
	r := newRig(t)
	m := out("u1", "n", "x")
	m.Content.Body = []byte(`[1]`)
	if _, err := r.Send(t.Context(), m); !ports.IsKind(err, ports.KindInvalid) {
		t.Errorf("a foreign body gives %v", err)
	}
	if _, err := r.Send(t.Context(), out("", "n", "x")); !ports.IsKind(err, ports.KindInvalid) {
		t.Errorf("no chat gives %v", err)
	}
}

func TestRenderIsSafe(t *testing.T) {
	r := newRig(t)
	b := r.guest()
	parts, err := r.Render(ports.Content{Text: "**b** <img src=x onerror=alert(1)>\n\n[a](javascript:alert(1))</script>"})
	if err != nil || len(parts) != 1 {
		t.Fatal(parts, err)
	}
	m := out(b.user, "n", "")
	m.Content = parts[0]
	if _, err := r.Send(t.Context(), m); err != nil {
		t.Fatal(err)
	}
	it := b.tail("").item()
	if it.Text != "" || !strings.Contains(it.HTML, "<strong>b</strong> &lt;img src=x onerror=alert(1)&gt;") || strings.Contains(it.HTML, "href") {
		t.Errorf("the page gets %q and %q", it.HTML, it.Text)
	}
}

func TestPagesEscapeWhatTheyShow(t *testing.T) {
	mem := newMemory()
	c, err := New(Config{Title: `<script>alert("x")</script>`}, Deps{Feed: mem, Records: mem, Log: newRig(t).Channel.log})
	if err != nil {
		t.Fatal(err)
	}
	r := newIdleRig(t)
	r.server.Config.Handler = c.Handler()
	for _, path := range []string{"/", "/login?code=abc"} {
		if _, page := r.browser().get(path); strings.Contains(page, "<script>") || !strings.Contains(page, "&lt;script&gt;") {
			t.Errorf("GET %s is %s", path, page)
		}
	}
}

func TestHeaders(t *testing.T) {
	r := newRig(t)
	b := r.guest()
	_, page := b.get("/")
	for _, path := range []string{"/", "/login", "/login?code=x", "/nothing", "/api/nothing"} {
		resp, _ := b.get(path)
		h := resp.Header
		for key, want := range map[string]string{"Content-Security-Policy": "default-src 'none'", "X-Content-Type-Options": "nosniff", "Cache-Control": "no-store", "Referrer-Policy": "same-origin"} {
			if !strings.Contains(h.Get(key), want) {
				t.Errorf("GET %s: %s is %q", path, key, h.Get(key))
			}
		}
	}
	if strings.Contains(page, "<style") || strings.Contains(page, " style=") || strings.Contains(page, " onclick") || strings.Count(page, "<script") != strings.Count(page, `<script type="module" src="/assets/`) {
		t.Error("the page has something inline, which its policy forbids")
	}
	for _, name := range []string{"app.js", "view.js", "stream.js", "outbox.js", "door.js", "app.css", "icon.svg"} {
		resp, body := b.get(r.pages.address(name))
		if resp.StatusCode != http.StatusOK || !strings.Contains(resp.Header.Get("Cache-Control"), "immutable") || body == "" {
			t.Errorf("%s: %d %v", name, resp.StatusCode, resp.Header)
		}
	}
	for _, path := range []string{"/assets/old/app.js", r.pages.address("page.html"), r.pages.address("nothing.js")} {
		if resp, _ := b.get(path); resp.StatusCode != http.StatusNotFound {
			t.Errorf("GET %s is %d", path, resp.StatusCode)
		}
	}
}

func TestAnswerEndsItsDraft(t *testing.T) {
	h := newHub()
	ear, leave, _ := h.listen("u")
	defer leave()
	text := func() string { return "so far" }
	h.draft("u", text)
	h.typing("u")
	h.appended("u", false)
	if draft, typing := h.take(ear); draft == nil || *draft != "so far" || !typing {
		t.Error("the person's own message ended a draft")
	}
	h.draft("u", text)
	h.typing("u")
	h.appended("u", true)
	if draft, typing := h.take(ear); draft != nil || typing {
		t.Error("a draft comes after the answer that it led to")
	}
	h.draft("nobody looks", func() string {
		t.Error("a draft was rendered for nobody")
		return ""
	})
}
