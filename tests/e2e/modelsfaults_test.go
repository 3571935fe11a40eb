package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"dragoman/tests/fake/telegram"
)

// wireFault is what a provider can do, on any wire, with its plain outcome.
type wireFault struct {
	name string
	do   deed           // after text and a call, or the call alone, where it is midway
	mock map[string]any // what aimock is to do instead
	mid  bool           // it comes in a stream that began

	want      string // part of what the person reads
	kind      string // in the log
	tries     int
	elsewhere bool   // another model is asked, unless the person saw something
	words     string // of the provider, in the log
}

func failing(status int, kind, code string, headers ...string) deed {
	return func(s *speech, _ wireAsk) { s.refuse(status, kind, code, innards+" for "+modelKey, headers...) }
}

func hangs(s *speech, _ wireAsk) { <-s.r.Context().Done() }

const (
	unreachable = "cannot be reached"
	brokeOff    = "broke off"
	refusesKey  = "refused this gateway's key"
)

// wireFaults are those that facts about real providers tell of, the rows of a small
// server first, then those of aimock.
var wireFaults = []wireFault{
	{name: "429", do: failing(429, "requests", "rate_limit_exceeded"), want: "overloaded", kind: "rate_limited", tries: 3, elsewhere: true, words: innards},
	{name: "429-hour", do: failing(429, "requests", "rate_limit_exceeded", "Retry-After: 3600"), want: "overloaded", kind: "rate_limited", tries: 1, elsewhere: true, words: innards},
	{name: "429-empty-account", do: failing(429, "insufficient_quota", "insufficient_quota"), want: refusesKey, kind: "unauthorized", tries: 1, elsewhere: true, words: innards},
	{name: "500", do: failing(500, "server_error", ""), want: unreachable, kind: "temporary", tries: 3, elsewhere: true, words: innards},
	{name: "529", do: failing(529, "overloaded_error", ""), want: unreachable, kind: "temporary", tries: 3, elsewhere: true, words: innards},
	{name: "401", do: failing(401, "authentication_error", "invalid_api_key"), want: refusesKey, kind: "unauthorized", tries: 1, elsewhere: true, words: innards},
	{name: "404", do: failing(404, "not_found_error", "model_not_found"), want: "does not exist", kind: "not_found", tries: 1, elsewhere: true, words: innards},
	{name: "400", do: failing(400, "invalid_request_error", ""), want: "did not accept", kind: "invalid", tries: 1, elsewhere: true, words: innards},
	{name: "html-502", do: func(s *speech, _ wireAsk) {
		s.body(502, "<!doctype html>\n<html><h1>Bad gateway</h1>"+innards+" "+modelKey+"</html>\n", "Content-Type: text/html")
	}, want: unreachable, kind: "temporary", tries: 3, elsewhere: true},
	{name: "html-200", do: func(s *speech, _ wireAsk) {
		s.body(200, "<!doctype html>\n<html><h1>Welcome</h1>"+innards+" "+modelKey+"</html>\n", "Content-Type: text/html")
	}, want: brokeOff, kind: "protocol", tries: 3, elsewhere: true},
	{name: "json-200", do: func(s *speech, _ wireAsk) {
		s.body(200, `{"id":"x","output":[],"choices":[{"index":0,"message":{"role":"assistant","content":"`+innards+`"},"finish_reason":"stop"}]}`, "Content-Type: application/json")
	}, want: brokeOff, kind: "protocol", tries: 3, elsewhere: true},
	{name: "json-error-200", do: func(s *speech, _ wireAsk) {
		s.body(200, `{"type":"error","error":{"message":"`+innards+`","type":"overloaded_error"}}`, "Content-Type: application/json")
	}, want: unreachable, kind: "temporary", tries: 3, elsewhere: true, words: innards},
	{name: "closed-door", do: func(*speech, wireAsk) { panic(http.ErrAbortHandler) }, want: unreachable, kind: "temporary", tries: 3, elsewhere: true},
	{name: "nothing", do: func(s *speech, _ wireAsk) { s.body(200, "", eventStream) }, want: brokeOff, kind: "protocol", tries: 3, elsewhere: true},
	{name: "hang", do: hangs, want: "took too long", kind: "timeout", tries: 3, elsewhere: true},

	{name: "torn", mid: true, do: func(*speech, wireAsk) { panic(http.ErrAbortHandler) }, want: brokeOff, kind: "protocol", tries: 3, elsewhere: true},
	{name: "clean-end", mid: true, do: func(*speech, wireAsk) {}, want: brokeOff, kind: "protocol", tries: 3, elsewhere: true},
	{name: "bad-frame", mid: true, do: func(s *speech, _ wireAsk) { s.frame(`{"type":"response.output_text.delta","choices":[{]}`); s.end() }, want: brokeOff, kind: "protocol", tries: 3, elsewhere: true},
	{name: "error-frame", mid: true, do: func(s *speech, _ wireAsk) { s.overloaded(innards + " for " + modelKey) }, want: unreachable, kind: "temporary", tries: 3, elsewhere: true, words: innards},
	{name: "hang-midway", mid: true, do: hangs, want: "took too long", kind: "timeout", tries: 3, elsewhere: true},
	{name: "filter", mid: true, do: func(s *speech, _ wireAsk) { s.calls = false; s.filtered() }, want: "declined", kind: "refused", tries: 1},

	{name: "mock-429", mock: mockError(429, "rate_limit_error", "rate_limit_exceeded", "slow down"), want: "overloaded", kind: "rate_limited", tries: 3, elsewhere: true, words: innards},
	{name: "mock-500", mock: mockError(500, "server_error", "", "sorry"), want: unreachable, kind: "temporary", tries: 3, elsewhere: true, words: innards},
	{name: "mock-529", mock: mockError(529, "overloaded_error", "", "busy"), want: unreachable, kind: "temporary", tries: 3, elsewhere: true, words: innards},
	{name: "mock-overflow", mock: mockError(400, "invalid_request_error", "context_length_exceeded", "prompt is too long"), want: "too long", kind: "too_large", tries: 1, words: innards},
	{name: "mock-truncated", mid: true, mock: map[string]any{"latency": 10, "truncateAfterChunks": 9}, want: brokeOff, kind: "protocol", tries: 3, elsewhere: true},
	{name: "mock-disconnect", mid: true, mock: map[string]any{"latency": 100, "disconnectAfterMs": 4000}, want: brokeOff, kind: "protocol", tries: 3, elsewhere: true},
	{name: "mock-malformed", mock: map[string]any{"chaos": map[string]any{"malformedRate": 1}}, want: brokeOff, kind: "protocol", tries: 3, elsewhere: true},
}

