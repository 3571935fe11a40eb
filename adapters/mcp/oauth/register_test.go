package oauth

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"dragoman/ports"
)

func TestAClientSignsInAsItWasRegistered(t *testing.T) {
	for _, method := range []string{byBasic, byPost, byNone} {
		t.Run(method, func(t *testing.T) {
			as := newGrantor(t)
			as.methods = []string{method}
			k := newKeeper(t, as)
			n := newNode(t, k, newShelf(), Config{})
			n.login()
			n.works()
			as.revoke()
			n.works() // by a refresh
		})
	}
}

func TestAClientOfTheConfigIsNotRegistered(t *testing.T) {
	for _, method := range []string{byBasic, byPost} {
		as := newGrantor(t)
		as.methods, as.fixed = []string{method}, map[string]string{"given": "s3cret +/&%:given"}
		k := newKeeper(t, as)
		kept := newShelf()
		n := newNode(t, k, kept, Config{ClientID: "given", ClientSecret: "s3cret +/&%:given"})
		n.login()
		n.works()
		as.revoke()
		n.works()
		if got := as.counted("/register"); got != 0 {
			t.Errorf("%d registrations, want none", got)
		}
		if strings.Contains(kept.text(), "s3cret") {
			t.Error("the config's secret is in the store")
		}
	}
}

// TestAGivenSecretGoesToNobodyElse: a server that names another authorization
// server could have the secret sent there.
func TestAGivenSecretGoesToNobodyElse(t *testing.T) {
	honest, evil := newGrantor(t), newGrantor(t)
	for _, as := range []*grantor{honest, evil} {
		as.fixed = map[string]string{"given": "s3cret-given"}
	}
	k := newKeeper(t, honest)
	kept := newShelf()
	cfg := Config{ClientID: "given", ClientSecret: "s3cret-given"}
	n := newNode(t, k, kept, cfg)
	n.login()
	n.works()
	move := func() {
		k.as = evil
		k.doc["authorization_servers"] = []string{evil.URL}
	}
	k.with(move)
	evil.with(func() { evil.resource = k.URL + "/mcp" })
	if login := n.wanted(); login.URL != "" || !strings.Contains(login.Reason, "oauth.issuer") {
		t.Errorf("got the link %q, %q; want none and what to set", login.URL, login.Reason)
	}
	cfg.Issuer = honest.URL
	if login := newNode(t, k, newShelf(), cfg).wanted(); login.URL != "" || !strings.Contains(login.Reason, "oauth.issuer") {
		t.Errorf("with the issuer set: got the link %q, %q", login.URL, login.Reason)
	}
	if evil.counted("/token")+evil.counted("/authorize") > 0 {
		t.Error("the other authorization server was asked")
	}
	cfg.Issuer = evil.URL // the admin says so
	n = newNode(t, k, kept, cfg)
	n.login()
	n.works()
}

func TestADocumentIsTheClientWhereOneIsKnown(t *testing.T) {
	as := newGrantor(t)
	as.cimd = true
	k := newKeeper(t, as)
	n := newNode(t, k, newShelf(), Config{ClientMetadataURL: "https://bot.example.org/client.json"})
	n.login()
	n.works()
	if q := as.lastAsked(); q.Get("client_id") != "https://bot.example.org/client.json" || as.counted("/register") != 0 {
		t.Errorf("it asked as %q, after %d registrations", q.Get("client_id"), as.counted("/register"))
	}
	public := newNodeWith(t, k, Config{}, DeskConfig{Records: newShelf(), Key: sealKey, Base: "https://bot.example.org/"})
	if link := public.link(); !strings.Contains(link, "client_id=https%3A%2F%2Fbot.example.org%2Foauth%2Fclient.json") {
		t.Errorf("a gateway with a public address asks by %s", link)
	}
	w := httptest.NewRecorder()
	public.desk.Handler().ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, documentPath, nil))
	var about map[string]any
	if err := json.Unmarshal(w.Body.Bytes(), &about); err != nil || w.Code != http.StatusOK || about["client_id"] != "https://bot.example.org/oauth/client.json" ||
		about["redirect_uris"].([]any)[0] != "https://bot.example.org/oauth/callback" || about["client_name"] == "" || about["application_type"] != "web" {
		t.Errorf("the document is %d %s", w.Code, w.Body)
	}
	w = httptest.NewRecorder()
	n.desk.Handler().ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, documentPath, nil))
	if w.Code != http.StatusNotFound {
		t.Errorf("a gateway that nobody reaches serves a document: %d", w.Code)
	}
}

func TestARegistrationThatIsNoLongerKnownIsMadeAnew(t *testing.T) {
	as := newGrantor(t)
	k := newKeeper(t, as)
	n := newNode(t, k, newShelf(), Config{})
	n.login()
	n.works()
	as.with(func() { clear(as.clients) })
	as.revoke()
	n.login()
	n.works()
	if got := as.counted("/register"); got != 2 {
		t.Errorf("%d registrations, want 2", got)
	}
}

