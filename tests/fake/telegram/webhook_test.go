package telegram

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"
)

// hookBot is a bot with a webhook, which answers as its test says.
type hookBot struct {
	*httptest.Server
	mu      sync.Mutex
	got     []string // "chat text", in order
	secrets []string
	open    int
	peak    int
	answer  func(w http.ResponseWriter, r *http.Request, text string)
}

func newHookBot(t *testing.T, answer func(w http.ResponseWriter, r *http.Request, text string)) *hookBot {
	t.Helper()
	b := &hookBot{answer: answer}
	b.Server = httptest.NewServer(b)
	t.Cleanup(b.Close)
	return b
}

func (b *hookBot) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var u struct {
		Message struct {
			Text string
			Chat struct{ ID int64 }
		}
	}
	body, _ := io.ReadAll(r.Body)
	_ = json.Unmarshal(body, &u)
	b.mu.Lock()
	b.got = append(b.got, fmt.Sprint(u.Message.Chat.ID, " ", u.Message.Text))
	b.secrets = append(b.secrets, r.Header.Get(secretHeader))
	b.open++
	b.peak = max(b.peak, b.open)
	b.mu.Unlock()
	defer func() {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.open--
	}()
	if b.answer != nil {
		b.answer(w, r, u.Message.Text)
	}
}

func (b *hookBot) seen() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return append([]string(nil), b.got...)
}

// until polls until f holds.
func until(t *testing.T, what string, f func() bool) {
	t.Helper()
	for deadline := time.Now().Add(20 * time.Second); !f(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("it does not come to this: ", what)
		}
	}
}

func TestAWebhookGetsUpdatesWithItsSecret(t *testing.T) {
	b := newHookBot(t, nil)
	s := start(t, Options{})
	ann := s.User(7, "Ann")
	ann.Say("before")
	if a := call(t, s, "setWebhook", "url", b.URL+"/hook", "secret_token", "s3-cret"); !a.OK {
		t.Fatalf("setWebhook: %+v", a)
	}
	ann.Say("after")
	until(t, "all delivered", func() bool { return s.Pending() == 0 })
	if got := fmt.Sprint(b.seen()); got != "[7 before 7 after]" || b.secrets[0] != "s3-cret" {
		t.Errorf("the bot got %s with %q", got, b.secrets)
	}
	if d := s.Deliveries(); len(d) != 2 || d[0].Status != 200 || d[0].Chat != 7 {
		t.Errorf("deliveries: %+v", d)
	}
}

func TestAWebhookThatFailsIsTriedAgainAndHoldsUpItsChatAlone(t *testing.T) {
	var mu sync.Mutex
	fails := 3
	other := make(chan struct{}) // closed once the other chat's came
	b := newHookBot(t, func(w http.ResponseWriter, r *http.Request, text string) {
		if text == "three" {
			close(other)
		}
		mu.Lock()
		defer mu.Unlock()
		if text == "one" && fails > 0 {
			if fails--; fails == 0 {
				select {
				case <-other:
				case <-r.Context().Done():
				}
			}
			w.WriteHeader(http.StatusInternalServerError)
		}
	})
	s := start(t, Options{WebhookPause: 20 * time.Millisecond})
	s.User(7, "Ann").Say("one")
	s.User(7, "Ann").Say("two")
	s.User(8, "Bob").Say("three")
	call(t, s, "setWebhook", "url", b.URL)
	until(t, "all delivered", func() bool { return s.Pending() == 0 })
	got := strings.Join(b.seen(), ", ")
	if strings.Count(got, "7 one") != 4 || !strings.HasSuffix(got, "7 one, 7 two") || strings.Index(got, "8 three") > strings.LastIndex(got, "7 one") {
		t.Errorf("the bot got %s", got)
	}
	if info := string(call(t, s, "getWebhookInfo").Result); !strings.Contains(info, `"last_error_message":"Wrong response from the webhook: 500 Internal Server Error"`) {
		t.Errorf("getWebhookInfo says %s", info)
	}
}

func TestAWebhookThatHangsTimesOutAndIsTriedAgain(t *testing.T) {
	var once sync.Once
	b := newHookBot(t, func(_ http.ResponseWriter, r *http.Request, _ string) {
		once.Do(func() { <-r.Context().Done() })
	})
	s := start(t, Options{WebhookPause: time.Millisecond, WebhookTimeout: 500 * time.Millisecond})
	s.User(7, "Ann").Say("hello")
	call(t, s, "setWebhook", "url", b.URL)
	until(t, "delivered", func() bool { return s.Pending() == 0 })
	// On a busy machine one more may be late.
	if d := s.Deliveries(); len(d) < 2 || d[0].Err == nil || d[0].Status != 0 || d[len(d)-1].Status != 200 {
		t.Errorf("deliveries: %+v", d)
	}
}

