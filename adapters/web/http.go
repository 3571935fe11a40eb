package web

import (
	"context"
	"encoding/json"
	"net/http"
	"time"

	"dragoman/ports"
)

// storeTimeout bounds what a request waits for the store.
const storeTimeout = 10 * time.Second

// policy is the pages' Content-Security-Policy (CSP Level 3): nothing but our own files.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; " +
	"form-action 'self'; frame-ancestors 'none'; base-uri 'none'"

func (c *Channel) routes() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{$}", c.getPage)
	mux.HandleFunc("GET /login", c.getLogin)
	mux.HandleFunc("POST /login", c.postLogin)
	mux.HandleFunc("POST /login/guest", c.postGuest)
	mux.HandleFunc("POST /api/messages", c.postMessage)
	mux.HandleFunc("POST /api/press", c.postPress)
	mux.HandleFunc("GET /api/stream", c.getStream)
	mux.HandleFunc("GET "+filesPath+"{id}", c.getFile)
	mux.HandleFunc("GET /assets/{release}/{name}", c.pages.asset)

	// By Sec-Fetch-Site, else by Origin against Host. A request with neither
	// comes from no browser, which no foreign page can use.
	origin := http.NewCrossOriginProtection()
	origin.SetDenyHandler(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		refuse(w, http.StatusForbidden, "This request came from another site.")
	}))
	return secured(origin.Handler(mux))
}

// secured sets the headers of every answer; a handler may relax Cache-Control.
func secured(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Content-Security-Policy", policy)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("X-Frame-Options", "DENY")
		// Not "no-referrer": with it browsers post forms with "Origin: null"
		// (Fetch, "append a request Origin header"), which looks foreign.
		h.Set("Referrer-Policy", "same-origin")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		h.Set("Cache-Control", "no-store")
		next.ServeHTTP(w, r)
	})
}

// enter joins the request to the present Run, if there is one.
func (c *Channel) enter(ctx context.Context) (joined context.Context, in ports.Receiver, leave func(), ok bool) {
	s := c.shift.Load()
	if s == nil {
		return nil, nil, nil, false
	}
	joined, leave, ok = s.join(ctx)
	return joined, s.in, leave, ok
}

// user gives the person behind an API request, or answers and gives "".
func (c *Channel) user(ctx context.Context, w http.ResponseWriter, r *http.Request) string {
	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	user, renewed, err := c.sessions.find(ctx, r)
	switch {
	case err != nil:
		c.warn("session not read", "", err)
		refuse(w, http.StatusServiceUnavailable, "The gateway cannot read its store right now. Please try again.")
		return ""
	case user == "":
		refuse(w, http.StatusUnauthorized, "You are not logged in.")
		return ""
	}
	if renewed != "" {
		setCookie(w, r, renewed)
	}
	return user
}

func (c *Channel) warn(message, chat string, err error) {
	c.log.Warn(message, "chat", chat, "kind", ports.KindOf(err), "err", err)
}

// refuse answers an API request with words for the person.
func refuse(w http.ResponseWriter, status int, words string) {
	answer(w, status, map[string]string{"error": words})
}

func answer(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // the reader may have left
}
