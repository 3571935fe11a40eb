package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"dragoman/tests/fake/model"
	"dragoman/tests/fake/telegram"
)

// provider is a model that knows one key and one name, as a provider does.
func provider(t testing.TB, key, name string) string {
	fake := model.New(model.Options{})
	t.Cleanup(fake.Close)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer "+key {
			w.WriteHeader(http.StatusUnauthorized)
			fmt.Fprintf(w, `{"error":{"message":"Incorrect API key provided: %s","code":"invalid_api_key"}}`, r.Header.Get("Authorization"))
			return
		}
		body, err := io.ReadAll(r.Body)
		var asked struct{ Model string }
		if err != nil || json.Unmarshal(body, &asked) != nil || asked.Model != name {
			w.WriteHeader(http.StatusNotFound)
			fmt.Fprint(w, `{"error":{"message":"The model does not exist","code":"model_not_found"}}`)
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		fake.ServeHTTP(w, r)
	}))
	t.Cleanup(s.Close)
	return s.URL + "/v1"
}

type foundOne struct {
	Name, Type, Found, Error string
	OK                       bool
}

type foundAll struct {
	OK               bool
	Servers          []listed
	Models, Channels []foundOne
}

func byName(list []foundOne) map[string]foundOne {
	m := map[string]foundOne{}
	for _, f := range list {
		m[f.Name] = f
	}
	return m
}

const (
	goodKey  = "sk-good-0123456789"
	wrongKey = "sk-wrong-9876543210"
)

// goodAndBad is a config with something good and something bad of each kind. With
// only good ones it is all well.
func goodAndBad(t testing.TB, tg *telegram.Server, bad bool) string {
	url, desk := provider(t, goodKey, "m1"), gatewayBinary(t)
	one := func(key, name string) string {
		return `{"type": "openai", "base_url": ` + quoted(url) + `, "api_key": "` + key + `", "model": "` + name + `"}`
	}
	chat := func(token, url string) string {
		return `{"type": "telegram", "token": ` + quoted(token) + `, "api_url": ` + quoted(url) + `}`
	}
	models, chats, servers := `"good": `+one(goodKey, "m1")+`, "demo": {"type": "demo"}`, `"tg": `+chat(tg.Token(), tg.URL())+`, "web": {"type": "web"}`,
		`"desk": {"command": `+quoted(desk)+`, "args": ["desk"], "timeout": "1m"}, "off": {"command": "x", "enabled": false}`
	if bad {
		models += `, "key": ` + one(wrongKey, "m1") + `, "name": ` + one(goodKey, "m2")
		chats += `, "tg2": ` + chat("1:wrong-token-abcdef", tg.URL()) + `, "tg3": ` + chat(tg.Token(), "http://127.0.0.1:9")
		servers += `, "mute": {"command": "sh", "args": ["-c", "exec sleep 600"]}, "nowhere": {"command": "there-is-no-such-command"}, "http": {"url": "http://127.0.0.1:9/mcp"}`
	}
	return `{"listen": "${LISTEN}", "mcp": {"timeout": "3s"}, "models": {` + models + `}, "channels": {` + chats + `}, "mcp_servers": {` + servers + `}}`
}

