package oauth

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"testing"
	"time"
)

func TestALoginIsFoundWhereverItIsSaid(t *testing.T) {
	for name, set := range map[string]func(as *grantor, k *keeper){
		"the challenge points to it":      func(_ *grantor, k *keeper) { k.docAt = "/somewhere/else" },
		"well-known, with the path":       func(_ *grantor, k *keeper) { k.pointer = false },
		"well-known, at the root":         func(_ *grantor, k *keeper) { k.pointer, k.docAt = false, "/.well-known/oauth-protected-resource" },
		"OpenID's well-known":             func(as *grantor, _ *keeper) { as.at = []string{"/.well-known/openid-configuration"} },
		"an issuer with a path":           func(as *grantor, k *keeper) { tenant(as, k, "/.well-known/oauth-authorization-server/tenant") },
		"an issuer with a path, OpenID":   func(as *grantor, k *keeper) { tenant(as, k, "/.well-known/openid-configuration/tenant") },
		"an issuer with a path, appended": func(as *grantor, k *keeper) { tenant(as, k, "/tenant/.well-known/openid-configuration") },
		"a slash at the issuer's end":     func(as *grantor, k *keeper) { k.doc["authorization_servers"] = []string{as.URL + "/"} },
		"the second of two is there":      func(as *grantor, k *keeper) { k.doc["authorization_servers"] = []string{k.URL + "/nobody", as.URL} },
		"the resource is the whole host": func(as *grantor, k *keeper) {
			k.doc["resource"], as.resource = k.URL, k.URL
		},
	} {
		t.Run(name, func(t *testing.T) {
			as := newGrantor(t)
			k := newKeeper(t, as)
			set(as, k)
			n := newNode(t, k, newShelf(), Config{})
			n.login()
			n.works()
		})
	}
}

func tenant(as *grantor, k *keeper, at string) {
	as.at, as.noIss = []string{at}, true
	as.meta["issuer"] = as.URL + "/tenant"
	k.doc["authorization_servers"] = []string{as.URL + "/tenant"}
}

// TestAServerOf2025March has no metadata of the resource: its origin is the issuer.
func TestAServerOf2025March(t *testing.T) {
	for _, metadata := range []bool{true, false} {
		as := newGrantor(t)
		k := newKeeper(t, as)
		k.doc, k.pointer = nil, false
		front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			switch {
			case r.URL.Path == "/mcp":
				k.serve(w, r)
			case strings.HasPrefix(r.URL.Path, "/.well-known/") && !metadata:
				http.NotFound(w, r)
			default:
				as.serve(w, r)
			}
		}))
		t.Cleanup(front.Close)
		as.URL, k.URL, as.resource = front.URL, front.URL, front.URL+"/mcp"
		n := newNode(t, k, newShelf(), Config{})
		n.login()
		n.works()
	}
}

// TestARefusalWithoutOAuthStands: a server that wants a key in a header answers 401
// too, and its own words say more than any of ours.
func TestARefusalWithoutOAuthStands(t *testing.T) {
	k := newKeeper(t, nil)
	k.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/mcp" {
			http.Error(w, "bring a key", http.StatusUnauthorized)
			return
		}
		http.Error(w, "<html>all pages look like this", http.StatusNotFound)
	})
	n := newNode(t, k, newShelf(), Config{})
	if status, body, err := n.say("hello"); err != nil || status != http.StatusUnauthorized || !strings.Contains(body, "bring a key") {
		t.Errorf("got %d %q, %v; want the server's own answer", status, body, err)
	}
}

