package e2e

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"dragoman/tests/fake/telegram"
)

// parked is a gateway whose person was asked about a call.
func parked(t *testing.T) (s *stopped, ann *telegram.User, prompt telegram.Sent) {
	t.Helper()
	s = startStopped(t, "20s")
	s.let(t)
	s.model.On("do it", callsFirst("gated__asked", "{}"))
	ann = s.tg.User(1001, "Ann")
	ann.Say("do it")
	s.outcome(t, ann, 1, contains("May I run gated__asked?"))
	s.marked(t)
	return s, ann, s.tg.Sent(ann.ID())[0]
}

// connected waits until the gated server is there: a turn waits for it only for a while.
func (s *stopped) connected() { s.WaitLine("mcp_server_connected", readyWithin) }

// marked waits until no delivery is pending: what was posted is known as posted.
func (s *stopped) marked(t testing.TB) {
	t.Helper()
	eventually(t, answerWithin, "every delivery is marked", func() error {
		db, err := openDB(s.Dir)
		if err != nil {
			return err
		}
		defer db.Close()
		var pending, owned int
		err = db.QueryRow(`SELECT (SELECT COUNT(*) FROM outbox WHERE state = 'pending'), (SELECT COUNT(*) FROM conv WHERE owner IS NOT NULL)`).Scan(&pending, &owned)
		if err == nil && pending+owned > 0 {
			err = fmt.Errorf("%d deliveries are pending and %d conversations have an owner", pending, owned)
		}
		return err
	})
}

// otherBuild is the gateway built once more, in another way: what an upgrade brings
// that changes nothing.
func otherBuild(t testing.TB) string {
	t.Helper()
	bin := filepath.Join(t.TempDir(), "dragoman-next")
	cmd := exec.Command("go", "build", "-trimpath", "-ldflags=-s -w", "-o", bin, "dragoman/cmd/dragoman")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	return bin
}

func TestAParkedTurnOutlivesStopsKillsAndAnUpgrade(t *testing.T) {
	t.Parallel()
	s, ann, prompt := parked(t)
	s.Term()
	s.again()
	s.Kill()
	s.again()
	s.Term()
	s.bin = otherBuild(t)
	s.again()
	s.connected()
	s.only(t, ann, prompt.Text)
	if err := ann.Press(prompt.ID, "Yes, run it"); err != nil {
		t.Fatal(err)
	}
	s.outcome(t, ann, 2, is("Got: it ran"))
	s.Restart()
	eventually(t, answerWithin, "nothing is left to do", func() error { return nothingPending(s.Dir) })
	eventually(t, answerWithin, "in the end", func() error {
		sent := s.tg.Sent(ann.ID())
		if len(sent) != 2 || len(sent[0].Rows) > 0 || !strings.Contains(sent[0].Text, "You said: Yes, run it") {
			return fmt.Errorf("the chat shows %+v", sent)
		}
		return nil
	})
	if n := s.runs(); n != 1 {
		t.Errorf("the tool ran %d times", n)
	}
	if n := s.model.Tries("do it"); n != 2 {
		t.Errorf("the model was asked %d times, want 2", n)
	}
}

// A kill right after the yes, at whatever moment, costs neither the yes nor a
// second run: where nobody knows whether the tool had its effect, its person is asked.
func TestAKillRightAfterTheYes(t *testing.T) {
	t.Parallel()
	for i := range 8 {
		after := time.Duration(i) * 15 * time.Millisecond
		t.Run(after.String(), func(t *testing.T) {
			t.Parallel()
			s, ann, prompt := parked(t)
			if err := ann.Press(prompt.ID, "Yes, run it"); err != nil {
				t.Fatal(err)
			}
			moment := time.NewTimer(after)
			<-moment.C
			s.Kill()
			s.again()
			var q telegram.Sent
			eventually(t, answerWithin, "an answer, or a question", func() error {
				if n := len(s.tg.Sent(ann.ID())); n < 2 {
					return fmt.Errorf("there are %d messages", n)
				}
				q = s.tg.Sent(ann.ID())[1]
				if !strings.HasPrefix(q.Text, "Got: ") && !strings.Contains(q.Text, "I was interrupted") { // what runs, until then
					return fmt.Errorf("it reads %q", q.Text)
				}
				return nil
			})
			if strings.Contains(q.Text, "I was interrupted") {
				if err := ann.Press(q.ID, "Skip it"); err != nil {
					t.Fatal(err)
				}
				s.outcome(t, ann, 3, contains("Got: "))
			}
			eventually(t, answerWithin, "nothing is left to do", func() error { return nothingPending(s.Dir) })
			if n := s.runs(); n > 1 {
				t.Errorf("the tool ran %d times", n)
			}
			for _, m := range s.tg.Sent(ann.ID())[1:] {
				if text := m.Text; !strings.HasPrefix(text, "Got: ") && !strings.Contains(text, "I was interrupted") {
					t.Errorf("the chat shows %q", text)
				}
			}
		})
	}
}

