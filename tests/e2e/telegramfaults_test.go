package e2e

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"dragoman/tests/fake/model"
	"dragoman/tests/fake/telegram"
)

// slow is a model that echoes what was said, long texts in pieces.
func slow(t testing.TB, pieces int, pace time.Duration) *model.Server {
	t.Helper()
	m := model.New(model.Options{Pieces: pieces, Pace: pace, Answer: func(r model.Request) model.Reply {
		return model.Reply{Text: "You said: " + r.Last().Text}
	}})
	t.Cleanup(m.Close)
	return m
}

// onTelegram is a gateway between a fake Telegram and a model, with more keys of the
// channel. It does not wait for the disk, which on a busy machine takes longer than
// what is looked at.
func onTelegram(t testing.TB, tg *telegram.Server, m *model.Server, more string) *gateway {
	t.Helper()
	t.Cleanup(tg.Close)
	return startGateway(t, `{
	"listen": "${LISTEN}", "store": {"type": "sqlite", "sync": "normal"},
	"models": {"main": {"type": "openai", "base_url": `+quoted(m.URL())+`, "model": "m"}},
	"channels": {"tg": {"type": "telegram", "token": `+quoted(tg.Token())+`, "api_url": `+quoted(tg.URL())+more+`}},
	"access": {"mode": "open", "groups": "all", "rate": ""},
	"log": {"level": "debug"}
}`)
}

// told waits until a person was told exactly these.
func told(t testing.TB, tg *telegram.Server, chat int64, want ...string) {
	t.Helper()
	eventually(t, answerWithin, fmt.Sprintf("%q in chat %d", want, chat), func() error {
		var got []string
		for _, m := range tg.Sent(chat) {
			got = append(got, m.Text)
		}
		if !slices.Equal(got, want) {
			return fmt.Errorf("there is %q", got)
		}
		return nil
	})
}

// A chat that Telegram holds up for a while gets its answer right after that, in
// order, and is left alone until then.
func TestAnAnswerComesRightAfterAFlood(t *testing.T) {
	t.Parallel()
	const flood = 10 * time.Second
	tg := telegram.New(telegram.Options{PerChat: time.Second})
	onTelegram(t, tg, slow(t, 40, 100*time.Millisecond), "")
	ann, bob := tg.User(1001, "Ann"), tg.User(1002, "Bob")
	poem := strings.TrimSpace(strings.Repeat("all work and no play ", 20))
	ann.Say(poem)
	eventually(t, answerWithin, "a preview", func() error {
		if n := len(tg.Sent(ann.ID())); n != 1 {
			return fmt.Errorf("there are %d messages", n)
		}
		return nil
	})
	tg.Flood(ann.ID(), flood)
	began, before := time.Now(), tg.Refused(ann.ID())
	ann.Say("and now?")
	bob.Say("hello")
	told(t, tg, bob.ID(), "You said: hello")
	if took := time.Since(began); took > flood {
		t.Errorf("another chat waited %v", took)
	}
	told(t, tg, ann.ID(), "You said: "+poem, "You said: and now?")
	if late := time.Since(began) - flood - 2*time.Second - 4*time.Second - slack; late > 0 { // the second answer is made after the first
		t.Errorf("the answers came %v too late", late)
	}
	if n := tg.Refused(ann.ID()) - before; n > 4 {
		t.Errorf("Telegram was asked %d times while it wanted silence", n)
	}
	for _, m := range tg.Sent(ann.ID()) {
		if m.Edits > 20 {
			t.Errorf("%q has %d edits", m.Text, m.Edits)
		}
	}
}

func TestAStormOfRefusalsKeepsTheOrder(t *testing.T) {
	t.Parallel()
	tg := telegram.New(telegram.Options{})
	onTelegram(t, tg, slow(t, 1, 0), `, "streaming": "off"`)
	chats := []*telegram.User{tg.User(1001, "Ann"), tg.User(1002, "Bob"), tg.User(1003, "Eve")}
	tg.Fail("sendMessage", 6, telegram.TooManyRequests(1))
	began := time.Now()
	for i := range 4 {
		for _, u := range chats {
			u.Say(fmt.Sprint("message ", i))
		}
	}
	for _, u := range chats {
		last := "message 3"
		eventually(t, answerWithin, "the last answer", func() error {
			sent := tg.Sent(u.ID())
			if len(sent) == 0 || !strings.Contains(sent[len(sent)-1].Text, last) {
				return fmt.Errorf("there is %+v", sent)
			}
			return nil
		})
		var all string
		for _, m := range tg.Sent(u.ID()) {
			all += m.Text
		}
		at := -1
		for i := range 4 {
			next := strings.Index(all, fmt.Sprint("message ", i))
			if next <= at {
				t.Errorf("out of order or lost: %q", all)
			}
			at = next
		}
	}
	if took := time.Since(began); took > 6*time.Second+10*time.Second {
		t.Errorf("six seconds of refusals took %v", took)
	}
}

