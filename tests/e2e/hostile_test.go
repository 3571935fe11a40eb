package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"dragoman/tests/fake/telegram"
)

// hostile is a gateway on the fake Telegram with a model, and tools, that mean it ill.
type hostile struct {
	*gateway
	tg    *telegram.Server
	model *badModel
}

// hostileConfig is the config with more keys of the model, more keys at the top,
// and servers.
func hostileConfig(tg *telegram.Server, model *badModel, ofModel, servers, more string) string {
	return `{
	"version": 1, "listen": "${LISTEN}",
	"models": {"main": {"type": "openai", "base_url": ` + quoted(model.URL) + `, "model": "m", "api_key": ` + quoted(modelKey) + ofModel + `}},
	"channels": {"tg": {"type": "telegram", "token": ` + quoted(tg.Token()) + `, "api_url": ` + quoted(tg.URL()) + `, "sends_in_flight": 64}},
	"access": {"mode": "open", "rate": ""},
	"mcp_servers": {` + servers + `},
	"tools": {"default": "allow"},
	` + more + `
	"log": {"format": "json", "level": "info"}
}`
}

func startHostile(t testing.TB, ofModel, servers, more string) *hostile {
	t.Helper()
	tg := telegram.New(telegram.Options{})
	t.Cleanup(tg.Close)
	model := startBadModel(t)
	g := startGateway(t, hostileConfig(tg, model, ofModel, servers, more))
	return &hostile{gateway: g, tg: tg, model: model}
}

// firstAlone is the first chat of startEachAlone.
const firstAlone = 2000

// startEachAlone is startHostile with a model for each of n chats, which are all the
// same server: one model that fails in one chat after another is left alone.
func startEachAlone(t testing.TB, n int, ofModel, servers string) *hostile {
	t.Helper()
	return startEach(t, n, func(int) string { return ofModel }, servers)
}

// startEach is startEachAlone with more keys for the model of each chat, by its number.
func startEach(t testing.TB, n int, ofModel func(i int) string, servers string) *hostile {
	t.Helper()
	tg := telegram.New(telegram.Options{})
	t.Cleanup(tg.Close)
	model := startBadModel(t)
	var models, agents, chats strings.Builder
	for i := range n {
		fmt.Fprintf(&models, `"m%d": {"type": "openai", "base_url": %s, "model": "m", "api_key": %s%s}, `, i, quoted(model.URL), quoted(modelKey), ofModel(i))
		fmt.Fprintf(&agents, `"a%d": {"models": ["m%d"]}, `, i, i)
		fmt.Fprintf(&chats, `"%d": {"agent": "a%d"}, `, firstAlone+i, i)
	}
	config := hostileConfig(tg, model, "", servers, `"agents": {`+agents.String()+`"main": {"models": ["main"]}},`)
	config = strings.Replace(config, `"models": {`, `"models": {`+models.String(), 1)
	config = strings.Replace(config, `"sends_in_flight": 64`, `"sends_in_flight": 64, "chats": {`+chats.String()+`}`, 1)
	return &hostile{gateway: startGateway(t, config), tg: tg, model: model}
}

// reference is how a failure ends in a chat.
var reference = regexp.MustCompile(`(?s)^[A-Z][^\n]*[.]\n\nReference: ([a-z2-7]{6})$`)

// outcome waits until the last of n messages of a chat is what it should be: a
// preview that is not the answer yet is waited out.
func (h *hostile) outcome(t testing.TB, u *telegram.User, n int, want func(text string) error) string {
	t.Helper()
	var text string
	eventually(t, 2*time.Minute, fmt.Sprintf("outcome %d in chat %d", n, u.ID()), func() error {
		sent := h.tg.Sent(u.ID())
		if len(sent) < n {
			return fmt.Errorf("there are %d", len(sent))
		}
		text = sent[n-1].Text
		if strings.HasSuffix(text, " …") {
			return fmt.Errorf("it grows: %q", text)
		}
		return want(text)
	})
	return text
}

func is(want string) func(string) error {
	return func(text string) error {
		if text != want {
			return fmt.Errorf("it is %q, want %q", text, want)
		}
		return nil
	}
}

