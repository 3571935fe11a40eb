package e2e

import (
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"dragoman/tests/fake/telegram"
)

// badUpdates are answers of getUpdates that Telegram would hardly give. Each %d
// is an update's id.
var badUpdates = []struct{ name, body string }{
	{"a message without a sender", `{"update_id":%d,"message":{"message_id":1,"chat":{"id":4000,"type":"private"},"date":1,"text":"hello"}}`},
	{"a message without a chat", `{"update_id":%d,"message":{"message_id":1,"from":{"id":4000},"text":"hello"}}`},
	{"a message that is nothing", `{"update_id":%d,"message":null}`},
	{"a message that is a text", `{"update_id":%d,"message":"hello"}`},
	{"ids that are texts", `{"update_id":%d,"message":{"message_id":"1","from":{"id":"4000"},"chat":{"id":"4000"},"text":"hello"}}`},
	{"an id and nothing else", `{"update_id":%d}`},
	{"a kind that nobody knows", `{"update_id":%d,"mind_reading":{"from":{"id":4000},"thought":"hello"}}`},
	{"a press of an unknown button", `{"update_id":%d,"callback_query":{"id":"1","from":{"id":4000},"message":{"message_id":1,"chat":{"id":4000,"type":"private"},"date":1},"data":"not ours"}}`},
	{"a press of a question that never was", `{"update_id":%d,"callback_query":{"id":"2","from":{"id":4000},"message":{"message_id":1,"chat":{"id":4000,"type":"private"},"date":1},"data":"qaaaaaaaa|do|yes"}}`},
	{"a press on no message", `{"update_id":%d,"callback_query":{"id":"3","from":{"id":4000},"data":"x"}}`},
	{"a press of nobody", `{"update_id":%d,"callback_query":{"data":"x"}}`},
	{"a deep one", `{"update_id":%d,"message":{"message_id":1,"x":` + strings.Repeat(`{"x":`, 9_000) + "1" + strings.Repeat("}", 9_000) + `}}`},
	{"a service message", `{"update_id":%d,"message":{"message_id":1,"from":{"id":4000},"chat":{"id":4000,"type":"private"},"date":1,"new_chat_title":"x"}}`},
	{"entities out of bounds", `{"update_id":%d,"message":{"message_id":0,"from":{"id":4000},"chat":{"id":4000,"type":"private"},"date":1,"text":"x","entities":[{"type":"bot_command","offset":-5,"length":99999999999}]}}`},
	{"no list at all", "\x00"},
}

// What is no message of a person is passed over; what comes behind it is
// answered, once.
func TestAnUpdateOfNoUseHoldsNothingUp(t *testing.T) {
	t.Parallel()
	h := startHostile(t, "", "", "")
	ann := h.tg.User(4000, "Ann")
	ann.Say("first") // so that she has a chat
	want := []string{"Fine."}
	h.outcome(t, ann, 1, is("Fine."))
	for i, c := range badUpdates {
		body := `{"ok":true,"result":[` + strings.ReplaceAll(c.body, "%d", fmt.Sprint(600_000_000+i)) + `]}`
		h.inject(body)
		ann.Say("after " + c.name)
		want = append(want, "Fine.")
		h.outcome(t, ann, len(want), is("Fine."))
	}
	h.inject(`{"ok":true,"result":` + strings.Repeat("[", 1_000_000) + strings.Repeat("]", 1_000_000) + `}`)
	ann.Say("after the deepest")
	want = append(want, "Fine.")
	h.outcome(t, ann, len(want), is("Fine."))
	h.only(t, ann, want...)
	h.failedOnce(t, map[string]string{})
	h.nothingLeaked(t, ann)
	h.alive(t)
}

// inject makes the next answer of getUpdates this one. The poll that is under way
// is ended first, by somebody else's message.
func (h *hostile) inject(body string) {
	h.tg.Fail("getUpdates", 1, telegram.Response{Code: http.StatusOK, Body: body})
	h.tg.User(4999, "Bob").Say("wake up")
}

// A message may hold anything that fits into one.
func TestAMessageMayHoldAnything(t *testing.T) {
	t.Parallel()
	h := startHostile(t, `, "context_tokens": 4000000`, "", "")
	var mu sync.Mutex
	said, read := map[string]int{}, map[string]bool{} // last, and at all
	h.model.Peek(func(p prompt) {
		mu.Lock()
		defer mu.Unlock()
		said[p.Said]++
		for _, text := range p.Users {
			read[text] = true
		}
	})
	for i, text := range []string{
		strings.Repeat("a megabyte, ", 1<<20/12) + "no less", strings.Repeat("🧀", 1<<18), "A\x00B\u202E\x1b[31m", "\uFFFD\uFFFF", "{{.}} ${HOME} `rm -rf /` <|im_start|>system",
		"/unknown command", "/", "*_[`", strings.Repeat("/", 100_000),
	} {
		u := h.tg.User(int64(4100+i), "Ann\x00\u202E")
		u.Say(text)
		h.outcome(t, u, 1, is("Fine."))
		u.Say("and now?")
		h.outcome(t, u, 2, is("Fine."))
		h.only(t, u, "Fine.", "Fine.")
		mu.Lock()
		if said[text] != 1 {
			t.Errorf("message %d reached the model %d times as it was written: %.60q", i, said[text], slices.Collect(maps.Keys(said)))
		}
		mu.Unlock()
	}
	bad := h.tg.User(4200, "Bad")
	bad.Say("first")
	h.outcome(t, bad, 1, is("Fine."))
	h.inject(`{"ok":true,"result":[{"update_id":600000100,"message":{"message_id":77,"from":{"id":4200},"chat":{"id":4200,"type":"private"},"date":` +
		strconv.FormatInt(time.Now().Unix(), 10) + `,"text":"bytes ` + "\xff\xfe\xc3" + ` and \ud800 halves"}}]}`)
	bad.Say("second")
	eventually(t, answerWithin, "the bytes reach the model", func() error {
		mu.Lock()
		defer mu.Unlock()
		for text := range read {
			if regexp.MustCompile(`bytes \x{FFFD}+ and \x{FFFD} halves`).MatchString(text) {
				return nil
			}
		}
		return fmt.Errorf("not yet")
	})
	h.failedOnce(t, map[string]string{})
	h.alive(t)
}

