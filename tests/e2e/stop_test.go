package e2e

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"dragoman/tests/fake/telegram"
)

// gatedServer is an MCP server whose tools wait until the file $OPEN is there, and
// note in $RAN that they were begun. It has one that only looks, one that writes,
// and one that is asked about. With $DEAF it heeds neither the end of its input nor
// SIGTERM. It is a script so that nothing but a shell is needed.
const gatedServer = `
[ -n "$DEAF" ] && trap '' TERM
field() { printf '%s' "$line" | sed -n 's/.*"'"$1"'":"*\([^",}]*\).*/\1/p'; }
answer() { printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$1" "$2"; }
tool() { printf '{"name":"%s","inputSchema":{"type":"object"}%s}' "$1" "$2"; }
while IFS= read -r line; do
	id=$(field id)
	case $line in
	*'"method":"initialize"'*) answer "$id" '{"protocolVersion":"'"$(field protocolVersion)"'","capabilities":{"tools":{}},"serverInfo":{"name":"gated","version":"1"}}' ;;
	*'"method":"tools/list"'*) answer "$id" '{"tools":['"$(tool look ',"annotations":{"readOnlyHint":true}'),$(tool write),$(tool asked)"']}' ;;
	*'"method":"ping"'*) answer "$id" '{}' ;;
	*'"method":"tools/call"'*)
		echo ran >>"$RAN"
		until [ -e "$OPEN" ]; do sleep 0.05; done
		answer "$id" '{"content":[{"type":"text","text":"it ran"}]}' ;;
	esac
done
while [ -n "$DEAF" ]; do sleep 0.1; done
`

// stopped is a gateway on the fake Telegram, with a model that says what a test
// wants and the gated server, that is stopped in the middle of something.
type stopped struct {
	*hostile
	open, ran string // files of the gated server
}

// mostMCP is how long an MCP server's end may take: it is asked, told, and killed.
const mostMCP = 4 * time.Second

// slack is for a machine that does other things too: what a stop takes is looked at
// here only to tell it from the time-outs that it must not wait for.
const slack = 10 * time.Second

// startStopped starts it with this drain_timeout and more variables of the server.
func startStopped(t testing.TB, drain string, env ...string) *stopped {
	t.Helper()
	tg := telegram.New(telegram.Options{})
	t.Cleanup(tg.Close)
	model := startBadModel(t)
	dir := t.TempDir()
	s := &stopped{open: filepath.Join(dir, "open"), ran: filepath.Join(dir, "ran")}
	script := filepath.Join(dir, "server.sh")
	if err := os.WriteFile(script, []byte(gatedServer), 0o600); err != nil {
		t.Fatal(err)
	}
	vars := `"OPEN": ` + quoted(s.open) + `, "RAN": ` + quoted(s.ran)
	for i := 0; i+1 < len(env); i += 2 {
		vars += `, ` + quoted(env[i]) + `: ` + quoted(env[i+1])
	}
	g := startGateway(t, `{
	"listen": "${LISTEN}", "access": {"mode": "open", "rate": ""}, "log": {"format": "json", "level": "info"},
	"models": {"main": {"type": "openai", "base_url": `+quoted(model.URL)+`, "model": "m", "api_key": `+quoted(modelKey)+`}},
	"channels": {"tg": {"type": "telegram", "token": `+quoted(tg.Token())+`, "api_url": `+quoted(tg.URL())+`}, "web": {"type": "web"}},
	"mcp_servers": {"gated": {"command": "/bin/sh", "args": [`+quoted(script)+`], "trusted": true, "env": {`+vars+`}}},
	"tools": {"default": "allow", "policy": {"gated__asked": "ask"}},
	"limits": {"drain_timeout": `+quoted(drain)+`}
}`)
	s.hostile = &hostile{gateway: g, tg: tg, model: model}
	s.proc.WaitLine(t, "mcp_server_connected", readyWithin)
	return s
}

// begun waits until the gated server's tools were begun n times.
func (s *stopped) begun(t testing.TB, n int) {
	t.Helper()
	eventually(t, answerWithin, fmt.Sprintf("%d calls", n), func() error {
		if got := s.runs(); got != n {
			return fmt.Errorf("there are %d", got)
		}
		return nil
	})
}

func (s *stopped) runs() int {
	b, _ := os.ReadFile(s.ran)
	return strings.Count(string(b), "\n")
}

// let opens the gate.
func (s *stopped) let(t testing.TB) {
	t.Helper()
	if err := os.WriteFile(s.open, nil, 0o600); err != nil {
		t.Error(err)
	}
}

