package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"dragoman/tests/fake/discord"
)

// patientServer is an MCP server whose tool never ends. It notes in $RAN each line
// of its client about calls: those that begin, and those that are cancelled.
const patientServer = `
field() { printf '%s' "$line" | sed -n 's/.*"'"$1"'":"*\([^",}]*\).*/\1/p'; }
answer() { printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$1" "$2"; }
while IFS= read -r line; do
	id=$(field id)
	case $line in
	*'"method":"initialize"'*) answer "$id" '{"protocolVersion":"'"$(field protocolVersion)"'","capabilities":{"tools":{}},"serverInfo":{"name":"patient","version":"1"}}' ;;
	*'"method":"tools/list"'*) answer "$id" '{"tools":[{"name":"wait","inputSchema":{"type":"object"}}]}' ;;
	*'"method":"ping"'*) answer "$id" '{}' ;;
	*'"method":"tools/call"'* | *'"method":"notifications/cancelled"'*) printf '%s\n' "$line" >>"$RAN" ;;
	esac
done
`

var (
	callOf   = regexp.MustCompile(`"id":(\d+)[^\n]*"method":"tools/call"|"method":"tools/call"[^\n]*"id":(\d+)`)
	cancelOf = regexp.MustCompile(`notifications/cancelled"[^\n]*"requestId":(\d+)|"requestId":(\d+)[^\n]*notifications/cancelled"`)
)

// A stop ends the turn within a second, whichever way it is said, and the server of
// the tool that runs hears of it.
func TestAStopInDiscordIsHeardByAllAtOnce(t *testing.T) {
	measured(t)
	for name, stops := range map[string]func(*discord.User, discord.Sent) error{
		"by the button": func(ann *discord.User, m discord.Sent) error {
			_, err := ann.Press(ann.DM(), m.ID, m.Buttons()[0])
			return err
		},
		"by the slash command": func(ann *discord.User, _ discord.Sent) error {
			_, err := ann.Command(ann.DM(), "stop", nil)
			return err
		},
		"by a word": func(ann *discord.User, _ discord.Sent) error { ann.Say("/stop"); return nil },
	} {
		t.Run(name, func(t *testing.T) {
			var at shownAt
			dc := discord.New(discord.Options{Watch: discord.Watch{Shown: at.shown}})
			t.Cleanup(dc.Close)
			dir := t.TempDir()
			script, ran := filepath.Join(dir, "server.sh"), filepath.Join(dir, "ran")
			if err := os.WriteFile(script, []byte(patientServer), 0o600); err != nil {
				t.Fatal(err)
			}
			g := startGateway(t, `{
	"listen": "${LISTEN}", "models": {"main": {"type": "demo"}}, "log": {"format": "json", "level": "info"},
	"access": {"mode": "open", "rate": ""}, "tools": {"default": "allow"},
	"channels": {"dc": {"type": "discord", "token": `+quoted(dc.Token())+`, "api_url": `+quoted(dc.URL())+`}},
	"mcp_servers": {"patient": {"command": "/bin/sh", "args": [`+quoted(script)+`], "trusted": true, "env": {"RAN": `+quoted(ran)+`}}}
}`)
			g.WaitLine("mcp_server_connected", readyWithin)
			listens(t, dc)
			ann := dc.User("Ann")
			ann.Say("call patient__wait {}")
			status := inDiscord(t, dc, ann.DM(), "the stop button", func(m discord.Sent) bool { return len(m.Buttons()) == 1 })
			began := time.Now()
			if err := stops(ann, status); err != nil {
				t.Fatal(err)
			}
			inDiscord(t, dc, ann.DM(), "the end of the turn", tells("Stopped."))
			if took := at.when("Stopped.").Sub(began); took > time.Second && !raceEnabled() {
				t.Errorf("the turn ended after %v", took)
			}
			eventually(t, time.Second+slack, "the server is told", func() error {
				lines, _ := os.ReadFile(ran)
				call, cancel := callOf.FindSubmatch(lines), cancelOf.FindSubmatch(lines)
				if call == nil || cancel == nil || string(call[1])+string(call[2]) != string(cancel[1])+string(cancel[2]) {
					return fmt.Errorf("it heard %s", lines)
				}
				return nil
			})
			ann.Say("what time is it in Tokyo?")
			inDiscord(t, dc, ann.DM(), "the next answer", tells("UTC: "))
			eventually(t, answerWithin, "nothing is left of what ran", func() error { // the word on the stop goes beside the turns
				for _, m := range dc.Sent(ann.DM()) {
					if m.Thinking || len(m.Rows) > 0 || m.OnlyFor == "" && m.Text == "Stopping." {
						return fmt.Errorf("the chat shows\n%s", dc.Transcript(ann.DM()))
					}
				}
				return nil
			})
			if n := strings.Count(dc.Transcript(ann.DM()), "Stopped."); n != 1 {
				t.Errorf("%d times stopped:\n%s", n, dc.Transcript(ann.DM()))
			}
		})
	}
}
