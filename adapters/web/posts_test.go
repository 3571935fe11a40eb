package web

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestPostsAreLimited(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPosts()
		many := func(user string) (n int) {
			for range 2 * postsAtOnce {
				if p.allow(user) {
					n++
				}
			}
			return n
		}
		for _, c := range []struct {
			user string
			wait time.Duration
			want int
		}{{"a", 0, 60}, {"b", 0, 60}, {"a", 0, 0}, {"a", 5 * time.Second, 5}, {"a", time.Hour, 60}} {
			time.Sleep(c.wait)
			if got := many(c.user); got != c.want {
				t.Errorf("after %v %s may post %d, want %d", c.wait, c.user, got, c.want)
			}
		}
		if len(p.of) != 1 {
			t.Errorf("%d people are remembered, want the one who posted lately", len(p.of))
		}
	})
}

func TestTooManyPostsAreRefused(t *testing.T) {
	r := newRig(t)
	b := r.guest()
	resp, body := b.say("0", "x")
	for n := 1; resp.StatusCode == http.StatusAccepted && n < 10*postsAtOnce; n++ {
		resp, body = b.say(strconv.Itoa(n), "x")
	}
	if resp.StatusCode != http.StatusTooManyRequests || resp.Header.Get("Retry-After") == "" || !strings.Contains(body, "wait a moment") {
		t.Fatalf("%d %v %s", resp.StatusCode, resp.Header, body)
	}
	if got := len(r.inbox.Messages()); got < postsAtOnce || got != len(r.feed(b.user)) {
		t.Errorf("%d messages were taken, %d are kept", got, len(r.feed(b.user)))
	}
	if resp, body := r.guest().say("1", "x"); resp.StatusCode != http.StatusAccepted {
		t.Errorf("another person: %d %s", resp.StatusCode, body)
	}
	login := func() int {
		resp, _ := b.form("/login", url.Values{"code": {"c"}})
		return resp.StatusCode
	}
	got := login()
	for n := 1; got == http.StatusSeeOther && n < 10*postsAtOnce; n++ {
		got = login()
	}
	if got != http.StatusTooManyRequests {
		t.Errorf("a login answers %d", got)
	}
}