func mockError(status int, kind, code, message string) map[string]any {
	return map[string]any{"response": map[string]any{"status": status,
		"error": map[string]any{"message": innards + ": " + message, "type": kind, "code": code}}}
}

// halfText is what the person sees of a stream that breaks off.
const halfText = "Half of an answer that somebody wanted to have whole"

// wireCase is a fault on a wire in a chat of its own, with a model of its own:
// several faults of one model would have it left alone.
type wireCase struct {
	wireFault
	wire, model, next string
	shown             bool // the person sees the beginning of it
	user              *telegram.User
}

// fallback reports whether the next model answers.
func (c wireCase) fallback() bool { return c.next != "" && c.elsewhere && !c.shown }

func (c wireCase) agent() string {
	models := quoted(c.model)
	if c.next != "" {
		models += ", " + quoted(c.next)
	}
	return quoted(c.model) + `: {"models": [` + models + `]}`
}

// play is the model of a case: text where it is to be seen, a call, the fault.
func (c wireCase) play(s *speech, a wireAsk) {
	if c.mid && c.shown {
		s.text(halfText)
	}
	if c.mid {
		s.call("tools__write", `{"text": "of `+c.model+`"}`)
	}
	c.do(s, a)
}

// fixture is the same in aimock's words.
func (c wireCase) fixture() fixture {
	f := fixture{"match": map[string]any{"model": c.model}, "chunkSize": 4}
	response := map[string]any{"toolCalls": []any{map[string]any{"id": "call_1", "name": "tools__write",
		"arguments": map[string]any{"text": "of " + c.model + strings.Repeat(" and more", 20)}}}}
	if c.shown {
		response["content"] = halfText
	}
	f["response"] = response
	for k, v := range c.mock {
		f[k] = v
	}
	return f
}

