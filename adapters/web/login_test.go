package web

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"dragoman/ports"
)

func TestStrangersSeeTheDoor(t *testing.T) {
	r := newRig(t)
	b := r.browser()
	resp, page := b.get("/")
	if resp.StatusCode != http.StatusOK || !strings.Contains(page, "This chat is private") || !strings.Contains(page, `action="/login/guest"`) {
		t.Errorf("GET / is %d %s", resp.StatusCode, page)
	}
	if strings.Contains(page, "app.js") || len(resp.Cookies()) > 0 {
		t.Error("a stranger got the chat page or a cookie")
	}
	for _, c := range []struct{ method, path string }{{"POST", "/api/messages"}, {"POST", "/api/press"}, {"GET", "/api/stream"}} {
		if resp, body := b.do(c.method, c.path, "application/json", "{}"); resp.StatusCode != http.StatusUnauthorized {
			t.Errorf("%s %s is %d %s", c.method, c.path, resp.StatusCode, body)
		}
	}
	for _, cookie := range []string{"x", strings.Repeat("A", 43), ""} {
		if resp, _ := b.get("/api/stream", "Cookie", cookieName+"="+cookie); resp.StatusCode != http.StatusUnauthorized {
			t.Errorf("the cookie %q is let in with %d", cookie, resp.StatusCode)
		}
	}
}

func TestGuestGetsASession(t *testing.T) {
	r := newRig(t)
	b := r.browser()
	resp, _ := b.form("/login/guest", nil)
	if resp.StatusCode != http.StatusSeeOther || resp.Header.Get("Location") != "/" || len(resp.Cookies()) != 1 {
		t.Fatalf("%d %v", resp.StatusCode, resp.Header)
	}
	c := resp.Cookies()[0]
	if !c.HttpOnly || c.SameSite != http.SameSiteLaxMode || c.Secure || c.Path != "/" || c.MaxAge != 30*24*3600 {
		t.Errorf("the cookie is %+v", c)
	}
	if len(c.Value) != 43 {
		t.Errorf("the token has %d characters; 43 are 256 bits", len(c.Value))
	}
	all, err := r.mem.List(t.Context(), "web", "session")
	if err != nil || len(all) != 1 {
		t.Fatalf("%v %v", all, err)
	}
	if strings.Contains(encode(all), c.Value) {
		t.Error("the store knows the token itself")
	}
	if resp, page := b.get("/"); resp.StatusCode != http.StatusOK || !strings.Contains(page, "app.js") {
		t.Errorf("GET / with a session is %d %s", resp.StatusCode, page)
	}
	if resp, _ := b.form("/login/guest", nil); resp.StatusCode != http.StatusSeeOther || len(resp.Cookies()) > 0 {
		t.Error("a second press gave a second session")
	}
}

func TestCookieIsSecureOverTLS(t *testing.T) {
	r := newRig(t)
	resp, _ := r.browser().form("/login/guest", nil, "X-Forwarded-Proto", "https")
	if c := resp.Cookies(); len(c) != 1 || !c[0].Secure {
		t.Errorf("the cookies are %+v", c)
	}
}

func TestGuestsAreLimited(t *testing.T) {
	r := newRig(t)
	began, guests := time.Now(), 0
	resp, page := r.browser().form("/login/guest", nil)
	for ; resp.StatusCode == http.StatusSeeOther && guests < 100; guests++ {
		resp, page = r.browser().form("/login/guest", nil)
	}
	if most := 10 + int(time.Since(began)/(6*time.Second)); guests < 10 || guests > most {
		t.Errorf("%d guests were let in, want 10 to %d", guests, most)
	}
	if resp.StatusCode != http.StatusTooManyRequests || !strings.Contains(page, "Too many people") || len(resp.Cookies()) > 0 {
		t.Errorf("the next guest got %d %s", resp.StatusCode, page)
	}
	if resp, _ := r.browser().form("/login", url.Values{"code": {"ABC"}}); resp.StatusCode != http.StatusSeeOther {
		t.Errorf("guests keep an admin's login link out: %d", resp.StatusCode)
	}
}

