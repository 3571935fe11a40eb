package e2e

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"dragoman/tests/fake/telegram"
)

// 50,000 messages, and how many of them make the first figures.
const (
	flatChats  = 1000
	flatBurst  = 5 // people write in bursts; a turn may take several
	flatRounds = 10
)

// flatText makes messages so long that what is kept for a while, within a bound,
// is at its bound after a tenth already.
var flatText = strings.Repeat(" and so on", 100)

// After 50,000 messages the gateway uses what it used after 5,000: nothing is
// kept for a message, a turn or a chat that rests.
func TestItStaysFlat(t *testing.T) {
	if testing.Short() {
		t.Skip("LEFT OUT: it takes a minute")
	}
	tg := telegram.New(telegram.Options{})
	t.Cleanup(tg.Close)
	model := startBadModel(t)
	h := &hostile{tg: tg, model: model}
	// The race detector keeps a shadow of the memory, and is no part of the product.
	config := hostileConfig(tg, model, `, "context_tokens": 2000, "max_concurrency": 16`, "", `"store": {"type": "sqlite", "sync": "normal"},`)
	// Few connections, so that all that can be open are open after a tenth already.
	config = strings.NewReplacer(`"level": "info"`, `"level": "warn"`, `"sends_in_flight": 64`, `"sends_in_flight": 8`).Replace(config)
	// And little garbage: what is measured is what it keeps, not when it last swept.
	h.gateway = newGateway(t, plainBinary(t), config, "GOGC=20")
	h.Start()
	h.WaitReady()
	users := make([]*telegram.User, flatChats)
	for i := range users {
		users[i] = tg.User(int64(100_000+i), "Ann")
	}
	began := time.Now()
	var tenth figures
	for round := 1; round <= flatRounds; round++ {
		for _, u := range users {
			for i := range flatBurst {
				u.Say(fmt.Sprintf("message %d of round %d%s", i, round, flatText))
			}
		}
		h.answered(t, round*flatBurst*flatChats)
		if round == flatRounds/10 {
			tenth = h.atRest(t)
			t.Logf("after %d messages and %s: %s", round*flatBurst*flatChats, time.Since(began).Round(time.Second), tenth)
		}
	}
	all := h.atRest(t)
	t.Logf("after %d messages and %s: %s", flatRounds*flatBurst*flatChats, time.Since(began).Round(time.Second), all)
	for _, c := range []struct {
		what         string
		before, then int64
		slack        int64 // of things that are few
	}{
		{"memory (RSS)", tenth.RSS, all.RSS, 0},
		{"goroutines", tenth.Goroutines, all.Goroutines, 3},
		{"descriptors", int64(tenth.Descriptors), int64(all.Descriptors), 3},
	} {
		if limit := c.before + c.before/10 + c.slack; c.then > limit {
			t.Errorf("%s: %d after a tenth of the messages, %d after all of them: more than %d", c.what, c.before, c.then, limit)
		}
	}
	h.alive(t)
}

// answered waits until this many messages were taken in and nothing is left to do.
func (h *hostile) answered(t testing.TB, messages int) {
	t.Helper()
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	eventually(t, 3*time.Minute, fmt.Sprintf("%d messages are answered", messages), func() error {
		<-tick.C // a scrape is not free
		seen := h.metrics(adminToken(t, h.gateway))
		received, err1 := sample(seen, "dragoman_messages_received_total", "channel", "tg")
		waiting, err2 := sample(seen, "dragoman_inbox_pending")
		leaving, err3 := sample(seen, "dragoman_outbox_pending")
		if err := errors.Join(err1, err2, err3); err != nil {
			return final{err}
		}
		if int(received) != messages || waiting+leaving > 0 {
			return fmt.Errorf("%.0f received, %.0f wait for a turn, %.0f wait to be sent", received, waiting, leaving)
		}
		return nil
	})
}

// atRest is the least that the gateway uses within a few seconds in which nobody
// says anything: what was free already may not have been given back before.
func (h *hostile) atRest(t testing.TB) figures {
	t.Helper()
	var seen []figures
	tick := time.NewTicker(500 * time.Millisecond)
	defer tick.Stop()
	for range 8 {
		<-tick.C
		f := usage(t, h.gateway)
		f.Goroutines = h.goroutines(t)
		seen = append(seen, f)
	}
	least := seen[len(seen)-1]
	least.RSS = slices.MinFunc(seen, func(a, b figures) int { return int(a.RSS - b.RSS) }).RSS
	least.Descriptors = slices.MinFunc(seen, func(a, b figures) int { return a.Descriptors - b.Descriptors }).Descriptors
	least.Goroutines = slices.MinFunc(seen, func(a, b figures) int { return int(a.Goroutines - b.Goroutines) }).Goroutines
	return least
}

// goroutines is the gateway's own count.
func (h *hostile) goroutines(t testing.TB) int64 {
	t.Helper()
	n, err := sample(h.metrics(adminToken(t, h.gateway)), "go_goroutines")
	if err != nil {
		t.Fatal(err)
	}
	return int64(n)
}
