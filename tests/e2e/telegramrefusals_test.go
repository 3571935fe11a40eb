package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"dragoman/tests/fake/telegram"
)

// place is where one row of a table happens: with a person, in private or in a
// group of the row's own.
type place struct {
	tg    *telegram.Server
	who   *telegram.User
	group *telegram.Group
	topic int
	chat  int64
}

func (p place) say(text string) {
	p.who.Post(telegram.Post{Group: p.group, Topic: p.topic, Text: text})
}

// texts is what the bot says there now.
func (p place) texts() (list []string) {
	for _, m := range p.tg.Sent(p.chat) {
		if m.Text != "" { // but what made a topic
			list = append(list, m.Text)
		}
	}
	return list
}

// places are those of a table, a group for each row that wants one.
func placeOf(tg *telegram.Server, row int, kind string) place {
	p := place{tg: tg, who: tg.User(int64(3000+row), "Ann"), chat: int64(3000 + row)}
	switch kind {
	case "group":
		p.group = tg.Group(int64(-3000-row), "Team")
	case "topic":
		p.group = tg.Group(int64(-3000-row), "Team")
		p.topic = p.group.Topic()
	}
	if p.group != nil {
		p.chat = p.group.ID()
	}
	return p
}

func refusal(code int, words string) telegram.Response {
	return telegram.Response{Code: code, Description: words}
}

// Each way in which Telegram refuses or loses an answer has one outcome: the answer,
// at most once more than once where nobody can know; or a line in the log that says
// why there is none. The next answer comes in any case.
func TestEachRefusalOfAnAnswerHasOneOutcome(t *testing.T) {
	t.Parallel()
	tg := telegram.New(telegram.Options{})
	g := onTelegram(t, tg, slow(t, 1, 0), `, "streaming": "off"`)
	fail := func(times, code int, words string) func(place) {
		return func(place) { tg.Fail("sendMessage", times, refusal(code, words)) }
	}
	for i, c := range []struct {
		name    string
		kind    string // of the place; "" is private
		fault   func(place)
		doubles int    // at most
		why     string // there is no answer, as the log says
		last    bool   // no other answer can be made there
	}{
		{name: "a connection cut before anything is read", fault: func(place) { tg.Drop("sendMessage", 1) }},
		{name: "a page of a proxy in place of the answer", fault: func(place) { tg.Lose("sendMessage", 1, telegram.BadGateway) }, doubles: 1},
		{name: "half an answer", fault: func(place) { tg.Lose("sendMessage", 1, telegram.Garbage) }, doubles: 1},
		{name: "a limit without a time", fault: fail(2, 429, "Too Many Requests")},
		{name: "a bot that may not for a moment", fault: fail(1, 500, "Internal Server Error: restart")},
		{name: "a question that is gone", kind: "group", fault: fail(1, 400, "Bad Request: message to be replied not found")},
		{name: "a question that is gone, in a topic", kind: "topic", fault: fail(1, 400, "Bad Request: REPLY_MESSAGE_ID_INVALID")},
		{name: "a person who left Telegram", fault: fail(1, 403, "Forbidden: user is deactivated"), why: "the person's account is gone"},
		{name: "a chat that is gone", fault: fail(1, 400, "Bad Request: chat not found"), why: "chat not found"},
		{name: "a group where bots may not write", kind: "group", why: "the bot may not write in the group",
			fault: fail(1, 400, "Bad Request: not enough rights to send text messages to the chat")},
		{name: "a group that kicked the bot", kind: "group", fault: func(p place) { p.group.Kick() }, why: "the bot is no longer in the group", last: true},
		{name: "a topic that is closed", kind: "topic", fault: func(p place) { p.group.CloseTopic(p.topic) }, why: "the topic is closed", last: true},
	} {
		p := placeOf(tg, i, c.kind)
		answer := func(text string) string {
			if c.kind != "" {
				text = "Ann: " + text
			}
			return "You said: " + text
		}
		c.fault(p)
		p.say(c.name)
		if c.why != "" {
			g.WaitLine(fmt.Sprintf(`delivery_given_up.*"chat":"%d".*%s`, p.chat, c.why), answerWithin)
		}
		want := []string{answer(c.name)}
		if c.why != "" {
			want = nil
		}
		shows := func() error {
			if got := slices.Compact(p.texts()); !slices.Equal(got, want) {
				return fmt.Errorf("there is %q, want %q", got, want)
			}
			return nil
		}
		eventually(t, answerWithin, c.name, shows)
		if !c.last {
			p.say("and now?")
			want = append(want, answer("and now?"))
			eventually(t, answerWithin, c.name, shows)
		}
		if n := len(p.texts()) - len(want); n > c.doubles {
			t.Errorf("%s: %d doubles, at most %d may be: %q", c.name, n, c.doubles, p.texts())
		}
	}
	if status, _, body := g.get("/readyz", ""); status != http.StatusOK || !strings.Contains(body, `"running"`) {
		t.Errorf("/readyz: %d %s", status, body)
	}
}

