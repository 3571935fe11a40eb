package e2e

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"dragoman/tests/fake/telegram"
)

// Telegram brings updates to /hook/NAME, whose address follows from public_url;
// what a killed gateway did not store comes again, and nothing twice.
func TestAWebhookThroughTheBinary(t *testing.T) {
	t.Parallel()
	tg := telegram.New(telegram.Options{WebhookPause: 50 * time.Millisecond})
	t.Cleanup(tg.Close)
	g := startGateway(t, `{
	"version": 1, "listen": "${LISTEN}", "public_url": "http://${LISTEN}",
	"models": {"main": {"type": "demo"}},
	"channels": {"tg": {"type": "telegram", "token": `+quoted(tg.Token())+`, "api_url": `+quoted(tg.URL())+`, "mode": "webhook"}},
	`+open("open")+`
	"log": {"level": "debug"}
}`)
	ann := tg.User(1001, "Ann")
	ann.Say("/help")
	answers(t, tg, ann, 1)

	for path, want := range map[string]int{"/hook/tg": http.StatusUnauthorized, "/hook/other": http.StatusNotFound} {
		res, err := http.Post(g.URL+path, "application/json", strings.NewReader(`{"update_id":1}`))
		if err != nil {
			t.Fatal(err)
		}
		_ = res.Body.Close()
		if res.StatusCode != want {
			t.Errorf("%s answers a stranger with %d, want %d", path, res.StatusCode, want)
		}
	}

	eventually(t, answerWithin, "the gateway knows that its answer was sent", func() error { return nothingPending(g.Dir) })
	g.Kill()
	for range 5 {
		ann.Say("/help")
	}
	g.Start()
	g.WaitReady()
	eventually(t, answerWithin, "what was said meanwhile is answered", func() error {
		if n := len(tg.Sent(ann.ID())); n < 6 || tg.Pending() > 0 {
			return fmt.Errorf("%d answers, %d updates wait", n, tg.Pending())
		}
		return nil
	})
	answers(t, tg, ann, 6)
	if n := tg.Calls("getUpdates"); n != 0 {
		t.Errorf("it polled %d times", n)
	}
	g.Term()
	for _, line := range g.proc.Lines() {
		if strings.Contains(line, tg.Token()) {
			t.Errorf("the token is in the log: %s", line)
		}
	}
}
