package e2e

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"dragoman/tests/fake/model"
	"dragoman/tests/fake/telegram"
)

// hearingServer is an MCP server that keeps all it is told in $HEARD. Its tool
// long never comes to an end, its tool short does at once.
const hearingServer = `
field() { printf '%s' "$line" | sed -n 's/.*"'"$1"'":"*\([^",}]*\).*/\1/p'; }
answer() { printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$1" "$2"; }
while IFS= read -r line; do
	printf '%s\n' "$line" >>"$HEARD"
	id=$(field id)
	case $line in
	*'"method":"initialize"'*) answer "$id" '{"protocolVersion":"'"$(field protocolVersion)"'","capabilities":{"tools":{}},"serverInfo":{"name":"hearing","version":"1"}}' ;;
	*'"method":"tools/list"'*) answer "$id" '{"tools":[{"name":"long","inputSchema":{"type":"object"}},{"name":"short","inputSchema":{"type":"object"}}]}' ;;
	*'"method":"ping"'*) answer "$id" '{}' ;;
	*'"method":"tools/call"'*'"short"'*) answer "$id" '{"content":[{"type":"text","text":"it ran"}]}' ;;
	esac
done
`

// heardLine is what the server was told.
type heardLine struct {
	ID     json.Number
	Method string
	Params struct {
		Name    string
		Request json.Number `json:"requestId"`
	}
}

// heardBy reads what the server was told of one method.
func heardBy(t testing.TB, file, method string) (list []heardLine) {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(b)) {
		var l heardLine
		if json.Unmarshal([]byte(line), &l) == nil && l.Method == method {
			list = append(list, l)
		}
	}
	return list
}

// calling calls the tool that the person names, and says what came of it.
func calling(r model.Request) model.Reply {
	if last := r.Last(); last.Role == "tool" {
		return model.Reply{Text: "Got: " + last.Text}
	}
	return model.Reply{Text: "Let me see.", Calls: []model.Call{{Name: "srv__" + r.Said(), Arguments: "{}"}}}
}

// While a tool runs, its person presses the stop button: the turn is over at once,
// its server is told which call nobody wants any more, and serves the next one.
func TestAStopButtonEndsALongToolCall(t *testing.T) {
	for _, streaming := range []string{"edit", "draft"} {
		t.Run(streaming, func(t *testing.T) {
			t.Parallel()
			var mu sync.Mutex
			read := map[string]time.Time{} // when a text was first read
			tg := telegram.New(telegram.Options{Watch: telegram.Watch{Shown: func(_ int64, text string, _ bool) {
				mu.Lock()
				defer mu.Unlock()
				if _, ok := read[text]; !ok {
					read[text] = time.Now()
				}
			}}})
			t.Cleanup(tg.Close)
			m := model.New(model.Options{Answer: calling})
			t.Cleanup(m.Close)
			heard := filepath.Join(t.TempDir(), "heard")
			g := startGateway(t, `{
	"listen": "${LISTEN}",
	"models": {"main": {"type": "openai", "base_url": `+quoted(m.URL())+`, "model": "m"}},
	"channels": {"tg": {"type": "telegram", "token": `+quoted(tg.Token())+`, "api_url": `+quoted(tg.URL())+`, "streaming": `+quoted(streaming)+`}},
	"mcp_servers": {"srv": {"command": "/bin/sh", "args": ["-c", `+quoted(hearingServer)+`], "call_timeout": "10m", "env": {"HEARD": `+quoted(heard)+`}}},
	"tools": {"default": "allow"},
	"access": {"mode": "open", "rate": ""}
}`)
			g.WaitLine("mcp_server_connected", readyWithin)
			ann := tg.User(1001, "Ann")
			ann.Say("long")
			stop := stopButton(t, tg, ann, streaming)
			var call []heardLine
			eventually(t, answerWithin, "the server hears of the call", func() error { // which may be told to the person before
				if call = heardBy(t, heard, "tools/call"); len(call) != 1 || call[0].Params.Name != "long" {
					return fmt.Errorf("it was told to call %+v", call)
				}
				return nil
			})

			pressed := time.Now()
			if err := stop(); err != nil {
				t.Fatal(err)
			}
			told(t, tg, ann.ID(), "Stopped.")
			eventually(t, answerWithin, "the server is told", func() error {
				said := heardBy(t, heard, "notifications/cancelled")
				if len(said) != 1 || said[0].Params.Request != call[0].ID {
					return fmt.Errorf("it heard %+v, the call was %s", said, call[0].ID)
				}
				return nil
			})
			mu.Lock()
			took := read["Stopped."].Sub(pressed)
			mu.Unlock()
			t.Logf("from the press to the word: %v", took.Round(time.Millisecond))
			if took > slack { // the call itself may take ten minutes
				t.Errorf("the stop took %v", took)
			}
			if sent := tg.Sent(ann.ID()); len(sent[0].Rows) > 0 {
				t.Errorf("the button is left: %+v", sent)
			}

			ann.Say("short")
			told(t, tg, ann.ID(), "Stopped.", "Got: it ran")
			if n := len(heardBy(t, heard, "initialize")); n != 1 {
				t.Errorf("the server was started %d times", n)
			}
			eventually(t, answerWithin, "the press is answered", func() error {
				if answered, pressed := tg.Answered(); answered != pressed {
					return fmt.Errorf("%d of %d", answered, pressed)
				}
				return nil
			})
		})
	}
}

// stopButton waits until what runs is told to a person, with a button to stop it,
// and returns the press.
func stopButton(t testing.TB, tg *telegram.Server, u *telegram.User, streaming string) (press func() error) {
	t.Helper()
	eventually(t, answerWithin, "what runs, and a button", func() error {
		if streaming == "draft" {
			d, ok := u.Draft(0)
			if !ok || !d.CanStop || !strings.Contains(d.Text, "⏳ srv__long · ") {
				return fmt.Errorf("there is %+v", d)
			}
			press = func() error { return u.StopDraft(0) }
			return nil
		}
		sent := tg.Sent(u.ID())
		if len(sent) != 1 || !slices.Contains(sent[0].Buttons(), "⏹ Stop") || !strings.Contains(sent[0].Text, "⏳ srv__long · ") {
			return fmt.Errorf("there is %+v", sent)
		}
		press = func() error { return u.Press(sent[0].ID, "⏹ Stop") }
		return nil
	})
	return press
}