// wireCases are all faults on all wires, each by itself and beside a model, of
// another wire, that works.
func wireCases() (list []*wireCase) {
	for _, f := range wireFaults {
		for i, wire := range wires {
			good := "good-" + wires[(i+1)%len(wires)]
			alone := &wireCase{wireFault: f, wire: wire, model: f.name + "-" + wire + "-alone", shown: f.mid}
			if f.mid {
				alone.next = good // and is not asked
			}
			list = append(list, alone, &wireCase{wireFault: f, wire: wire, model: f.name + "-" + wire + "-beside", next: good})
		}
	}
	return list
}

// startFaults starts one gateway with a model, an agent and a chat for each case.
func startFaults(t *testing.T, cases []*wireCase, wrote string) (*hostile, *wirePeer, *aimock) {
	t.Helper()
	tg := telegram.New(telegram.Options{})
	t.Cleanup(tg.Close)
	peer := startWirePeer(t)
	mock := startAimock(t)
	models, agents, chats, fixtures := []string{}, []string{`"main": {"models": ["good-chat"]}`}, []string{}, []fixture{}
	for i, wire := range wires {
		models = append(models, peer.Entry("good-"+wire, wire, ""), peer.Entry("caller-"+wire, wire, ""))
		agents = append(agents, quoted("caller-"+wire)+`: {"models": [`+quoted("caller-"+wire)+`]}`)
		chats = append(chats, fmt.Sprintf(`"%d": {"agent": "caller-%s"}`, 4000+i, wire))
		peer.Play("caller-"+wire, func(s *speech, a wireAsk) {
			if len(a.Results) > 0 {
				s.whole("Got: " + strings.Join(a.Results, " | "))
				return
			}
			s.text("Let me see. ")
			s.calling("tools__write", `{"text": "over `+a.Wire+`"}`)
		})
	}
	for i, c := range cases {
		c.user = tg.User(int64(5000+i), "Ann")
		more := ""
		if c.kind == "timeout" {
			more = `, "idle_timeout": "3s"`
		}
		if c.mock != nil {
			models = append(models, modelEntry(mock.URL, c.model, c.wire, more))
			fixtures = append(fixtures, c.fixture())
		} else {
			models = append(models, peer.Entry(c.model, c.wire, more))
			peer.Play(c.model, c.play)
		}
		agents = append(agents, c.agent())
		chats = append(chats, fmt.Sprintf(`"%d": {"agent": %s}`, 5000+i, quoted(c.model)))
	}
	mock.Add(fixtures...)
	g := startGateway(t, `{
	"listen": "${LISTEN}",
	"models": {`+strings.Join(models, ",\n")+`},
	"agents": {`+strings.Join(agents, ",\n")+`},
	"channels": {"tg": {"type": "telegram", "token": `+quoted(tg.Token())+`, "api_url": `+quoted(tg.URL())+`, "sends_in_flight": 64,
		"chats": {`+strings.Join(chats, ",\n")+`}}},
	"access": {"mode": "open", "rate": ""},
	"mcp_servers": {`+toolServer("tools", "30s", "E2E_WROTE", wrote)+`},
	"tools": {"default": "allow"},
	"log": {"format": "json", "level": "info"}
}`)
	eventually(t, answerWithin, "the tools are there", func() error {
		out, _, _ := g.CLI("tools")
		return contains("tools__write")(out)
	})
	return &hostile{gateway: g, tg: tg}, peer, mock
}

