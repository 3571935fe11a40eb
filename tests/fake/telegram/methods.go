package telegram

import (
	"context"
	"encoding/json"
)

// method is one of the Bot API, with the parameters that it has there.
type method struct {
	name   string
	params []string
	call   func(*Server, context.Context, params) reply
}

// methods by lower-case name: Telegram does not mind the case.
var methods = map[string]method{
	"getme":      {"getMe", nil, (*Server).getMe},
	"getupdates": {"getUpdates", []string{"offset", "limit", "timeout", "allowed_updates"}, (*Server).getUpdates},
	"sendmessage": {"sendMessage", []string{
		"business_connection_id", "chat_id", "message_thread_id", "direct_messages_topic_id", "text", "parse_mode", "entities",
		"link_preview_options", "disable_notification", "protect_content", "allow_paid_broadcast", "message_effect_id",
		"suggested_post_parameters", "reply_parameters", "reply_markup",
	}, (*Server).sendMessage},
	"editmessagetext": {"editMessageText", []string{
		"business_connection_id", "chat_id", "message_id", "inline_message_id", "text", "parse_mode", "entities",
		"link_preview_options", "reply_markup",
	}, (*Server).editMessageText},
	"editmessagereplymarkup": {"editMessageReplyMarkup", []string{
		"business_connection_id", "chat_id", "message_id", "inline_message_id", "reply_markup",
	}, (*Server).editMessageReplyMarkup},
	"answercallbackquery": {"answerCallbackQuery", []string{
		"callback_query_id", "text", "show_alert", "url", "cache_time",
	}, (*Server).answerCallbackQuery},
	"sendchataction": {"sendChatAction", []string{
		"business_connection_id", "chat_id", "message_thread_id", "action",
	}, (*Server).sendChatAction},
	"setmycommands":  {"setMyCommands", []string{"commands", "scope", "language_code"}, (*Server).setMyCommands},
	"getwebhookinfo": {"getWebhookInfo", nil, (*Server).getWebhookInfo},
	"deletewebhook":  {"deleteWebhook", []string{"drop_pending_updates"}, (*Server).deleteWebhook},
	"setwebhook": {"setWebhook", []string{
		"url", "certificate", "ip_address", "max_connections", "allowed_updates", "drop_pending_updates", "secret_token",
	}, (*Server).setWebhook},
}

func (s *Server) bot() *user {
	return &user{ID: BotID, IsBot: true, FirstName: "Dragoman", Username: s.opts.Username}
}

func (s *Server) getMe(context.Context, params) reply {
	return result(struct {
		user
		CanJoinGroups bool `json:"can_join_groups"`
		ReadsAll      bool `json:"can_read_all_group_messages"`
		Inline        bool `json:"supports_inline_queries"`
	}{*s.bot(), true, !s.opts.Privacy, false})
}

func (s *Server) setMyCommands(_ context.Context, p params) reply {
	var list []struct{ Command, Description string }
	if json.Unmarshal([]byte(p["commands"]), &list) != nil || len(list) > 100 {
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
	s.commands = json.RawMessage(p["commands"])
	return result(true)
}

// Commands is the list that the bot set last, as it sent it; nil if it never did.
func (s *Server) Commands() json.RawMessage {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.commands
}
