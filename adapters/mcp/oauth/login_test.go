package oauth

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
)

func TestAnAdminLogsInOnce(t *testing.T) {
	as := newGrantor(t)
	k := newKeeper(t, as)
	kept := newShelf()
	n := newNode(t, k, kept, Config{})
	changed := n.client.Changed()
	link := n.link()
	if again := n.link(); again != link {
		t.Errorf("the link was %s and is %s: it is to be the same while it is good", link, again)
	}
	if got := strings.Count(n.log.text(), "mcp_login_wanted"); got != 1 {
		t.Errorf("the log tells of the link %d times, want once", got)
	}
	if status, text := n.comeBack(visit(t, link)); status != http.StatusOK || !strings.Contains(text, "Logged in") {
		t.Fatalf("got %d %s", status, text)
	}
	select {
	case <-changed:
	default:
		t.Error("nobody was told that the login is done")
	}
	n.works()
	if got := as.counted("/register"); got != 1 {
		t.Errorf("the gateway registered %d times, want once", got)
	}
	q := as.lastAsked()
	if q.Get("resource") != k.URL+"/mcp" || q.Get("redirect_uri") != callbackAt {
		t.Errorf("it asked for %v", q)
	}
	later := newNode(t, k, kept, Config{}) // after a restart
	later.works()
}

func TestALoginIsFinishedAfterARestartAndByAnotherNode(t *testing.T) {
	as := newGrantor(t)
	k := newKeeper(t, as)
	kept := newShelf()
	first := newNode(t, k, kept, Config{})
	link := first.link()
	first.desk.Close()
	second := newNode(t, k, kept, Config{})
	if again := second.link(); again != link {
		t.Errorf("after the restart the link is another: %s, was %s", again, link)
	}
	if status, text := second.comeBack(visit(t, link)); status != http.StatusOK {
		t.Fatalf("got %d %s", status, text)
	}
	second.works()
}

func TestACallbackIsGoodOnce(t *testing.T) {
	as := newGrantor(t)
	k := newKeeper(t, as)
	n := newNode(t, k, newShelf(), Config{})
	back := visit(t, n.link())
	w := httptest.NewRecorder() // a link checker looks first
	n.desk.Handler().ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodHead, back, nil))
	if status, text := n.comeBack(back); status != http.StatusOK {
		t.Fatalf("got %d %s", status, text)
	}
	if status, text := n.comeBack(back); status != http.StatusBadRequest || !strings.Contains(text, "used already") {
		t.Errorf("the second time it is %d %s, want a refusal", status, text)
	}
	if got := as.counted(grantCode); got != 1 {
		t.Errorf("the code was sent %d times, want once", got)
	}
	n.works()
}

func TestACallbackThatNobodyAskedForIsRefused(t *testing.T) {
	as := newGrantor(t)
	k := newKeeper(t, as)
	n := newNode(t, k, newShelf(), Config{})
	back, err := url.Parse(visit(t, n.link()))
	if err != nil {
		t.Fatal(err)
	}
	right := back.Query().Get("state")
	for name, state := range map[string]string{"none": "", "foreign": "abc.def", "another of the same server": strings.SplitN(right, ".", 2)[0] + ".AAAA",
		"hostile": `"><script>alert(1)</script>`} {
		q := back.Query()
		q.Set("state", state)
		status, text := n.comeBack(callbackAt + "?" + q.Encode())
		if status != http.StatusBadRequest || strings.Contains(text, "<script>") {
			t.Errorf("state %s: got %d %s", name, status, text)
		}
	}
	if got := as.counted("/token"); got != 0 {
		t.Errorf("the token endpoint was asked %d times for foreign states", got)
	}
	if status, _ := n.comeBack(back.String()); status != http.StatusOK {
		t.Errorf("the right one is answered with %d after them", status)
	}
}

func TestARefusedLoginIsToldInPlainWords(t *testing.T) {
	as := newGrantor(t)
	k := newKeeper(t, as)
	n := newNode(t, k, newShelf(), Config{})
	for code, want := range map[string]string{"access_denied": "declined", "invalid_scope": "scopes", "<b>odd</b>": "refused"} {
		as.with(func() { as.deny = code })
		changed := n.client.Changed()
		link := n.link()
		status, text := n.comeBack(visit(t, link))
		if status != http.StatusForbidden || !strings.Contains(text, want) || strings.Contains(text, "<script>") || strings.Contains(text, "<b>") {
			t.Errorf("%s: got %d %s, want %q in it", code, status, text, want)
		}
		select {
		case <-changed:
		default:
			t.Errorf("%s: nobody was told that the link is used up", code)
		}
		if again := n.link(); again == link {
			t.Errorf("%s: the link that was used up is given again", code)
		}
	}
	as.with(func() { as.deny = "" })
	n.login()
	n.works()
}

func TestTheIssuerOfAnAnswerIsCheckedBeforeItIsBelieved(t *testing.T) {
	for name, test := range map[string]struct {
		set  func(as *grantor)
		good bool
	}{
		"advertised and right":         {func(*grantor) {}, true},
		"not advertised and absent":    {func(as *grantor) { as.noIss = true }, true},
		"not advertised but right":     {func(as *grantor) { as.noIss, as.iss = true, as.URL }, true},
		"not advertised but wrong":     {func(as *grantor) { as.noIss, as.iss = true, "https://evil.example" }, false},
		"advertised but wrong":         {func(as *grantor) { as.iss = "https://evil.example" }, false},
		"advertised but with a slash":  {func(as *grantor) { as.iss = as.URL + "/" }, false},
		"advertised, wrong, and error": {func(as *grantor) { as.iss, as.deny = "https://evil.example", "access_denied" }, false},
		"advertised but absent": {func(as *grantor) {
			as.noIss = true
			as.meta["authorization_response_iss_parameter_supported"] = true
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			as := newGrantor(t)
			test.set(as)
			k := newKeeper(t, as)
			n := newNode(t, k, newShelf(), Config{})
			status, text := n.comeBack(visit(t, n.link()))
			if good := status == http.StatusOK; good != test.good {
				t.Errorf("got %d %s", status, text)
			}
			if sent := as.counted("/token") > 0; sent != test.good {
				t.Errorf("the code was sent: %v, want %v", sent, test.good)
			}
			if strings.Contains(text, "declined") {
				t.Error("the error of another authorization server was shown")
			}
		})
	}
}
