package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"dragoman/tests/fake/telegram"
)

// wireRig is one bot over the peer's models, with an agent for each of some chats.
type wireRig struct {
	*hostile
	peer *wirePeer
	root *telegram.User // the admin, who has written once
}

// startWireRig starts a gateway with these models and agents (entries of the
// config). An agent serves the private chat of the person whose id is beside it.
func startWireRig(t *testing.T, peer *wirePeer, models, agents []string, chats map[int64]string, servers string) *wireRig {
	t.Helper()
	tg := telegram.New(telegram.Options{})
	t.Cleanup(tg.Close)
	routes := map[string]any{}
	for id, agent := range chats {
		routes[fmt.Sprint(id)] = map[string]any{"agent": agent}
	}
	routed, err := json.Marshal(routes)
	if err != nil {
		t.Fatal(err)
	}
	models = append(models, peer.Entry("plain", wireChat, ""))
	agents = append(agents, `"main": {"models": ["plain"]}`)
	g := startGateway(t, `{
	"listen": "${LISTEN}",
	"models": {`+strings.Join(models, ",\n")+`},
	"agents": {`+strings.Join(agents, ",\n")+`},
	"channels": {"tg": {"type": "telegram", "token": `+quoted(tg.Token())+`, "api_url": `+quoted(tg.URL())+`, "sends_in_flight": 64,
		"streaming": "off", "chats": `+string(routed)+`}},
	"access": {"mode": "open", "rate": ""},
	"people": {"root": {"ids": ["tg:1001"], "role": "admin"}},
	"mcp_servers": {`+servers+`},
	"tools": {"default": "allow"},
	"log": {"format": "json", "level": "info"}
}`)
	rig := &wireRig{hostile: &hostile{gateway: g, tg: tg}, peer: peer, root: tg.User(1001, "Root")}
	if servers != "" {
		eventually(t, answerWithin, "the tools are there", func() error {
			out, _, _ := g.CLI("tools")
			return contains("tools__write")(out)
		})
	}
	rig.root.Say("hello")
	rig.outcome(t, rig.root, 1, is("plain heard: hello"))
	return rig
}

// shown are the texts of a chat.
func (h *hostile) shown(u *telegram.User) string {
	var texts []string
	for _, m := range h.tg.Sent(u.ID()) {
		texts = append(texts, m.Text)
	}
	return strings.Join(texts, "\n")
}

// adminHears waits until the admin was told something, and checks that it was once.
func (r *wireRig) adminHears(t *testing.T, what string) {
	t.Helper()
	var all string
	eventually(t, answerWithin, "the admin hears", func() error {
		all = r.shown(r.root)
		return contains(what)(all)
	})
	if n := strings.Count(all, what); n != 1 {
		t.Errorf("the admin was told %q %d times: %s", what, n, all)
	}
}

// A provider that does not take one tool's definition, in the words of each wire:
// the turn is answered without the tool, the admin is told once, and the tool is
// not offered again.
func TestAToolThatAProviderRefusesIsLeftOut(t *testing.T) {
	t.Parallel()
	const bad = "tools__hangs"
	peer := startWirePeer(t)
	var models, agents []string
	chats := map[int64]string{}
	for i, wire := range wires {
		models = append(models, peer.Entry("picky-"+wire, wire, ""))
		agents = append(agents, `"a`+wire+`": {"models": ["picky-`+wire+`"]}`)
		chats[int64(7000+i)] = "a" + wire
		peer.Play("picky-"+wire, func(s *speech, a wireAsk) {
			words := map[string]string{
				wireChat:      "Invalid 'tools[%d].function.parameters': not a schema.",
				wireResponses: "Invalid schema for function '" + bad + "': schema must be of type object. (tools[%d].parameters)",
				wireMessages:  "tools.%d.custom.input_schema: JSON schema is invalid.",
			}[a.Wire]
			if at := slices.Index(a.Tools, bad); at >= 0 {
				s.refuse(400, "invalid_request_error", "invalid_function_parameters", fmt.Sprintf(words, at)+" "+innards)
				return
			}
			s.whole(fmt.Sprintf("%s among %v", a.Said, slices.Contains(a.Tools, "tools__write")))
		})
	}
	r := startWireRig(t, peer, models, agents, chats, toolServer("tools", "30s"))
	for i, wire := range wires {
		u := r.tg.User(int64(7000+i), "Ann")
		u.Say("one")
		r.outcome(t, u, 1, is("one among true"))
		u.Say("two")
		r.outcome(t, u, 2, is("two among true"))
		if n := len(peer.Asked("picky-" + wire)); n != 3 {
			t.Errorf("over %s it was asked %d times, want 3: refused, and two answers", wire, n)
		}
		r.adminHears(t, `The model "picky-`+wire+`" refuses the definition of the tool "`+bad+`"`)
		r.nothingLeaked(t, u, r.root)
	}
	eventually(t, answerWithin, "the log has each", func() error { // it comes through a pipe
		if n := len(r.logged("tool_quarantined")); n < len(wires) {
			return fmt.Errorf("there are %d lines tool_quarantined", n)
		}
		return nil
	})
	if n := len(r.logged("tool_quarantined")); n != len(wires) {
		t.Errorf("the log has %d lines tool_quarantined", n)
	}
}

