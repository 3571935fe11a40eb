package oauth

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"dragoman/ports"
)

// aging makes every token of the node's memory and store due, as time does.
func (n *node) aging(kept *shelf) {
	n.t.Helper()
	v := n.desk.vault
	g := new(grant)
	version, err := v.read(n.t.Context(), n.client.grantName(), g)
	if err != nil || version == 0 {
		n.t.Fatalf("there is no grant: %v", err)
	}
	g.Expiry = time.Now().Add(time.Second)
	g.Issued = g.Expiry.Add(-time.Hour)
	if _, err := v.write(n.t.Context(), n.client.grantName(), version, time.Time{}, g); err != nil {
		n.t.Fatal(err)
	}
	n.client.mu.Lock()
	n.client.known = false
	n.client.mu.Unlock()
}

func TestATokenIsRefreshedBeforeItEnds(t *testing.T) {
	as := newGrantor(t)
	k := newKeeper(t, as)
	kept := newShelf()
	n := newNode(t, k, kept, Config{})
	n.login()
	n.works()
	before, _ := k.heard()
	n.aging(kept)
	var all sync.WaitGroup
	for range 16 {
		all.Go(n.works)
	}
	all.Wait()
	if got := as.counted("refresh_token"); got != 1 {
		t.Errorf("it was refreshed %d times for 16 requests at once, want once", got)
	}
	if after, _ := k.heard(); after-before != 16 {
		t.Errorf("the server had %d requests, want 16: none with a token that had ended", after-before)
	}
}

func TestARefusedTokenIsRefreshedOnceAndTheBodySentAgain(t *testing.T) {
	as := newGrantor(t)
	k := newKeeper(t, as)
	n := newNode(t, k, newShelf(), Config{})
	n.login()
	n.works()
	as.revoke()
	if status, body, err := n.say("a body that has to come twice"); err != nil || status != http.StatusOK || body != "a body that has to come twice" {
		t.Fatalf("got %d %q, %v", status, body, err)
	}
	if got := as.counted("refresh_token"); got != 1 {
		t.Errorf("it was refreshed %d times, want once", got)
	}
}

func TestALoginThatEndedIsOfferedAnew(t *testing.T) {
	as := newGrantor(t)
	k := newKeeper(t, as)
	n := newNode(t, k, newShelf(), Config{})
	n.login()
	n.works()
	as.with(func() {
		for _, f := range as.families {
			f.dead = true
		}
	})
	if login := n.wanted(); login.URL == "" {
		t.Fatalf("no link: %v", login)
	}
	n.wanted()
	if got := as.counted("refresh_token"); got != 1 {
		t.Errorf("a dead refresh token was sent %d times, want once", got)
	}
	if strings.Contains(n.log.text(), "refresh-") || strings.Contains(n.log.text(), "access-") {
		t.Errorf("the log tells a token, which the server quoted:\n%s", n.log.text())
	}
	n.login()
	n.works()
}

// TestOneRefreshTokenIsSpentOnce races two processes on one store: the server would
// revoke the whole login if the token came twice (OAuth 2.1, 4.3.1).
func TestOneRefreshTokenIsSpentOnce(t *testing.T) {
	as := newGrantor(t)
	k := newKeeper(t, as)
	kept := newShelf()
	nodes := []*node{newNode(t, k, kept, Config{}), newNode(t, k, kept, Config{})}
	nodes[0].login()
	const rounds = 100
	for round := 1; round <= rounds; round++ {
		if round%2 == 0 { // by age, or by a refusal
			nodes[1].aging(kept)
			nodes[0].client.mu.Lock()
			nodes[0].client.known = false
			nodes[0].client.mu.Unlock()
		} else {
			as.revoke()
		}
		var all sync.WaitGroup
		for _, n := range nodes {
			for range 2 {
				all.Go(n.works)
			}
		}
		all.Wait()
		if got := as.counted("refresh_token"); got != round {
			t.Fatalf("after %d rounds it was refreshed %d times", round, got)
		}
	}
	if got := as.counted("reused"); got != 0 {
		t.Errorf("%d refresh tokens were sent twice", got)
	}
}

func TestARefreshOutlivesItsCaller(t *testing.T) {
	as := newGrantor(t)
	k := newKeeper(t, as)
	kept := newShelf()
	n := newNode(t, k, kept, Config{})
	n.login()
	n.works()
	n.aging(kept)
	hold := make(chan struct{})
	as.with(func() { as.slow = hold })
	ctx, cancel := context.WithCancel(t.Context())
	left := make(chan error, 1)
	go func() {
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, n.url, strings.NewReader("x"))
		if err == nil {
			_, err = n.http.Do(req)
		}
		left <- err
	}()
	until(t, "the refresh was begun", func() bool { return as.counted("/token") == 2 })
	cancel()
	if err := <-left; !errors.Is(err, context.Canceled) {
		t.Fatalf("the caller got %v, want to be let go", err)
	}
	close(hold)
	n.works()
	if got, reused := as.counted("refresh_token"), as.counted("reused"); got != 1 || reused != 0 {
		t.Errorf("it was refreshed %d times, with %d tokens sent twice; want 1 and 0", got, reused)
	}
}

func TestADeadProcessHoldsNoRefreshBack(t *testing.T) {
	as := newGrantor(t)
	k := newKeeper(t, as)
	kept := newShelf()
	n := newNode(t, k, kept, Config{})
	n.login()
	n.works()
	// It died with the lease, of which little is left.
	_, err := kept.Put(t.Context(), ports.Record{Scope: "mcp/k", Kind: kindLease, Key: "refresh", Body: []byte("{}"), Expires: time.Now().Add(300 * time.Millisecond)})
	if err != nil {
		t.Fatal(err)
	}
	as.revoke()
	n.works()
}

func TestWhatCannotBeRefreshedJustNowIsUsedAsItIs(t *testing.T) {
	as := newGrantor(t)
	k := newKeeper(t, as)
	kept := newShelf()
	n := newNode(t, k, kept, Config{})
	n.login()
	n.works()
	n.aging(kept)
	down := as.Config.Handler
	as.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "down", http.StatusBadGateway) })
	n.works()
	n.works()
	as.Config.Handler = down
	if got := strings.Count(n.log.text(), "mcp_login_not_renewed"); got != 1 {
		t.Errorf("it was tried %d times at once, want one try and a rest", got)
	}
}

func TestATokenThatCannotBeStoredIsNotLost(t *testing.T) {
	as := newGrantor(t)
	k := newKeeper(t, as)
	kept := newShelf()
	n := newNode(t, k, kept, Config{})
	n.login()
	n.works()
	as.revoke()
	done := make(chan struct{})
	n.client.mu.Lock()
	held := n.client.grant
	n.client.mu.Unlock()
	go func() { // the store fails from after the lease until a while later
		defer close(done)
		until(t, "the refresh was sent", func() bool { return as.counted("refresh_token") == 1 })
		kept.mu.Lock()
		kept.fail = nil
		kept.mu.Unlock()
	}()
	kept.failAfter(1, fmt.Errorf("the disk is full"))
	n.works()
	<-done
	if n.client.grant.Refresh == held.Refresh {
		t.Error("the client still has the refresh token that is spent")
	}
	later := newNode(t, k, kept, Config{})
	later.works()
	if got := as.counted("refresh_token"); got != 1 {
		t.Errorf("it was refreshed %d times: what was paid for was not stored", got)
	}
}

// until polls for what has to come.
func until(t *testing.T, what string, is func() bool) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(20 * time.Second); !is(); <-tick.C {
		if time.Now().After(end) {
			t.Errorf("never: %s", what)
			return
		}
	}
}