// Whatever a provider does on whichever wire: its person reads one sentence with a
// reference, or the answer of the next model with its name; the log has what the
// provider said; and of a reply without its end no tool runs.
func TestEachFaultOfAModelHasOneOutcomeOnEachWire(t *testing.T) {
	t.Parallel()
	wrote := filepath.Join(t.TempDir(), "wrote")
	cases := wireCases()
	h, peer, mock := startFaults(t, cases, wrote)
	var users []*telegram.User
	for _, c := range cases {
		c.user.Say("question " + c.model)
		users = append(users, c.user)
	}
	for i, wire := range wires {
		u := h.tg.User(int64(4000+i), "Ann")
		u.Say("call it")
		h.outcome(t, u, 1, is("Got: wrote over "+wire))
		users = append(users, u)
	}
	references, refs := map[string]string{}, map[string]string{}
	for _, c := range cases {
		want := failure(c.want)
		if c.fallback() {
			want = is(c.next + " heard: question " + c.model + fellBackTo(c.next))
		}
		text := h.outcome(t, c.user, 1, want)
		h.only(t, c.user, text)
		if m := reference.FindStringSubmatch(text); m != nil {
			references[m[1]], refs[c.model] = c.model, m[1]
		}
	}
	h.failedOnce(t, references)
	h.nothingLeaked(t, users...)
	h.alive(t)
	for _, c := range cases {
		t.Run(c.model, func(t *testing.T) { checkLogged(t, h, c, refs[c.model]) })
		if n := tried(t, peer, mock, c); n != c.tries {
			t.Errorf("%s was asked %d times, want %d", c.model, n, c.tries)
		}
	}
	ran, err := os.ReadFile(wrote)
	if n := strings.Count(string(ran), "\n"); n != len(wires) {
		t.Errorf("tools ran %d times (%v), want once for each whole reply that called one", n, err)
	}
}

// tried is how often the model of a case was asked.
func tried(t *testing.T, peer *wirePeer, mock *aimock, c *wireCase) (n int) {
	t.Helper()
	if c.mock == nil {
		return len(peer.Asked(c.model))
	}
	for _, x := range mock.Journal(url.Values{"limit": {"1000"}}) {
		var body struct{ Model string }
		if json.Unmarshal(x.Body, &body) == nil && body.Model == c.model {
			n++
		}
	}
	return n
}

// checkLogged holds what the log has of a case against what it should.
func checkLogged(t *testing.T, h *hostile, c *wireCase, ref string) {
	t.Helper()
	var lines []map[string]any
	eventually(t, answerWithin, "the log has each attempt", func() error { // it comes through a pipe
		lines = slices.DeleteFunc(h.logged("model_failed"), func(l map[string]any) bool { return l["model"] != c.model })
		if len(lines) < c.tries {
			return fmt.Errorf("it has %d, want %d", len(lines), c.tries)
		}
		return nil
	})
	var attempts []string
	for _, l := range lines {
		attempts = append(attempts, fmt.Sprint(l["attempt"]))
		said := fmt.Sprint(l["err"])
		if l["kind"] != c.kind || !strings.Contains(said, c.words) || l["turn"] == nil || l["chat"] == nil {
			t.Errorf("the log says %v, want kind %s and the words %q", l, c.kind, c.words)
		}
		if ref != "" && l["ref"] != ref {
			t.Errorf("the reference in the log is %v, the person reads %s", l["ref"], ref)
		}
	}
	if want := []string{"1", "2", "3"}[:c.tries]; !slices.Equal(attempts, want) {
		t.Errorf("the log has the attempts %v, want %v", attempts, want)
	}
}
