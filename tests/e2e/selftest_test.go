package e2e

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"os/signal"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"
)

// These test the harness, with the test binary standing in for the gateway.

func TestGatewayIsStartedKilledAndStopped(t *testing.T) {
	t.Parallel()
	g := newGateway(t, os.Args[0], `{"version": 1}`, "E2E_STAND_IN=1", "GIVEN=yes")
	g.Start()
	g.WaitReady()
	if got := g.WaitLine(`^config (\{.*\}), given (\w+)$`, readyWithin); got[1] != `{"version": 1}` || got[2] != "yes" {
		t.Errorf("the gateway saw %q", got)
	}
	first := g.proc
	g.Kill()
	if code := first.wait(t, stopWithin); code != -1 {
		t.Errorf("exit code after Kill = %d, want -1: no chance to exit by itself", code)
	}
	g.Start()
	g.WaitReady()
	if g.proc == first {
		t.Error("Start did not start another process")
	}
	g.Restart()
	stdout, stderr, code := g.CLI("tools", "--json")
	if stdout != "stand-in: tools --json\n" || stderr != "" || code != 3 {
		t.Errorf("CLI = %q, %q, %d", stdout, stderr, code)
	}
	g.Term()
	if got, err := g.proc.match(regexp.MustCompile("^stopped$")); err != nil {
		t.Errorf("lines after Term: %q, %v", got, err)
	}
}

func TestGatewayLeftRunningIsStoppedInGoodOrder(t *testing.T) {
	t.Parallel()
	var p *process
	t.Run("leave it running", func(t *testing.T) {
		g := newGateway(t, os.Args[0], `{}`, "E2E_STAND_IN=1")
		g.Start()
		g.WaitReady()
		p = g.proc
	})
	if lines := p.Lines(); !p.ended() || lines[len(lines)-1] != "stopped" {
		t.Errorf("ended: %v, lines: %q", p.ended(), lines)
	}
}

func TestGatewaySeesNothingThatIsNotGiven(t *testing.T) {
	t.Setenv("SECRET_OF_THE_TEST", "x")
	g := newGateway(t, os.Args[0], `{}`, "E2E_STAND_IN=1", "SHOW_ENV=1")
	g.Start()
	names := g.WaitLine(`^env (.*)$`, readyWithin)[1]
	if want := "PATH HOME TMPDIR LISTEN E2E_STAND_IN SHOW_ENV"; names != want {
		t.Errorf("its environment has %s, want %s", names, want)
	}
}

func TestWaitingEndsWithTheProcess(t *testing.T) {
	t.Parallel()
	p := start(t, t.TempDir(), nil, "/bin/sh", "-c", "echo one; printf two; exit 4")
	if code := p.wait(t, readyWithin); code != 4 {
		t.Errorf("exit code = %d, want 4", code)
	}
	if _, err := p.match(regexp.MustCompile("^two$")); err != nil {
		t.Errorf("the last line, without an end, was not seen: %v", err)
	}
	began := time.Now()
	err := poll(time.Minute, func() error {
		_, err := p.match(regexp.MustCompile("three"))
		return err
	})
	if !errors.As(err, &final{}) || time.Since(began) > 30*time.Second {
		t.Errorf("waiting for a line of a process that ended: %v after %v", err, time.Since(began))
	}
}

func TestEventuallyGivesUp(t *testing.T) {
	t.Parallel()
	tries := 0
	err := poll(2*time.Second, func() error { tries++; return errors.New("not yet") })
	if err == nil || !strings.Contains(err.Error(), "not yet") || tries < 2 {
		t.Errorf("poll = %v after %d tries", err, tries)
	}
	if err := poll(time.Minute, func() error { return nil }); err != nil {
		t.Errorf("poll of what holds = %v", err)
	}
}

func TestWhatOutlivesTheGatewayIsFound(t *testing.T) {
	t.Parallel()
	g := newGateway(t, os.Args[0], `{}`, "E2E_STAND_IN=1", "FORK=1")
	g.Start()
	pid := 0
	if _, err := fmt.Sscan(g.WaitLine(`^forked (\d+)$`, readyWithin)[1], &pid); err != nil {
		t.Fatal(err)
	}
	g.Kill()
	if command := survivors(g.Dir)[pid]; command != "sleep 600" {
		t.Errorf("survivors found %q for %d: %v", command, pid, survivors(g.Dir))
	}
	inner := &recorder{TB: t}
	noSurvivors(inner, g.Dir, 100*time.Millisecond)
	if len(inner.errors) != 1 || !strings.Contains(inner.errors[0], "sleep 600") {
		t.Errorf("noSurvivors said %q", inner.errors)
	}
	eventually(t, 5*time.Second, "noSurvivors ends what it found", func() error {
		if left := survivors(g.Dir); len(left) > 0 {
			return fmt.Errorf("%v", left)
		}
		return nil
	})
}