func TestLoginLink(t *testing.T) {
	r := newRig(t)
	b := r.browser()
	resp, page := b.get("/login?code=first-ADMIN_1")
	if resp.StatusCode != http.StatusOK || !strings.Contains(page, `value="first-ADMIN_1"`) || !strings.Contains(page, "door.js") {
		t.Fatalf("%d %s", resp.StatusCode, page)
	}
	if got := r.inbox.Messages(); len(got) > 0 || len(resp.Cookies()) > 0 {
		t.Fatal("looking at the link used it")
	}
	for range 2 { // a double click
		if resp, page := b.form("/login", url.Values{"code": {"first-ADMIN_1"}}); resp.StatusCode != http.StatusSeeOther {
			t.Fatalf("%d %s", resp.StatusCode, page)
		}
	}
	got := r.inbox.Messages()
	if len(got) != 1 || got[0].Text != "/start first-ADMIN_1" || !got[0].Private || got[0].From != got[0].In.Chat {
		t.Fatalf("the core got %+v", got)
	}
	if len(r.feed(got[0].From)) > 0 {
		t.Error("the code shows in the chat")
	}
	if resp, _ := b.form("/login", url.Values{"code": {"other"}}); resp.StatusCode != http.StatusSeeOther {
		t.Fatal(resp.StatusCode)
	}
	if got := r.inbox.Messages(); len(got) != 2 || got[1].From != got[0].From {
		t.Errorf("another code in the same browser is another person: %+v", got)
	}
}

func TestLoginCodesAreChecked(t *testing.T) {
	r := newRig(t)
	for _, code := range []string{"", "a b", "a\n/stop", "<b>", strings.Repeat("x", 129)} {
		if resp, page := r.browser().get("/login?code=" + url.QueryEscape(code)); resp.StatusCode != http.StatusBadRequest || !strings.Contains(page, "not complete") {
			t.Errorf("GET with %q is %d", code, resp.StatusCode)
		}
		if resp, _ := r.browser().form("/login", url.Values{"code": {code}}); resp.StatusCode != http.StatusBadRequest {
			t.Errorf("POST with %q is %d", code, resp.StatusCode)
		}
	}
	if len(r.inbox.Messages()) > 0 {
		t.Error("the core got a code that is none")
	}
}

func TestLoginIsTriedAgainAsTheSamePerson(t *testing.T) {
	r := newRig(t)
	r.inbox.Refuse(1)
	b := r.browser()
	code := url.Values{"code": {"ABC"}}
	if resp, page := b.form("/login", code); resp.StatusCode != http.StatusServiceUnavailable || !strings.Contains(page, "not ready") || !strings.Contains(page, `value="ABC"`) {
		t.Fatalf("%d %s", resp.StatusCode, page)
	}
	if resp, _ := b.form("/login", code); resp.StatusCode != http.StatusSeeOther {
		t.Fatal(resp.StatusCode)
	}
	refused, _ := r.inbox.Refused()
	if got := r.inbox.Messages(); len(got) != 1 || got[0].Event != refused[0].Event {
		t.Errorf("first %+v, then %+v", refused, got)
	}
}

func TestStoreFaultsAreSaidPlainly(t *testing.T) {
	r := newRig(t)
	b := r.guest()
	r.mem.fail(func(context.Context, string, func()) error {
		return ports.Errorf(ports.KindUnavailable, "memory", "secret detail")
	})
	for _, path := range []string{"/", "/api/stream"} {
		resp, page := b.get(path)
		if resp.StatusCode != http.StatusServiceUnavailable || !strings.Contains(page, "cannot read its store") || strings.Contains(page, "detail") {
			t.Errorf("GET %s is %d %s", path, resp.StatusCode, page)
		}
	}
	if resp, _ := r.browser().form("/login/guest", nil); resp.StatusCode != http.StatusServiceUnavailable || len(resp.Cookies()) > 0 {
		t.Errorf("a guest got %d %v", resp.StatusCode, resp.Cookies())
	}
}

func TestSessionsSlide(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := sessions{records: newMemory()}
		token, user, err := s.open(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		find := func() (string, string) {
			r := httptest.NewRequest(http.MethodGet, "/", nil)
			r.AddCookie(&http.Cookie{Name: cookieName, Value: token})
			user, renewed, err := s.find(t.Context(), r)
			if err != nil {
				t.Fatal(err)
			}
			return user, renewed
		}
		time.Sleep(time.Hour)
		if got, renewed := find(); got != user || renewed != "" {
			t.Errorf("after an hour: %q, renewed %q", got, renewed)
		}
		time.Sleep(29 * 24 * time.Hour)
		if got, renewed := find(); got != user || renewed != token {
			t.Errorf("after 29 days: %q, renewed %q", got, renewed)
		}
		time.Sleep(29 * 24 * time.Hour)
		if got, _ := find(); got != user {
			t.Error("a session in use ended")
		}
		time.Sleep(30*24*time.Hour + time.Second)
		if got, _ := find(); got != "" {
			t.Error("a session lives longer than 30 days unused")
		}
	})
}
