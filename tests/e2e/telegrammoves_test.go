package e2e

import (
	"fmt"
	"testing"

	"dragoman/tests/fake/model"
	"dragoman/tests/fake/telegram"
)

// A group becomes a supergroup while its answer is made: the answer follows, and
// what is said there goes on from what was said before, also after a restart.
func TestAConversationFollowsItsGroup(t *testing.T) {
	t.Parallel()
	tg := telegram.New(telegram.Options{})
	hold := make(chan struct{})
	m := model.New(model.Options{Answer: func(r model.Request) model.Reply {
		said := 0
		for _, m := range r.Messages {
			if m.Role == "user" {
				said++
			}
		}
		if said == 2 {
			<-hold
		}
		return model.Reply{Text: fmt.Sprintf("You have said %d things.", said)}
	}})
	t.Cleanup(m.Close)
	g := onTelegram(t, tg, m, "")
	ann, old := tg.User(1001, "Ann"), tg.PlainGroup(-5, "Team")
	ann.SayIn(old, "one")
	told(t, tg, old.ID(), "You have said 1 things.")
	ann.SayIn(old, "two")
	eventually(t, answerWithin, "the model is asked", func() error {
		if m.Calls() < 2 {
			return fmt.Errorf("not yet")
		}
		return nil
	})
	team := old.Migrate(-100500)
	close(hold)
	told(t, tg, team.ID(), "You have said 2 things.")
	ann.SayIn(team, "three")
	told(t, tg, team.ID(), "You have said 2 things.", "You have said 3 things.")
	g.Restart()
	ann.SayIn(team, "four")
	told(t, tg, team.ID(), "You have said 2 things.", "You have said 3 things.", "You have said 4 things.")
	told(t, tg, old.ID(), "You have said 1 things.")
}
