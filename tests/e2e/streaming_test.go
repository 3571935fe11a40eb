package e2e

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"dragoman/tests/fake/telegram"
)

// slowly answers a message in pieces of 20 characters, 200 ms apart.
func slowly(message, answer string) fixture {
	f := says(message, answer)
	f["latency"], f["chunkSize"] = 200, 20
	return f
}

// growing waits until the bot's only message to a person is one in the making
// that was edited n times.
func growing(t testing.TB, tg *telegram.Server, u *telegram.User, n int) telegram.Sent {
	t.Helper()
	var sent []telegram.Sent
	eventually(t, answerWithin, fmt.Sprintf("a preview with %d edits", n), func() error {
		if sent = tg.Sent(u.ID()); len(sent) != 1 || sent[0].Edits < n {
			return fmt.Errorf("there is %+v", sent)
		}
		return nil
	})
	return sent[0]
}

// becomes waits until the bot's only message to a person is this text.
func becomes(t testing.TB, tg *telegram.Server, u *telegram.User, text string) telegram.Sent {
	t.Helper()
	var sent []telegram.Sent
	eventually(t, answerWithin, "the answer", func() error {
		if sent = tg.Sent(u.ID()); len(sent) != 1 || sent[0].Text != text {
			return fmt.Errorf("there is %+v", sent)
		}
		return nil
	})
	return sent[0]
}

func TestAnAnswerGrowsOnTelegram(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var shown []string // one after the other
	tg := telegram.New(telegram.Options{Watch: telegram.Watch{Shown: func(_ int64, text string, _ bool) {
		mu.Lock()
		defer mu.Unlock()
		shown = append(shown, text)
	}}})
	t.Cleanup(tg.Close)
	poem := strings.TrimSpace(strings.Repeat("all work and no play ", 20))
	saga := strings.Repeat("all work and no play ", 300) // for a minute
	mock := startAimock(t, slowly("a poem", poem), says("in short", "Short."), slowly("a saga", saga))
	g := startGateway(t, telegramConfig(t, tg, mock, t.TempDir(), open("open")))
	ann := tg.User(1001, "Ann")

	ann.Say("write a poem")
	first := growing(t, tg, ann, 1)
	mu.Lock()
	if text, ok := strings.CutSuffix(shown[0], " …"); !ok || !strings.HasPrefix(poem, text) || text == "" {
		t.Errorf("while it is made the answer reads %q", shown[0])
	}
	mu.Unlock()
	if got := becomes(t, tg, ann, poem); got.ID != first.ID || got.Edits > 6 {
		t.Errorf("the answer is message %d with %d edits, it grew as message %d", got.ID, got.Edits, first.ID)
	}

	said := time.Now()
	ann.Say("and in short?")
	got := answers(t, tg, ann, 2)[1]
	if atOnce := time.Since(said) < 700*time.Millisecond; got.Text != "Short." || got.Edits != 0 && atOnce {
		t.Errorf("an answer that was there at once reads %q with %d edits", got.Text, got.Edits)
	}

	ann.Say("now write a saga")
	eventually(t, answerWithin, "a preview", func() error {
		if n := len(tg.Sent(ann.ID())); n != 3 {
			return fmt.Errorf("there are %d messages", n)
		}
		return nil
	})
	ann.Say("/stop")
	eventually(t, answerWithin, "the end", func() error {
		if got := answers(t, tg, ann, 3)[2]; got.Text != "Stopped." {
			return fmt.Errorf("it reads %q", got.Text)
		}
		return nil
	})
	g.Term()
}

func TestAnAnswerThatGrewIsFinishedAfterAKill(t *testing.T) {
	t.Parallel()
	tg := telegram.New(telegram.Options{})
	t.Cleanup(tg.Close)
	poem := strings.TrimSpace(strings.Repeat("all work and no play ", 20))
	mock := startAimock(t, slowly("a poem", poem))
	g := startGateway(t, telegramConfig(t, tg, mock, t.TempDir(), open("open")))
	ann := tg.User(1001, "Ann")
	ann.Say("write a poem")
	first := growing(t, tg, ann, 1)
	g.Kill()
	g.Start()
	if got := becomes(t, tg, ann, poem); got.ID != first.ID {
		t.Errorf("the answer is message %d, it grew as message %d", got.ID, first.ID)
	}
}

func TestStreamingCanBeOff(t *testing.T) {
	t.Parallel()
	tg := telegram.New(telegram.Options{})
	t.Cleanup(tg.Close)
	mock := startAimock(t, slowly("a poem", strings.Repeat("all work and no play ", 8)))
	config := telegramConfig(t, tg, mock, t.TempDir(), open("open"))
	startGateway(t, strings.Replace(config, `"type": "telegram"`, `"type": "telegram", "streaming": "off"`, 1))
	ann := tg.User(1001, "Ann")
	ann.Say("write a poem")
	if got := answers(t, tg, ann, 1)[0]; got.Edits != 0 || strings.Contains(got.Text, "…") {
		t.Errorf("the answer reads %q, with %d edits", got.Text, got.Edits)
	}
}