// The same for an answer that is shown while it is made, and is then put into
// the message that showed it.
func TestEachRefusalOfAnEditHasOneOutcome(t *testing.T) {
	t.Parallel()
	tg := telegram.New(telegram.Options{})
	g := onTelegram(t, tg, slow(t, 30, 200*time.Millisecond), "")
	unchanged := refusal(400, "Bad Request: message is not modified: specified new message content and reply markup are exactly the same as a current content and reply markup of the message")
	for i, c := range []struct {
		name, kind string
		fault      func(place)
		stale      bool   // what showed it stays beside it
		why        string // there is no answer, as the log says
	}{
		{name: "a connection cut before anything is read", fault: func(place) { tg.Drop("editMessageText", 2) }},
		{name: "a connection cut after the edit", fault: func(place) { tg.Cut("editMessageText", 2) }},
		{name: "a connection cut in the middle of the answer", fault: func(place) { tg.Break("editMessageText", 2) }},
		{name: "a server error", fault: func(place) { tg.Fail("editMessageText", 2, telegram.ServerError) }},
		{name: "a page of a proxy", fault: func(place) { tg.Lose("editMessageText", 2, telegram.BadGateway) }},
		{name: "nothing that would change", fault: func(place) { tg.Lose("editMessageText", 2, unchanged) }},
		{name: "a message that somebody deleted", fault: func(p place) { tg.Delete(p.chat, tg.Sent(p.chat)[0].ID) }},
		{name: "a message that cannot be edited", stale: true, fault: func(place) {
			tg.Fail("editMessageText", -1, refusal(400, "Bad Request: message can't be edited"))
		}},
		{name: "a person who blocks the bot", fault: func(p place) { p.who.Block() }, stale: true, why: "the person blocked the bot"},
		{name: "a group that kicks the bot", kind: "group", fault: func(p place) { p.group.Kick() }, stale: true, why: "the bot is no longer in the group"},
	} {
		p := placeOf(tg, i, c.kind)
		p.say(c.name)
		var shown []string
		eventually(t, answerWithin, c.name+": a preview", func() error {
			if shown = p.texts(); len(shown) != 1 || !strings.HasSuffix(shown[0], " …") {
				return fmt.Errorf("there is %q", shown)
			}
			return nil
		})
		c.fault(p)
		if c.why != "" {
			g.WaitLine(fmt.Sprintf(`delivery_given_up.*"chat":"%d".*%s`, p.chat, c.why), answerWithin)
		}
		var want []string
		if c.stale {
			want = append(want, "preview")
		}
		if c.why == "" {
			want = append(want, "You said: "+c.name)
		}
		eventually(t, answerWithin, c.name, func() error {
			got := p.texts()
			if c.stale && len(got) > 0 && strings.HasSuffix(got[0], " …") {
				got[0] = "preview"
			}
			if !slices.Equal(got, want) {
				return fmt.Errorf("there is %q, want %q", got, want)
			}
			return nil
		})
		tg.Mend("editMessageText")
	}
}

