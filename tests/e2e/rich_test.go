package e2e

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"dragoman/tests/fake/model"
	"dragoman/tests/fake/telegram"
)

// TestRichAnswersGrowAndEndAsOneMessage: with "rich" on, an answer with a table grows as
// a rich message, and is one message at the end, also where Telegram takes no
// rich one any more.
func TestRichAnswersGrowAndEndAsOneMessage(t *testing.T) {
	t.Parallel()
	answer := "# Prices\n\n" + strings.Repeat("Some words that come before it. ", 8) + "\n\n| Thing | Price |\n|---|--:|\n| tea | $2 |\n| coffee | $3 |"
	for name, refuse := range map[string]bool{"taken": false, "refused": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tg := telegram.New(telegram.Options{})
			t.Cleanup(tg.Close)
			pace := 100 * time.Millisecond
			if refuse {
				pace = 400 * time.Millisecond // it must not be over before it is refused
			}
			m := model.New(model.Options{Answer: func(model.Request) model.Reply { return model.Reply{Text: answer} }, Pieces: 40, Pace: pace})
			t.Cleanup(m.Close)
			startGateway(t, coderConfig(m.URL(), `{"type": "telegram", "rich": true, "token": `+quoted(tg.Token())+`, "api_url": `+quoted(tg.URL())+`}`))
			ann := tg.User(1, "Ann")
			ann.Say("what does it cost?")
			eventually(t, answerWithin, "a rich preview", func() error {
				if sent := tg.Sent(ann.ID()); len(sent) != 1 || !strings.HasPrefix(sent[0].Rich, "# Prices") {
					return fmt.Errorf("the chat shows\n%s", tg.Transcript(ann.ID()))
				}
				return nil
			})
			if refuse {
				tg.ForgetRich()
			}
			eventually(t, answerWithin, "the answer", func() error {
				sent := tg.Sent(ann.ID())
				rich := len(sent) == 1 && strings.HasSuffix(sent[0].Rich, "| coffee | \\$3 |") && sent[0].Text == ""
				plain := len(sent) == 1 && strings.HasSuffix(sent[0].Text, "coffee |    $3") && sent[0].Rich == ""
				if refuse && !plain || !refuse && !rich || len(sent[0].Buttons()) > 0 {
					return fmt.Errorf("the chat shows\n%s", tg.Transcript(ann.ID()))
				}
				return nil
			})
		})
	}
}
