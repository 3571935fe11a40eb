package telegram

import (
	"context"
	"sync"
)

// maxAnswers is how many presses are answered at once.
const maxAnswers = 8

// answers tells Telegram that presses arrived, so that the buttons stop
// spinning. Best effort, beside the poll: one that finds no free place is left out.
type answers struct {
	limit chan struct{}
	group sync.WaitGroup
}

func (a *answers) start(ctx context.Context, c *Channel, query string) {
	select {
	case a.limit <- struct{}{}:
	default:
		c.log.Debug("telegram_press_unanswered")
		return
	}
	a.group.Go(func() {
		defer func() { <-a.limit }()
		p := struct {
			Query string `json:"callback_query_id"`
		}{query}
		if err := c.api.post(ctx, "answerCallbackQuery", quickTimeout, p, nil); err != nil {
			err = wrap("telegram answerCallbackQuery", err)
			c.log.Debug("telegram_press_unanswered", "err", err)
		}
	})
}

func (a *answers) wait() { a.group.Wait() }
