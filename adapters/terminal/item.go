package terminal

import (
	"encoding/json"
	"strconv"
	"strings"

	"dragoman/ports"
)

// The nonces of what is sent are set apart from those of what people say.
const sendNonce = "s:"

// entry is the body of a feed item.
type entry struct {
	Own     bool           `json:"own,omitempty"` // the person's
	Text    string         `json:"text"`
	Choices []ports.Choice `json:"choices,omitempty"`
}

// line is a feed item as a terminal gets it.
func line(f ports.FeedItem) (ports.Line, error) {
	var e entry
	if err := json.Unmarshal(f.Body, &e); err != nil {
		return ports.Line{}, err
	}
	return ports.Line{Seq: f.Seq, Own: e.Own, Text: e.Text, Choices: e.Choices, At: f.At}, nil
}

// delivery is the id of the delivery that an item was sent for, "" for none.
func delivery(f ports.FeedItem) string {
	id, sent := strings.CutPrefix(f.Nonce, sendNonce)
	if !sent {
		return ""
	}
	return id
}

func messageID(chat string, seq int64) ports.MessageID {
	return ports.MessageID(chat + "/" + strconv.FormatInt(seq, 10))
}