// TestAHostileDiscoveryOffersNoLink breaks the way to a login at each of its steps.
func TestAHostileDiscoveryOffersNoLink(t *testing.T) {
	for name, test := range map[string]struct {
		set  func(as *grantor, k *keeper)
		want string
	}{
		"no PKCE": {func(as *grantor, _ *keeper) { as.meta["code_challenge_methods_supported"] = nil }, "PKCE"},
		"PKCE in the clear alone": {func(as *grantor, _ *keeper) {
			as.meta["code_challenge_methods_supported"] = []string{"plain"}
		}, "PKCE"},
		"another resource":              {func(_ *grantor, k *keeper) { k.doc["resource"] = "https://bank.example/mcp" }, "another resource"},
		"a neighbour's resource":        {func(_ *grantor, k *keeper) { k.doc["resource"] = k.URL + "/mc" }, "another resource"},
		"metadata of another issuer":    {func(as *grantor, _ *keeper) { as.meta["issuer"] = "https://honest.example" }, "another issuer"},
		"no authorization server":       {func(_ *grantor, k *keeper) { delete(k.doc, "authorization_servers") }, "no authorization server"},
		"a script as endpoint":          {func(as *grantor, _ *keeper) { as.meta["authorization_endpoint"] = "javascript:alert(1)" }, "no address"},
		"a file as token endpoint":      {func(as *grantor, _ *keeper) { as.meta["token_endpoint"] = "file:///etc/passwd" }, "no address"},
		"a plain token endpoint":        {func(as *grantor, _ *keeper) { as.meta["token_endpoint"] = "http://example.org/token" }, "not https"},
		"a plain issuer":                {func(_ *grantor, k *keeper) { k.doc["authorization_servers"] = []string{"http://example.org"} }, "not https"},
		"a password in the address":     {func(as *grantor, _ *keeper) { as.meta["token_endpoint"] = "https://a:b@example.org/" }, "no address"},
		"no registration and no client": {func(as *grantor, _ *keeper) { as.meta["registration_endpoint"] = nil }, "redirect URI " + callbackAt},
	} {
		t.Run(name, func(t *testing.T) {
			as := newGrantor(t)
			k := newKeeper(t, as)
			test.set(as, k)
			n := newNode(t, k, newShelf(), Config{})
			login := n.wanted()
			if login.URL != "" || !strings.Contains(login.Reason, test.want) || login.Status != http.StatusUnauthorized {
				t.Errorf("got %q with the link %q, want words with %q and none", login.Reason, login.URL, test.want)
			}
			if asked := as.counted("/token"); asked != 0 {
				t.Errorf("the token endpoint was asked %d times", asked)
			}
		})
	}
}

// TestAnswersAreBounded has each request of a login answered by somebody who means ill.
func TestAnswersAreBounded(t *testing.T) {
	answers := map[string]http.HandlerFunc{
		"endless": func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprint(w, `{"issuer":"`)
			for r.Context().Err() == nil {
				if _, err := fmt.Fprint(w, strings.Repeat("x", 1<<16)); err != nil {
					return
				}
			}
		},
		"too long, but right": func(w http.ResponseWriter, r *http.Request) { // each key that any of them has
			at := "http://" + r.Host
			reply(w, http.StatusOK, map[string]any{"issuer": at, "authorization_endpoint": at + "/authorize", "token_endpoint": at + "/token",
				"code_challenge_methods_supported": []string{"S256"}, "client_id": "c", "access_token": "a", "token_type": "Bearer", "padding": strings.Repeat("x", maxDocument)})
		},
		"a page": func(w http.ResponseWriter, _ *http.Request) {
			fmt.Fprint(w, "<!doctype html><script>alert(1)</script>")
		},
		"another type": func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, `["a", {"issuer": 5}]`) },
		"a circle": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, r.URL.Path+"?again", http.StatusTemporaryRedirect)
		},
		"elsewhere": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://example.org/", http.StatusTemporaryRedirect)
		},
		"cut off": func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "1000")
			fmt.Fprint(w, "{")
		},
		"mute": func(_ http.ResponseWriter, r *http.Request) {
			_, _ = io.Copy(io.Discard, r.Body) // or the server would not see the client leave
			<-r.Context().Done()
		},
	}
	for _, path := range []string{"/.well-known/oauth-authorization-server", "/register", "/token"} {
		for name, answer := range answers {
			t.Run(name+" "+path, func(t *testing.T) {
				as := newGrantor(t)
				k := newKeeper(t, as)
				n := newNode(t, k, newShelf(), Config{})
				impatient := func() {
					if name == "mute" {
						n.client.courier.http.Timeout = 300 * time.Millisecond
					}
				}
				honest := as.Config.Handler
				as.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					if r.URL.Path == path {
						answer(w, r)
						return
					}
					honest.ServeHTTP(w, r)
				})
				if path != "/token" {
					impatient()
					if login := n.wanted(); login.URL != "" || len(login.Reason) > 1000 || strings.Contains(login.Reason, "<script>") {
						t.Errorf("got the link %q, %q", login.URL, login.Reason)
					}
					return
				}
				to := visit(t, n.link()) // which honest answers lead to
				impatient()
				status, text := n.comeBack(to)
				if status != http.StatusBadGateway || strings.Contains(text, "script") || strings.Contains(n.log.text(), "<script>") {
					t.Errorf("got %d %s", status, text)
				}
			})
		}
	}
}

