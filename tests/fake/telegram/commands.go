package telegram

import (
	"context"
	"encoding/json"
	"regexp"
	"slices"
	"strconv"
)

var (
	command  = regexp.MustCompile(`^[a-z0-9_]{1,32}$`)
	language = regexp.MustCompile(`^([a-z]{2})?$`)
)

const maxCommands = 100

func (s *Server) setMyCommands(_ context.Context, p params) reply {
	menu, no := s.menu(p)
	if no != nil {
		return *no
	}
	var list []struct{ Command, Description string }
	if json.Unmarshal([]byte(p.form["commands"]), &list) != nil || len(list) > maxCommands {
		return badRequest("can't parse list of bot commands")
	}
	for _, c := range list {
		if !command.MatchString(c.Command) {
			return badRequest("BOT_COMMAND_INVALID")
		}
		if n := len([]rune(c.Description)); n < 1 || n > 256 {
			return badRequest("BOT_COMMAND_DESCRIPTION_INVALID")
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.commands = json.RawMessage(p.form["commands"])
	s.menus[menu] = s.commands
	if len(list) == 0 {
		delete(s.menus, menu)
	}
	return result(true)
}

func (s *Server) getMyCommands(_ context.Context, p params) reply {
	menu, no := s.menu(p)
	if no != nil {
		return *no
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if list := s.menus[menu]; list != nil {
		return result(list)
	}
	return result([]struct{}{})
}

func (s *Server) deleteMyCommands(_ context.Context, p params) reply {
	menu, no := s.menu(p)
	if no != nil {
		return *no
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.menus, menu)
	return result(true)
}

// Commands is the list that the bot set last, as it sent it; nil if it never did.
func (s *Server) Commands() json.RawMessage {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.commands
}

// scope is https://core.telegram.org/bots/api#botcommandscope.
type scope struct {
	Type string `json:"type"`
	Chat int64  `json:"chat_id"`
	User int64  `json:"user_id"`
}

// menu names the list that a call is about: its scope and its language.
func (s *Server) menu(p params) (string, *reply) {
	no := func(what string) (string, *reply) {
		a := badRequest(what)
		return "", &a
	}
	of := scope{Type: "default"}
	if list := p.form["scope"]; list != "" && json.Unmarshal([]byte(list), &of) != nil {
		return no("can't parse BotCommandScope")
	}
	wide := []string{"default", "all_private_chats", "all_group_chats", "all_chat_administrators"}
	inChat := []string{"chat", "chat_administrators", "chat_member"}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case !slices.Contains(wide, of.Type) && !slices.Contains(inChat, of.Type):
		return no("can't parse BotCommandScope: unsupported type specified")
	case slices.Contains(inChat, of.Type) && s.chats[of.Chat] == nil:
		return no("chat not found")
	case !language.MatchString(p.form["language_code"]):
		return no("invalid language_code specified")
	}
	return of.Type + " " + strconv.FormatInt(of.Chat, 10) + " " + strconv.FormatInt(of.User, 10) + " " + p.form["language_code"], nil
}

// Menu is the list of commands that a person sees in the private chat, or nil.
func (u *User) Menu() json.RawMessage {
	u.s.mu.Lock()
	defer u.s.mu.Unlock()
	chat := "chat " + strconv.FormatInt(u.user.ID, 10) + " 0 "
	for _, of := range []string{chat, "all_private_chats 0 0 ", "default 0 0 "} {
		for _, language := range []string{u.user.Language, ""} {
			if list := u.s.menus[of+language]; list != nil {
				return list
			}
		}
	}
	return nil
}
