package discord

import (
	"context"
	"net/http"
	"slices"

	"dragoman/ports"
)

// askCommand is a message in the form of a command, for where the bot hears nothing else.
const askCommand = "ask"

// typeText is the type of an option that takes a text, chatInput that of a slash command.
const (
	typeText  = 3
	chatInput = 1
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

// commands are what people can pick from a menu. Whatever else the gateway
// understands can be typed.
var commands = []command{
	{Name: askCommand, Description: "Ask something", Options: []option{{Name: "text", Description: "What you want to know or have done", Required: true}}},
	{Name: "new", Description: "Start a new conversation"},
	{Name: "stop", Description: "Stop what is being done"},
	{Name: "status", Description: "Show what goes on"},
	{Name: "tools", Description: "List the tools"},
	{Name: "usage", Description: "Show what was used"},
	{Name: "model", Description: "Show or choose the model", Options: []option{{Name: "name", Description: "The model to use from now on"}}},
	{Name: "compact", Description: "Sum up the conversation so far"},
	{Name: "help", Description: "List what you can type"},
}

// registerCommands tells Discord of the commands once it is known who we are, and
// only if it has others: it counts how often they are written.
func (r *runner) registerCommands(ctx context.Context) {
	var app string
	select {
	case app = <-r.app:
	case <-ctx.Done():
		return
	}
	path := "/applications/" + app + "/commands"
	want := wantedCommands()
	var have []command
	err := r.channel.api.do(ctx, request{method: http.MethodGet, path: path, timeout: askTimeout}, &have)
	if err == nil && !sameCommands(have, want) {
		err = r.channel.api.do(ctx, request{method: http.MethodPut, path: path, body: want, timeout: askTimeout}, nil)
	}
	if err != nil && ctx.Err() == nil {
		err = wrap("discord commands", false, err)
		r.log.Warn("discord_commands_unregistered", "kind", ports.KindOf(err), "err", err)
	}
}

func wantedCommands() []command {
	want := slices.Clone(commands)
	for i := range want {
		want[i].Type = chatInput
		want[i].Options = slices.Clone(want[i].Options)
		for j := range want[i].Options {
			want[i].Options[j].Type = typeText
		}
	}
	return want
}

// sameCommands compares them in any order: Discord keeps its own.
func sameCommands(a, b []command) bool {
	if len(a) != len(b) {
		return false
	}
	return !slices.ContainsFunc(a, func(x command) bool {
		return !slices.ContainsFunc(b, func(y command) bool {
			return x.Name == y.Name && x.Description == y.Description && slices.Equal(x.Options, y.Options)
		})
	})
}
