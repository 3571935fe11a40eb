package e2e

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"dragoman/tests/fake/telegram"
)

// terminalConfig is a gateway that only terminals can talk to.
func terminalConfig(mock *aimock, rest string) string {
	return `{"version": 1, "listen": "", "models": {"main": {"type": "openai", "base_url": ` + quoted(mock.URL+"/v1") + `, "model": "m"}}` + rest + `}`
}

// startHeadless starts a gateway that listens nowhere.
func startHeadless(t testing.TB, config string) *gateway {
	t.Helper()
	g := newGateway(t, gatewayBinary(t), config)
	g.Start()
	waitSocket(t, g)
	return g
}

func waitSocket(t testing.TB, g *gateway) {
	t.Helper()
	eventually(t, readyWithin, "the gateway answers on its socket", func() error {
		if g.proc.ended() {
			return final{errors.New("it ended")}
		}
		if _, err := os.Stat(filepath.Join(g.Dir, "dragoman-data", "control.sock")); err != nil {
			return err
		}
		if _, errs, code := g.CLI("pair", "list"); code != 0 {
			return errors.New(errs)
		}
		return nil
	})
}

// piped is a chat whose stdin the test holds.
type piped struct {
	t    testing.TB
	in   io.WriteCloser
	cmd  *exec.Cmd
	done chan struct{}
	mu   sync.Mutex
	out  strings.Builder
	errs strings.Builder
}

// chats starts a chat on the gateway's folder.
func chats(g *gateway, args ...string) *piped {
	g.t.Helper()
	c := &piped{t: g.t, done: make(chan struct{}), cmd: exec.Command(g.bin, append([]string{"chat"}, args...)...)}
	c.cmd.Dir, c.cmd.Env, c.cmd.WaitDelay = g.Dir, g.env, 2*time.Second
	c.cmd.Stdout, c.cmd.Stderr = locked{&c.mu, &c.out}, locked{&c.mu, &c.errs}
	var err error
	if c.in, err = c.cmd.StdinPipe(); err != nil {
		g.t.Fatal(err)
	}
	if err := c.cmd.Start(); err != nil {
		g.t.Fatal(err)
	}
	go func() {
		defer close(c.done)
		_ = c.cmd.Wait() // the exit code says it
	}()
	g.t.Cleanup(func() {
		select {
		case <-c.done:
		default:
			_ = c.cmd.Process.Kill()
			<-c.done
		}
		if g.t.Failed() {
			out, errs := c.output()
			g.t.Logf("stdout of the chat:\n%.2000s\nstderr:\n%.2000s", out, errs)
		}
	})
	return c
}

type locked struct {
	mu *sync.Mutex
	w  io.Writer
}

func (l locked) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.w.Write(b)
}

func (c *piped) output() (out, errs string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.out.String(), c.errs.String()
}

func (c *piped) say(lines ...string) {
	c.t.Helper()
	for _, l := range lines {
		if _, err := io.WriteString(c.in, l+"\n"); err != nil {
			c.t.Fatal(err)
		}
	}
}

// says waits until stdout is this.
func (c *piped) says(want string) {
	c.t.Helper()
	eventually(c.t, answerWithin, "the answer", func() error {
		if out, errs := c.output(); out != want {
			return fmt.Errorf("stdout is %q, want %q; stderr is %q", out, want, errs)
		}
		return nil
	})
}

// end closes stdin, and waits for the end.
func (c *piped) end() (out, errs string, code int) {
	c.t.Helper()
	c.in.Close()
	return c.wait()
}

func (c *piped) wait() (out, errs string, code int) {
	c.t.Helper()
	select {
	case <-c.done:
	case <-time.After(stopWithin):
		c.t.Fatal("the chat does not end")
	}
	out, errs = c.output()
	return out, errs, c.cmd.ProcessState.ExitCode()
}

// quiet reports whether stderr has nothing but what a slow machine makes a chat say.
func quiet(errs string) bool {
	for line := range strings.Lines(errs) {
		if !strings.HasPrefix(line, "Connecting to the MCP servers") && !strings.HasPrefix(line, "Finishing what runs.") && !strings.HasPrefix(line, "Another chat uses") {
			return false
		}
	}
	return true
}

// pipe is a whole chat: these bytes on stdin.
func pipe(g *gateway, stdin string, args ...string) (out, errs string, code int) {
	g.t.Helper()
	c := chats(g, args...)
	go func() {
		_, _ = io.WriteString(c.in, stdin) // a chat that ends early says so by its code
		c.in.Close()
	}()
	return c.wait()
}

