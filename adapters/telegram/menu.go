package telegram

import (
	"context"
	"slices"

	"dragoman/ports"
)

// botCommand is https://core.telegram.org/bots/api#botcommand.
type botCommand struct {
	Name string `json:"command"`
	Says string `json:"description"`
}

const (
	maxCommands    = 100
	maxDescription = 256 // UTF-16 units, to be sure
)

type commandsParams struct {
	Commands []botCommand `json:"commands"`
}

// menu gives Telegram the commands that people can pick from a list, unless it
// has them. Best effort, beside receiving.
func (t *intake) menu(ctx context.Context) {
	m, ok := t.in.(ports.Menu)
	if !ok {
		return
	}
	t.answers.group.Go(func() {
		if err := t.channel.setCommands(ctx, m.Commands()); err != nil && ctx.Err() == nil {
			t.log.Warn("telegram_commands_not_set", "kind", ports.KindOf(err), "err", err)
		}
	})
}

func (c *Channel) setCommands(ctx context.Context, list []ports.Command) error {
	var want, have []botCommand
	for _, l := range list[:min(len(list), maxCommands)] {
		want = append(want, botCommand{l.Name, cut(l.Says, maxDescription)})
	}
	if err := c.api.post(ctx, "getMyCommands", meTimeout, struct{}{}, &have); err != nil {
		return wrap("telegram getMyCommands", err)
	}
	if slices.Equal(want, have) {
		return nil
	}
	return wrap("telegram setMyCommands", c.api.post(ctx, "setMyCommands", meTimeout, commandsParams{want}, nil))
}
