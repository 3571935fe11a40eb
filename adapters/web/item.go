package web

import (
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"dragoman/ports"
)

// What a feed item is.
const (
	kindUser  = "user"  // the person's own message
	kindBot   = "bot"   // a message of ours
	kindEdit  = "edit"  // the new form of a message of ours; ID names it
	kindPress = "press" // the person's press of a button; ID names the message, Choices has the one
)

// entry is the body of a feed item. HTML, where there is some, is what our own
// Render made; Text shows as it is.
type entry struct {
	Kind    string         `json:"kind"`
	ID      string         `json:"id,omitempty"` // of a message of ours: none, it follows from the seq
	Text    string         `json:"text,omitempty"`
	HTML    string         `json:"html,omitempty"`
	Choices []ports.Choice `json:"choices,omitempty"`
}

// item is an entry as the page gets it.
type item struct {
	Seq int64 `json:"seq"`
	entry
	At time.Time `json:"at"`
}

// body is what Render puts into Content.Body.
type body struct {
	HTML string `json:"html"`
}

func newItem(chat string, f ports.FeedItem) (item, error) {
	it := item{Seq: f.Seq, At: f.At}
	if err := json.Unmarshal(f.Body, &it.entry); err != nil {
		return item{}, err
	}
	if it.Kind == kindBot {
		it.ID = string(messageID(chat, f.Seq))
	}
	return it, nil
}

func messageID(chat string, seq int64) ports.MessageID {
	return ports.MessageID(chat + "/" + strconv.FormatInt(seq, 10))
}

// parseID takes a message's id apart.
func parseID(id ports.MessageID) (chat string, seq int64, ok bool) {
	chat, number, _ := strings.Cut(string(id), "/")
	seq, err := strconv.ParseInt(number, 10, 64)
	if err != nil || chat == "" || seq < 1 || messageID(chat, seq) != id {
		return "", 0, false
	}
	return chat, seq, true
}
