package oauth

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"dragoman/ports"
)

// TestATokenIsNotSentToAnotherServerOfTheSameName: the url of a server changes in
// the config, its name stays.
func TestATokenIsNotSentToAnotherServerOfTheSameName(t *testing.T) {
	var seen string
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { seen = r.Header.Get("Authorization") }))
	defer other.Close()
	records := newShelf()
	desk, err := NewDesk(DeskConfig{Records: records, Key: "0123456789abcdef0123", Base: "http://127.0.0.1:7420"})
	if err != nil {
		t.Fatal(err)
	}
	a, err := desk.Client(Config{}, Server{Scope: "mcp/api", URL: "https://good.example.org/mcp"})
	if err != nil {
		t.Fatal(err)
	}
	if err := a.replace(t.Context(), &grant{Client: identity{Issuer: "https://as.example.org"}, Resource: "https://good.example.org/mcp", Access: "token-of-good", Issued: time.Now(), Expiry: time.Now().Add(time.Hour)}); err != nil {
		t.Fatal(err)
	}
	// the gateway starts anew with another url
	desk, _ = NewDesk(DeskConfig{Records: records, Key: "0123456789abcdef0123", Base: "http://127.0.0.1:7420"})
	b, err := desk.Client(Config{}, Server{Scope: "mcp/api", URL: ports.Secret(other.URL + "/mcp")})
	if err != nil {
		t.Fatal(err)
	}
	req, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, other.URL+"/mcp", strings.NewReader("{}"))
	resp, err := b.Wrap(http.DefaultTransport).RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	if seen != "" {
		t.Errorf("the other server got %q", seen)
	}
}
