package telegram

import "encoding/json"

// The parts of the Bot API's objects that are read. All else, known to
// Telegram or not yet, is passed over by the decoder.

// update is one of https://core.telegram.org/bots/api#update.
type update struct {
	ID       int64          `json:"update_id"`
	Message  *message       `json:"message"`
	Edited   *message       `json:"edited_message"`
	Callback *callbackQuery `json:"callback_query"`
	Stopped  *stopped       `json:"stopped_message_generation"`
}

// stopped is a press on the stop button of a draft, in a private chat.
type stopped struct {
	Chat   chat  `json:"chat"`
	Thread int64 `json:"message_thread_id"`
}

type message struct {
	ID          int64    `json:"message_id"`
	Thread      int64    `json:"message_thread_id"`
	IsTopic     bool     `json:"is_topic_message"`
	From        *user    `json:"from"`
	Sender      *chat    `json:"sender_chat"` // a channel or a group that speaks, not a person
	Forwarded   bool     `json:"is_automatic_forward"`
	Chat        chat     `json:"chat"`
	Date        int64    `json:"date"` // Unix seconds; 0 = no longer accessible
	EditDate    int64    `json:"edit_date"`
	ReplyTo     *message `json:"reply_to_message"`
	Quote       *quote   `json:"quote"`          // the part of ReplyTo that the person chose
	Album       string   `json:"media_group_id"` // of several messages that were sent as one
	MigrateTo   int64    `json:"migrate_to_chat_id"`
	MigrateFrom int64    `json:"migrate_from_chat_id"`

	Text            string   `json:"text"`
	Entities        []entity `json:"entities"`
	Caption         string   `json:"caption"`
	CaptionEntities []entity `json:"caption_entities"`

	Rich json.RawMessage `json:"rich_message"` // in the place of a text

	Photo     []file `json:"photo"` // the same picture in several sizes
	Animation *file  `json:"animation"`
	Document  *file  `json:"document"`
	Audio     *file  `json:"audio"`
	Voice     *file  `json:"voice"`
	Video     *file  `json:"video"`
	VideoNote *file  `json:"video_note"`
	Sticker   *file  `json:"sticker"`

	Contact   json.RawMessage `json:"contact"`
	Location  json.RawMessage `json:"location"`
	Venue     json.RawMessage `json:"venue"`
	Poll      json.RawMessage `json:"poll"`
	Checklist json.RawMessage `json:"checklist"`
	Dice      json.RawMessage `json:"dice"`
	Story     json.RawMessage `json:"story"`
	PaidMedia json.RawMessage `json:"paid_media"`
}

type user struct {
	ID        int64  `json:"id"`
	IsBot     bool   `json:"is_bot"`
	FirstName string `json:"first_name"`
	LastName  string `json:"last_name"`
	Username  string `json:"username"`
}

type chat struct {
	ID        int64  `json:"id"`
	Type      string `json:"type"`
	Forum     bool   `json:"is_forum"`
	FirstName string `json:"first_name"` // of the person of a private chat, as LastName
	LastName  string `json:"last_name"`
}

// quote is https://core.telegram.org/bots/api#textquote.
type quote struct {
	Text string `json:"text"`
}

// entity marks a part of a text; offset and length are UTF-16 units.
type entity struct {
	Type   string `json:"type"`
	Offset int    `json:"offset"`
	Length int    `json:"length"`
	User   *user  `json:"user"` // of a text_mention
}

type file struct {
	ID   string `json:"file_id"`
	Name string `json:"file_name"`
	MIME string `json:"mime_type"`
	Size int64  `json:"file_size"`
}

type callbackQuery struct {
	ID      string   `json:"id"`
	From    user     `json:"from"`
	Message *message `json:"message"`
	Data    string   `json:"data"`
}
