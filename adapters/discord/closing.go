package discord

import (
	"errors"
	"fmt"

	"github.com/coder/websocket"

	"dragoman/ports"
)

// Codes with which Discord closes for good
// (https://discord.com/developers/docs/topics/opcodes-and-status-codes#gateway-gateway-close-event-codes).
const (
	closeToken         = websocket.StatusCode(4004)
	closeShard         = websocket.StatusCode(4010)
	closeShards        = websocket.StatusCode(4011)
	closeVersion       = websocket.StatusCode(4012)
	closeIntents       = websocket.StatusCode(4013)
	closeIntentsDenied = websocket.StatusCode(4014)
)

// advice is what an admin can do about them.
var advice = map[websocket.StatusCode]string{
	closeToken:         "Discord does not accept the bot token; make a new one at https://discord.com/developers/applications, under Bot",
	closeShard:         "Discord does not accept the shard that was asked for; update Dragoman",
	closeShards:        "the bot is in too many servers for the connections that Discord itself recommended; restart Dragoman later",
	closeVersion:       "Discord does not serve this version of its gateway any more; update Dragoman",
	closeIntents:       "Discord does not know the intents that were asked for; update Dragoman",
	closeIntentsDenied: "the bot may not read what people write; turn on Message Content Intent at https://discord.com/developers/applications, under Bot",
}

// closed is a connection that Discord closed for good.
type closed struct {
	code websocket.StatusCode
	err  error
}

func (c *closed) Error() string {
	return fmt.Sprintf("%s (%d)", advice[c.code], int(c.code))
}

func (c *closed) Unwrap() error { return c.err }

// kindOfClose says whether connecting anew is any use.
func kindOfClose(err error) ports.Kind {
	if advice[websocket.CloseStatus(err)] != "" {
		return ports.KindUnauthorized
	}
	return ports.KindTemporary
}

// closedBecause puts into words what an admin can do about the end of a
// connection; other errors it leaves as they are.
func closedBecause(err error) error {
	code := websocket.CloseStatus(err)
	if advice[code] == "" {
		return err
	}
	return &closed{code: code, err: err}
}

// forgets reports whether Discord forgot the session with the connection, so that
// it cannot be resumed: it was not let in, gave a wrong number, or timed out.
func forgets(err error) bool {
	switch websocket.CloseStatus(err) {
	case 4003, 4007, 4009:
		return true
	}
	return false
}

// tooFewShards reports whether Discord wants a bot to have more sessions.
func tooFewShards(err error) bool {
	var c *closed
	return errors.As(err, &c) && c.code == closeShards
}