// What goes wrong with one call is waited out, tried again or done without.
func TestAnswersArriveThroughFaultsOfTelegram(t *testing.T) {
	t.Parallel()
	tg := telegram.New(telegram.Options{})
	g := onTelegram(t, tg, slow(t, 1, 0), "")
	for i, c := range []struct {
		name, says, want string
		fault            func()
		doubles          int // at most
	}{
		{"a server error", "one", "You said: one", func() { tg.Fail("sendMessage", 2, telegram.ServerError) }, 0},
		{"a bad gateway", "two", "You said: two", func() { tg.Fail("sendMessage", 2, telegram.BadGateway) }, 0},
		{"entities that it cannot parse", "**three**", "You said: three", func() {
			tg.Fail("sendMessage", 1, telegram.Response{Code: 400, Description: "Bad Request: can't parse entities: unsupported start tag"})
		}, 0},
		{"a connection cut after the send", "four", "You said: four", func() { tg.Cut("sendMessage", 1) }, 1},
		{"a connection cut in the middle of the answer", "five", "You said: five", func() { tg.Break("sendMessage", 1) }, 1},
		{"polls that fail", "six", "You said: six", func() { tg.Fail("getUpdates", 2, telegram.ServerError) }, 0},
		{"a poll cut in the middle of the answer", "seven", "You said: seven", func() { tg.Break("getUpdates", 1) }, 0},
	} {
		who := tg.User(int64(2000+i), "Ann")
		c.fault()
		who.Say(c.says)
		eventually(t, answerWithin, c.name, func() error {
			if sent := tg.Sent(who.ID()); len(sent) == 0 || sent[len(sent)-1].Text != c.want {
				return fmt.Errorf("there is %+v", sent)
			}
			return nil
		})
		// Whoever is answered next is answered after all that was still under way.
		who.Say("done")
		eventually(t, answerWithin, c.name, func() error {
			if sent := tg.Sent(who.ID()); sent[len(sent)-1].Text != "You said: done" {
				return fmt.Errorf("there is %+v", sent)
			}
			return nil
		})
		if n := len(tg.Sent(who.ID())) - 2; n > c.doubles {
			t.Errorf("%s: %d doubles, at most %d may be: %+v", c.name, n, c.doubles, tg.Sent(who.ID()))
		}
	}

	ann := tg.User(1001, "Ann")
	ann.Say("hello")
	told(t, tg, ann.ID(), "You said: hello")
	ann.Block()
	ann.Say("too late") // as she blocks the bot, her message is on its way
	g.WaitLine(`delivery_given_up.*the person blocked the bot`, answerWithin)
	ann.Unblock()
	ann.Say("back again")
	told(t, tg, ann.ID(), "You said: hello", "You said: back again")
}