func contains(want string) func(string) error {
	return func(text string) error {
		if !strings.Contains(text, want) {
			return fmt.Errorf("it is %q, want one with %q", text, want)
		}
		return nil
	}
}

func matches(pattern string) func(string) error {
	return func(text string) error {
		if !regexp.MustCompile(pattern).MatchString(text) {
			return fmt.Errorf("it is %q, want %s", text, pattern)
		}
		return nil
	}
}

// failure is a sentence of ours that contains some words, with a reference.
func failure(words string) func(string) error {
	return func(text string) error {
		if !reference.MatchString(text) || !strings.Contains(text, words) {
			return fmt.Errorf("it is %q, want a failure with %q", text, words)
		}
		return nil
	}
}

// only checks that a chat shows these messages and no others.
func (h *hostile) only(t testing.TB, u *telegram.User, want ...string) {
	t.Helper()
	var texts []string
	for _, m := range h.tg.Sent(u.ID()) {
		texts = append(texts, m.Text)
	}
	if fmt.Sprintf("%q", texts) != fmt.Sprintf("%q", want) {
		t.Errorf("chat %d shows %q, want %q", u.ID(), texts, want)
	}
}

// logged are the lines of the log, as far as they are JSON, with this message.
func (h *hostile) logged(msg string) []map[string]any {
	var found []map[string]any
	for _, line := range h.proc.Lines() {
		var l map[string]any
		if strings.Contains(line, msg) && json.Unmarshal([]byte(line), &l) == nil && l["msg"] == msg {
			found = append(found, l)
		}
	}
	return found
}

// failedOnce checks that the log knows each reference by exactly one line that
// says why, and returns those lines by reference.
func (h *hostile) failedOnce(t testing.TB, references map[string]string) {
	t.Helper()
	eventually(t, answerWithin, "the log knows each reference", func() error { // it comes through a pipe
		known := map[any]bool{}
		for _, l := range h.logged("turn_failed") {
			known[l["ref"]] = true
		}
		for ref, where := range references {
			if !known[ref] {
				return fmt.Errorf("%s: there is no line turn_failed with the reference %s", where, ref)
			}
		}
		return nil
	})
	lines := map[string]int{}
	for _, l := range h.logged("turn_failed") {
		ref, _ := l["ref"].(string)
		lines[ref]++
		if l["kind"] == nil || l["err"] == nil || l["turn"] == nil || l["chat"] == nil {
			t.Errorf("a failure without its kind, cause, turn or chat: %v", l)
		}
		if _, told := references[ref]; !told {
			t.Errorf("the log has a failure that nobody was told of: %v", l)
		}
	}
	for ref, where := range references {
		if lines[ref] != 1 {
			t.Errorf("%s: the log has %d lines turn_failed with the reference %s, want 1", where, lines[ref], ref)
		}
	}
}

// nothingLeaked checks that no chat shows what a provider said, and that neither
// chats nor log show a secret.
func (h *hostile) nothingLeaked(t testing.TB, users ...*telegram.User) {
	t.Helper()
	for _, u := range users {
		for _, m := range h.tg.Sent(u.ID()) {
			for _, secret := range []string{innards, modelKey, h.tg.Token(), "panic", "goroutine ", "127.0.0.1", "status 4", "status 5"} {
				if strings.Contains(m.Text, secret) {
					t.Errorf("chat %d shows %q: %q", u.ID(), secret, m.Text)
				}
			}
		}
	}
	for _, line := range h.proc.Lines() {
		if strings.Contains(line, modelKey) || strings.Contains(line, h.tg.Token()) {
			t.Errorf("a secret is in the log: %s", line)
		}
		if strings.Contains(line, "panic") {
			t.Errorf("a panic is in the log: %s", line)
		}
	}
}

// alive checks that the gateway is ready and is still the same process.
func (h *hostile) alive(t testing.TB) {
	t.Helper()
	h.WaitReady() // a probe may be late on a busy machine
}