// What a config names is dialled, all of it side by side; what is wrong is said in
// words, without a secret, and the exit code tells.
func TestCheckConnectFindsWhatIsWrong(t *testing.T) {
	t.Parallel()
	tg := telegram.New(telegram.Options{})
	t.Cleanup(tg.Close)
	g := newGateway(t, gatewayBinary(t), goodAndBad(t, tg, true))
	began := time.Now()
	out, stderr, code := g.CLI("check", "--connect", "--json")
	if took := time.Since(began); took > time.Minute {
		t.Errorf("it took %s", took)
	}
	var f foundAll
	if err := json.Unmarshal([]byte(out), &f); err != nil || code != 1 || f.OK {
		t.Fatalf("exit %d, %s%s (%v)", code, out, stderr, err)
	}
	for name, want := range map[string]string{"good": "m1 answers", "demo": "answers", "key": "invalid_api_key", "name": "model_not_found"} {
		if m := byName(f.Models)[name]; !strings.Contains(m.Found+m.Error, want) || m.OK != (m.Error == "") || m.OK != (name == "good" || name == "demo") {
			t.Errorf("model %s is %+v", name, m)
		}
	}
	for name, want := range map[string]string{"tg": "the bot is @" + tg.Username(), "web": "nothing to dial", "tg2": "does not accept the bot token", "tg3": "refused"} {
		if c := byName(f.Channels)[name]; !strings.Contains(c.Found+c.Error, want) || c.OK != (c.Error == "") || c.OK != (name == "tg" || name == "web") {
			t.Errorf("channel %s is %+v", name, c)
		}
	}
	states := ""
	for _, s := range f.Servers {
		states += " " + s.Name + ":" + s.State
	}
	if !strings.Contains(states, " desk:ready") || !strings.Contains(states, " off:disabled") || strings.Count(states, ":ready") != 1 || len(f.Servers) != 5 {
		t.Errorf("the servers are%s", states)
	}
	text, stderr, code := g.CLI("check", "--connect")
	for _, want := range []string{"is good: 4 models", "desk  ok  stdio, protocol ", "3 tools", "off  disabled", "mute  FAILED", "nowhere  FAILED", "there-is-no-such-command", "http  FAILED", "last error: "} {
		if !strings.Contains(text, want) || code != 1 || stderr != "" {
			t.Errorf("exit %d, and it does not say %q:\n%s%s", code, want, text, stderr)
		}
	}
	for _, secret := range []string{goodKey, wrongKey, tg.Token(), "wrong-token-abcdef"} {
		if strings.Contains(out+text, secret) {
			t.Errorf("a secret is in\n%s%s", out, text)
		}
	}
}

// A good config is good, also beside the gateway that runs with it: its poller is
// not disturbed, and the servers are its own.
func TestCheckConnectOfAGoodConfig(t *testing.T) {
	t.Parallel()
	tg := telegram.New(telegram.Options{})
	t.Cleanup(tg.Close)
	g := newGateway(t, gatewayBinary(t), goodAndBad(t, tg, false))
	g.does(0, "m1 answers", "check --connect")
	g.Start()
	g.WaitReady()
	g.WaitLine("mcp_servers_connected", answerWithin)
	desk := deskOf(t, g)
	out, stderr, code := g.CLI("check", "--connect")
	for _, want := range []string{"desk  ok  stdio", "off  disabled", "m1 answers", "the bot is @" + tg.Username()} {
		if code != 0 || stderr != "" || !strings.Contains(out, want) {
			t.Errorf("exit %d, and it does not say %q:\n%s%s", code, want, out, stderr)
		}
	}
	if deskOf(t, g) != desk {
		t.Error("the server was started anew")
	}
	ann := tg.User(1001, "Ann")
	ann.Say("hello")
	answers(t, tg, ann, 1)
	for _, line := range g.proc.Lines() {
		if strings.Contains(line, "channel_failed") || strings.Contains(line, `"level":"ERROR"`) {
			t.Errorf("the gateway was disturbed: %s", line)
		}
	}
}

// One thing that is wrong among good ones is enough.
func TestCheckConnectFailsForOneThing(t *testing.T) {
	t.Parallel()
	tg := telegram.New(telegram.Options{})
	t.Cleanup(tg.Close)
	url := provider(t, goodKey, "m1")
	for name, config := range map[string]string{
		"a model":   `"models": {"demo": {"type": "demo"}, "x": {"type": "openai", "base_url": ` + quoted(url) + `, "api_key": "` + wrongKey + `", "model": "m1"}}`,
		"a channel": `"models": {"demo": {"type": "demo"}}, "channels": {"x": {"type": "telegram", "token": "1:wrong-token-abcdef", "api_url": ` + quoted(tg.URL()) + `}}`,
		"a server":  `"models": {"demo": {"type": "demo"}}, "mcp": {"timeout": "1s"}, "mcp_servers": {"x": {"command": "sh", "args": ["-c", "exit 3"]}}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			newGateway(t, gatewayBinary(t), "{"+config+"}").does(1, "FAILED", "check --connect")
		})
	}
}
