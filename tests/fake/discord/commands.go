package discord

import (
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"strings"
)

// Limits of commands, https://docs.discord.com/developers/interactions/application-commands.
const (
	maxSlash       = 100
	maxContextual  = 15
	maxCommandText = 8000
)

// command of an application, as it is shown.
type command struct {
	ID           string          `json:"id,omitempty"`
	Type         int             `json:"type"`
	Application  string          `json:"application_id"`
	Guild        string          `json:"guild_id,omitempty"`
	Name         string          `json:"name"`
	Names        json.RawMessage `json:"name_localizations,omitempty"`
	Description  string          `json:"description"`
	Descriptions json.RawMessage `json:"description_localizations,omitempty"`
	Options      []commandOption `json:"options,omitempty"`
	MemberRights *string         `json:"default_member_permissions"`
	InDM         *bool           `json:"dm_permission,omitempty"`
	NSFW         bool            `json:"nsfw"`
	Contexts     []int           `json:"contexts,omitempty"`
	Integrations []int           `json:"integration_types,omitempty"`
	Version      string          `json:"version"`
}

type commandOption struct {
	Type        int             `json:"type"`
	Name        string          `json:"name"`
	Names       json.RawMessage `json:"name_localizations,omitempty"`
	Description string          `json:"description"`
	Desc        json.RawMessage `json:"description_localizations,omitempty"`
	Required    bool            `json:"required,omitempty"`
	Choices     []struct {
		Name  string          `json:"name"`
		Value json.RawMessage `json:"value"`
	} `json:"choices,omitempty"`
	Options  []commandOption `json:"options,omitempty"`
	Min      *float64        `json:"min_value,omitempty"`
	Max      *float64        `json:"max_value,omitempty"`
	Shortest *int            `json:"min_length,omitempty"`
	Longest  *int            `json:"max_length,omitempty"`
	Complete bool            `json:"autocomplete,omitempty"`
}

// Types of commands and of their options.
const (
	commandSlash  = 1
	commandUser   = 2
	commandOnText = 3 // on a message
	optionString  = 3
	optionInteger = 4
	optionBool    = 5
	optionUser    = 6
)

func (s *Server) commandRoutes() []route {
	return []route{
		{name: "GET /applications/@me", do: (*Server).getApplication},
		{name: "GET /oauth2/applications/@me", do: (*Server).getApplication},
		{name: "GET /applications/{application}/commands", do: (*Server).listCommands},
		{name: PutCommands, do: (*Server).putCommands},
		{name: "GET /applications/{application}/guilds/{guild}/commands", do: (*Server).listCommands},
		{name: "PUT /applications/{application}/guilds/{guild}/commands", do: (*Server).putCommands},
	}
}

func (s *Server) getApplication(*call) reply {
	return ok(map[string]any{
		"id": BotID, "name": "Dragoman", "icon": nil, "description": "", "bot_public": true, "bot_require_code_grant": false,
		"bot": s.bot, "summary": "", "verify_key": strings.Repeat("0", 64), "team": nil, "flags": s.appFlags(), "flags_new": fmt.Sprint(s.appFlags()),
		"approximate_guild_count": len(s.guilds), "interactions_endpoint_url": nil,
	})
}

func (s *Server) listCommands(c *call) reply {
	if c.r.PathValue("application") != BotID {
		return missingAccess
	}
	list := s.commands[c.r.PathValue("guild")]
	if list == nil {
		list = []command{}
	}
	return ok(list)
}

// putCommands replaces all commands of a place: those that are not named are gone.
func (s *Server) putCommands(c *call) reply {
	guild := c.r.PathValue("guild")
	switch {
	case c.r.PathValue("application") != BotID:
		return missingAccess
	case guild != "" && s.guilds[guild] == nil:
		return missingAccess
	}
	var list []command
	decoder := json.NewDecoder(strings.NewReader(string(c.body)))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&list); err != nil {
		return invalid("MODEL_TYPE_CONVERT", "fake discord: "+err.Error())
	}
	var f form
	old := map[string]command{}
	for _, one := range s.commands[guild] {
		old[key(one)] = one
	}
	seen, counts := map[string]bool{}, map[int]int{}
	for i := range list {
		one := &list[i]
		if one.Type == 0 {
			one.Type = commandSlash
		}
		checkCommand(&f, one, i)
		if seen[key(*one)] {
			f.bad("APPLICATION_COMMANDS_DUPLICATE_NAME", "Application command names must be unique", i, "name")
		}
		seen[key(*one)] = true
		counts[one.Type]++
		one.Application, one.Guild, one.Version = BotID, guild, s.newID()
		if one.ID = old[key(*one)].ID; one.ID == "" {
			one.ID = s.newID()
		}
	}
	if a := f.reply(); a != nil {
		return *a
	}
	if counts[commandSlash] > maxSlash || counts[commandUser] > maxContextual || counts[commandOnText] > maxContextual {
		return refuse(http.StatusBadRequest, 30032, "Maximum number of application commands reached (100)")
	}
	s.commands[guild] = list
	s.writes++
	return ok(list)
}

func key(c command) string { return fmt.Sprint(c.Type, " ", c.Name) }

var commandName = regexp.MustCompile(`^[-_'\p{L}\p{N}\p{Devanagari}\p{Thai}]{1,32}$`)

