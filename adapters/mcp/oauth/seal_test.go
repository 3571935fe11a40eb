package oauth

import (
	"bytes"
	"net/http"
	"strings"
	"testing"
	"time"

	"dragoman/ports"
)

func TestAThiefOfTheStoreReadsNothing(t *testing.T) {
	as := newGrantor(t)
	k := newKeeper(t, as)
	kept := newShelf()
	n := newNode(t, k, kept, Config{DPoP: true})
	link := n.link()
	stored := []string{kept.text()} // a verifier
	if status, _ := n.comeBack(visit(t, link)); status != http.StatusOK {
		t.Fatal(status)
	}
	n.works()
	stored = append(stored, kept.text()) // tokens, a client secret, a key
	as.with(func() {
		secrets := []string{"verifier", "-----BEGIN"}
		for token := range as.families {
			secrets = append(secrets, token)
		}
		for _, c := range as.clients {
			secrets = append(secrets, c.secret)
		}
		for _, form := range as.sent {
			secrets = append(secrets, form.Get("code_verifier"), form.Get("code"))
		}
		for _, text := range append(stored, n.log.text()) {
			for _, secret := range secrets {
				if secret == "" || strings.Contains(text, secret) {
					t.Errorf("%q is there to be read", secret)
				}
			}
		}
	})
}

// TestAnotherSecretKeyWantsAnotherLogin: what was sealed is lost, and nothing else is.
func TestAnotherSecretKeyWantsAnotherLogin(t *testing.T) {
	as := newGrantor(t)
	k := newKeeper(t, as)
	kept := newShelf()
	n := newNode(t, k, kept, Config{})
	n.login()
	n.works()
	other := newNodeWith(t, k, Config{}, DeskConfig{Records: kept, Key: "another key of the tests, as long", Base: baseAt})
	other.login()
	other.works()
	if text := other.log.text(); !strings.Contains(text, "mcp_login_unreadable") || !strings.Contains(text, "secret_key") {
		t.Errorf("the log does not say why:\n%s", text)
	}
}

func TestASealedRecordIsGoodInItsPlaceAlone(t *testing.T) {
	kept := newShelf()
	v, err := newVault(kept, sealKey)
	if err != nil {
		t.Fatal(err)
	}
	mine, ctx := name{"mcp/a", kindGrant, "grant"}, t.Context()
	if _, err := v.write(ctx, mine, 0, time.Time{}, "value"); err != nil {
		t.Fatal(err)
	}
	stored, err := kept.Get(ctx, mine.scope, mine.kind, mine.key)
	if err != nil {
		t.Fatal(err)
	}
	for _, place := range []name{{"mcp/b", kindGrant, "grant"}, {"mcp/a", kindLogin, "grant"}, {"mcp/a", kindGrant, "other"}, {"mcp/", "a" + kindGrant, "grant"}} {
		if _, err := kept.Put(ctx, ports.Record{Scope: place.scope, Kind: place.kind, Key: place.key, Body: stored.Body}); err != nil {
			t.Fatal(err)
		}
		var got string
		if version, err := v.read(ctx, place, &got); err != errUnreadable || version == 0 || got != "" {
			t.Errorf("moved to %v it reads %q, %v", place, got, err)
		}
	}
	broken := bytes.Replace(stored.Body, []byte(`"sealed":"`), []byte(`"sealed":"AAAA`), 1)
	for _, body := range [][]byte{broken, []byte(`{}`), []byte(`{"sealed":""}`), []byte(`"x"`)} {
		stored.Body = body
		if stored, err = kept.Put(ctx, stored); err != nil {
			t.Fatal(err)
		}
		if _, err := v.read(ctx, mine, new(string)); err != errUnreadable {
			t.Errorf("%s: got %v, want that it cannot be read", body, err)
		}
	}
	if _, err := newVault(kept, "too short"); err == nil {
		t.Error("a short key is taken")
	}
}