// A provider's words for a prompt that is too long, on each wire, lead to a memo
// and an answer; its person reads nothing of it.
func TestAPromptThatAProviderFindsTooLongIsCompacted(t *testing.T) {
	t.Parallel()
	const most = 12_000
	peer := startWirePeer(t)
	var models, agents []string
	chats := map[int64]string{}
	for i, wire := range wires {
		models = append(models, peer.Entry("narrow-"+wire, wire, `, "context_tokens": 12000, "max_output_tokens": 500`))
		agents = append(agents, `"a`+wire+`": {"models": ["narrow-`+wire+`"], "mcp_servers": []}`)
		chats[int64(7100+i)] = "a" + wire
		peer.Play("narrow-"+wire, func(s *speech, a wireAsk) {
			switch {
			case a.Texts > most && a.Wire == wireMessages:
				s.refuse(400, "invalid_request_error", "", "prompt is too long: 200251 tokens > 200000 maximum")
			case a.Texts > most:
				s.refuse(400, "invalid_request_error", "context_length_exceeded", "This model's maximum context length is 8 tokens.")
			case strings.Contains(a.Said, "What you write takes the place of everything"):
				s.whole("Memo: the word is swordfish.")
			default:
				part := a.Said[max(0, strings.LastIndex(a.Said, "part ")):]
				s.whole("Heard " + part[:min(len(part), 7)])
			}
		})
	}
	r := startWireRig(t, peer, models, agents, chats, "")
	for n := range 6 {
		for i := range wires {
			r.tg.User(int64(7100+i), "Ann").Say(fmt.Sprintf("part %d: %s", n, strings.Repeat("word ", 550)))
		}
		for i := range wires {
			r.outcome(t, r.tg.User(int64(7100+i), "Ann"), n+1, is(fmt.Sprintf("Heard part %d:", n)[:13]))
		}
	}
	for _, msg := range []string{"prompt_too_long", "conversation_compacted"} {
		eventually(t, answerWithin, "the log has each chat", func() error { // it comes through a pipe
			seen := map[any]bool{}
			for _, l := range r.logged(msg) {
				seen[l["chat"]] = true
			}
			if len(seen) != len(wires) {
				return fmt.Errorf("it has %s of the chats %v", msg, seen)
			}
			return nil
		})
	}
	r.failedOnce(t, map[string]string{})
}

// An agent that is to stop when a tool fails does, and says which; one beside it
// goes on.
func TestAFailedToolEndsTheTurnWhereTheConfigSaysSo(t *testing.T) {
	t.Parallel()
	peer := startWirePeer(t)
	var models []string
	for _, name := range []string{"strict", "easy"} {
		models = append(models, peer.Entry(name, wireChat, ""))
		peer.Play(name, func(s *speech, a wireAsk) {
			if len(a.Results) > 0 {
				s.whole("I go on.")
				return
			}
			s.calling("tools__breaks", `{"text":"x"}`)
		})
	}
	agents := []string{`"strict": {"models": ["strict"], "on_tool_failure": "stop"}`, `"easy": {"models": ["easy"]}`}
	r := startWireRig(t, peer, models, agents, map[int64]string{7200: "strict", 7201: "easy"}, toolServer("tools", "30s"))
	ann, bob := r.tg.User(7200, "Ann"), r.tg.User(7201, "Bob")
	ann.Say("break it")
	bob.Say("break it")
	text := r.outcome(t, ann, 1, failure("I stopped because a tool that I needed failed: tools__breaks."))
	r.outcome(t, bob, 1, is("I go on."))
	r.failedOnce(t, map[string]string{reference.FindStringSubmatch(text)[1]: "ann"})
	r.nothingLeaked(t, ann, bob)
	if n := len(peer.Asked("strict")); n != 1 {
		t.Errorf("its model was asked %d times", n)
	}
}

