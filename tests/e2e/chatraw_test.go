package e2e

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// seat is a chat at a terminal, with a person in front of it.
type seat struct {
	transcript
	t        testing.TB
	keyboard *os.File
	side     *os.File
	cmd      *exec.Cmd
	done     chan struct{}
}

// sits starts a chat on the gateway's folder in a terminal of this size.
func sits(g *gateway, columns, rows int) *seat {
	g.t.Helper()
	s := &seat{transcript: transcript{columns: columns, rows: rows}, t: g.t, cmd: exec.Command(g.bin, "chat"), done: make(chan struct{})}
	s.keyboard, s.side = pseudoTerminal(g.t, columns, rows)
	s.cmd.Dir, s.cmd.Env = g.Dir, append(g.env, "TERM=xterm")
	s.cmd.Stdin, s.cmd.Stdout, s.cmd.Stderr = s.side, s.side, s.side
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := s.cmd.Start(); err != nil {
		g.t.Fatal(err)
	}
	reading := make(chan struct{})
	go func() {
		defer close(reading)
		_, _ = io.Copy(&s.transcript, s.keyboard) // ends with the terminal
	}()
	go func() {
		defer close(s.done)
		_ = s.cmd.Wait() // the exit code says it
	}()
	g.t.Cleanup(func() {
		select {
		case <-s.done:
		default:
			_ = s.cmd.Process.Kill()
			<-s.done
		}
		s.side.Close()
		s.keyboard.Close()
		<-reading
		if g.t.Failed() {
			g.t.Logf("the screen:\n%s", s.screen().text())
		}
		if fault := s.screen().fault; fault != "" {
			g.t.Error(fault)
		}
	})
	return s
}

func (s *seat) types(keys string) {
	s.t.Helper()
	if _, err := io.WriteString(s.keyboard, keys); err != nil {
		s.t.Fatal(err)
	}
}

// shows waits until the screen ends with these rows.
func (s *seat) shows(rows ...string) {
	s.t.Helper()
	for i, row := range rows {
		rows[i] = strings.TrimRight(row, " ")
	}
	want := "\n" + strings.Join(rows, "\n")
	eventually(s.t, answerWithin, "the screen", func() error {
		if got := s.screen().text(); !strings.HasSuffix("\n"+got, want) {
			return fmt.Errorf("it is\n%s\n--- and should end\n%s", got, want)
		}
		return nil
	})
}

// leaves waits for the end, with this exit code and a terminal that is as it was.
func (s *seat) leaves(code int) {
	s.t.Helper()
	select {
	case <-s.done:
	case <-time.After(stopWithin):
		s.t.Fatal("the chat does not end")
	}
	if got := s.cmd.ProcessState.ExitCode(); got != code {
		s.t.Errorf("exit %d, want %d", got, code)
	}
	if now := s.settings(); now.Lflag&unix.ECHO == 0 || now.Oflag&unix.OPOST == 0 {
		s.t.Error("the terminal is left in raw mode")
	}
}

func (s *seat) settings() *unix.Termios {
	s.t.Helper()
	got, err := unix.IoctlGetTermios(int(s.side.Fd()), unix.TCGETS)
	if err != nil {
		s.t.Fatal(err)
	}
	return got
}

