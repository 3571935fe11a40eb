package oauth

import (
	"net/http"
	"strings"
	"testing"
)

func TestWhatIsAskedFor(t *testing.T) {
	for name, test := range map[string]struct {
		set  func(as *grantor, k *keeper)
		cfg  Config
		want string
	}{
		"nothing is said":    {func(*grantor, *keeper) {}, Config{}, ""},
		"the challenge says": {func(_ *grantor, k *keeper) { k.scope = "b a"; k.doc["scopes_supported"] = []string{"x"} }, Config{}, "a b"},
		"the metadata says":  {func(_ *grantor, k *keeper) { k.doc["scopes_supported"] = []string{"x", "y"} }, Config{}, "x y"},
		"the config says":    {func(_ *grantor, k *keeper) { k.doc["scopes_supported"] = []string{"x"} }, Config{Scopes: []string{"mine"}}, "mine"},
		"hostile scopes": {func(_ *grantor, k *keeper) {
			k.doc["scopes_supported"] = []string{"a b", "c\"", strings.Repeat("x", 999), "ok"}
		}, Config{}, "ok"},
		"refreshing is known": {func(as *grantor, k *keeper) { as.meta["scopes_supported"] = []string{offline, "q"}; k.scope = "a" }, Config{}, "a offline_access"},
	} {
		t.Run(name, func(t *testing.T) {
			as := newGrantor(t)
			k := newKeeper(t, as)
			test.set(as, k)
			n := newNode(t, k, newShelf(), test.cfg)
			n.login()
			q := as.lastAsked()
			if q.Get("scope") != test.want || q.Has("scope") != (test.want != "") {
				t.Errorf("it asked for %q, want %q", q.Get("scope"), test.want)
			}
			if consent := q.Get("prompt") == "consent"; consent != strings.Contains(test.want, offline) {
				t.Errorf("it asks for consent: %v", consent)
			}
			n.works()
		})
	}
}

func TestMoreRightsAreAskedForBesideThePresentOnes(t *testing.T) {
	as := newGrantor(t)
	k := newKeeper(t, as)
	k.scope = "read"
	n := newNode(t, k, newShelf(), Config{})
	n.login()
	n.works()
	k.with(func() { k.need = []string{"write"} })
	login := n.wanted()
	if login.Status != http.StatusForbidden || login.URL == "" || !strings.Contains(login.Reason, "read write") {
		t.Fatalf("got %+v", login)
	}
	if again := n.wanted(); again.URL != login.URL {
		t.Error("the second request got another link")
	}
	k.with(func() { k.need = nil })
	n.works() // what the present login may do goes on
	k.with(func() { k.need = []string{"write"} })
	if status, text := n.comeBack(visit(t, login.URL)); status != http.StatusOK {
		t.Fatalf("%d %s", status, text)
	}
	n.works()
	if got := as.lastAsked().Get("scope"); got != "read write" {
		t.Errorf("it asked for %q, want both", got)
	}
}

// TestAServerThatIsNeverContentIsNotAskedForEver: the same scopes are not asked for again.
func TestAServerThatIsNeverContentIsNotAskedForEver(t *testing.T) {
	as := newGrantor(t)
	as.narrow = "read" // whatever is asked for
	k := newKeeper(t, as)
	k.scope = "read"
	n := newNode(t, k, newShelf(), Config{})
	n.login()
	k.with(func() { k.need = []string{"admin"} })
	n.login() // with admin
	for range 5 {
		if status, body, err := n.say("x"); err != nil || status != http.StatusForbidden || !strings.Contains(body, "insufficient_scope") {
			t.Fatalf("got %d %q, %v; want the server's own refusal", status, body, err)
		}
	}
	if got := as.counted("/authorize"); got != 2 {
		t.Errorf("%d logins, want 2", got)
	}
}

func TestAMachineTakesTheNextStepByItself(t *testing.T) {
	as := newGrantor(t)
	as.fixed["bot"] = "s3cret-of-bot"
	k := newKeeper(t, as)
	k.scope = "read"
	n := newNode(t, k, newShelf(), Config{Grant: grantMachine, ClientID: "bot", ClientSecret: "s3cret-of-bot"})
	n.works()
	k.with(func() { k.need = []string{"write"} })
	n.works()
	as.with(func() { as.narrow = "read" })
	as.revoke()
	if status, _, err := n.say("x"); err != nil || status != http.StatusForbidden {
		t.Errorf("got %d, %v; want the refusal after the tries", status, err)
	}
}

func TestABoundTokenIsProvenOnEachRequest(t *testing.T) {
	for _, nonce := range []string{"", "nonce-1"} {
		as := newGrantor(t)
		as.nonce = nonce
		k := newKeeper(t, as)
		k.nonce = nonce
		kept := newShelf()
		n := newNode(t, k, kept, Config{DPoP: true})
		n.login()
		n.works()
		n.works()
		as.revoke()
		n.works() // the refresh is proven with the same key
		if got := as.counted("refresh_token"); got != 1 {
			t.Errorf("%d refreshes, want 1", got)
		}
		if nonce != "" {
			k.with(func() { k.nonce = "nonce-2" })
			as.with(func() { as.nonce = "nonce-2" })
			n.works()
		}
		newNode(t, k, kept, Config{DPoP: true}).works() // after a restart
	}
}

func TestAnUnboundTokenIsRefusedWhereABoundOneIsWanted(t *testing.T) {
	as := newGrantor(t)
	k := newKeeper(t, as)
	as.meta["dpop_signing_alg_values_supported"] = nil
	n := newNode(t, k, newShelf(), Config{DPoP: true})
	if login := n.wanted(); login.URL != "" || !strings.Contains(login.Reason, "DPoP") {
		t.Errorf("got the link %q, %q", login.URL, login.Reason)
	}
	if err := checkTokens(tokens{Access: "a", Type: "Bearer"}, true); err == nil {
		t.Error("a bearer token is taken for a bound one")
	}
	for _, bad := range []tokens{{Access: "a b", Type: "Bearer"}, {Access: "a\r\nX: y", Type: "Bearer"}, {Type: "Bearer"}, {Access: "a", Type: "mac"}, {Access: "a", Type: "DPoP"}} {
		if err := checkTokens(bad, false); err == nil {
			t.Errorf("%+v is taken", bad)
		}
	}
}
