package telegram

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"dragoman/ports"
	"dragoman/tests/channeltest"
	fake "dragoman/tests/fake/telegram"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// rig is a fake Telegram with a channel on it.
type rig struct {
	t      *testing.T
	server *fake.Server
	ch     *Channel
	inbox  *channeltest.Inbox
	in     ports.Receiver // what Run gets, if it is not the inbox
	log    *book
	stop   func() error
}

func set(t *testing.T, o fake.Options) *rig {
	t.Helper()
	s := &rig{t: t, server: fake.New(o), inbox: &channeltest.Inbox{}, log: &book{}}
	t.Cleanup(s.server.Close)
	s.ch = s.channel(configOf(s.server))
	return s
}

func (s *rig) channel(cfg Config) *Channel {
	s.t.Helper()
	ch, err := New(cfg, slog.New(slog.NewTextHandler(s.log, &slog.HandlerOptions{Level: slog.LevelDebug})))
	if err != nil {
		s.t.Fatal(err)
	}
	s.t.Cleanup(ch.api.http.CloseIdleConnections)
	return ch
}

// run starts Run; it is stopped at the end, or by stop.
func (s *rig) run() {
	ctx, cancel := context.WithCancel(s.t.Context())
	done := make(chan error, 1)
	in := s.in
	if in == nil {
		in = s.inbox
	}
	go func() { done <- s.ch.Run(ctx, in) }()
	s.stop = sync.OnceValue(func() error {
		cancel()
		select {
		case err := <-done:
			return err
		case <-time.After(time.Minute):
			return errors.New("Run does not end")
		}
	})
	s.t.Cleanup(func() {
		if err := s.stop(); err != nil && !errors.Is(err, context.Canceled) {
			s.t.Error(err)
		}
	})
}

func (s *rig) await(n int) []ports.Message {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), 30*time.Second)
	defer cancel()
	all, err := s.inbox.Await(ctx, n)
	if err != nil {
		s.t.Fatal(err)
	}
	return all
}

// until polls for a condition.
func (s *rig) until(what string, ok func() bool) {
	s.t.Helper()
	for deadline := time.Now().Add(30 * time.Second); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			s.t.Fatalf("never: %s\n%s", what, s.log)
		}
	}
}

func text(chat int64, words string, choices ...ports.Choice) ports.Outgoing {
	return ports.Outgoing{
		In:      ports.Conversation{Chat: fmt.Sprint(chat)},
		Content: ports.Content{Text: words, Choices: choices},
	}
}

// book keeps log lines. Safe for many goroutines.
type book struct {
	mu    sync.Mutex
	lines bytes.Buffer
}

func (b *book) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.lines.Write(p)
}

func (b *book) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.lines.String()
}

func TestPollAcknowledgesOnlyWhatIsStored(t *testing.T) {
	s := set(t, fake.Options{})
	ann := s.server.User(7, "Ann")
	for i := range 250 { // more than one answer holds
		ann.Say(fmt.Sprint("message ", i))
	}
	s.inbox.Refuse(-1)
	s.run()
	s.until("a refusal", func() bool { _, n := s.inbox.Refused(); return n >= 1 })
	if n := s.server.Pending(); n != 250 {
		t.Errorf("%d updates wait at Telegram after a refused batch, want 250", n)
	}
	s.inbox.Refuse(0)
	for i, m := range s.await(250) {
		if m.Text != fmt.Sprint("message ", i) {
			t.Fatalf("place %d has %q", i, m.Text)
		}
	}
	s.until("all acknowledged", func() bool { return s.server.Pending() == 0 })
}

func TestStartWaitsOutOutage(t *testing.T) {
	s := set(t, fake.Options{})
	s.server.Fail("getMe", 2, fake.BadGateway)
	s.run()
	s.server.User(7, "Ann").Say("hello")
	s.await(1)
	for _, want := range []string{"kind=temporary", "telegram_receive_recovered"} {
		if !strings.Contains(s.log.String(), want) {
			t.Errorf("the log has no %q:\n%s", want, s.log)
		}
	}
}

func TestWrongToken(t *testing.T) {
	s := set(t, fake.Options{})
	cfg := configOf(s.server)
	cfg.Token = "424242:wrong"
	err := s.channel(cfg).Run(t.Context(), s.inbox)
	if !ports.IsKind(err, ports.KindUnauthorized) || !strings.Contains(err.Error(), "does not accept the bot token") {
		t.Errorf("Run returned %v", err)
	}
}

