package telegram

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"dragoman/ports"
	fake "dragoman/tests/fake/telegram"
)

// hooked is a rig whose channel has a webhook on a server of its own.
func hooked(t *testing.T) (*rig, *httptest.Server) {
	t.Helper()
	s := set(t, fake.Options{WebhookPause: 10 * time.Millisecond})
	cfg := configOf(s.server)
	var handler http.Handler
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { handler.ServeHTTP(w, r) }))
	t.Cleanup(front.Close)
	cfg.Mode, cfg.Webhook = "webhook", front.URL+"/hook/tg"
	s.ch = s.channel(cfg)
	handler = s.ch.Hook()
	return s, front
}

func TestAWebhookBringsEachMessageOnceAndInOrder(t *testing.T) {
	s, _ := hooked(t)
	for i := range 20 {
		s.server.User(7, "Ann").Say(fmt.Sprint("message ", i))
	}
	s.inbox.Refuse(3)
	s.run()
	for i, m := range s.await(20) {
		if m.Text != fmt.Sprint("message ", i) {
			t.Fatalf("place %d has %q", i, m.Text)
		}
	}
	s.until("all acknowledged", func() bool { return s.server.Pending() == 0 })
	refused := 0
	for _, d := range s.server.Deliveries() {
		if d.Status == http.StatusInternalServerError {
			refused++
		}
	}
	if refused != 3 {
		t.Errorf("%d updates that were not stored were answered with 500, want 3", refused)
	}
	if s.server.Calls("getUpdates") != 0 {
		t.Error("it polls beside its webhook")
	}
}

func TestAPressOverAWebhookIsAnswered(t *testing.T) {
	s, _ := hooked(t)
	ann := s.server.User(7, "Ann")
	ann.Say("hello")
	s.run()
	s.await(1)
	if _, err := s.ch.Send(t.Context(), text(7, "May I?", ports.Choice{Question: "q", Field: "f", Value: "v", Label: "Yes"})); err != nil {
		t.Fatal(err)
	}
	if err := ann.Press(s.server.Sent(7)[0].ID, "Yes"); err != nil {
		t.Fatal(err)
	}
	s.await(2)
	s.until("the answer", func() bool { n, _ := s.server.Answered(); return n == 1 })
}

func TestAWebhookTakesOnlyWhatTelegramBrings(t *testing.T) {
	s, front := hooked(t)
	s.run()
	s.server.User(7, "Ann").Say("hello")
	s.await(1)
	good := `{"update_id":1,"message":{` + private + `,"text":"from nobody"}}`
	for name, test := range map[string]struct {
		method, secret, body string
		want                 int
	}{
		"a guess":         {"POST", strings.Repeat("0", 64), good, http.StatusUnauthorized},
		"no secret":       {"POST", "", good, http.StatusUnauthorized},
		"half a secret":   {"POST", s.ch.hook.secret[:32], good, http.StatusUnauthorized},
		"a look":          {"GET", s.ch.hook.secret, "", http.StatusMethodNotAllowed},
		"half an update":  {"POST", s.ch.hook.secret, good[:40], http.StatusBadRequest},
		"a flood":         {"POST", s.ch.hook.secret, `{"update_id":1,"x":"` + strings.Repeat("x", maxUpdate) + `"}`, http.StatusRequestEntityTooLarge},
		"what is unknown": {"POST", s.ch.hook.secret, `{"update_id":2,"message":"not an object"}`, http.StatusOK},
	} {
		t.Run(name, func(t *testing.T) {
			if status := post(t, front.URL, test.method, test.secret, test.body); status != test.want {
				t.Errorf("the answer is %d, want %d", status, test.want)
			}
		})
	}
	if all := s.inbox.Messages(); len(all) != 1 {
		t.Errorf("%d messages came in: %+v", len(all), all)
	}
	if strings.Contains(s.log.String(), s.ch.hook.secret) {
		t.Error("the secret is in the log")
	}
}

func TestAWebhookWithoutARunTakesNothing(t *testing.T) {
	s, front := hooked(t)
	good := `{"update_id":1,"message":{` + private + `,"text":"early"}}`
	if status := post(t, front.URL, "POST", s.ch.hook.secret, good); status != http.StatusServiceUnavailable {
		t.Errorf("before Run the answer is %d", status)
	}
	s.run()
	s.server.User(7, "Ann").Say("hello")
	s.await(1)
	if err := s.stop(); !errors.Is(err, context.Canceled) {
		t.Errorf("Run returned %v", err)
	}
	if status := post(t, front.URL, "POST", s.ch.hook.secret, good); status != http.StatusServiceUnavailable {
		t.Errorf("after Run the answer is %d", status)
	}
}

func TestAPollTakesAwayTheWebhookOfAnEarlierLife(t *testing.T) {
	s, _ := hooked(t)
	s.run()
	s.server.User(7, "Ann").Say("one")
	s.await(1)
	_ = s.stop()
	s.server.User(7, "Ann").Say("two")
	s.ch = s.channel(configOf(s.server))
	s.run()
	if all := s.await(2); all[1].Text != "two" {
		t.Errorf("it got %+v", all)
	}
}

func TestAWebhookThatSomebodyTookAwayIsSetAgain(t *testing.T) {
	s, _ := hooked(t)
	p := &poller{intake: newIntake(s.ch, s.inbox), pause: newPause()}
	if err := p.watch(t.Context(), webhookInfo{URL: "https://other.example/hook"}, time.Now()); err != nil {
		t.Fatal(err)
	}
	if info, err := s.ch.webhookInfo(t.Context()); err != nil || info.URL != s.ch.hook.url {
		t.Errorf("the webhook is %+v (%v)", info, err)
	}
	if !strings.Contains(s.log.String(), "telegram_webhook_lost") {
		t.Errorf("the log does not say so:\n%s", s.log)
	}
}

func TestWebhookAddressesThatTelegramWouldNotTake(t *testing.T) {
	for address, want := range map[string]string{
		"":                                    "needs webhook_url",
		"http://bot.example.org/hook/tg":      "must be https",
		"https://bot.example.org:9000/hook/t": "443, 80, 88 or 8443",
		"https://me:x@bot.example.org/hook/t": "not an http or https URL",
		"https://bot.example.org/hook/tg":     "",
		"https://bot.example.org:8443/hook/t": "",
	} {
		_, err := New(Config{Token: "1:x", APIURL: telegramURL, Mode: "webhook", Webhook: address}, nil)
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("of %q it says %v, want %q", address, err, want)
		}
	}
	if _, err := New(Config{Token: "1:x", APIURL: "http://10.0.0.2:8081", Mode: "webhook", Webhook: "http://10.0.0.3:7420/hook/tg"}, nil); err != nil {
		t.Errorf("a server of one's own is refused: %v", err)
	}
}

// post sends a request as somebody who knows this secret.
func post(t *testing.T, url, method, secret, body string) int {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set(secretHeader, secret)
	req.Close = true
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, res.Body)
	_ = res.Body.Close()
	return res.StatusCode
}