func checkCommand(f *form, c *command, i int) {
	switch c.Type {
	case commandSlash:
		checkName(f, c.Name, i, "name")
		f.between(units(c.Description), 1, 100, i, "description")
		checkOptions(f, c.Options, 0, i)
		if commandText(c.Description, c.Name, c.Options) > maxCommandText {
			f.bad("APPLICATION_COMMAND_TOO_LARGE", "Command exceeds maximum size (8000)", i)
		}
	case commandUser, commandOnText:
		f.between(units(c.Name), 1, 32, i, "name")
		if c.Description != "" || len(c.Options) > 0 {
			f.bad("APPLICATION_COMMAND_DESCRIPTION_NOT_ALLOWED", "Context menu commands cannot have descriptions or options", i, "description")
		}
	default:
		f.choices("(1, 2, 3, 4)", i, "type")
	}
}

func checkName(f *form, name string, path ...any) {
	if !commandName.MatchString(name) || strings.ToLower(name) != name {
		f.bad("APPLICATION_COMMAND_INVALID_NAME", "Command name is invalid", path...)
	}
}

func checkOptions(f *form, list []commandOption, depth int, path ...any) {
	if len(list) > maxOptions {
		f.longerThan(maxOptions, append(path, "options")...)
	}
	seen, optional := map[string]bool{}, false
	for i, o := range list {
		at := func(field string) []any { return append(append([]any{}, path...), "options", i, field) }
		checkName(f, o.Name, at("name")...)
		f.between(units(o.Description), 1, 100, at("description")...)
		if o.Type < 1 || o.Type > 11 || o.Type <= 2 && depth > 1 {
			f.choices("(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11)", at("type")...)
		}
		if seen[o.Name] {
			f.bad("APPLICATION_COMMAND_OPTIONS_NAME_ALREADY_EXISTS", "Option name already exists", at("name")...)
		}
		seen[o.Name] = true
		if o.Required && optional {
			f.bad("APPLICATION_COMMAND_OPTIONS_REQUIRED_INVALID", "Required options must be placed before non-required options", at("required")...)
		}
		optional = optional || !o.Required && o.Type > 2
		if len(o.Choices) > maxOptions {
			f.longerThan(maxOptions, at("choices")...)
		}
		for n, choice := range o.Choices {
			f.between(units(choice.Name), 1, 100, append(at("choices"), n, "name")...)
		}
		if len(o.Options) > 0 {
			checkOptions(f, o.Options, depth+1, at("")[:len(path)+2]...)
		}
	}
}

func commandText(description, name string, options []commandOption) int {
	n := units(description) + units(name)
	for _, o := range options {
		n += commandText(o.Description, o.Name, o.Options)
		for _, choice := range o.Choices {
			n += units(choice.Name) + units(strings.Trim(string(choice.Value), `"`))
		}
	}
	return n
}

// Commands are the names of the commands that are registered for a guild, or with
// "" for everywhere, and how often commands were written at all: Discord
// counts new ones by the day.
func (s *Server) Commands(guild string) (names []string, writes int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.commands[guild] {
		names = append(names, c.Name)
	}
	return names, s.writes
}

// Command uses a slash command, with its options by name. What the command does not have,
// or demands, is an error, as a client does not let people send that.
func (u *User) Command(channel, name string, options map[string]any) (*Interaction, error) {
	u.s.mu.Lock()
	defer u.s.mu.Unlock()
	ch := u.s.mustChannel(channel)
	c := u.s.commandHere(ch, name, commandSlash)
	if c == nil {
		return nil, fmt.Errorf("fake discord: there is no command /%s", name)
	}
	given := []any{}
	for _, o := range c.Options {
		v, has := options[o.Name]
		if !has && o.Required {
			return nil, fmt.Errorf("fake discord: /%s needs %s", name, o.Name)
		}
		if has {
			given = append(given, map[string]any{"name": o.Name, "type": o.Type, "value": v})
		}
		delete(options, o.Name)
	}
	for left := range options {
		return nil, fmt.Errorf("fake discord: /%s has no option %s", name, left)
	}
	in := &interaction{kind: interactionCommand, user: u.user, ch: ch, name: name}
	data := map[string]any{"id": c.ID, "name": name, "type": commandSlash}
	if len(given) > 0 {
		data["options"] = given
	}
	if c.Guild != "" {
		data["guild_id"] = c.Guild
	}
	u.s.interact(in, data)
	return &Interaction{u.s, in}, nil
}

// CommandOn uses a command of a message's menu.
func (u *User) CommandOn(channel, messageID, name string) (*Interaction, error) {
	u.s.mu.Lock()
	defer u.s.mu.Unlock()
	ch := u.s.mustChannel(channel)
	c := u.s.commandHere(ch, name, commandOnText)
	if c == nil {
		return nil, fmt.Errorf("fake discord: the menu of messages has no %q", name)
	}
	m := ch.mustMessage(messageID)
	in := &interaction{kind: interactionCommand, user: u.user, ch: ch, name: name}
	data := map[string]any{
		"id": c.ID, "name": name, "type": commandOnText, "target_id": m.ID,
		// It comes with its content, whatever the intents.
		"resolved": map[string]any{"messages": map[string]any{m.ID: u.s.view(m, view{target: true})}},
	}
	u.s.interact(in, data)
	return &Interaction{u.s, in}, nil
}

// commandHere is what people in a channel get by a name. s.mu is held.
func (s *Server) commandHere(ch *channel, name string, kind int) *command {
	for _, place := range []string{ch.info.GuildID, ""} {
		for i, c := range s.commands[place] {
			if c.Name == name && c.Type == kind {
				return &s.commands[place][i]
			}
		}
	}
	return nil
}
