package telegram

import (
	"context"
	"slices"
	"strings"
)

// method is one of the Bot API, with the parameters that it has there.
type method struct {
	name   string
	params []string
	call   func(*Server, context.Context, params) reply
}

// Parameters that several methods have.
var (
	toChat = []string{"business_connection_id", "chat_id", "message_thread_id", "direct_messages_topic_id"}
	toSend = append([]string{
		"ephemeral_message_parameters", "disable_notification", "protect_content", "allow_paid_broadcast",
		"suggested_post_parameters", "message_effect_id", "reply_parameters", "reply_markup",
	}, toChat...)
	toCaption = append([]string{"caption", "parse_mode", "caption_entities"}, toSend...)
	toEdit    = []string{"business_connection_id", "chat_id", "message_id", "inline_message_id", "reply_markup"}
	ofTopic   = []string{"chat_id", "message_thread_id"}
	ofMenu    = []string{"scope", "language_code"}
)

// methods by lower-case name: Telegram does not mind the case.
var methods = table(
	method{"getMe", nil, (*Server).getMe},
	method{"getUpdates", []string{"offset", "limit", "timeout", "allowed_updates"}, (*Server).getUpdates},
	method{"setWebhook", []string{
		"url", "certificate", "ip_address", "max_connections", "allowed_updates", "drop_pending_updates", "secret_token",
	}, (*Server).setWebhook},
	method{"deleteWebhook", []string{"drop_pending_updates"}, (*Server).deleteWebhook},
	method{"getWebhookInfo", nil, (*Server).getWebhookInfo},

	method{"sendMessage", with(toSend, "text", "parse_mode", "entities", "link_preview_options"), (*Server).sendMessage},
	method{"sendPhoto", with(toCaption, "photo", "show_caption_above_media", "has_spoiler"), sendFile("photo")},
	method{"sendDocument", with(toCaption, "document", "thumbnail", "disable_content_type_detection"), sendFile("document")},
	method{"sendVoice", with(toCaption, "voice", "duration"), sendFile("voice")},
	method{"sendAudio", with(toCaption, "audio", "duration", "performer", "title", "thumbnail"), sendFile("audio")},
	method{"sendAnimation", with(toCaption, "animation", "duration", "width", "height", "thumbnail", "show_caption_above_media", "has_spoiler"), sendFile("animation")},
	method{"sendVideo", with(toCaption, "video", "duration", "width", "height", "thumbnail", "cover", "start_timestamp",
		"show_caption_above_media", "has_spoiler", "supports_streaming"), sendFile("video")},
	method{"sendMediaGroup", with(toChat, "media", "disable_notification", "protect_content", "allow_paid_broadcast",
		"message_effect_id", "reply_parameters"), (*Server).sendMediaGroup},
	method{"sendMessageDraft", []string{
		"chat_id", "message_thread_id", "draft_id", "text", "parse_mode", "entities", "can_stop", "keep_on_stop",
	}, (*Server).sendMessageDraft},
	method{"sendRichMessage", with(toSend, "rich_message"), (*Server).sendRichMessage},
	method{"sendRichMessageDraft", []string{
		"chat_id", "message_thread_id", "draft_id", "rich_message", "can_stop", "keep_on_stop",
	}, (*Server).sendRichMessageDraft},
	method{"sendChatAction", []string{"business_connection_id", "chat_id", "message_thread_id", "action"}, (*Server).sendChatAction},
	method{"getFile", []string{"file_id"}, (*Server).getFile},

	method{"editMessageText", with(toEdit, "text", "parse_mode", "entities", "link_preview_options", "rich_message"), (*Server).editMessageText},
	method{"editMessageCaption", with(toEdit, "caption", "parse_mode", "caption_entities", "show_caption_above_media"), (*Server).editMessageCaption},
	method{"editMessageReplyMarkup", toEdit, (*Server).editMessageReplyMarkup},
	method{"deleteMessage", []string{"chat_id", "message_id"}, (*Server).deleteMessage},
	method{"deleteMessages", []string{"chat_id", "message_ids"}, (*Server).deleteMessages},
	method{"setMessageReaction", []string{"chat_id", "message_id", "reaction", "is_big"}, (*Server).setMessageReaction},
	method{"answerCallbackQuery", []string{"callback_query_id", "text", "show_alert", "url", "cache_time"}, (*Server).answerCallbackQuery},

	method{"createForumTopic", []string{"chat_id", "name", "icon_color", "icon_custom_emoji_id"}, (*Server).createForumTopic},
	method{"editForumTopic", with(ofTopic, "name", "icon_custom_emoji_id"), editForumTopic},
	method{"closeForumTopic", ofTopic, closeForumTopic},
	method{"reopenForumTopic", ofTopic, reopenForumTopic},
	method{"deleteForumTopic", ofTopic, deleteForumTopic},

	method{"setMyCommands", with(ofMenu, "commands"), (*Server).setMyCommands},
	method{"getMyCommands", ofMenu, (*Server).getMyCommands},
	method{"deleteMyCommands", ofMenu, (*Server).deleteMyCommands},
)

func with(list []string, more ...string) []string { return slices.Concat(list, more) }

func table(list ...method) map[string]method {
	m := map[string]method{}
	for _, one := range list {
		m[strings.ToLower(one.name)] = one
	}
	return m
}

func (s *Server) bot() *user {
	return &user{ID: BotID, IsBot: true, FirstName: "Dragoman", Username: s.opts.Username}
}

// me is https://core.telegram.org/bots/api#user as getMe gives it.
type me struct {
	user
	CanJoinGroups bool `json:"can_join_groups"`
	ReadsAll      bool `json:"can_read_all_group_messages"`
	Inline        bool `json:"supports_inline_queries"`
	Business      bool `json:"can_connect_to_business"`
	WebApp        bool `json:"has_main_web_app"`
	Topics        bool `json:"has_topics_enabled"`
	PeopleTopics  bool `json:"allows_users_to_create_topics"`
	ManageBots    bool `json:"can_manage_bots"`
	JoinRequests  bool `json:"supports_join_request_queries"`
}

func (s *Server) getMe(context.Context, params) reply {
	return result(me{
		user: *s.bot(), CanJoinGroups: true, ReadsAll: !s.opts.Privacy,
		Topics: s.opts.Topics, PeopleTopics: s.opts.Topics,
	})
}