func TestExitCodeAndRaceReportsFailTheTest(t *testing.T) {
	t.Parallel()
	inner := &recorder{TB: t}
	g := newGateway(t, os.Args[0], `{}`, "E2E_STAND_IN=1", "EXIT=66", "SAY=WARNING: DATA RACE")
	g.Start()
	g.WaitReady()
	g.t = inner
	g.Term()
	if len(inner.errors) != 2 || !strings.Contains(inner.errors[0], "data race") || !strings.Contains(inner.errors[1], "exit code was 66") {
		t.Errorf("Term said %q", inner.errors)
	}
}

func TestAimock(t *testing.T) {
	t.Parallel()
	m := startAimock(t, says("hello", "Hello yourself."))
	if status, body := chat(t, m, "well, hello"); status != http.StatusOK || !strings.Contains(body, "Hello yourself.") {
		t.Errorf("a fixture gave %d %s", status, body)
	}
	if status, body := chat(t, m, "weather"); status != http.StatusServiceUnavailable {
		t.Errorf("without a fixture it said %d %s, want 503", status, body)
	}
	m.Add(calls("weather", "get_weather", map[string]any{"city": "Oslo"}, "Cold.")...)
	if status, body := chat(t, m, "weather"); status != http.StatusOK || !strings.Contains(body, `"name":"get_weather"`) {
		t.Errorf("an added fixture gave %d %s", status, body)
	}
	m.FailNext(http.StatusTooManyRequests, "slow down")
	if status, body := chat(t, m, "hello"); status != http.StatusTooManyRequests || !strings.Contains(body, "slow down") {
		t.Errorf("FailNext gave %d %s", status, body)
	}
	if status, _ := chat(t, m, "hello"); status != http.StatusOK {
		t.Errorf("FailNext lasted for more than one request: %d", status)
	}

	journal := m.Journal(url.Values{"path": {"/v1/chat/completions"}})
	if len(journal) != 5 {
		t.Fatalf("the journal has %d requests, want 5", len(journal))
	}
	var sent struct{ Messages []struct{ Content string } }
	if err := json.Unmarshal(journal[0].Body, &sent); err != nil || len(sent.Messages) != 1 || sent.Messages[0].Content != "well, hello" {
		t.Errorf("the first request was %s (%v)", journal[0].Body, err)
	}
	if got := m.Journal(url.Values{"status": {"503"}}); len(got) != 1 || got[0].Response.Status != 503 {
		t.Errorf("the journal has %d requests that no fixture matched, want 1", len(got))
	}
	m.ClearJournal()
	if got := m.Journal(nil); len(got) != 0 {
		t.Errorf("after ClearJournal it has %d requests", len(got))
	}
	if status, _ := chat(t, m, "hello"); status != http.StatusOK {
		t.Error("ClearJournal took the fixtures too")
	}
}

// chat sends one message as a client of OpenAI would.
func chat(t *testing.T, m *aimock, text string) (status int, body string) {
	t.Helper()
	request, err := json.Marshal(map[string]any{
		"model": "any", "messages": []any{map[string]any{"role": "user", "content": text}},
	})
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.Post(m.URL+"/v1/chat/completions", "application/json", bytes.NewReader(request))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	var b bytes.Buffer
	if _, err := b.ReadFrom(resp.Body); err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, b.String()
}

// recorder takes what would fail a test.
type recorder struct {
	testing.TB
	errors []string
}

func (r *recorder) Errorf(format string, args ...any) {
	r.errors = append(r.errors, fmt.Sprintf(format, args...))
}

// standIn is the test binary as a gateway: it reads its config, gets ready at
// the second request, and stops when told to.
func standIn() {
	if os.Args[1] != "run" {
		fmt.Println("stand-in:", strings.Join(os.Args[1:], " "))
		os.Exit(3)
	}
	config, err := os.ReadFile("dragoman.json")
	if err != nil {
		panic(err)
	}
	stop := make(chan os.Signal, 1)
	signal.Notify(stop, syscall.SIGTERM)
	fmt.Printf("config %s, given %s\n", config, os.Getenv("GIVEN"))
	fmt.Println(os.Getenv("SAY"))
	if os.Getenv("SHOW_ENV") != "" {
		var names []string
		for _, pair := range os.Environ() {
			name, _, _ := strings.Cut(pair, "=")
			names = append(names, name)
		}
		fmt.Println("env", strings.Join(names, " "))
	}
	if os.Getenv("FORK") != "" {
		child := exec.Command("sleep", "600")
		if err := child.Start(); err != nil {
			panic(err)
		}
		fmt.Println("forked", child.Process.Pid)
	}
	asked := make(chan struct{}, 1)
	go func() {
		panic(http.ListenAndServe(os.Getenv("LISTEN"), http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			select {
			case asked <- struct{}{}:
				w.WriteHeader(http.StatusServiceUnavailable)
			default:
			}
		})))
	}()
	<-stop
	fmt.Println("stopped")
	code := 0
	_, _ = fmt.Sscan(os.Getenv("EXIT"), &code)
	os.Exit(code)
}
