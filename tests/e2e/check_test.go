package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// bot is a config with a channel of Telegram that has these keys.
func bot(keys string) string {
	return "{\n  \"models\": {\"m\": {\"type\": \"demo\"}},\n  \"channels\": {\"t\": {\"type\": \"telegram\", " + keys + "}}\n}"
}

// Whatever is wrong with a config is named by line and column, all of it at
// once, and run refuses with the same words.
func TestCheckAndRunNameEveryFault(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		config string
		want   []string
	}{
		"a wrong key": {"{\n  \"models\": {\"m\": {\"type\": \"demo\"}},\n  \"chanels\": {}\n}", []string{"3:3: chanels: ", "channels"}},
		"a cut file":  {"{\n  \"models\": {\"m\": {\"type\": \"de", []string{"2:", "ends too early"}},
		"a wrong type": {"{\n  \"models\": {\"m\": {\"type\": \"demo\"}},\n  \"limits\": {\"turns\": \"many\"}\n}",
			[]string{"3:23: limits.turns: "}},
		"an unset variable": {"{\n  \"models\": {\"m\": {\"type\": \"openai\", \"model\": \"x\", \"api_key\": \"${NOT_SET_ANYWHERE}\"}}\n}",
			[]string{"2:63: models.m.api_key: ", "NOT_SET_ANYWHERE"}},
		"a key that is not there yet": {"{\n  \"models\": {\"m\": {\"type\": \"demo\"}},\n  \"telemetry\": {}\n}", []string{"3:3: telemetry: "}},
		"an adapter's key": {"{\n  \"models\": {\"m\": {\"type\": \"demo\"}},\n  \"channels\": {\"t\": {\"type\": \"telegram\", \"tokn\": \"x\"}}\n}",
			[]string{"3:42: channels.t.tokn: ", "token"}},
		"a webhook that leads nowhere": {"{\n  \"models\": {\"m\": {\"type\": \"demo\"}},\n  \"channels\": {\"t\": {\"type\": \"telegram\", \"token\": \"1:x\", \"mode\": \"webhook\"}}\n}",
			[]string{"3:66: channels.t.mode: ", "needs webhook_url"}},
		"a webhook without a listener": {"{\n  \"listen\": \"\",\n  \"models\": {\"m\": {\"type\": \"demo\"}},\n  \"channels\": {\"t\": {\"type\": \"telegram\", \"token\": \"1:x\", \"mode\": \"webhook\", \"webhook_url\": \"https://x.example/hook/t\"}}\n}",
			[]string{"4:66: channels.t.mode: ", "nothing is listened on"}},
		"a webhook behind the router": {bot(`"token": "1:x", "mode": "webhook", "webhook_url": "https://192.168.0.2/hook/t"`),
			[]string{"channels.t.mode: webhook_url must lead here from outside: Telegram does not reach 192.168.0.2"}},
		"a webhook that is polled": {bot(`"token": "1:x", "webhook_url": "https://x.example/hook/t"`),
			[]string{`channels.t.webhook_url: is for mode "webhook", and mode is "poll"`}},
		"a token of nothing on Telegram": {bot(`"token": "my bot"`), []string{"3:51: channels.t.token: is not one that @BotFather gives (must be like 123456789:AAE…)"}},
		"a token of nothing on Discord": {strings.Replace(bot(`"token": "Bot MTAw.Fake.x"`), "telegram", "discord", 1),
			[]string{"channels.t.token: is not one of a bot (must be three parts with dots between them"}},
		"a method behind Telegram's address": {bot(`"token": "1:x", "api_url": "https://api.telegram.org/bot"`),
			[]string{"channels.t.api_url: is not Telegram's (must be https://api.telegram.org with nothing behind it"}},
		"Telegram in the clear": {bot(`"token": "1:x", "api_url": "http://api.telegram.org"`), []string{"channels.t.api_url: is not Telegram's"}},
		"a version behind Discord's address": {strings.Replace(bot(`"token": "a.b.c", "api_url": "https://discord.com/api/v10"`), "telegram", "discord", 1),
			[]string{"channels.t.api_url: is not Discord's (must be https://discord.com with nothing behind it"}},
		"a version behind an address": {strings.Replace(bot(`"token": "a.b.c", "api_url": "https://chat.example.org/api/v9/"`), "telegram", "discord", 1),
			[]string{"channels.t.api_url: must end before /api"}},
		"a chat by its name": {strings.Replace(bot(`"token": "1:x", "chats": {"@ours": {"agent": "main"}, "-1001234567890": {"agent": "main"}}`), `"channels"`, `"agents": {"main": {}}, "channels"`, 1),
			[]string{`channels.t.chats["@ours"]: is no id of this platform, which gives numbers`}},
		"a person by their name": {strings.Replace(bot(`"token": "1:x"`), `"channels"`, `"people": {"ann": {"ids": ["t:12345", "t:@ann"], "role": "admin"}}, "channels"`, 1),
			[]string{"people.ann.ids[1]: is no id of this platform"}},
		"a bot twice": {strings.Replace(bot(`"token": "1:x"`), `{"t":`, `{"a": {"type": "telegram", "token": "1:x"}, "t":`, 1),
			[]string{`channels.t.token: is that of channel "a" too`}},
		"intents are none of the config": {strings.Replace(bot(`"token": "a.b.c", "intents": 5, "thread": true`), "telegram", "discord", 1),
			[]string{"channels.t.intents: is not a known key", `channels.t.thread: is not a known key (did you mean "threads"?)`}},
		"no room for a prompt": {"{\n  \"models\": {\"m\": {\"type\": \"openai\", \"model\": \"x\", \"context_tokens\": 900, \"max_output_tokens\": 900}}\n}",
			[]string{"2:14: models.m: ", "max_output_tokens leaves no room"}},
		"half a price": {"{\n  \"models\": {\"m\": {\"type\": \"openai\", \"model\": \"x\", \"price\": {\"input\": 1}}}\n}",
			[]string{"models.m.price.output: is missing"}},
		"two faults at once": {"{\n  \"models\": {\"m\": {\"type\": \"dmo\"}},\n  \"listn\": \"\",\n  \"mcp_servers\": {\"a\": {\"args\": []}}\n}",
			[]string{"2:28: models.m.type: ", "3:3: listn: ", "4:", "mcp_servers.a.command: "}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := newGateway(t, gatewayBinary(t), c.config)
			file := filepath.Join(g.Dir, "bad.json")
			if err := os.WriteFile(file, []byte(c.config), 0o600); err != nil {
				t.Fatal(err)
			}
			_, words, code := g.CLI("check", "--config", file)
			if code != 1 {
				t.Errorf("check: exit %d", code)
			}
			for _, want := range c.want {
				if !strings.Contains(words, want) {
					t.Errorf("check does not say %q:\n%s", want, words)
				}
			}
			for _, line := range strings.Split(strings.TrimSpace(words), "\n") {
				if !strings.HasPrefix(line, file+":") {
					t.Errorf("a line does not begin with the file: %s", line)
				}
			}
			if _, run, code := g.CLI("run", "--config", file); code != 1 || run != words {
				t.Errorf("run: exit %d, and says\n%s\ninstead of\n%s", code, run, words)
			}
		})
	}
}

func TestAGoodConfigIsGood(t *testing.T) {
	t.Parallel()
	g := newGateway(t, gatewayBinary(t), `{
	// comments and trailing commas are fine
	"mcpServers": {"files": {"command": "npx", "args": ["-y", "@modelcontextprotocol/server-filesystem", "/data"],},},
}`)
	if out, stderr, code := g.CLI("check"); code != 0 || !strings.Contains(out, "is good") {
		t.Errorf("exit %d, %s%s", code, out, stderr)
	}
}

func TestWrongUsage(t *testing.T) {
	t.Parallel()
	g := newGateway(t, gatewayBinary(t), embeddedDefault)
	for _, args := range [][]string{{"rnu"}, {"--nonsense"}, {"call"}, {"check", "extra"}, {"pair", "approve"}, {"pair"}, {"version", "x"}} {
		if _, stderr, code := g.CLI(args...); code != 2 || stderr == "" {
			t.Errorf("dragoman %s: exit %d, %q", strings.Join(args, " "), code, stderr)
		}
	}
	if out, _, code := g.CLI("version"); code != 0 || !strings.HasPrefix(out, "dragoman ") {
		t.Errorf("version: exit %d, %q", code, out)
	}
}