// modelFaults are what a provider can do, with what the person is told.
var modelFaults = []struct {
	name  string
	act   act
	want  func(string) error
	tries int  // how often it is asked at most; 0 = three times
	rests bool // and it wants to be left alone for longer than the test
	slow  bool // it lasts for as long as the model's deadlines
}{
	{name: "429 for ever", act: bare(429, `{"error":{"message":"slow down $KEY","type":"requests","code":"rate_limit_exceeded"}}`), want: failure("overloaded")},
	{name: "429 with a wait", act: untilTry(3, bare(429, `{"error":{"message":"$KEY"}}`, "Retry-After: 1"), says200("At last.")), want: is("At last.")},
	{name: "429 with a wait of an hour", act: bare(429, `{"error":{"message":"$KEY"}}`, "Retry-After: 3600"), want: failure("overloaded"), tries: 1, rests: true},
	{name: "429 with a wait of nonsense", act: bare(429, `$KEY`, "Retry-After: soon"), want: failure("overloaded")},
	{name: "429 of an empty account", act: bare(429, `{"error":{"message":"$KEY","type":"insufficient_quota","code":"insufficient_quota"}}`), want: failure("key"), tries: 1},
	{name: "500", act: bare(500, `{"error":{"message":"$KEY","type":"server_error"}}`), want: failure("cannot be reached")},
	{name: "500 once", act: untilTry(2, bare(500, `$KEY`), says200("At last.")), want: is("At last.")},
	{name: "401", act: bare(401, `{"error":{"message":"Incorrect API key provided: $KEY","code":"invalid_api_key"}}`), want: failure("key"), tries: 1},
	{name: "403 of HTML", act: bare(403, `<html>$KEY</html>`, "Content-Type: text/html"), want: failure("key"), tries: 1},
	{name: "404", act: bare(404, `$KEY`), want: failure("does not exist"), tries: 1},
	{name: "400", act: bare(400, `{"error":{"message":"$KEY"}}`), want: failure("did not accept"), tries: 1},
	{name: "400 of a full window", act: bare(400, `{"error":{"message":"$KEY","code":"context_length_exceeded"}}`), want: failure("too long"), tries: 1},
	{name: "a status of no kind", act: bare(799, `$KEY`), want: failure("cannot be reached")},
	{name: "HTML", act: bare(200, `<html><body><h1>Welcome to the hotel's network</h1>$KEY</body></html>`, "Content-Type: text/html"), want: failure("broke off")},
	{name: "a JSON body", act: bare(200, `{"id":"x","object":"chat.completion","choices":[{"index":0,"message":{"role":"assistant","content":"$KEY"},"finish_reason":"stop"}]}`, "Content-Type: application/json"), want: failure("broke off")},
	{name: "a JSON error", act: bare(200, `{"error":{"message":"$KEY","type":"server_error"}}`, "Content-Type: application/json"), want: failure("")},
	{name: "nothing", act: bare(200, ``), want: failure("broke off")},
	{name: "204", act: bare(204, ``), want: failure("broke off")},
	{name: "[DONE] alone", act: bare(200, "data: [DONE]\n\n", eventStream), want: failure("broke off")},
	{name: "a stream that says nothing", act: bare(200, wholeText(""), eventStream), want: failure("broke off")},
	{name: "a frame of nonsense", act: bare(200, chunk(map[string]any{"content": "Hel"}, "")+"data: {\"choices\":[{]}\n\n", eventStream), want: failure("broke off")},
	{name: "frames of wrong types", act: bare(200, `data: {"choices":{"index":"x"}}`+"\n\ndata: 7\n\ndata: null\n\n", eventStream), want: failure("broke off")},
	{name: "an error in the stream", act: bare(200, chunk(map[string]any{"content": "Hel"}, "")+`data: {"error":{"message":"$KEY","type":"overloaded_error"}}`+"\n\n", eventStream), want: failure("cannot be reached")},
	{name: "a filter in the stream", act: bare(200, chunk(map[string]any{"content": "Hel"}, "")+chunk(map[string]any{}, "content_filter"), eventStream), want: failure("declined"), tries: 1},
	{name: "a stream without an end", act: bare(200, chunk(map[string]any{"content": "Hel"}, ""), eventStream), want: failure("broke off")},
	{name: "a call without a name", act: bare(200, `data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"c","function":{"arguments":"{}"}}]},"finish_reason":"tool_calls"}]}`+"\n\n", eventStream), want: failure("broke off")},
	{name: "invalid UTF-8", act: bare(200, strings.Replace(wholeText("A\u0001B"), `\u0001`, "\xff\xfe", 1), eventStream), want: matches("^A\uFFFD+B$")},
	{name: "deep JSON", act: bare(200, `data: {"choices":[],"x":`+strings.Repeat("[", 200_000)+strings.Repeat("]", 200_000)+"}\n\n", eventStream), want: failure("broke off")},
	{name: "a hang before the first byte", act: stalls("", 0), want: failure("too long to answer"), slow: true},
	{name: "a hang in the middle", act: stalls(chunk(map[string]any{"content": "Hel"}, ""), 0), want: failure("too long to answer"), slow: true},
	{name: "a hang inside a frame", act: stalls("data: {\"choi", 0), want: failure("too long to answer"), slow: true},
	{name: "comments and nothing else", act: stalls("", 50*time.Millisecond), want: failure("too long to answer"), slow: true},
	{name: "comments after a beginning", act: stalls(chunk(map[string]any{"content": "Hel"}, ""), 50*time.Millisecond), want: failure("too long to answer"), slow: true},
	{name: "a line without an end", act: pours("data: ", strings.Repeat("x", 64<<10)), want: matches(`(?s)(broke off|took too long).*Reference: `), slow: true},
	{name: "an answer without an end", act: pours("", chunk(map[string]any{"content": strings.Repeat("endless ", 4<<10)}, "")), want: matches(`(?s)(broke off|took too long).*Reference: `), slow: true}, // whichever limit is met first
	{name: "a closed door", act: func(http.ResponseWriter, *http.Request, prompt) { panic(http.ErrAbortHandler) }, want: failure("cannot be reached")},
}

