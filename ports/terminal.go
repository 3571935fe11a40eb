package ports

import (
	"context"
	"errors"
	"time"
)

// ErrGone is in the chain of an error that means that the gateway behind a
// Terminal went away: whether it had taken the request is not known.
var ErrGone = errors.New("the gateway went away")

// Terminal is one agent of a gateway as whoever sits at its machine talks to it.
// Whoever reaches it owns the data folder, and is an admin. It is served to the
// command line by the control socket. Safe for many goroutines.
type Terminal interface {
	// Watch holds the first conversation with the agent that no other terminal
	// holds, so that one terminal always finds the conversation it had before and
	// two at a time each have their own. It calls show, one call at a time: first
	// with Chat and the last lines of the past, at most back of them; then with
	// what is new. It returns nil once ctx ended, the error of show, or
	// KindUnavailable where the gateway went away.
	Watch(ctx context.Context, back int, show func(Glimpse) error) error
	// Say hands a message in; nil: it is stored. The same ID again counts once.
	// KindTooLarge, KindInvalid: it is none that can be sent.
	Say(ctx context.Context, chat string, s Saying) (Said, error)
	// Settled waits until the gateway has nothing more to do for a message by
	// itself: its turn is over or waits for an answer, and all that the turn said
	// since is in the conversation.
	Settled(ctx context.Context, chat string, s Said) (Settlement, error)
}

// Glimpse is something that a conversation shows to its terminal. One of the
// fields is set; Past comes with Chat.
type Glimpse struct {
	Chat   string  `json:"chat,omitempty"`
	Past   []Line  `json:"past,omitempty"`
	Line   *Line   `json:"line,omitempty"`
	Draft  *string `json:"draft,omitempty"` // the text so far of an answer; the next Line ends it
	Typing bool    `json:"typing,omitempty"`
}

// Line is one message of a conversation at a terminal. Its text is not ours: it
// may hold what steers a terminal.
type Line struct {
	Seq     int64     `json:"seq"`
	Own     bool      `json:"own,omitempty"` // the person's, not the bot's
	Text    string    `json:"text"`
	Choices []Choice  `json:"choices,omitempty"`
	At      time.Time `json:"at"`
}

// Saying is what a person typed, or the choice they made of a line. ID is made up
// by the terminal: 1 to 64 of [A-Za-z0-9_-].
type Saying struct {
	ID     string  `json:"id"`
	Text   string  `json:"text,omitempty"`
	Choice *Choice `json:"choice,omitempty"`
	Line   int64   `json:"line,omitempty"` // the Seq of the line that offers Choice
}

// Said names a message that was handed in.
type Said struct {
	Event string `json:"event"`
	Seq   int64  `json:"seq"` // of its line
}

// Settlement is what a message came to.
type Settlement struct {
	State SettledState `json:"state"`
	Asked *Question    `json:"asked,omitempty"` // with SettledAsked: what is open
	Lines []Line       `json:"lines,omitempty"` // what its turn said since
}

// SettledState is how a message stands when nothing moves any more.
type SettledState string

const (
	SettledAnswered   SettledState = "answered"
	SettledFailed     SettledState = "failed"
	SettledStopped    SettledState = "stopped"
	SettledSuperseded SettledState = "superseded"
	SettledAsked      SettledState = "asked"   // a question is open, and nothing goes on without its answer
	SettledDropped    SettledState = "dropped" // not accepted: it pressed what is no longer open
)
