package web

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"strings"
	"time"

	"dragoman/ports"
)

const (
	cookieName    = "dragoman_session"
	sessionLife   = 30 * 24 * time.Hour
	sessionRenew  = sessionLife - 24*time.Hour // what is left of it when it is made longer
	recordScope   = "web"
	recordSession = "session"
)

// sessions keeps who is behind which cookie. The store sees hashes of tokens only.
type sessions struct{ records ports.Records }

// session is the body of a session's record.
type session struct {
	User string `json:"user"`
}

// open makes a person and a session, and gives its token.
func (s sessions) open(ctx context.Context) (token, user string, err error) {
	secret := make([]byte, 32)
	rand.Read(secret) // never fails
	token = base64.RawURLEncoding.EncodeToString(secret)
	user = "u" + strings.ToLower(rand.Text())
	b, err := json.Marshal(session{User: user})
	if err != nil {
		return "", "", err
	}
	_, err = s.records.Put(ctx, ports.Record{
		Scope: recordScope, Kind: recordSession, Key: recordKey(token),
		Body: b, Expires: time.Now().Add(sessionLife),
	})
	return token, user, err
}

// find gives the person behind a request, "" if there is none. Once a day it
// makes the session longer; renewed is then the token for a new cookie.
func (s sessions) find(ctx context.Context, r *http.Request) (user, renewed string, err error) {
	cookie, err := r.Cookie(cookieName)
	if err != nil || cookie.Value == "" {
		return "", "", nil
	}
	rec, err := s.records.Get(ctx, recordScope, recordSession, recordKey(cookie.Value))
	if ports.IsKind(err, ports.KindNotFound) {
		return "", "", nil
	}
	if err != nil {
		return "", "", err
	}
	var body session
	if err := json.Unmarshal(rec.Body, &body); err != nil {
		return "", "", err
	}
	if time.Until(rec.Expires) > sessionRenew {
		return body.User, "", nil
	}
	rec.Expires = time.Now().Add(sessionLife)
	switch _, err := s.records.Put(ctx, rec); {
	case err == nil:
		return body.User, cookie.Value, nil
	case ports.IsKind(err, ports.KindConflict):
		return body.User, "", nil // another request of the page was faster
	default:
		return "", "", err
	}
}

func recordKey(token string) string {
	sum := sha256.Sum256([]byte(token))
	return hex.EncodeToString(sum[:])
}

func setCookie(w http.ResponseWriter, r *http.Request, token string) {
	http.SetCookie(w, &http.Cookie{
		Name: cookieName, Value: token, Path: "/", MaxAge: int(sessionLife / time.Second),
		HttpOnly: true, SameSite: http.SameSiteLaxMode,
		Secure: r.TLS != nil || strings.EqualFold(r.Header.Get("X-Forwarded-Proto"), "https"),
	})
}