func TestAPersonAtATerminal(t *testing.T) {
	t.Parallel()
	long := strings.TrimSpace(strings.Repeat("word ", 30))
	wide := strings.Repeat("界", 25) + "👩‍💻e\u0301"
	mock := startAimock(t, append(calls("the time", "time", map[string]any{}, "It is late."),
		says("hello", "Hello **yourself**."), says("evil", "a\x1b[2J\x1b]0;x\x07b\u009b31mc"), slowly("long", long), slowly(wide, wide))...)
	g := newGateway(t, gatewayBinary(t), terminalConfig(mock, `, "tools": {"policy": {"time": "ask"}}`))
	s := sits(g, 40, 12)
	s.shows("> ")
	s.types("hallo\x7f\x7f\x7f\x7fello\x1b[D\x1b[D\x01\x05\r")
	s.shows("> hello", "Hello **yourself**.", "", "> ")
	s.types("evil\r")
	s.shows("> evil", "a[2J]0;xb31mc", "", "> ")

	// A question: its choices have numbers.
	s.types("the time, please\r")
	s.shows("  1) Yes, run it  [yes]", "  2) No", "", "> ")
	s.types("1\r")
	s.shows("> Yes, run it", "It is late.", "", "> ")

	// An answer grows in its place, and stands once when it is whole.
	s.types("long\r")
	eventually(t, answerWithin, "a draft", func() error {
		if got := s.screen().text(); !strings.Contains(got, "> long\nword word word word") || !strings.HasSuffix(got, "\n> ") && !strings.HasSuffix(got, "\n>") {
			return fmt.Errorf("the screen is\n%s", got)
		}
		return nil
	})
	s.shows("> long", long[:40], long[40:80], long[80:120], strings.TrimRight(long[120:], " "), "", "> ")

	// Wide characters, in a line longer than the screen, typed and answered.
	s.types(wide)
	s.shows("> "+strings.Repeat("界", 18), strings.Repeat("界", 7)+"👩‍💻e\u0301")
	s.types("\x1b[D\x1b[D\x7f\x1b[3~\x05\x7f") // all but 24 of the wide ones are taken away
	s.shows("> "+strings.Repeat("界", 18), strings.Repeat("界", 6))
	s.types("\x15")
	s.shows("> ")
	s.types(wide + "\r")
	s.shows("> "+strings.Repeat("界", 19), strings.Repeat("界", 6)+"👩‍💻e\u0301", strings.Repeat("界", 20), strings.Repeat("界", 5)+"👩‍💻e\u0301", "", "> ")

	// A paste is one message, with its line breaks.
	s.types("\x1b[200~hello\rthere\x1b[201~")
	s.shows("> hello", "there")
	s.types("\r")
	s.shows("> hello", "  there", "Hello **yourself**.", "", "> ")

	s.types("\x04")
	s.leaves(0)

	// It is remembered.
	s = sits(g, 40, 12)
	eventually(t, answerWithin, "the conversation before", func() error {
		if got := s.screen().text(); !strings.Contains(got, "> hello\n  there\nHello **yourself**.\n") {
			return fmt.Errorf("the screen is\n%s", got)
		}
		return nil
	})
	s.types("\x1b[A")
	s.shows("> hello", "there")
	s.types("\x03\x04")
	s.leaves(0)
}

func TestCtrlC(t *testing.T) {
	t.Parallel()
	slow := says("slow", "At last.")
	slow["latency"] = 20_000
	mock := startAimock(t, slow, says("hello", "Hello yourself."))
	g := newGateway(t, gatewayBinary(t), terminalConfig(mock, `, "limits": {"drain_timeout": "1s"}`))
	s := sits(g, 60, 12)
	s.shows("> ")
	s.types("a slow one\r")
	s.shows("> a slow one", "…", "> ")
	s.types("\x03")
	s.shows("> /stop", "Stopped.", "", "> ")
	s.types("hello\r")
	s.shows("> hello", "Hello yourself.", "", "> ")
	s.types("half a mess\x03")
	s.shows("", "> ")
	s.types("\x03")
	s.shows("Ctrl-C again leaves.", "> ")
	s.types("\x03")
	s.leaves(0)

	s = sits(g, 60, 12)
	s.types("a slow one\r")
	s.shows("> a slow one", "…", "> ")
	_ = s.cmd.Process.Signal(syscall.SIGTERM)
	s.leaves(0)
}

func TestATerminalThatBecomesNarrower(t *testing.T) {
	t.Parallel()
	mock := startAimock(t, says("hello", "Hello yourself."))
	g := newGateway(t, gatewayBinary(t), terminalConfig(mock, ""))
	s := sits(g, 60, 12)
	s.shows("> ")
	resize(t, s.side, 20, 12)
	s.types(strings.Repeat("x", 40))
	s.shows("> "+strings.Repeat("x", 17), strings.Repeat("x", 19), "xxxx")
	if up, col := s.screen().cursor(); up != 0 || col != 4 {
		t.Errorf("the cursor is %d rows up in column %d", up, col)
	}
	s.types("\x01")
	eventually(t, answerWithin, "the cursor is at the beginning", func() error {
		if up, col := s.screen().cursor(); up != 2 || col != 2 {
			return fmt.Errorf("it is %d rows up in column %d", up, col)
		}
		return nil
	})
	s.types("\x0b\x04")
	s.leaves(0)
}

func TestAGatewayThatIsKilledUnderATerminal(t *testing.T) {
	t.Parallel()
	mock := startAimock(t, says("hello", "Hello yourself."))
	g := startHeadless(t, terminalConfig(mock, ""))
	s := sits(g, 60, 12)
	s.shows("> ")
	s.types("hello\r")
	s.shows("> hello", "Hello yourself.", "", "> ")
	g.Kill()
	s.leaves(1)
	s.shows("the gateway went away: what it had taken it goes on with when it runs again"[:60], "when it runs again"[3:], "")
}
