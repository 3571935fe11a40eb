package oauth

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"dragoman/ports"
)

// TestAHungServerDoesNotHoldUpTheStop: discovery may ask a server that takes the
// request and never answers.
func TestAHungServerDoesNotHoldUpTheStop(t *testing.T) {
	asked, release := make(chan struct{}, 10), make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodPost {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		asked <- struct{}{}
		select {
		case <-release:
		case <-r.Context().Done():
		}
	}))
	defer s.Close()
	defer close(release)
	desk, err := NewDesk(DeskConfig{Records: newShelf(), Key: "0123456789abcdef0123", Base: "http://127.0.0.1:7420"})
	if err != nil {
		t.Fatal(err)
	}
	c, err := desk.Client(Config{}, Server{Scope: "mcp/hung", URL: ports.Secret(s.URL + "/mcp")})
	if err != nil {
		t.Fatal(err)
	}
	gave := make(chan error, 1)
	go func() {
		req, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL+"/mcp", strings.NewReader("{}"))
		_, err := c.Wrap(http.DefaultTransport).RoundTrip(req)
		gave <- err
	}()
	<-asked
	closed := make(chan struct{})
	go func() { defer close(closed); desk.Close() }()
	select {
	case <-closed:
	case <-time.After(flowWithin - 5*time.Second):
		t.Error("the desk still waits for the server")
	}
	if err := <-gave; err == nil {
		t.Error("the request went well")
	}
}