func TestAPipeWithoutAGatewayAndWithoutAConfig(t *testing.T) {
	t.Parallel()
	g := newGateway(t, gatewayBinary(t), embeddedDefault)
	out, errs, code := pipe(g, "what time is it in Tokyo?\n")
	if code != 0 || !strings.HasPrefix(out, "In Asia/Tokyo it is ") || !quiet(errs) {
		t.Errorf("exit %d\nstdout %q\nstderr %q", code, out, errs)
	}
	// It is no admin that would be known: the first one is still to come.
	g.Start()
	g.WaitReady()
	g.WaitLine(`/login\?code=\S+`, answerWithin)
}

func TestAPipeIntoARunningGateway(t *testing.T) {
	t.Parallel()
	mock := startAimock(t, says("q-one", "Answer\none."), says("q-two", "Answer two."), says("q-three", "\x1b[31mred\x07\u202e")) // no escape reaches a terminal
	g := startHeadless(t, terminalConfig(mock, `, "agents": {"main": {}, "other": {}}`))
	out, errs, code := pipe(g, "q-one\n\n  \r\nq-two\r\nq-three")
	if want := "Answer\none.\nAnswer two.\n[31mred\n"; code != 0 || out != want || !quiet(errs) {
		t.Errorf("exit %d\nstdout %q, want %q\nstderr %q", code, out, want, errs)
	}
	if out, _, code := pipe(g, "q-one\n", "--agent", "other"); code != 0 || out != "Answer\none.\n" {
		t.Errorf("the other agent: exit %d, %q", code, out)
	}
	if _, errs, code := pipe(g, "q-one\n", "--agent", "nobody"); code != 1 || !strings.Contains(errs, `no agent "nobody" (there are: main, other)`) {
		t.Errorf("an agent that is not there: exit %d, %q", code, errs)
	}
	if _, errs, code := pipe(g, ""); code != 0 || !quiet(errs) {
		t.Errorf("nothing at all: exit %d, %q", code, errs)
	}
}

func TestWhatAPipeCannotHaveAnswered(t *testing.T) {
	t.Parallel()
	mock := startAimock(t, append(calls("the time", "time", map[string]any{}, "It is late."), says("hello", "Hello yourself."))...)
	g := startHeadless(t, terminalConfig(mock, `, "tools": {"policy": {"time": "ask"}}`))

	out, errs, code := pipe(g, "tell me the time\n")
	if code != 1 || out != "" || !strings.Contains(errs, "May I run **time**?") || !strings.Contains(errs, "1) Yes, run it") || !strings.Contains(errs, "stays open") {
		t.Errorf("a question that stays open: exit %d\nstdout %q\nstderr %q", code, out, errs)
	}
	for _, yes := range []string{"yes", "1", "Yes, run it"} {
		if out, errs, code := pipe(g, "tell me the time\n"+yes+"\nhello\n"); code != 0 || out != "It is late.\nHello yourself.\n" {
			t.Errorf("a question that is answered %q: exit %d\nstdout %q\nstderr %q", yes, code, out, errs)
		}
	}
	for range 10 { // every try of the turn
		mock.FailNext(401, "no such key")
	}
	out, errs, code = pipe(g, "hello\n")
	if code != 1 || out != "" || !strings.Contains(errs, "Line 1 failed: The language model refused") || !strings.Contains(errs, "Reference: ") {
		t.Errorf("a turn that fails: exit %d\nstdout %q\nstderr %q", code, out, errs)
	}
}

func TestGarbageInAPipe(t *testing.T) {
	t.Parallel()
	mock := startAimock(t, says("zz", "I see."))
	g := startHeadless(t, terminalConfig(mock, `, "access": {"rate": "1/1m"}`)) // the owner is not held to it
	huge := strings.Repeat("zz", 1<<19)
	for name, c := range map[string]struct {
		in, out, errs string
		code          int
	}{
		"NUL":                          {"zz\x00\x00", "I see.\n", "", 0},
		"not UTF-8":                    {"zz \xff\xfe\x9b31m\n", "I see.\n", "", 0},
		"the longest line":             {huge + "\r\n", "I see.\n", "", 0},
		"a line that is too long":      {huge + "z\nzz\n", "I see.\n", "Line 1 failed: it is longer than 1048576 bytes", 1},
		"a line that is much too long": {strings.Repeat(huge, 20), "", "Line 1 failed: it is longer than 1048576 bytes", 1},
	} {
		t.Run(name, func(t *testing.T) {
			out, errs, code := pipe(g, c.in)
			if code != c.code || out != c.out || !strings.Contains(errs, c.errs) || c.errs == "" && !quiet(errs) {
				t.Errorf("exit %d, want %d\nstdout %.200q\nstderr %.200q", code, c.code, out, errs)
			}
		})
	}
}

