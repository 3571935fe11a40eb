package telegram

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"dragoman/ports"
	"dragoman/tests/channeltest"
	fake "dragoman/tests/fake/telegram"
)

// listed is an inbox that knows commands.
type listed struct {
	*channeltest.Inbox
	list []ports.Command
}

func (l listed) Commands() []ports.Command { return l.list }

func TestCommandsAreSetWhereTheyAreNot(t *testing.T) {
	s := set(t, fake.Options{})
	list := []ports.Command{{Name: "stop", Says: "Stops it"}, {Name: "help", Says: strings.Repeat("é", 300)}}
	want := fmt.Sprintf(`[{"command":"stop","description":"Stops it"},{"command":"help","description":"%s"}]`, strings.Repeat("é", maxDescription))
	for life, sets := range []int{1, 1, 2} {
		if life == 2 {
			list, want = list[:1], `[{"command":"stop","description":"Stops it"}]`
		}
		if err := s.ch.setCommands(t.Context(), list); err != nil {
			t.Fatal(err)
		}
		if got := string(s.server.Commands()); got != want || s.server.Calls("setMyCommands") != sets {
			t.Errorf("life %d: the list is %s, set %d times", life, got, s.server.Calls("setMyCommands"))
		}
	}
}

func TestAnEndlessCallForCommandsHoldsUpNothing(t *testing.T) {
	s := set(t, fake.Options{})
	s.server.Hang("getMyCommands", -1)
	s.in = listed{s.inbox, []ports.Command{{Name: "stop", Says: "Stops it"}}}
	began := time.Now()
	s.run()
	s.server.User(7, "Ann").Say("hello")
	s.await(1)
	if took := time.Since(began); took >= meTimeout { // what waited for the call waited as long
		t.Errorf("a message took %v", took)
	}
}