// A question whose delivery a kill cut off is asked by the next life. If Telegram
// had it already it is there twice, and either counts, once.
func TestAQuestionThatAKillCutOffIsAsked(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		cut     func(*telegram.Server)
		arrived int // messages, when it is cut off
	}{
		"before it arrived": {func(tg *telegram.Server) { tg.Hang("sendMessage", -1) }, 0},
		"after it arrived":  {func(tg *telegram.Server) { tg.Delay("sendMessage", 10*time.Minute) }, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := startStopped(t, "20s")
			s.let(t)
			s.model.On("do it", callsFirst("gated__asked", "{}"))
			ann := s.tg.User(1001, "Ann")
			c.cut(s.tg)
			ann.Say("do it")
			arrived := c.arrived
			eventually(t, answerWithin, "the question is on its way", func() error {
				if n := len(s.tg.Sent(ann.ID())); n != arrived || s.tg.Open("sendMessage") == 0 {
					return fmt.Errorf("it is not, the chat shows %d messages", n)
				}
				return nil
			})
			s.Kill()
			s.tg.Mend("sendMessage")
			s.again()
			s.connected()
			s.outcome(t, ann, arrived+1, contains("May I run gated__asked?"))
			s.marked(t)
			for i, m := range s.tg.Sent(ann.ID()) { // the older one first, and each again
				if err := ann.Press(m.ID, "Yes, run it"); err != nil && i == 0 { // that may have counted by now
					t.Error(err)
				}
			}
			s.outcome(t, ann, arrived+2, is("Got: it ran"))
			eventually(t, answerWithin, "nothing is left to do", func() error { return nothingPending(s.Dir) })
			if n := s.runs(); n != 1 {
				t.Errorf("the tool ran %d times", n)
			}
			if n := len(s.tg.Sent(ann.ID())); n != arrived+2 {
				t.Errorf("the chat shows %d messages: %+v", n, s.tg.Sent(ann.ID()))
			}
		})
	}
}

// reconfigure changes the text of the config between two lives.
func (s *stopped) reconfigure(t testing.TB, old, with string) {
	t.Helper()
	file := filepath.Join(s.Dir, "dragoman.json")
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Count(string(text), old) != 1 {
		t.Fatalf("the config does not have %q once:\n%s", old, text)
	}
	if err := os.WriteFile(file, []byte(strings.Replace(string(text), old, with, 1)), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestTheConfigOfTheResumeCounts(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ old, with, want string }{
		"denied":            {`"gated__asked": "ask"`, `"gated__asked": "deny"`, "The admin does not allow this tool."},
		"the server is off": {`"trusted": true`, `"enabled": false`, `The server "gated" is disabled.`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, ann, prompt := parked(t)
			s.Term()
			s.reconfigure(t, c.old, c.with)
			s.again()
			if err := ann.Press(prompt.ID, "Yes, run it"); err != nil {
				t.Fatal(err)
			}
			s.outcome(t, ann, 2, contains(c.want))
			if n := s.runs(); n != 0 {
				t.Errorf("the tool ran %d times", n)
			}
		})
	}
}

// What is left to do of a channel waits while the channel is not in the config: a
// parked turn, a question whose time is over, an answer that was not delivered, a
// turn that was cut off.
func TestAChannelThatIsTakenOutOfTheConfigLosesNothing(t *testing.T) {
	t.Parallel()
	s, ann, prompt := parked(t)
	s.Term()
	s.reconfigure(t, `"tools": {`, `"ask": {"expires": "2s"}, "limits": {"drain_timeout": "0s"}, "tools": {`)
	s.reconfigure(t, `,
	"limits": {"drain_timeout": "20s"}`, "")
	s.again()
	s.connected()
	bob, eve, joe := s.tg.User(1002, "Bob"), s.tg.User(1003, "Eve"), s.tg.User(1004, "Joe")
	s.model.On("and then", firstTry(stalls("", 0), says200("That was it.")))
	joe.Say("and then")
	s.asked(t, "and then")
	eve.Say("do it")
	s.outcome(t, eve, 1, contains("May I run gated__asked?"))
	eventually(t, answerWithin, "her question is marked", func() error {
		if n := s.tg.Open("sendMessage"); n > 0 {
			return fmt.Errorf("%d sends are under way", n)
		}
		return nil
	})
	s.tg.Fail("sendMessage", -1, telegram.TooManyRequests(60))
	bob.Say("hello")
	s.WaitLine("account_held|delivery_retried", answerWithin)
	s.Term()
	s.tg.Mend("sendMessage")

	s.reconfigure(t, `"tg": {"type"`, `"tg2": {"type"`)
	s.again()
	away := time.NewTimer(4 * time.Second) // her question's time is over
	<-away.C
	for _, line := range s.proc.Lines() {
		if strings.Contains(line, `"level":"ERROR"`) || strings.Contains(line, `"level":"WARN"`) {
			t.Errorf("the log complains: %s", line)
		}
	}
	s.Term()
	s.reconfigure(t, `"tg2": {"type"`, `"tg": {"type"`)
	s.again()
	s.connected()
	s.outcome(t, bob, 1, is("Fine."))
	s.outcome(t, joe, 1, is("That was it."))
	s.outcome(t, eve, 2, contains("did not answer the question"))
	if err := ann.Press(prompt.ID, "Yes, run it"); err != nil {
		t.Fatal(err)
	}
	s.outcome(t, ann, 2, is("Got: it ran"))
	eventually(t, answerWithin, "nothing is left to do", func() error { return nothingPending(s.Dir) })
	for _, u := range []*telegram.User{bob, joe} {
		if n := len(s.tg.Sent(u.ID())); n != 1 {
			t.Errorf("chat %d shows %d messages", u.ID(), n)
		}
	}
}