// fellBackTo is what an answer ends with that another model gave.
func fellBackTo(model string) string {
	return "\n\n(Answered by " + model + ": the model that I ask first did not answer.)"
}

// A provider's wait is kept by every chat that has the model; one that is too long
// has the next model asked, without another request to the first.
func TestAProvidersWaitIsKept(t *testing.T) {
	t.Parallel()
	peer := startWirePeer(t)
	models := []string{peer.Entry("busy", wireMessages, ""), peer.Entry("gone", wireResponses, "")}
	agents := []string{`"busy": {"models": ["busy"]}`, `"gone": {"models": ["gone", "plain"]}`}
	peer.Play("busy", func(s *speech, a wireAsk) {
		if a.Try == 1 {
			s.refuse(429, "rate_limit_error", "", "slow down", "Retry-After: 3")
			return
		}
		s.whole("At last.")
	})
	peer.Play("gone", failing(429, "requests", "rate_limit_exceeded", "Retry-After: 3600"))
	r := startWireRig(t, peer, models, agents, map[int64]string{7300: "busy", 7301: "busy", 7302: "gone"}, "")
	ann, bob, eve := r.tg.User(7300, "Ann"), r.tg.User(7301, "Bob"), r.tg.User(7302, "Eve")
	ann.Say("hello")
	r.WaitLine(`model_failed.*"model":"busy"`, answerWithin)
	noted := time.NewTimer(500 * time.Millisecond) // the wait is, right behind that line
	<-noted.C
	bob.Say("hello")
	r.outcome(t, ann, 1, is("At last."))
	r.outcome(t, bob, 1, is("At last."))
	asked := peer.Asked("busy")
	if len(asked) != 3 {
		t.Errorf("it was asked %d times", len(asked))
	}
	for _, a := range asked[1:] {
		if waited := a.At.Sub(asked[0].At); waited < 2900*time.Millisecond {
			t.Errorf("it was asked after %s, and wanted 3 s", waited)
		}
	}
	eve.Say("one")
	r.outcome(t, eve, 1, is("plain heard: one"+fellBackTo("plain")))
	eve.Say("two")
	r.outcome(t, eve, 2, is("plain heard: two")) // who answers is told when it changes
	if n := len(peer.Asked("gone")); n != 1 {
		t.Errorf("the model that wants an hour was asked %d times", n)
	}
}

// A model that fails again and again is left alone, the admin is told, and once it
// is well it is asked again. Meanwhile the next one answers, also where a person
// chose the model.
func TestAModelThatFailsIsLeftAloneAndAskedAgain(t *testing.T) {
	t.Parallel()
	well := t.TempDir() + "/well"
	peer := startWirePeer(t)
	peer.Play("ill", func(s *speech, a wireAsk) {
		if _, err := os.Stat(well); err != nil {
			s.refuse(503, "server_error", "", innards)
			return
		}
		s.whole("ill heard: " + a.Said)
	})
	r := startWireRig(t, peer, []string{peer.Entry("ill", wireResponses, "")}, []string{`"a": {"models": ["plain", "ill"]}`}, map[int64]string{7400: "a"}, "")
	ann, n := r.tg.User(7400, "Ann"), 0
	say := func(text string, want func(string) error) string {
		n++
		ann.Say(text)
		return r.outcome(t, ann, n, want)
	}
	say("/model ill", contains("ill first"))
	for _, text := range []string{"one", "two", "three", "four"} { // after 3 tries, 2, and none
		say(text, is("plain heard: "+text+fellBackTo("plain"))) // each time: this model was wanted
	}
	if asked := len(peer.Asked("ill")); asked != 5 {
		t.Errorf("it was asked %d times before it was left alone, want 5", asked)
	}
	opened := peer.Asked("ill")[4].At
	r.adminHears(t, `The model "ill" failed 5 times in a row`)
	if err := os.WriteFile(well, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	tick := time.NewTicker(2 * time.Second)
	defer tick.Stop()
	for late := time.Now().Add(answerWithin); ; <-tick.C {
		if say("again", contains(" heard: again")) == "ill heard: again" {
			break
		}
		if time.Now().After(late) {
			t.Fatal("it is never asked again")
		}
	}
	asked := peer.Asked("ill")
	if rest := asked[5].At.Sub(opened); len(asked) != 6 || rest < 29*time.Second {
		t.Errorf("it was asked again after %s, %d times", rest, len(asked)-5)
	}
	say("at once", is("ill heard: at once"))
	r.nothingLeaked(t, ann, r.root)
}