func TestAGatewayThatIsKilledUnderAPipe(t *testing.T) {
	t.Parallel()
	slow := says("slow", "At last.")
	slow["latency"] = 3000 // before each of three pieces: it is killed before the first
	mock := startAimock(t, slow, says("quick", "Done."))
	g := startHeadless(t, terminalConfig(mock, ""))
	c := chats(g)
	c.say("quick")
	c.says("Done.\n")
	c.say("a slow one")
	eventually(t, answerWithin, "the model is asked", func() error {
		if len(mock.Journal(nil)) < 2 {
			return errors.New("not yet")
		}
		return nil
	})
	g.Kill()
	out, errs, code := c.wait()
	if code != 1 || out != "Done.\n" || !strings.Contains(errs, "the gateway went away while line 2 was worked on") {
		t.Errorf("exit %d\nstdout %q\nstderr %q", code, out, errs)
	}
	// It goes on with what it had taken, and the next chat answers its own line only.
	g.Start()
	waitSocket(t, g)
	if out, errs, code := pipe(g, "quick\n"); code != 0 || out != "Done.\n" {
		t.Errorf("the next chat: exit %d\nstdout %q\nstderr %q", code, out, errs)
	}
	eventually(t, answerWithin, "the answer is kept", func() error { return inFeed(g.Dir, "At last.") })
}

func inFeed(dir, text string) error {
	db, err := openDB(dir)
	if err != nil {
		return err
	}
	defer db.Close()
	var body string
	err = db.QueryRow(`SELECT body FROM feed WHERE instr(body, $1) > 0`, text).Scan(&body)
	if errors.Is(err, sql.ErrNoRows) {
		return fmt.Errorf("%q is not in a feed", text)
	}
	return err
}

func TestChatsSideBySide(t *testing.T) {
	t.Parallel()
	mock := startAimock(t, says("a-", "To the first."), says("b-", "To the second."))
	g := newGateway(t, gatewayBinary(t), terminalConfig(mock, ""))
	first := chats(g) // its own gateway
	first.say("a-1")
	first.says("To the first.\n")
	second := chats(g) // finds that one
	second.say("b-1")
	second.says("To the second.\n")
	first.say("a-2")
	first.says("To the first.\nTo the first.\n")
	if _, errs, code := g.CLI("run"); code != 1 || !strings.Contains(errs, "another dragoman (pid ") {
		t.Errorf("a gateway beside a chat: exit %d, %q", code, errs)
	}
	if out, errs, code := second.end(); code != 0 || out != "To the second.\n" || !quiet(errs) {
		t.Errorf("the second: exit %d, %q, %q", code, out, errs)
	}
	if out, errs, code := first.end(); code != 0 || out != "To the first.\nTo the first.\n" || !quiet(errs) {
		t.Errorf("the first: exit %d, %q, %q", code, out, errs)
	}
	// Each had a conversation of its own, and a terminal alone has the first one again.
	if out, _, code := pipe(g, "a-3\n"); code != 0 || out != "To the first.\n" {
		t.Errorf("the third: exit %d, %q", code, out)
	}
	for chat, want := range map[string]int{"1": 3, "2": 1} {
		db, err := openDB(g.Dir)
		if err != nil {
			t.Fatal(err)
		}
		defer db.Close()
		var n int
		if err := db.QueryRow(`SELECT COUNT(*) FROM inbox i JOIN conv c ON c.id = i.conv WHERE c.chat = $1`, chat).Scan(&n); err != nil || n != want {
			t.Errorf("conversation %s has %d messages, want %d (%v)", chat, n, want, err)
		}
	}
}

// One of them has the gateway, and it lasts until the last one is done.
func TestManyPipesAtOnce(t *testing.T) {
	t.Parallel()
	const pipes = 6
	var fixtures []fixture
	for i := range pipes {
		f := says(fmt.Sprintf("q-%d", i), fmt.Sprintf("a-%d", i))
		f["latency"] = 100 * i
		fixtures = append(fixtures, f)
	}
	g := newGateway(t, gatewayBinary(t), terminalConfig(startAimock(t, fixtures...), ""))
	for range 3 {
		var all []*piped
		for i := range pipes {
			c := chats(g)
			c.say(fmt.Sprintf("q-%d", i))
			c.in.Close()
			all = append(all, c)
		}
		for i, c := range all {
			if out, errs, code := c.wait(); code != 0 || out != fmt.Sprintf("a-%d\n", i) {
				t.Errorf("pipe %d: exit %d, %q, %q", i, code, out, errs)
			}
		}
	}
}