// The topic goes while its answer is made: nobody else reads it.
func TestAnAnswerToATopicThatIsGoneIsNotPostedElsewhere(t *testing.T) {
	t.Parallel()
	tg := telegram.New(telegram.Options{Topics: true})
	g := onTelegram(t, tg, slow(t, 80, 100*time.Millisecond), "")
	ann, team := tg.User(1001, "Ann"), tg.Group(-1001, "Team")
	gone, stays, mine := team.Topic(), team.Topic(), ann.NewTopic("sums")
	ann.SayInTopic(team, gone, "a long one "+strings.Repeat("and on ", 20))
	g.WaitLine("batch_stored.*stored[\"=:]+1", answerWithin)
	team.DeleteTopic(gone)
	ann.SayInTopic(team, stays, "here")
	ann.Post(telegram.Post{Topic: mine, Text: "and mine"})
	ann.Say("beside it")
	g.WaitLine("delivery_given_up.*the topic is gone", answerWithin)
	threads := map[string]int{}
	eventually(t, answerWithin, "the answers of three conversations", func() error {
		clear(threads)
		for _, m := range slices.Concat(tg.Sent(team.ID()), tg.Sent(ann.ID())) {
			if m.Text != "" {
				threads[m.Text] = m.Thread
			}
		}
		if len(threads) < 3 {
			return fmt.Errorf("there is %v", threads)
		}
		return nil
	})
	for text, thread := range map[string]int{"You said: Ann: here": stays, "You said: and mine": mine, "You said: beside it": 0} {
		if got, ok := threads[text]; !ok || got != thread {
			t.Errorf("%q is in topic %d (%v), want %d: %v", text, got, ok, thread, threads)
		}
	}
	for text := range threads {
		if strings.Contains(text, "a long one") {
			t.Errorf("what was said in a topic that is gone is shown: %v", threads)
		}
	}
}

func TestADraftIsStoppedByItsButton(t *testing.T) {
	t.Parallel()
	tg := telegram.New(telegram.Options{})
	onTelegram(t, tg, slow(t, 200, 100*time.Millisecond), `, "streaming": "draft"`)
	ann := tg.User(1001, "Ann")
	ann.Say(strings.Repeat("all work and no play ", 50))
	eventually(t, answerWithin, "a draft that grows", func() error {
		if d, ok := ann.Draft(0); !ok || d.Changes < 3 {
			return fmt.Errorf("there is %+v", d)
		}
		return nil
	})
	if n := len(tg.Sent(ann.ID())); n != 0 {
		t.Errorf("beside the draft there are %d messages", n)
	}
	if err := ann.StopDraft(0); err != nil {
		t.Fatal(err)
	}
	told(t, tg, ann.ID(), "Stopped.")
	if d, ok := ann.Draft(0); ok {
		t.Errorf("the draft %+v is left", d)
	}
}

// Who holds the bot's updates, or why nothing comes, is to be read where admins look.
func TestWhyNothingComesInIsSaid(t *testing.T) {
	t.Parallel()
	tg := telegram.New(telegram.Options{})
	g := onTelegram(t, tg, slow(t, 1, 0), "")
	ann := tg.User(1001, "Ann")
	ready := func(words string) {
		t.Helper()
		eventually(t, answerWithin, words, func() error {
			if _, _, body := g.get("/readyz", ""); !strings.Contains(body, words) {
				return fmt.Errorf("/readyz says %s", body)
			}
			return nil
		})
	}
	eventually(t, answerWithin, "the poll", func() error {
		if tg.Open("getUpdates") == 0 {
			return fmt.Errorf("none")
		}
		return nil
	})
	tg.Fail("getUpdates", -1, telegram.Response{Code: 409, Description: "Conflict: terminated by other getUpdates request; make sure that only one bot instance is running"})
	ann.Say("one")
	ready("somebody else receives for this account")
	g.WaitLine("another program polls with the same bot token", answerWithin)
	tg.Mend("getUpdates")
	told(t, tg, ann.ID(), "You said: one")
	ready(`"running"`)
	tg.Fail("getUpdates", -1, telegram.Unauthorized)
	ann.Say("two")
	ready("the platform does not let the bot in")
	g.WaitLine("telegram does not accept the bot token", answerWithin)
}

// What waits behind a turn at work, and what is said in a group, is seen by a reaction.
func TestMessagesThatWaitAreSeen(t *testing.T) {
	t.Parallel()
	tg := telegram.New(telegram.Options{})
	onTelegram(t, tg, slow(t, 40, 200*time.Millisecond), "")
	ann, team := tg.User(1001, "Ann"), tg.Group(-1001, "Team")
	first := ann.Say("a long one " + strings.Repeat("and on ", 20))
	growing(t, tg, ann, 0)
	second := ann.Say("and another")
	third := ann.SayIn(team, "all of you")
	eventually(t, answerWithin, "the reactions", func() error {
		if a, b := tg.Reaction(ann.ID(), second), tg.Reaction(team.ID(), third); a != "👀" || b != "👀" {
			return fmt.Errorf("there is %q and %q", a, b)
		}
		return nil
	})
	if tg.Reaction(ann.ID(), first) != "" {
		t.Error("what is answered at once got one too")
	}
}
