package discord

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"dragoman/ports"
	fake "dragoman/tests/fake/discord"
)

func TestAReconnectAskedForBeforeAnythingElseIsSurvived(t *testing.T) {
	t.Parallel()
	r := newRig(t, fake.Options{})
	c := r.crowd()
	r.server.AskReconnectFirst(1) // in the place of the first READY
	r.run()
	c.talk(12)
	c.hears(c.said)
	r.server.AskReconnectFirst(3) // in the place of RESUMED
	r.server.AskReconnect()
	c.talk(30)
	c.hears(c.said)
	if s := r.server.Gateway(); s.Resumes == 0 {
		t.Errorf("it was never resumed: %+v", s)
	}
}

func TestARefusedResumeLosesNothing(t *testing.T) {
	t.Parallel()
	r := newRig(t, fake.Options{})
	c := r.crowd()
	r.run()
	c.talk(12)
	c.hears(c.said)
	r.server.RefuseResumes(1)
	r.down()
	c.talk(60)
	r.server.GatewayUp(true)
	c.hears(c.said)
	if s := r.server.Gateway(); s.RefusedResumes != 1 || s.Identifies != 2 {
		t.Errorf("want one refused resume and two sessions: %+v", s)
	}
	c.talk(6)
	c.hears(c.said)
}

func TestHeartbeatsThatNobodyAnswersEndTheConnection(t *testing.T) {
	t.Parallel()
	r := newRig(t, fake.Options{Heartbeat: 2 * time.Second})
	c := r.crowd()
	r.run()
	c.talk(6)
	c.hears(c.said)
	r.server.Zombify() // open, and nothing comes
	c.talk(30)
	c.hears(c.said)
	before := r.server.Gateway()
	r.server.LoseAcks(1)
	r.until("the connection is given up", func() bool { return r.server.Gateway().Connects > before.Connects })
	c.talk(6)
	c.hears(c.said)
}

func TestAGatewayThatWasAwayLosesNothing(t *testing.T) {
	t.Parallel()
	for name, remembers := range map[string]bool{"and remembers": true, "and forgot": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, fake.Options{})
			c := r.crowd()
			r.run()
			c.talk(12)
			c.hears(c.said)
			r.down()
			c.talk(500)
			r.server.GatewayUp(remembers)
			c.hears(c.said)
			c.talk(12)
			c.hears(c.said)
		})
	}
}

func TestWhatWasSaidDuringARestartIsHeard(t *testing.T) {
	t.Parallel()
	r := newRig(t, fake.Options{})
	c := r.crowd()
	r.run()
	c.talk(12)
	c.hears(c.said)
	r.halt()
	quiet := r.server.Guild("Team").Channel("quiet") // where nobody spoke before
	c.people, c.rooms = append(c.people, c.people[0]), append(c.rooms, quiet)
	c.talk(300)
	r.run()
	c.hears(c.said)
	r.halt()
	r.run()
	c.talk(7)
	c.hears(c.said)
}

func TestAStoreThatCannotWriteLosesNothing(t *testing.T) {
	t.Parallel()
	r := newRig(t, fake.Options{})
	c := r.crowd()
	r.run()
	c.talk(6)
	c.hears(c.said)
	r.inbox.Refuse(3)
	c.talk(30)
	r.server.CutGateway()
	c.talk(30)
	c.hears(c.said)
}

func TestAClosedDoorIsExplained(t *testing.T) {
	t.Parallel()
	for code, word := range map[int]string{4004: "token", 4013: "intents", 4014: "Message Content Intent", 4011: "too many servers"} {
		s := fake.New(fake.Options{})
		defer s.Close()
		s.RefuseIdentifies(code, "no")
		err := runOnce(t, s)
		if !ports.IsKind(err, ports.KindUnauthorized) || !strings.Contains(err.Error(), word) {
			t.Errorf("%d: Run gave %v, want one that says %q", code, err, word)
		}
	}
}

func TestADeniedIntentIsFoundByTheCheckToo(t *testing.T) {
	t.Parallel()
	s := fake.New(fake.Options{NoMessageContent: true})
	defer s.Close()
	if err := runOnce(t, s); !ports.IsKind(err, ports.KindUnauthorized) {
		t.Errorf("Run gave %v", err)
	}
	c, err := New(configOf(s), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Check(t.Context()); err == nil || !strings.Contains(err.Error(), "Message Content Intent") {
		t.Errorf("Check gave %v", err)
	}
}

// runOnce is what Run gives up with.
func runOnce(t *testing.T, s *fake.Server) error {
	t.Helper()
	c, err := New(configOf(s), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	err = c.Run(ctx, newRig(t, fake.Options{}).inbox)
	if errors.Is(err, context.DeadlineExceeded) {
		t.Error("Run goes on")
	}
	return err
}

func TestSessionsAreNotAskedForOnceTheyAreSpent(t *testing.T) {
	t.Parallel()
	r := newRig(t, fake.Options{IdentifyBudget: 1})
	r.run()
	r.server.RefuseResumes(1)
	before := r.server.Calls(fake.GatewayBot)
	r.server.CutGateway()
	r.until("the budget is asked for", func() bool { return r.server.Calls(fake.GatewayBot) > before })
	r.halt()
	if s := r.server.Gateway(); s.Identifies != 1 {
		t.Errorf("it identified %d times, one was left", s.Identifies)
	}
}

func TestAResumeWaitsForNoSession(t *testing.T) {
	t.Parallel()
	r := newRig(t, fake.Options{IdentifyBudget: scarce / 2}) // the next one has to wait for half an hour
	c := r.crowd()
	r.run()
	c.talk(6)
	c.hears(c.said) // so that it knows its session
	before := r.server.Calls(fake.GatewayBot)
	r.down()
	c.talk(12)
	r.until("another address is asked for", func() bool { return r.server.Calls(fake.GatewayBot) > before })
	r.server.GatewayUp(true)
	c.hears(c.said)
	if g := r.server.Gateway(); g.Resumes != 1 || g.Identifies != 1 {
		t.Errorf("want one session, resumed: %+v", g)
	}
}

func TestAHistoryThatCannotBeReadHoldsUpNothingAndIsReadLater(t *testing.T) {
	t.Parallel()
	for name, restarts := range map[string]bool{"in time": false, "after a restart": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, fake.Options{})
			c := r.crowd()
			r.run()
			c.talk(6)
			c.hears(c.said)
			r.server.Fail(fake.ListMessages, -1, fake.Overloaded)
			r.down()
			c.talk(1) // in the first room, which is a private chat
			r.server.Advance(5 * time.Minute)
			r.server.GatewayUp(false)
			r.until("the channel listens", func() bool { return r.server.Gateway().Connected > 0 })
			bob := r.server.User("Bob")
			bob.Say("hello")
			if got := r.await(7)[6]; got.Text != "hello" {
				t.Errorf("it heard %+v first", got)
			}
			if restarts {
				r.halt()
			}
			r.server.Mend(fake.ListMessages)
			if restarts {
				r.run()
			}
			c.said[bob.DM()] = []string{"hello"}
			c.hears(c.said)
		})
	}
}
