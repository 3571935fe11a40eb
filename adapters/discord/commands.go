package discord

import (
	"context"
	"net/http"
	"slices"
	"strings"

	"dragoman/ports"
)

// askCommand is a message in the form of a command, for where the bot hears nothing else.
const askCommand = "ask"

// forgetCommand is what is done to a message by replying with it. A slash command
// replies to nothing, so there is one in the menu of each message as well.
const (
	forgetCommand = "forget"
	forgetThis    = "Forget this message"
)

// stopCommand is what the button of ports.StopQuestion stands for.
const stopCommand = "stop"

// Types of commands, and of an option that takes a text.
const (
	chatInput   = 1
	messageMenu = 3
	typeText    = 3
)

// Limits of commands
// (https://discord.com/developers/docs/interactions/application-commands#application-command-object).
const (
	maxCommands    = 100
	maxDescription = 100 // characters; in UTF-16 units it is never more
)

type command struct {
	Name        string   `json:"name"`
	Description string   `json:"description"`
	Type        int      `json:"type"`
	Options     []option `json:"options,omitempty"`
}

type option struct {
	Type        int    `json:"type"`
	Name        string `json:"name"`
	Description string `json:"description"`
	Required    bool   `json:"required,omitempty"`
}

// registerCommands tells Discord of the commands once it is known who we are, and
// only if it has others: it counts how often they are written. What it has is asked
// for, for nothing that we keep would tell that somebody else changed them.
func (r *runner) registerCommands(ctx context.Context, menu ports.Menu) {
	var app string
	select {
	case app = <-r.app:
	case <-ctx.Done():
		return
	}
	var list []ports.Command
	if menu != nil {
		list = menu.Commands()
	}
	want := commandsOf(list)
	for pause := newPause(); ; {
		err := r.channel.setCommands(ctx, app, want)
		if err == nil || ctx.Err() != nil {
			return
		}
		r.log.Warn("discord_commands_unregistered", "kind", ports.KindOf(err), "err", err)
		switch ports.KindOf(err) {
		case ports.KindRateLimited, ports.KindTemporary, ports.KindTimeout:
			sleep(ctx, max(pause.NextBackOff(), ports.RetryAfter(err)))
		default:
			return
		}
	}
}

func (c *Channel) setCommands(ctx context.Context, app string, want []command) error {
	path := "/applications/" + app + "/commands"
	var have []command
	err := c.api.do(ctx, request{method: http.MethodGet, path: path, timeout: askTimeout}, &have)
	if err == nil && !sameCommands(have, want) {
		err = c.api.do(ctx, request{method: http.MethodPut, path: path, body: want, timeout: askTimeout}, nil)
	}
	return wrap("discord commands", false, err)
}

// commandsOf are the commands that people can pick: those of the gateway, and ours.
func commandsOf(list []ports.Command) []command {
	all := []command{{Name: askCommand, Description: "Ask something", Type: chatInput,
		Options: []option{{Type: typeText, Name: "text", Description: "What you want to know or have done", Required: true}}}}
	for _, c := range list[:min(len(list), maxCommands-1)] {
		one := command{Name: c.Name, Description: shortened(c.Says), Type: chatInput}
		if c.Takes != "" {
			one.Options = []option{{Type: typeText, Name: c.Takes, Description: "The " + c.Takes + ", if any"}}
		}
		all = append(all, one)
		if c.Name == forgetCommand {
			all = append(all, command{Name: forgetThis, Type: messageMenu})
		}
	}
	return all
}

// shortened is a description that Discord takes.
func shortened(says string) string {
	says = strings.TrimSpace(says)
	if short := cut(says, maxDescription); short != says {
		return cut(says, maxDescription-1) + "…"
	}
	return says
}

// sameCommands compares them in any order: Discord keeps its own.
func sameCommands(a, b []command) bool {
	if len(a) != len(b) {
		return false
	}
	return !slices.ContainsFunc(a, func(x command) bool {
		return !slices.ContainsFunc(b, func(y command) bool {
			return x.Name == y.Name && x.Type == y.Type && x.Description == y.Description && slices.Equal(x.Options, y.Options)
		})
	})
}