func TestMaxConnectionsBoundsAWebhook(t *testing.T) {
	free := make(chan struct{})
	b := newHookBot(t, func(_ http.ResponseWriter, r *http.Request, _ string) {
		select {
		case <-free:
		case <-r.Context().Done():
		}
	})
	s := start(t, Options{})
	for id := range int64(5) {
		s.User(id+1, "Ann").Say("hello")
	}
	call(t, s, "setWebhook", "url", b.URL, "max_connections", "2")
	until(t, "two at once", func() bool { return len(b.seen()) == 2 })
	close(free)
	until(t, "all delivered", func() bool { return s.Pending() == 0 })
	if b.peak != 2 {
		t.Errorf("%d deliveries at once, want 2", b.peak)
	}
}

func TestAWebhookBehindAProxy(t *testing.T) {
	b := newHookBot(t, nil)
	s := start(t, Options{WebhookPause: time.Millisecond})
	ann := s.User(7, "Ann")
	call(t, s, "setWebhook", "url", "https://bot.example.org/telegram?x=1")
	ann.Say("hello")
	until(t, "a failure", func() bool {
		return strings.Contains(string(call(t, s, "getWebhookInfo").Result), "Connection refused")
	})
	s.ServeHooksAt(b.URL + "/")
	call(t, s, "setWebhook", "url", "https://bot.example.org/telegram?x=1")
	until(t, "delivered", func() bool { return s.Pending() == 0 })
}

func TestSetWebhookRefusals(t *testing.T) {
	s := start(t, Options{})
	for name, test := range map[string]struct {
		form []string
		want string
	}{
		"not HTTPS":    {[]string{"url", "http://example.org/"}, "An HTTPS URL must be provided"},
		"another port": {[]string{"url", "https://example.org:9000/"}, "only on ports"},
		"no URL":       {[]string{"url", "example.org"}, "Failed to parse"},
		"bad secret":   {[]string{"url", "https://example.org", "secret_token", "a b"}, "unallowed characters"},
		"long secret":  {[]string{"url", "https://example.org", "secret_token", strings.Repeat("a", 257)}, "unallowed characters"},
		"no room":      {[]string{"url", "https://example.org", "max_connections", "0"}, "max_connections"},
		"too much":     {[]string{"url", "https://example.org", "max_connections", "101"}, "max_connections"},
		"bad kinds":    {[]string{"url", "https://example.org", "allowed_updates", "message"}, "allowed_updates"},
	} {
		if a := call(t, s, "setWebhook", test.form...); a.Code != 400 || !strings.Contains(a.Description, test.want) {
			t.Errorf("%s: %+v", name, a)
		}
	}
	if a := call(t, s, "getUpdates"); !a.OK {
		t.Errorf("a webhook that was refused is set: %+v", a)
	}
}

func TestSetWebhookEndsThePollAndDeleteWebhookGivesItBack(t *testing.T) {
	s := start(t, Options{WebhookPause: time.Millisecond})
	older := make(chan got, 1)
	go func() {
		a, _ := ask(t.Context(), s, "getUpdates", "timeout", "30")
		older <- a
	}()
	waitOpen(t, s, "getUpdates", 1)
	call(t, s, "setWebhook", "url", "https://example.org/", "allowed_updates", `["message"]`)
	if a := <-older; a.Code != http.StatusConflict || !strings.Contains(a.Description, "setWebhook") {
		t.Errorf("the poll in progress got %+v", a)
	}
	if info := string(call(t, s, "getWebhookInfo").Result); !strings.Contains(info, `"max_connections":40,"allowed_updates":["message"]`) {
		t.Errorf("getWebhookInfo says %s", info)
	}
	s.User(7, "Ann").Say("one")
	call(t, s, "deleteWebhook")
	if n := len(ids(t, call(t, s, "getUpdates"))); n != 1 {
		t.Errorf("%d updates after deleteWebhook, want 1", n)
	}
	call(t, s, "deleteWebhook", "drop_pending_updates", "true")
	if n := s.Pending(); n != 0 {
		t.Errorf("%d updates were kept", n)
	}
}
