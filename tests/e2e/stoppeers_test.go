package e2e

import (
	"bufio"
	"context"
	"net/http"
	"net/http/cookiejar"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"
)

// A browser that looks on is sent home at once, and what it posts is refused until
// the next start.
func TestAStopWhileAPageLooksOn(t *testing.T) {
	t.Parallel()
	s := startStopped(t, "20s")
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	page := &http.Client{Jar: jar}
	call := func(method, path, body string) (*http.Response, error) {
		req, err := http.NewRequestWithContext(t.Context(), method, s.URL+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/json")
		if path == "/login/guest" {
			req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		}
		req.Header.Set("Origin", s.URL)
		return page.Do(req)
	}
	post := func(path, body string) int {
		t.Helper()
		resp, err := call(http.MethodPost, path, body)
		if err != nil {
			return 0
		}
		defer resp.Body.Close()
		return resp.StatusCode
	}
	if status := post("/login/guest", ""); status != http.StatusOK {
		t.Fatalf("/login/guest: %d", status)
	}
	stream, err := call(http.MethodGet, "/api/stream", "")
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Body.Close()
	lines := bufio.NewScanner(stream.Body)
	for lines.Scan() && lines.Text() != "event: ready" {
	}
	s.model.On("hello", firstTry(stalls("", 0), says200("Hello yourself.")))
	if status := post("/api/messages", `{"id": "1", "text": "hello"}`); status != http.StatusAccepted {
		t.Fatalf("/api/messages: %d", status)
	}
	s.asked(t, "hello")
	s.ends(t, 0, func() {
		for lines.Scan() {
		}
		if status := post("/api/messages", `{"id": "2", "text": "too late"}`); status == http.StatusAccepted {
			t.Error("a message was taken by a gateway that stops")
		}
		s.proc.signal(syscall.SIGTERM)
	})
	s.again()
	if status := post("/api/messages", `{"id": "1", "text": "hello"}`); status != http.StatusAccepted {
		t.Errorf("the same message again: %d", status)
	}
	eventually(t, answerWithin, "nothing is left to do", func() error { return nothingPending(s.Dir) })
	if n := s.model.Tries("hello"); n != 2 {
		t.Errorf("the model was asked %d times, want 2", n)
	}
	if stream, err = call(http.MethodGet, "/api/stream", ""); err != nil {
		t.Fatal(err)
	}
	defer stream.Body.Close()
	answers := 0
	lines = bufio.NewScanner(stream.Body)
	for lines.Scan() && lines.Text() != "event: ready" {
		answers += strings.Count(lines.Text(), "Hello yourself.")
	}
	if answers != 1 {
		t.Errorf("the page shows the answer %d times", answers)
	}
}

func TestAStopWhileATerminalIsAttached(t *testing.T) {
	t.Parallel()
	s := startStopped(t, "1s")
	s.model.On("wait", firstTry(stalls("", 0), says200("Waited.")))
	c := chats(s.gateway)
	c.say("hello")
	c.says("Fine.\n")
	c.say("wait")
	s.asked(t, "wait")
	s.ends(t, time.Second, nil)
	if out, errs, code := c.wait(); code != 1 || out != "Fine.\n" || !strings.Contains(errs, "the gateway went away") {
		t.Errorf("the chat: exit %d\nstdout %q\nstderr %q", code, out, errs)
	}
	s.again()
	eventually(t, answerWithin, "the answer is kept", func() error { return inFeed(s.Dir, "Waited.") })
}

// An admin's own call is not waited for; whoever made it is told in words.
func TestAStopWhileACommandCallsATool(t *testing.T) {
	t.Parallel()
	s := startStopped(t, "1s")
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var out, errs strings.Builder
	cmd := exec.CommandContext(ctx, s.bin, "call", "--json", "gated__write", "{}")
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr, cmd.WaitDelay = s.Dir, s.env, &out, &errs, time.Second
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	s.begun(t, 1)
	s.ends(t, time.Second+mostMCP, nil)
	err := cmd.Wait()
	if said := out.String() + errs.String(); err == nil || strings.TrimSpace(said) == "" || strings.Contains(said, "panic") {
		t.Errorf("the call says %q and %q (%v)", out.String(), errs.String(), err)
	}
	t.Logf("the call says %q and %q (%v)", out.String(), errs.String(), err)
}

// A signal in the middle of the start is an end in order too: exit code 0, or
// death by the signal itself as long as the program has not begun.
func TestAStopDuringTheStart(t *testing.T) {
	t.Parallel()
	s := startStopped(t, "20s")
	s.Term()
	s.model.On("hello", says200("Hello yourself."))
	ann := s.tg.User(1001, "Ann")
	ann.Say("hello")
	for i := range 20 {
		s.Start()
		moment := time.NewTimer(time.Duration(i) * 6 * time.Millisecond)
		<-moment.C
		s.proc.signal(syscall.SIGTERM)
		code := s.proc.wait(t, stopWithin)
		if begun := len(s.proc.Lines()) > 0; code != 0 && (begun || code != -1) {
			t.Errorf("%v after its start: exit code %d, %q", time.Duration(i)*6*time.Millisecond, code, s.proc.Lines())
		}
	}
	s.again()
	s.outcome(t, ann, 1, is("Hello yourself."))
	eventually(t, answerWithin, "nothing is left to do", func() error { return nothingPending(s.Dir) })
	s.only(t, ann, "Hello yourself.")
}

// To read the config again is not supported yet, but no reason to die.
func TestAHangupDoesNotEndTheGateway(t *testing.T) {
	t.Parallel()
	s := startStopped(t, "20s")
	ann := s.tg.User(1001, "Ann")
	for i := range 3 {
		s.proc.signal(syscall.SIGHUP)
		ann.Say("hello")
		s.outcome(t, ann, i+1, is("Fine."))
	}
	s.WaitLine("reload_not_supported", answerWithin)
	s.alive(t)
	s.ends(t, 0, nil)
}

// Whoever read the log is gone: a pipe that is closed, or a terminal.
func TestALogThatNobodyReadsDoesNotEndTheGateway(t *testing.T) {
	t.Parallel()
	s := startStopped(t, "20s")
	s.Term()
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(s.bin, "run")
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = s.Dir, s.env, write, write
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	write.Close()
	lines := bufio.NewScanner(read)
	for lines.Scan() && !strings.Contains(lines.Text(), "mcp_server_connected") {
	}
	read.Close()
	ann := s.tg.User(1001, "Ann")
	for i := range 3 { // each turn has lines in the log
		ann.Say("hello")
		s.outcome(t, ann, i+1, is("Fine."))
	}
	_ = cmd.Process.Signal(syscall.SIGTERM)
	select {
	case err := <-ended:
		if err != nil {
			t.Errorf("it ended with %v", err)
		}
	case <-time.After(stopWithin):
		t.Error("it does not end")
	}
}
