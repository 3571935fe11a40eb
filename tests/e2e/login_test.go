package e2e

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

// guarded is an MCP server with its own authorization server, which lets in whoever
// opens its link.
type guarded struct {
	*httptest.Server
	mu     sync.Mutex
	codes  map[string]string // the challenge of each, once
	tokens map[string]bool
	logins int
}

func newGuarded(t *testing.T) *guarded {
	g := &guarded{codes: map[string]string{}, tokens: map[string]bool{}}
	tools := server.NewMCPServer("guarded", "1")
	tools.AddTool(mcp.NewTool("whoami"), func(context.Context, mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		return mcp.NewToolResultText("somebody who logged in"), nil
	})
	behind := server.NewStreamableHTTPServer(tools)
	mux := http.NewServeMux()
	mux.HandleFunc("/mcp", func(w http.ResponseWriter, r *http.Request) {
		g.mu.Lock()
		ok := g.tokens[strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")]
		g.mu.Unlock()
		if !ok {
			w.Header().Set("WWW-Authenticate", `Bearer resource_metadata="`+g.URL+`/about"`)
			http.Error(w, "who are you?", http.StatusUnauthorized)
			return
		}
		behind.ServeHTTP(w, r)
	})
	document := func(path string, body func() map[string]any) {
		mux.HandleFunc(path, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_ = json.NewEncoder(w).Encode(body())
		})
	}
	document("/about", func() map[string]any {
		return map[string]any{"resource": g.URL + "/mcp", "authorization_servers": []string{g.URL}}
	})
	document("/.well-known/oauth-authorization-server", func() map[string]any {
		return map[string]any{"issuer": g.URL, "authorization_endpoint": g.URL + "/authorize", "token_endpoint": g.URL + "/token",
			"registration_endpoint": g.URL + "/register", "code_challenge_methods_supported": []string{"S256"}, "token_endpoint_auth_methods_supported": []string{"none"}}
	})
	document("/register", func() map[string]any { return map[string]any{"client_id": "e2e"} })
	mux.HandleFunc("/authorize", g.authorize)
	mux.HandleFunc("/token", g.token)
	g.Server = httptest.NewServer(mux)
	t.Cleanup(g.CloseClientConnections)
	return g
}

func (g *guarded) authorize(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	code := rand.Text()
	g.mu.Lock()
	g.codes[code] = q.Get("code_challenge")
	g.mu.Unlock()
	http.Redirect(w, r, q.Get("redirect_uri")+"?"+url.Values{"code": {code}, "state": {q.Get("state")}}.Encode(), http.StatusFound)
}

func (g *guarded) token(w http.ResponseWriter, r *http.Request) {
	g.mu.Lock()
	defer g.mu.Unlock()
	sum := sha256.Sum256([]byte(r.PostFormValue("code_verifier")))
	challenge, ok := g.codes[r.PostFormValue("code")]
	delete(g.codes, r.PostFormValue("code"))
	if !ok || base64.RawURLEncoding.EncodeToString(sum[:]) != challenge || r.PostFormValue("resource") != g.URL+"/mcp" {
		http.Error(w, `{"error":"invalid_grant"}`, http.StatusBadRequest)
		return
	}
	token := "tok-e2e-" + rand.Text()
	g.tokens[token] = true
	g.logins++
	fmt.Fprintf(w, `{"access_token":%q,"token_type":"Bearer","refresh_token":"re-%s"}`, token, token)
}

// An admin opens the link of a server that wants a login, and its tools are there;
// also after kill -9, and for a command without a gateway. Another secret key wants another login.
func TestAnAdminLogsInToAServer(t *testing.T) {
	api := newGuarded(t)
	g := newGateway(t, gatewayBinary(t), `{"listen": "${LISTEN}", "models": {"main": {"type": "demo"}}, "tools": {"default": "allow"},
		"mcp_servers": {"api": {"url": `+quoted(api.URL+"/mcp")+`}}}`)
	works := func() {
		t.Helper()
		eventually(t, answerWithin, "the tool answers", func() error {
			out, stderr, _ := g.CLI("call", "--json", "api__whoami", "{}")
			if !strings.Contains(out, "somebody who logged in") {
				return fmt.Errorf("%s%s", out, stderr)
			}
			return nil
		})
	}
	link := func() (at string) {
		t.Helper()
		eventually(t, answerWithin, "a link is shown", func() error {
			if at = g.servers()["api"].Login; at == "" {
				return fmt.Errorf("there is none")
			}
			return nil
		})
		return at
	}
	open := func(at string) {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, at, nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != http.StatusOK || resp.Request.URL.Path != "/oauth/callback" {
			t.Fatalf("the login ends at %s with %s", resp.Request.URL.Path, resp.Status)
		}
	}
	g.Start()
	g.WaitReady()
	first := link()
	g.WaitLine("mcp_login_wanted", answerWithin)
	g.Kill() // between the link and the login
	g.Start()
	g.WaitReady()
	if again := link(); again != first {
		t.Errorf("after kill -9 the link is another: %s, was %s", again, first)
	}
	open(first)
	works()
	g.Kill()
	works() // by a command alone
	key := filepath.Join(g.Dir, "dragoman-data", "secret-key")
	if info, err := os.Stat(key); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the secret key: %v, %v", info, err)
	}
	g.Start()
	g.WaitReady()
	works()
	if api.logins != 1 {
		t.Errorf("%d logins, want 1", api.logins)
	}
	unreadable(t, g, "tok-e2e-")
	g.Term()
	if err := os.WriteFile(key, []byte("another secret key of this test\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	g.Start()
	g.WaitReady()
	open(link())
	works()
}

// unreadable fails the test if a secret is in a file of the data folder or in the log.
func unreadable(t *testing.T, g *gateway, secret string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(g.Dir, "dragoman-data", "*"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no files to look into: %v", err)
	}
	for _, name := range files {
		if text, err := os.ReadFile(name); err == nil && strings.Contains(string(text), secret) {
			t.Errorf("%s has a token", name)
		}
	}
	if strings.Contains(strings.Join(g.proc.Lines(), "\n"), secret) {
		t.Error("the log has a token")
	}
}