// TestOnlyAServerInsideIsFollowedInside: an address that a server outside gives must
// not make the gateway speak to machines that only the gateway reaches.
func TestOnlyAServerInsideIsFollowedInside(t *testing.T) {
	as := newGrantor(t)
	at, err := url.Parse(as.URL)
	if err != nil {
		t.Fatal(err)
	}
	for home, want := range map[string]bool{"https://93.184.216.34/mcp": false, "http://127.0.0.1:1/mcp": true, "https://10.1.2.3/mcp": true, "https://[2606:2800::1]/mcp": false} {
		u, err := url.Parse(home)
		if err != nil {
			t.Fatal(err)
		}
		conn, err := newCourier(u).dial(t.Context(), "tcp", at.Host)
		if conn != nil {
			conn.Close()
		}
		if (err == nil) != want {
			t.Errorf("from %s: %v, want allowed %v", home, err, want)
		}
		_, err = newCourier(u).allowed(as.URL)
		if local := u.Hostname() == "127.0.0.1"; (err == nil) != local {
			t.Errorf("plain http to this machine from %s: %v", home, err)
		}
	}
	for address, want := range map[string]bool{"127.0.0.1": true, "::1": true, "10.0.0.1": true, "192.168.1.1": true, "169.254.169.254": true, "fe80::1": true, "fd00::1": true,
		"0.0.0.0": true, "100.64.0.1": true, "224.0.0.1": true, "::ffff:10.0.0.1": true, "8.8.8.8": false, "2606:2800::1": false} {
		if got := inside(netip.MustParseAddr(address)); got != want {
			t.Errorf("%s is inside: %v, want %v", address, got, want)
		}
	}
}

func TestAnotherAuthorizationServerGetsNothingOfTheFirst(t *testing.T) {
	first, second := newGrantor(t), newGrantor(t)
	k := newKeeper(t, first)
	n := newNode(t, k, newShelf(), Config{})
	n.login()
	n.works()
	k.with(func() {
		k.as = second
		k.doc["authorization_servers"] = []string{second.URL}
	})
	second.with(func() { second.resource = k.URL + "/mcp" })
	n.login()
	n.works()
	if second.counted("/register") != 1 || second.counted("refresh_token") != 0 {
		t.Errorf("the second saw %d registrations and %d refreshes, want 1 and 0", second.counted("/register"), second.counted("refresh_token"))
	}
	if got := first.counted("refresh_token"); got != 0 {
		t.Errorf("the first refreshed %d times for a server that had left it", got)
	}
	first.with(func() {
		for id := range first.clients {
			if second.lastAsked().Get("client_id") == id {
				t.Error("the second saw the client id that the first gave")
			}
		}
	})
}

func TestATokenGoesToItsServerAlone(t *testing.T) {
	as := newGrantor(t)
	k := newKeeper(t, as)
	n := newNode(t, k, newShelf(), Config{})
	n.login()
	n.works()
	var seen string
	other := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { seen = r.Header.Get("Authorization") }))
	defer other.Close()
	for _, header := range []string{"", "Bearer of the caller"} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, other.URL+"/mcp", strings.NewReader("x"))
		if err != nil {
			t.Fatal(err)
		}
		if header != "" {
			req.Header.Set("Authorization", header)
		}
		resp, err := n.http.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if seen != header {
			t.Errorf("another server saw %q, want %q", seen, header)
		}
	}
}