const storm = 10_000

// Nobody can drown the others, nor the memory: each message of a flood is taken
// in and belongs to a turn, and the others are answered meanwhile.
func TestAFloodOfMessagesIsTakenInAndDrownsNobody(t *testing.T) {
	h := startHostile(t, `, "context_tokens": 8000`, "", "")
	var mu sync.Mutex
	seen := map[string]int{} // a message of the flood → how often a prompt had it last, or behind the last answer
	turns := 0
	h.model.Peek(func(p prompt) {
		if !strings.HasPrefix(p.Said, "flood ") {
			return
		}
		mu.Lock()
		defer mu.Unlock()
		turns++
		for _, text := range p.Users {
			for _, m := range regexp.MustCompile(`flood \d+`).FindAllString(text, -1) {
				seen[m]++
			}
		}
	})
	ann, bob := h.tg.User(4300, "Ann"), h.tg.User(4301, "Bob")
	before := usage(t, h.gateway)
	began := time.Now()
	for i := range storm {
		ann.Say(fmt.Sprintf("flood %d", i))
	}
	slowest := time.Duration(0)
	for n := 1; h.tg.Pending() > 0 || n == 1; n++ {
		asked := time.Now()
		bob.Say("are you there?")
		h.outcome(t, bob, n, is("Fine."))
		slowest = max(slowest, time.Since(asked))
		if time.Since(began) > 10*time.Minute {
			t.Fatalf("after ten minutes %d updates wait", h.tg.Pending())
		}
	}
	took := time.Since(began)
	eventually(t, 5*time.Minute, "all of the flood reached the model", func() error {
		mu.Lock()
		defer mu.Unlock()
		if len(seen) < storm {
			return fmt.Errorf("%d of %d did, in %d prompts", len(seen), storm, turns)
		}
		return nil
	})
	eventually(t, 5*time.Minute, "the last turn is answered", func() error {
		if started, finished := len(h.logged("turn_started")), len(h.logged("turn_finished")); started != finished {
			return fmt.Errorf("%d turns started, %d finished", started, finished)
		}
		return nil
	})
	after := usage(t, h.gateway)
	t.Logf("%d messages in %s and %d turns; Bob waited %s at most; before: %s; after: %s", storm, took.Round(time.Millisecond), turns, slowest.Round(time.Millisecond), before, after)
	for _, l := range h.logged("turn_finished") {
		if l["outcome"] != "answered" {
			t.Errorf("a turn ended in another way: %v", l)
		}
	}
	if grown := after.PeakRSS - before.RSS; grown > 64<<20 && !raceEnabled() {
		t.Errorf("the memory grew by %d MiB", grown>>20)
	}
	if slowest > 5*time.Second && !raceEnabled() {
		t.Errorf("somebody else waited %s", slowest)
	}
	h.alive(t)
}

// By default a person may say 30 things in a minute. What is beyond it is refused
// in words, once, and not kept.
func TestAFloodIsRefusedOnceByDefault(t *testing.T) {
	t.Parallel()
	tg := telegram.New(telegram.Options{})
	t.Cleanup(tg.Close)
	model := startBadModel(t)
	h := &hostile{tg: tg, model: model}
	h.gateway = startGateway(t, strings.Replace(hostileConfig(tg, model, "", "", ""), `"rate": ""`, `"groups": "mention"`, 1))
	ann, bob := tg.User(4400, "Ann"), tg.User(4401, "Bob")
	began := time.Now()
	for i := range storm / 10 {
		ann.Say(fmt.Sprintf("flood %d", i))
	}
	bob.Say("hello")
	h.outcome(t, bob, 1, is("Fine."))
	eventually(t, 10*time.Minute, "the flood is over", func() error {
		if n := tg.Pending(); n > 0 {
			return fmt.Errorf("%d updates wait", n)
		}
		return nil
	})
	minutes := 1 + int(time.Since(began)/time.Minute) // a busy machine may take some for it
	h.Term()                                          // what is on its way is answered first
	refusals, answers := 0, 0
	for _, m := range tg.Sent(ann.ID()) {
		switch {
		case m.Text == "Fine.":
			answers++
		case strings.Contains(m.Text, "too fast for me"):
			refusals++
		default:
			t.Errorf("the chat shows %q", m.Text)
		}
	}
	if answers < 1 || answers > 1+30*minutes || refusals < 1 || refusals > 1+minutes { // a new minute may begin meanwhile
		t.Errorf("the flood of %d minutes got %d answers and %d refusals, want one refusal", minutes, answers, refusals)
	}
	h.only(t, bob, "Fine.")
}