// api calls the fake as another program with the bot's token does.
func api(ctx context.Context, tg *telegram.Server, method string, params map[string]any) (code int, description string, err error) {
	body, err := json.Marshal(params)
	if err != nil {
		return 0, "", err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, tg.URL()+"/bot"+tg.Token()+"/"+method, bytes.NewReader(body))
	if err != nil {
		return 0, "", err
	}
	req.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, "", err
	}
	defer res.Body.Close()
	var a struct {
		Code        int `json:"error_code"`
		Description string
	}
	return a.Code, a.Description, json.NewDecoder(res.Body).Decode(&a)
}

// readyz waits until /readyz says something.
func readyz(t testing.TB, g *gateway, words string) {
	t.Helper()
	eventually(t, answerWithin, words, func() error {
		if _, _, body := g.get("/readyz", ""); !strings.Contains(body, words) {
			return fmt.Errorf("/readyz says %s", body)
		}
		return nil
	})
}

// Another program takes the bot's messages away, by a webhook or by a poll: it is
// said, and what it did not take is answered once it is gone.
func TestAnotherProgramWithTheSameTokenIsWaitedOut(t *testing.T) {
	t.Parallel()
	tg := telegram.New(telegram.Options{})
	g := onTelegram(t, tg, slow(t, 1, 0), "")
	ann := tg.User(1001, "Ann")
	ann.Say("one")
	told(t, tg, ann.ID(), "You said: one")

	if code, why, err := api(t.Context(), tg, "setWebhook", map[string]any{"url": "https://other.example:8443/secret-path"}); code != 0 || err != nil {
		t.Fatal(code, why, err)
	}
	readyz(t, g, "somebody else receives for this account")
	g.WaitLine("a webhook of another program takes this bot's messages to other.example:8443", answerWithin)
	ann.Say("two")
	if code, why, err := api(t.Context(), tg, "deleteWebhook", nil); code != 0 || err != nil {
		t.Fatal(code, why, err)
	}
	told(t, tg, ann.ID(), "You said: one", "You said: two")
	readyz(t, g, `"running"`)

	ctx, cancel := context.WithCancel(t.Context())
	gone := make(chan struct{})
	go func() { // each of the two ends the other's poll
		defer close(gone)
		for ctx.Err() == nil {
			_, _, _ = api(ctx, tg, "getUpdates", map[string]any{"timeout": 50, "offset": 0, "limit": 1})
		}
	}()
	readyz(t, g, "somebody else receives for this account")
	g.WaitLine("another program polls with the same bot token", answerWithin)
	cancel()
	<-gone
	ann.Say("three")
	told(t, tg, ann.ID(), "You said: one", "You said: two", "You said: three")
	readyz(t, g, `"running"`)
	for _, line := range g.proc.Lines() {
		if strings.Contains(line, "secret-path") || strings.Contains(line, tg.Token()) {
			t.Errorf("a secret is in the log: %s", line)
		}
	}
}

// The token is taken back in the middle of a run: it is said, nobody is told raw
// words, and what was to be said is said once there is a token again.
func TestAnAnswerOutlivesARefusedToken(t *testing.T) {
	t.Parallel()
	tg := telegram.New(telegram.Options{})
	g := onTelegram(t, tg, slow(t, 40, 200*time.Millisecond), "")
	ann := tg.User(1001, "Ann")
	long := strings.TrimSpace(strings.Repeat("and on ", 20))
	ann.Say(long)
	growing(t, tg, ann, 0)
	methods := []string{"getUpdates", "sendMessage", "editMessageText", "sendChatAction", "getMe"}
	for _, method := range methods {
		tg.Fail(method, -1, telegram.Unauthorized)
	}
	ann.Say("and then") // wakes the poll, which is refused behind it
	readyz(t, g, "the platform does not let the bot in")
	g.WaitLine("telegram does not accept the bot token", answerWithin)
	g.WaitLine(`delivery_retried.*"kind":"unauthorized"`, answerWithin)
	if sent := tg.Sent(ann.ID()); len(sent) != 1 || !strings.HasSuffix(sent[0].Text, " …") {
		t.Errorf("meanwhile there is %+v", sent)
	}
	for _, method := range methods {
		tg.Mend(method)
	}
	g.Kill() // it would wait a minute for its admin
	g.Start()
	told(t, tg, ann.ID(), "You said: "+long, "You said: and then")
}