func TestAnotherCallbackIsRegisteredAnew(t *testing.T) {
	as := newGrantor(t)
	k := newKeeper(t, as)
	kept := newShelf()
	first := newNode(t, k, kept, Config{}).link()
	moved := newNodeWith(t, k, Config{}, DeskConfig{Records: kept, Key: sealKey, Base: "http://127.0.0.1:9999"})
	second := moved.link()
	if first == second {
		t.Fatal("the link still comes back to the old address")
	}
	if back := visit(t, second); !strings.HasPrefix(back, "http://127.0.0.1:9999/oauth/callback?") {
		t.Errorf("it comes back to %s", back)
	}
	nowhere := newNodeWith(t, k, Config{}, DeskConfig{Records: newShelf(), Key: sealKey})
	if login := nowhere.wanted(); login.URL != "" || !strings.Contains(login.Reason, "public_url") {
		t.Errorf("without an address: the link %q, %q", login.URL, login.Reason)
	}
}

func pemOf(t *testing.T, key any) ports.Secret {
	t.Helper()
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return ports.Secret(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}))
}

func TestAGatewayLogsInByItself(t *testing.T) {
	ec, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	_, ed, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	rs, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	machine := Config{Grant: grantMachine, ClientID: "bot", Scopes: []string{"read"}}
	with := func(change func(*Config)) Config { c := machine; change(&c); return c }
	for name, test := range map[string]struct {
		cfg     Config
		methods []string
	}{
		"basic": {with(func(c *Config) { c.ClientSecret = "s3cret:of the bot" }), []string{byBasic}},
		"post":  {with(func(c *Config) { c.ClientSecret = "s3cret:of the bot" }), []string{byPost}},
		"ES256": {with(func(c *Config) { c.PrivateKey = pemOf(t, ec); c.KeyID = "k1" }), []string{byKey}},
		"RS256": {with(func(c *Config) { c.PrivateKey, c.Algorithm = pemOf(t, rs), algRS256 }), []string{byKey}},
		"EdDSA": {with(func(c *Config) { c.PrivateKey = pemOf(t, ed) }), []string{byKey}},
		"bound": {with(func(c *Config) { c.ClientSecret = "s3cret:of the bot"; c.DPoP = true }), []string{byBasic}},
	} {
		t.Run(name, func(t *testing.T) {
			as := newGrantor(t)
			as.methods = test.methods
			switch name {
			case "ES256":
				as.keys["bot"] = ec.Public()
			case "RS256":
				as.keys["bot"] = rs.Public()
			case "EdDSA":
				as.keys["bot"] = ed.Public()
			default:
				as.fixed["bot"] = "s3cret:of the bot"
			}
			k := newKeeper(t, as)
			kept := newShelf()
			n := newNode(t, k, kept, test.cfg)
			n.works()
			n.works()
			n.aging(kept)
			n.works() // with the next token
			as.revoke()
			n.works()
			if got := as.counted(grantMachine); got != 3 {
				t.Errorf("%d tokens were got, want 3", got)
			}
		})
	}
}

func TestAWrongSecretIsSaidAndNotTriedForEver(t *testing.T) {
	as := newGrantor(t)
	as.fixed["bot"] = "right"
	k := newKeeper(t, as)
	n := newNode(t, k, newShelf(), Config{Grant: grantMachine, ClientID: "bot", ClientSecret: "wrong-s3cret"})
	login := n.wanted()
	if login.URL != "" || !strings.Contains(login.Reason, "invalid_client") || strings.Contains(login.Reason, "s3cret") || as.counted("/token") != 1 {
		t.Errorf("got %q after %d tries", login.Reason, as.counted("/token"))
	}
}

func TestAConfigThatCannotWorkIsRefused(t *testing.T) {
	small, err := ecdsa.GenerateKey(elliptic.P384(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	ec, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	for want, cfg := range map[string]Config{
		"grant":               {Grant: "password"},
		"client_id":           {ClientSecret: "s"},
		"keep one":            {ClientID: "c", ClientSecret: "s", PrivateKey: pemOf(t, ec)},
		"needs client_id":     {Grant: grantMachine, ClientID: "c"},
		"algorithm and":       {ClientID: "c", Algorithm: algES256},
		"PEM":                 {ClientID: "c", PrivateKey: "secret words"},
		"unencrypted":         {ClientID: "c", PrivateKey: "-----BEGIN X-----\nc2VjcmV0\n-----END X-----"},
		"P-384":               {ClientID: "c", PrivateKey: pemOf(t, small)},
		`is for "ES256"`:      {ClientID: "c", PrivateKey: pemOf(t, ec), Algorithm: algRS256},
		"client_metadata_url": {ClientMetadataURL: "https://example.org"},
	} {
		if err := cfg.Check(); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "secret words") {
			t.Errorf("%s: got %v", want, err)
		}
	}
	if err := (Config{}).Check(); err != nil {
		t.Errorf("the zero config: %v", err)
	}
}
