package discord

import (
	"encoding/json"
	"time"
)

// The objects of the API, as far as the fake makes them.

type user struct {
	ID            string  `json:"id"`
	Username      string  `json:"username"`
	Discriminator string  `json:"discriminator"`
	GlobalName    *string `json:"global_name"`
	Avatar        *string `json:"avatar"`
	Bot           bool    `json:"bot,omitempty"`
	PublicFlags   int     `json:"public_flags"`
}

// member of a guild, as it comes with a message.
type member struct {
	User     *user     `json:"user,omitempty"`
	Nick     *string   `json:"nick"`
	Avatar   *string   `json:"avatar"`
	Roles    []string  `json:"roles"`
	Joined   time.Time `json:"joined_at"`
	Deaf     bool      `json:"deaf"`
	Mute     bool      `json:"mute"`
	Flags    int       `json:"flags"`
	Pending  bool      `json:"pending"`
	Premium  *string   `json:"premium_since"`
	CanDo    string    `json:"permissions,omitempty"` // in interactions
	Timedout *string   `json:"communication_disabled_until"`
}

type reference struct {
	Type      int    `json:"type"`
	MessageID string `json:"message_id"`
	ChannelID string `json:"channel_id"`
	GuildID   string `json:"guild_id,omitempty"`
}

type attachment struct {
	ID          string  `json:"id"`
	Filename    string  `json:"filename"`
	Description *string `json:"description,omitempty"`
	ContentType string  `json:"content_type,omitempty"`
	Size        int     `json:"size"`
	URL         string  `json:"url"`
	ProxyURL    string  `json:"proxy_url"`
	Width       int     `json:"width,omitempty"`
	Height      int     `json:"height,omitempty"`
	content     []byte
}

type reaction struct {
	Count   int        `json:"count"`
	Details any        `json:"count_details"`
	Burst   []string   `json:"burst_colors"`
	Me      bool       `json:"me"`
	MeBurst bool       `json:"me_burst"`
	Emoji   emojiShort `json:"emoji"`
	by      []string
}

type emojiShort struct {
	ID   *string `json:"id"`
	Name string  `json:"name"`
}

type interactionMeta struct {
	ID      string            `json:"id"`
	Type    int               `json:"type"`
	User    user              `json:"user"`
	Owners  map[string]string `json:"authorizing_integration_owners"`
	Name    string            `json:"-"`
	Origin  string            `json:"original_response_message_id,omitempty"`
	Pressed string            `json:"interacted_message_id,omitempty"`
}

// message as the API shows it. What only the gateway adds (guild_id, member,
// channel_type) is put in where it is dispatched.
type message struct {
	ID          string           `json:"id"`
	ChannelID   string           `json:"channel_id"`
	ChannelType *int             `json:"channel_type,omitempty"`
	GuildID     string           `json:"guild_id,omitempty"`
	Author      *user            `json:"author"`
	Member      *member          `json:"member,omitempty"`
	Content     string           `json:"content"`
	Timestamp   time.Time        `json:"timestamp"`
	Edited      *time.Time       `json:"edited_timestamp"`
	TTS         bool             `json:"tts"`
	Everyone    bool             `json:"mention_everyone"`
	Mentions    []user           `json:"mentions"`
	Roles       []string         `json:"mention_roles"`
	Attachments []*attachment    `json:"attachments"`
	Embeds      []any            `json:"embeds"`
	Reactions   []*reaction      `json:"reactions,omitempty"`
	Nonce       json.RawMessage  `json:"nonce,omitempty"`
	Pinned      bool             `json:"pinned"`
	WebhookID   string           `json:"webhook_id,omitempty"`
	Type        int              `json:"type"`
	Application string           `json:"application_id,omitempty"`
	Flags       int              `json:"flags"`
	Reference   *reference       `json:"message_reference,omitempty"`
	Referenced  *message         `json:"-"`
	Shown       json.RawMessage  `json:"referenced_message,omitempty"` // of Referenced, null if it is deleted
	Meta        *interactionMeta `json:"interaction_metadata,omitempty"`
	Thread      *channelInfo     `json:"thread,omitempty"`
	Components  []component      `json:"components"`

	deleted   bool
	ephemeral string // the only user who sees it
	edits     int
	token     string // of the interaction that it came by
}

// Message types and flags.
const (
	typeDefault        = 0
	typeThreadCreated  = 18
	typeReply          = 19
	typeCommand        = 20
	typeThreadStarter  = 21
	flagNoEmbeds       = 1 << 2
	flagHasThread      = 1 << 5
	flagEphemeral      = 1 << 6
	flagLoading        = 1 << 7
	flagSilent         = 1 << 12
	flagComponentsV2   = 1 << 15
	flagsOfBots        = flagNoEmbeds | flagSilent | flagComponentsV2
	flagsOfResponses   = flagsOfBots | flagEphemeral
	appContentIntent   = 1 << 18 // application flags
	appContentLimited  = 1 << 19
	channelText        = 0
	channelDM          = 1
	channelThread      = 11
	channelPrivThread  = 12
	channelNews        = 5
	channelNewsThread  = 10
	interactionPing    = 1
	interactionCommand = 2
	interactionPress   = 3
	interactionModal   = 5
)

// encode is v as a payload carries it.
func encode(v any) json.RawMessage {
	b, err := json.Marshal(v)
	if err != nil {
		panic("fake discord: " + err.Error())
	}
	return b
}