func TestWebhookIsNamedAndWaitedOut(t *testing.T) {
	s := set(t, fake.Options{})
	hook := func(method string) {
		res, err := http.Get(s.server.URL() + "/bot" + s.server.Token() + "/" + method)
		if err != nil {
			t.Fatal(err)
		}
		_ = res.Body.Close()
	}
	defer http.DefaultClient.CloseIdleConnections()
	s.run()
	s.until("the poll", func() bool { return s.server.Open("getUpdates") == 1 })
	hook("setWebhook?url=https://example.org/hook")
	s.server.User(7, "Ann").Say("hello")
	s.until("the holder is named", func() bool { return strings.Contains(s.log.String(), "takes this bot's messages to example.org") })
	hook("deleteWebhook")
	s.await(1)
}

func TestOtherPollerIsNamed(t *testing.T) {
	s := set(t, fake.Options{})
	s.run()
	s.until("the poll", func() bool { return s.server.Open("getUpdates") == 1 })
	other := s.channel(configOf(s.server))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	left := make(chan struct{})
	go func() {
		defer close(left)
		_ = other.Run(ctx, &channeltest.Inbox{})
	}()
	s.until("the other poller is named", func() bool { return strings.Contains(s.log.String(), "another program polls") })
	cancel()
	<-left
	s.server.User(7, "Ann").Say("hello")
	s.await(1)
}

func TestRateLimitOfPollIsObeyed(t *testing.T) {
	s := set(t, fake.Options{})
	s.server.Fail("getUpdates", 1, fake.TooManyRequests(1))
	began := time.Now()
	s.run()
	s.server.User(7, "Ann").Say("hello")
	s.await(1)
	if took := time.Since(began); took < time.Second {
		t.Errorf("polled again after %v, Telegram asked for 1s", took)
	}
}

func TestPressIsAnswered(t *testing.T) {
	s := set(t, fake.Options{})
	ann := s.server.User(7, "Ann")
	ann.Say("hello")
	s.run()
	s.await(1)
	if _, err := s.ch.Send(t.Context(), text(7, "May I?", ports.Choice{Question: "q", Field: "f", Value: "v", Label: "Yes"})); err != nil {
		t.Fatal(err)
	}
	button := s.server.Sent(7)[0].ID
	s.inbox.Refuse(-1)
	if err := ann.Press(button, "Yes"); err != nil {
		t.Fatal(err)
	}
	s.until("a refusal", func() bool { _, n := s.inbox.Refused(); return n >= 1 })
	if n, _ := s.server.Answered(); n != 0 {
		t.Error("a press was answered before it was stored")
	}
	s.inbox.Refuse(0)
	s.await(2)
	s.until("the answer", func() bool { n, _ := s.server.Answered(); return n == 1 })
}

func TestHangingAnswersBlockNothing(t *testing.T) {
	s := set(t, fake.Options{})
	s.server.Hang("answerCallbackQuery", -1)
	ann := s.server.User(7, "Ann")
	ann.Say("hello")
	s.run()
	s.await(1)
	if _, err := s.ch.Send(t.Context(), text(7, "May I?", ports.Choice{Question: "q", Field: "f", Value: "v", Label: "Yes"})); err != nil {
		t.Fatal(err)
	}
	pressed := time.Now()
	for range 3 * maxAnswers {
		if err := ann.Press(s.server.Sent(7)[0].ID, "Yes"); err != nil {
			t.Fatal(err)
		}
	}
	s.await(1 + 3*maxAnswers)
	ann.Say("still there?")
	s.await(2 + 3*maxAnswers)
	if took := time.Since(pressed); took >= quickTimeout { // what waited for an answer waited as long
		t.Errorf("messages behind unanswered presses took %v", took)
	}
	if n := s.server.Peak("answerCallbackQuery"); n > maxAnswers {
		t.Errorf("%d answers at once, want at most %d", n, maxAnswers)
	}
	began := time.Now()
	_ = s.stop()
	if took := time.Since(began); took > quickTimeout*4/5 {
		t.Errorf("Run took %v to end", took)
	}
}

func TestUnreadableCursorStartsOver(t *testing.T) {
	s := set(t, fake.Options{})
	if err := s.inbox.Receive(t.Context(), ports.Batch{Cursor: "not a number"}); err != nil {
		t.Fatal(err)
	}
	s.server.User(7, "Ann").Say("hello")
	s.run()
	s.await(1)
}

func TestUpdatesWithoutIDsDoNotSpin(t *testing.T) {
	var polls atomic.Int32
	odd := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "getUpdates") {
			polls.Add(1)
			_, _ = fmt.Fprint(w, `{"ok":true,"result":["odd",{"message":{}}]}`)
			return
		}
		_, _ = fmt.Fprint(w, `{"ok":true,"result":{"id":42,"username":"us_bot"}}`)
	}))
	defer odd.Close()
	s := set(t, fake.Options{})
	c := s.channel(Config{Token: "1:x", APIURL: odd.URL, Mode: "poll"})
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if err := c.Run(ctx, s.inbox); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Run returned %v", err)
	}
	if n := polls.Load(); n > 10 {
		t.Errorf("%d polls in a second", n)
	}
}