func TestASignalEndsAPipe(t *testing.T) {
	t.Parallel()
	slow := says("slow", "At last.")
	slow["latency"] = 2000 // before each of three pieces: the signal comes before the last
	mock := startAimock(t, slow, says("quick", "Done."))
	g := newGateway(t, gatewayBinary(t), terminalConfig(mock, ""))
	c := chats(g)
	c.say("quick")
	c.says("Done.\n")
	_ = c.cmd.Process.Signal(syscall.SIGTERM)
	if out, errs, code := c.wait(); code != 0 || out != "Done.\n" || !quiet(errs) {
		t.Errorf("all was answered: exit %d, %q, %q", code, out, errs)
	}
	c = chats(g)
	c.say("a slow one")
	eventually(t, answerWithin, "the model is asked", func() error {
		if len(mock.Journal(nil)) < 2 {
			return errors.New("not yet")
		}
		return nil
	})
	_ = c.cmd.Process.Signal(syscall.SIGINT)
	if out, errs, code := c.wait(); code != 1 || out != "" || !strings.Contains(errs, "interrupted while line 1 was worked on") {
		t.Errorf("one was not: exit %d, %q, %q", code, out, errs)
	}
	if err := inFeed(g.Dir, "At last."); err != nil { // its drain waited for the turn
		t.Error(err)
	}
}

// A chat of its own has no channel but the terminal: what is under way for others
// is not its to end.
func TestAChatLeavesOtherChannelsWorkAlone(t *testing.T) {
	t.Parallel()
	tg := telegram.New(telegram.Options{})
	t.Cleanup(tg.Close)
	slow := says("slow", "At last.")
	slow["latency"] = 3000 // before each of three pieces: it is killed before the first
	mock := startAimock(t, slow, says("quick", "Done."))
	g := newGateway(t, gatewayBinary(t), terminalConfig(mock, `, "access": {"mode": "open"},
		"channels": {"tg": {"type": "telegram", "token": `+quoted(tg.Token())+`, "api_url": `+quoted(tg.URL())+`}}`))
	g.Start()
	ann := tg.User(1001, "Ann")
	ann.Say("a slow one")
	eventually(t, answerWithin, "the model is asked", func() error {
		if len(mock.Journal(nil)) < 1 {
			return errors.New("not yet")
		}
		return nil
	})
	g.Kill()
	c := chats(g)
	c.say("quick")
	c.says("Done.\n")
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second) // longer than its sweep
	defer cancel()
	<-ctx.Done()
	if n := len(mock.Journal(nil)); n != 2 {
		t.Errorf("the model was asked %d times, want once by each", n)
	}
	if _, errs, code := c.end(); code != 0 || !quiet(errs) {
		t.Errorf("exit %d, %q", code, errs)
	}
	g.Start()
	becomes(t, tg, ann, "At last.")
}

// A round of thought and tools over Anthropic's wire, from the config to the person.
func TestAConversationOverAnthropicsWire(t *testing.T) {
	t.Parallel()
	think := map[string]any{"reasoning": "There is a clock.", "reasoningSignature": "sealed", "content": "Let me see.",
		"toolCalls": []any{map[string]any{"id": "toolu_1", "name": "time", "arguments": map[string]any{}}}}
	mock := startAimock(t,
		fixture{"match": map[string]any{"userMessage": "the time", "hasToolResult": false}, "response": think},
		fixture{"match": map[string]any{"userMessage": "the time", "hasToolResult": true}, "response": map[string]any{"content": "It is late."}})
	g := startHeadless(t, `{"listen": "", "tools": {"policy": {"time": "allow"}}, "models": {"main": {"type": "anthropic", "base_url": `+quoted(mock.URL)+`,
		"api_key": "sk-ant-key", "model": "claude-sonnet-4-5", "thinking_tokens": 1024}}}`)
	out, errs, code := pipe(g, "the time, please\n")
	if code != 0 || !strings.HasSuffix(out, "It is late.\n") || strings.Contains(out, "clock") || !quiet(errs) {
		t.Errorf("exit %d\nstdout %q\nstderr %q", code, out, errs)
	}
	if got := mock.Journal(url.Values{"path": {"/v1/messages"}, "status": {"200"}}); len(got) != 2 {
		t.Errorf("%d requests were answered on the messages wire, want 2", len(got))
	}
}
