package telegram

import (
	"context"
	"math/rand/v2"
	"sync"

	"dragoman/ports"
)

// drafts are the ids of the drafts that are shown now. One id stands for one
// message in the making: its texts are animated into one another. The zero value
// is ready. Safe for many goroutines.
type drafts struct {
	mu  sync.Mutex
	ids map[target]int32
}

const draftsMax = 4096 // conversations whose drafts were never sent

// of is the id of what is being written to a conversation.
func (d *drafts) of(to target) int32 {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.ids == nil || len(d.ids) >= draftsMax {
		d.ids = map[target]int32{}
	}
	if d.ids[to] == 0 {
		d.ids[to] = 1 + rand.Int32N(1<<31-1)
	}
	return d.ids[to]
}

// sent ends a draft: a message took its place.
func (d *drafts) sent(to target) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.ids, to)
}

type draftParams struct {
	target
	ID int32 `json:"draft_id"`
	form
	Stop bool `json:"can_stop"` // the person sees a button; a server that knows it not passes it over
}

// Draft shows the text so far in a private chat
// (https://core.telegram.org/bots/api#sendmessagedraft); of a long one its end. A
// press on its stop button comes in as /stop.
func (c *Channel) Draft(ctx context.Context, in ports.Conversation, text string) error {
	const op = "telegram sendMessageDraft"
	to, err := targetOf(in)
	if err != nil {
		return err
	}
	parts, err := c.Render(ports.Content{Text: text, Partial: true})
	if err != nil || len(parts) == 0 {
		return err
	}
	last := parts[len(parts)-1]
	if last.Text == "" {
		return nil
	}
	err = c.try(last, to.Chat, "", func(f form) error {
		p := draftParams{target: to, ID: c.drafts.of(to), form: f, Stop: true}
		if p.content != nil {
			p.Preview = nil // a draft takes none
		}
		return c.api.post(ctx, p.method("sendMessageDraft", "sendRichMessageDraft"), quickTimeout, p, nil)
	})
	return c.wrapWrite(op, to.Chat, err)
}

type reaction struct {
	Type  string `json:"type"`
	Emoji string `json:"emoji"`
}

type reactionParams struct {
	Chat     int64      `json:"chat_id"`
	Message  int64      `json:"message_id"`
	Reaction []reaction `json:"reaction"`
}

// React puts an emoji on a message, or takes ours off for "". Telegram has a list
// of those that bots may use (https://core.telegram.org/bots/api#reactiontypeemoji).
func (c *Channel) React(ctx context.Context, _ ports.Conversation, id ports.MessageID, emoji string) error {
	chat, message, err := splitID(id)
	if err != nil {
		return err
	}
	p := reactionParams{Chat: chat, Message: message, Reaction: []reaction{}}
	if emoji != "" {
		p.Reaction = append(p.Reaction, reaction{Type: "emoji", Emoji: emoji})
	}
	return c.wrapWrite("telegram setMessageReaction", chat, c.api.post(ctx, "setMessageReaction", quickTimeout, p, nil))
}
