package web

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"regexp"

	"golang.org/x/time/rate"
)

var codeShape = regexp.MustCompile(`^[A-Za-z0-9_-]{1,128}$`)

// getPage shows the chat to who has a session, and the door to everybody else.
func (c *Channel) getPage(w http.ResponseWriter, r *http.Request) {
	user, ok := c.visitor(w, r)
	switch {
	case !ok:
	case user == "":
		c.pages.door(w, http.StatusOK, door{Guests: true,
			Words: "This chat is private. Open the login link that the gateway printed, or ask for access."})
	default:
		c.pages.chat(w, user)
	}
}

// getLogin shows a page that posts the code: what merely looks at a link (a
// preview, a scanner) must not use it up.
func (c *Channel) getLogin(w http.ResponseWriter, r *http.Request) {
	code := r.FormValue("code")
	if !codeShape.MatchString(code) {
		c.pages.door(w, http.StatusBadRequest, door{Guests: true, Words: "This login link is not complete. Please copy all of it."})
		return
	}
	c.pages.door(w, http.StatusOK, door{Code: code, Post: true, Words: "Opening the chat…"})
}

// postLogin gives the browser a session, if it has none, and says the code in
// its chat. What the code is good for is for the core to know.
func (c *Channel) postLogin(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, 4<<10)
	code := r.PostFormValue("code")
	if !codeShape.MatchString(code) {
		c.pages.door(w, http.StatusBadRequest, door{Guests: true, Words: "This login link is not complete. Please copy all of it."})
		return
	}
	user, ok := c.admit(w, r, c.logins)
	if !ok {
		return
	}
	if !c.posts.allow(user) {
		w.Header().Set("Retry-After", "1")
		c.pages.door(w, http.StatusTooManyRequests, door{Code: code, Words: "These are too many tries at once. Please wait a moment."})
		return
	}
	sum := sha256.Sum256([]byte(code))
	m := message(user, "l-"+user+"-"+hex.EncodeToString(sum[:12]))
	m.Text = "/start " + code
	if err := c.receive(r.Context(), m, nil); err != nil {
		c.warn("login not stored", user, err)
		c.pages.door(w, http.StatusServiceUnavailable, door{Code: code, Words: "The gateway is not ready yet. Please try again in a moment."})
		return
	}
	http.Redirect(w, r, "/", http.StatusSeeOther)
}

// postGuest gives a session to somebody without a code. The core will answer
// their first message as it answers any stranger's.
func (c *Channel) postGuest(w http.ResponseWriter, r *http.Request) {
	if c.shift.Load() == nil {
		c.pages.door(w, http.StatusServiceUnavailable, door{Guests: true, Words: "The gateway is not ready yet. Please try again in a moment."})
		return
	}
	if _, ok := c.admit(w, r, c.guests); ok {
		http.Redirect(w, r, "/", http.StatusSeeOther)
	}
}

// admit gives the person behind the request; a new one within the limit. It
// answers by itself where it cannot.
func (c *Channel) admit(w http.ResponseWriter, r *http.Request, limit *rate.Limiter) (user string, ok bool) {
	if user, ok = c.visitor(w, r); !ok || user != "" {
		return user, ok
	}
	if !limit.Allow() {
		w.Header().Set("Retry-After", "60")
		c.pages.door(w, http.StatusTooManyRequests, door{Words: "Too many people ask for access right now. Please wait a minute and try again."})
		return "", false
	}
	ctx, cancel := context.WithTimeout(r.Context(), storeTimeout)
	defer cancel()
	token, user, err := c.sessions.open(ctx)
	if err != nil {
		c.unreadable(w, err)
		return "", false
	}
	setCookie(w, r, token)
	return user, true
}

// visitor gives the person behind a page request, "" for a stranger. It answers
// by itself if the store cannot be asked.
func (c *Channel) visitor(w http.ResponseWriter, r *http.Request) (user string, ok bool) {
	ctx, cancel := context.WithTimeout(r.Context(), storeTimeout)
	defer cancel()
	user, renewed, err := c.sessions.find(ctx, r)
	if err != nil {
		c.unreadable(w, err)
		return "", false
	}
	if renewed != "" {
		setCookie(w, r, renewed)
	}
	return user, true
}

func (c *Channel) unreadable(w http.ResponseWriter, err error) {
	c.warn("session not kept", "", err)
	c.pages.door(w, http.StatusServiceUnavailable, door{Words: "The gateway cannot read its store right now. Please try again in a moment."})
}