const eventStream = "Content-Type: text/event-stream"

// untilTry does one thing before a try, and another from then on.
func untilTry(n int, before, then act) act {
	return func(w http.ResponseWriter, r *http.Request, p prompt) {
		if p.Try < n {
			before(w, r, p)
			return
		}
		then(w, r, p)
	}
}

// Whatever a provider does, its person reads one sentence, the log knows it by
// its reference, and the next message is answered. The deadlines of the models that
// hang are short, so the test runs alone.
func TestEveryFaultOfAModelIsOnePlainOutcome(t *testing.T) {
	h := startEach(t, len(modelFaults), func(i int) string {
		if modelFaults[i].slow {
			return `, "idle_timeout": "2s", "timeout": "4s"`
		}
		return ""
	}, "")
	users := make([]*telegram.User, len(modelFaults))
	for i, c := range modelFaults {
		users[i] = h.tg.User(int64(firstAlone+i), "Ann")
		h.model.On(c.name, c.act)
		users[i].Say(c.name)
	}
	references := map[string]string{}
	for i, c := range modelFaults {
		t.Run(c.name, func(t *testing.T) {
			text := h.outcome(t, users[i], 1, c.want)
			if m := reference.FindStringSubmatch(text); m != nil {
				references[m[1]] = c.name
			}
			next := is("Fine.")
			if c.rests {
				next = failure("overloaded")
			}
			users[i].Say("and now?")
			then := h.outcome(t, users[i], 2, next)
			if m := reference.FindStringSubmatch(then); m != nil {
				references[m[1]] = c.name
			}
			h.only(t, users[i], text, then)
			most := c.tries
			if most == 0 {
				most = 3
			}
			if n := h.model.Tries(c.name); n > most {
				t.Errorf("the model was asked %d times, want at most %d", n, most)
			}
		})
	}
	h.failedOnce(t, references)
	h.nothingLeaked(t, users...)
	h.alive(t)
	h.Term()
	for i, c := range modelFaults {
		if n := len(h.tg.Sent(users[i].ID())); n != 2 {
			t.Errorf("%s: after the stop the chat shows %d messages, want 2", c.name, n)
		}
	}
}