// ends sends SIGTERM, does something meanwhile, and checks that the process ends
// in order and in time.
func (s *stopped) ends(t testing.TB, within time.Duration, meanwhile func()) {
	t.Helper()
	began := time.Now()
	s.proc.signal(syscall.SIGTERM)
	if meanwhile != nil {
		s.WaitLine("gateway_draining", answerWithin)
		meanwhile()
	}
	if code := s.proc.wait(t, stopWithin); code != 0 {
		t.Errorf("the exit code is %d", code)
	}
	took := time.Since(began)
	if took > within+slack {
		t.Errorf("the stop took %v, it may take %v", took, within)
	}
	t.Logf("the stop took %v", took.Round(10*time.Millisecond))
}

// again starts the next life.
func (s *stopped) again() {
	s.Start()
	s.WaitReady()
}

// firstTry does one thing at the first request after the person said something,
// and another from then on.
func firstTry(first, then act) act { return untilTry(2, first, then) }

// asked waits until the model was asked about what somebody said.
func (s *stopped) asked(t testing.TB, said string) {
	t.Helper()
	eventually(t, answerWithin, "the model is asked", func() error {
		if s.model.Tries(said) == 0 {
			return errors.New("not yet")
		}
		return nil
	})
}

func TestAStopIsShort(t *testing.T) {
	t.Parallel()
	t.Run("with nothing to do and a poll open", func(t *testing.T) {
		t.Parallel()
		s := startStopped(t, "20s")
		eventually(t, answerWithin, "a poll", func() error {
			if s.tg.Open("getUpdates") != 1 {
				return fmt.Errorf("there are %d", s.tg.Open("getUpdates"))
			}
			return nil
		})
		s.ends(t, 0, nil)
	})
	t.Run("with a request that does not come to its end", func(t *testing.T) {
		t.Parallel()
		s := startStopped(t, "20s")
		conn, err := net.Dial("tcp", strings.TrimPrefix(s.URL, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		if _, err := fmt.Fprintf(conn, "POST /login HTTP/1.1\r\nHost: %s\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: 100\r\n\r\ncode=", conn.RemoteAddr()); err != nil {
			t.Fatal(err)
		}
		s.ends(t, 3*time.Second, nil)
	})
	t.Run("with a deaf server", func(t *testing.T) {
		t.Parallel()
		s := startStopped(t, "20s", "DEAF", "1")
		s.ends(t, mostMCP, nil)
	})
	t.Run("and shorter with a second signal", func(t *testing.T) {
		t.Parallel()
		s := startStopped(t, "1h", "DEAF", "1")
		ann := s.tg.User(1001, "Ann")
		s.model.On("do it", callsFirst("gated__write", "{}"))
		ann.Say("do it")
		s.begun(t, 1)
		s.ends(t, 0, func() { s.proc.signal(syscall.SIGTERM) })
		s.WaitLine("left_behind", 0)
		s.again()
		s.outcome(t, ann, 1, contains("I was interrupted"))
		if n := s.runs(); n != 1 {
			t.Errorf("the tool ran %d times", n)
		}
	})
}

func TestAStopWhileATurnIsAtWork(t *testing.T) {
	t.Parallel()
	ann := func(s *stopped) *telegram.User { return s.tg.User(1001, "Ann") }
	t.Run("the model thinks", func(t *testing.T) {
		t.Parallel()
		s := startStopped(t, "1s")
		s.model.On("hello", firstTry(stalls("", 0), says200("Hello yourself.")))
		ann(s).Say("hello")
		s.asked(t, "hello")
		s.ends(t, time.Second, nil)
		s.again()
		s.outcome(t, ann(s), 1, is("Hello yourself."))
		s.only(t, ann(s), "Hello yourself.")
	})
	t.Run("an answer grows", func(t *testing.T) {
		t.Parallel()
		s := startStopped(t, "1s")
		s.model.On("a poem", firstTry(stalls(chunk(map[string]any{"content": "Roses are red"}, ""), 0), says200("Roses are red, indeed.")))
		ann(s).Say("a poem")
		first := growing(t, s.tg, ann(s), 0)
		s.ends(t, time.Second, nil)
		if got := s.tg.Sent(ann(s).ID()); len(got) != 1 || got[0].Text != "Roses are red …" {
			t.Errorf("when it is gone the chat shows %+v", got)
		}
		s.again()
		if got := becomes(t, s.tg, ann(s), "Roses are red, indeed."); got.ID != first.ID {
			t.Errorf("the answer is message %d, it grew as message %d", got.ID, first.ID)
		}
	})
	t.Run("a tool that only looks runs", func(t *testing.T) {
		t.Parallel()
		s := startStopped(t, "1s")
		s.model.On("look", callsFirst("gated__look", "{}"))
		ann(s).Say("look")
		s.begun(t, 1)
		s.ends(t, time.Second+mostMCP, nil)
		s.let(t)
		s.again()
		s.outcome(t, ann(s), 1, is("Got: it ran"))
		s.begun(t, 2)
	})
	t.Run("a tool that writes ends in time", func(t *testing.T) {
		t.Parallel()
		s := startStopped(t, "30s")
		s.model.On("write", callsFirst("gated__write", "{}"))
		ann(s).Say("write")
		s.begun(t, 1)
		s.ends(t, 10*time.Second, func() { s.let(t) })
		s.only(t, ann(s), "Got: it ran")
		s.again()
		s.only(t, ann(s), "Got: it ran")
		s.begun(t, 1)
	})
	for drain, most := range map[string]time.Duration{"1s": time.Second, "0s": 0} {
		t.Run("a tool that writes does not end in "+drain, func(t *testing.T) {
			t.Parallel()
			s := startStopped(t, drain)
			s.model.On("write", callsFirst("gated__write", "{}"))
			ann(s).Say("write")
			s.begun(t, 1)
			s.ends(t, most+mostMCP, nil)
			s.only(t, ann(s))
			s.let(t)
			s.again()
			s.outcome(t, ann(s), 1, contains("I was interrupted"))
			if err := ann(s).Press(s.tg.Sent(ann(s).ID())[0].ID, "Skip it"); err != nil {
				t.Fatal(err)
			}
			s.outcome(t, ann(s), 2, contains("Got: "))
			s.begun(t, 1)
		})
	}
}

func TestAStopWhileAnAnswerIsOnItsWay(t *testing.T) {
	t.Parallel()
	t.Run("it arrived, and Telegram is slow to say so", func(t *testing.T) {
		t.Parallel()
		s := startStopped(t, "500ms")
		ann := s.tg.User(1001, "Ann")
		s.tg.Delay("sendMessage", 1500*time.Millisecond)
		ann.Say("hello")
		s.outcome(t, ann, 1, is("Fine."))
		s.ends(t, 3*time.Second+mostMCP, nil)
		s.tg.Mend("sendMessage")
		s.again()
		eventually(t, answerWithin, "nothing is left to do", func() error { return nothingPending(s.Dir) })
		s.only(t, ann, "Fine.")
	})
	t.Run("Telegram holds it", func(t *testing.T) {
		t.Parallel()
		s := startStopped(t, "500ms")
		ann := s.tg.User(1001, "Ann")
		s.tg.Fail("sendMessage", -1, telegram.TooManyRequests(60))
		ann.Say("hello")
		s.WaitLine("account_held|delivery_retried", answerWithin)
		s.ends(t, 500*time.Millisecond, nil)
		s.tg.Mend("sendMessage")
		s.again()
		s.outcome(t, ann, 1, is("Fine."))
		eventually(t, answerWithin, "nothing is left to do", func() error { return nothingPending(s.Dir) })
		s.only(t, ann, "Fine.")
	})
}

// What comes while the gateway drains is left to Telegram, or stored: in any case
// it is answered after the next start, once.
func TestAnUpdateThatComesDuringAStopIsAnsweredOnce(t *testing.T) {
	t.Parallel()
	s := startStopped(t, "2s")
	slow := s.tg.User(1000, "Slow")
	s.model.On("think", firstTry(stalls("", 0), says200("Thought.")))
	slow.Say("think")
	s.asked(t, "think")
	users := make([]*telegram.User, 40)
	say := func(from, to int) {
		tick := time.NewTicker(50 * time.Millisecond)
		defer tick.Stop()
		for i := from; i < to; i++ {
			users[i] = s.tg.User(int64(2000+i), "P")
			users[i].Say(fmt.Sprint("m", i))
			<-tick.C
		}
	}
	said := make(chan struct{})
	go func() { // from before the stop
		defer close(said)
		say(0, 20)
	}()
	before := time.NewTimer(300 * time.Millisecond)
	<-before.C
	s.ends(t, 2*time.Second, func() { say(20, len(users)) })
	<-said
	if n := s.tg.Pending(); n == 0 {
		t.Error("no update is left: nothing is shown")
	}
	s.again()
	s.outcome(t, slow, 1, is("Thought."))
	for _, u := range users {
		s.outcome(t, u, 1, is("Fine."))
	}
	eventually(t, answerWithin, "nothing is left to do", func() error { return nothingPending(s.Dir) })
	for _, u := range users {
		s.only(t, u, "Fine.")
	}
}
