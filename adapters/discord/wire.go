package discord

import (
	"encoding/json"
	"strconv"
	"time"
)

// The objects of the API, as far as they are read. What is not read cannot make
// one unreadable.

type user struct {
	ID       string `json:"id"`
	Username string `json:"username"`
	Global   string `json:"global_name"`
	Bot      bool   `json:"bot"`
}

type member struct {
	User *user  `json:"user"`
	Nick string `json:"nick"`
}

type message struct {
	ID          string  `json:"id"`
	Channel     string  `json:"channel_id"`
	Guild       string  `json:"guild_id"` // the gateway alone tells it
	Author      *user   `json:"author"`
	Member      *member `json:"member"`
	Content     *string `json:"content"`
	Edited      string  `json:"edited_timestamp"`
	Mentions    []user  `json:"mentions"`
	Attachments []file  `json:"attachments"`
	Stickers    []struct {
		Name string `json:"name"`
	} `json:"sticker_items"`
	Webhook   string `json:"webhook_id"`
	Type      int    `json:"type"`
	Flags     int    `json:"flags"`
	Reference *struct {
		Type    int    `json:"type"`
		Message string `json:"message_id"`
		Channel string `json:"channel_id"`
	} `json:"message_reference"`
	Referenced *message `json:"referenced_message"`
	Snapshots  []struct {
		Message message `json:"message"`
	} `json:"message_snapshots"` // what was forwarded
	Components json.RawMessage `json:"components"`
}

// Types of messages that people write. All others are notices.
const (
	typeDefault = 0
	typeReply   = 19
)

// flagLoading is on a deferred answer that nothing has taken the place of.
const flagLoading = 1 << 7

type file struct {
	ID   string `json:"id"`
	Name string `json:"filename"`
	MIME string `json:"content_type"`
	Size int64  `json:"size"`
	URL  string `json:"url"`
}

// room is a channel in the words of Discord: a direct chat, one of a guild, a thread.
type room struct {
	ID     string `json:"id"`
	Type   int    `json:"type"`
	Guild  string `json:"guild_id"`
	Parent string `json:"parent_id"`
	Owner  string `json:"owner_id"`
	Last   string `json:"last_message_id"`
}

func (r room) isThread() bool { return r.Type >= 10 && r.Type <= 12 }

type guild struct {
	ID       string `json:"id"`
	Away     bool   `json:"unavailable"` // by an outage of Discord
	Channels []room `json:"channels"`
	Threads  []room `json:"threads"`
}

type interaction struct {
	ID      string   `json:"id"`
	App     string   `json:"application_id"`
	Type    int      `json:"type"`
	Token   string   `json:"token"`
	Guild   string   `json:"guild_id"`
	RoomID  string   `json:"channel_id"`
	Room    *room    `json:"channel"`
	Member  *member  `json:"member"`
	User    *user    `json:"user"`
	Message *message `json:"message"`
	Context *int     `json:"context"`
	Data    struct {
		Name    string `json:"name"`
		Kind    int    `json:"type"`
		Target  string `json:"target_id"` // of a command in the menu of a message
		Press   string `json:"custom_id"`
		Options []struct {
			Name  string          `json:"name"`
			Value json.RawMessage `json:"value"`
		} `json:"options"`
	} `json:"data"`
}

// Types of interactions.
const (
	typeCommand = 2
	typePress   = 3
)

// epoch is the first second that an id can tell of, in milliseconds
// (https://discord.com/developers/docs/reference#snowflakes).
const epoch = 1420070400000

// timeOf is when a thing with this id came to be; zero for what is no id.
func timeOf(id string) time.Time {
	n, err := strconv.ParseUint(id, 10, 64)
	if err != nil {
		return time.Time{}
	}
	return time.UnixMilli(int64(n>>22) + epoch).UTC()
}

// ordinal is the number of an id; 0 for what is none. Ids grow with time.
func ordinal(id string) uint64 {
	n, err := strconv.ParseUint(id, 10, 64)
	if err != nil {
		return 0
	}
	return n
}

// margin is how much older than the newest message known one may be that has not
// come: what Discord's parts are late by, and much more.
const margin = uint64(time.Minute/time.Millisecond) << 22
