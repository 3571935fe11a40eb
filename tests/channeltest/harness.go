package channeltest

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"dragoman/ports"
)

// Harness is how the kit gets hold of a channel and of its platform.
type Harness struct {
	// Start sets up a platform of its own with nobody on it, and one bot account.
	// Each rule starts one and closes it.
	Start func(ctx context.Context) (Platform, error)
	// Patience is how long the kit waits for what must happen; 0 = 45 s. What must
	// happen soon has a third of it.
	Patience time.Duration
}

// Platform is the chat platform as its owner and its people have it. It lives
// longer than a channel: what a channel did is still there after a restart.
// Safe for many goroutines.
type Platform interface {
	// Facts are fixed.
	Facts() Facts
	// Channel makes the adapter for the bot account, as New does, with no I/O.
	// A second call is a restart of the gateway: the old channel is not used any more.
	// The adapter must log to log.
	Channel(log *slog.Logger) (ports.ChannelPort, error)
	// Person is somebody new, who may talk to the bot in private.
	Person(name string) (Person, error)
	// Break makes the next times calls of a kind go wrong; times < 0 means all
	// until the platform is closed or broken anew, times 0 mends it. It reports
	// false, having done nothing, where the platform cannot go wrong like that.
	Break(call Call, fault Fault, times int) bool
	// Close ends everything that the platform started. A second call does nothing.
	Close()
}

// Facts say what the kit may expect.
type Facts struct {
	Secrets      []string // what must never be seen in an error or a log: the bot's token
	DropsDoubles bool     // Outgoing.Nonce keeps a repeated Send from being shown twice
	// HidesNewChats says that the platform does not tell afterwards of a private chat
	// that began while nobody listened: the kit then lets people be heard once before.
	HidesNewChats bool
}

// Person is somebody in a private chat with the bot.
type Person interface {
	// ID is what Message.From is.
	ID() string
	// Say writes to the bot. It returns once the platform has it, without
	// waiting for the channel, and keeps trying as the platform would: a message
	// that the channel did not acknowledge is delivered again.
	Say(text string) error
	// Press presses the newest button with this label in the private chat. It
	// returns as Say does, and fails if there is no such button.
	Press(label string) error
	// Shows is what the private chat shows of the bot now, oldest first.
	Shows() ([]Shown, error)
}

// Shown is a message of the bot as the chat shows it now, after all edits.
type Shown struct {
	Text    string   // as a person reads it, without markup
	Buttons []string // labels
}

// Call is what goes wrong.
type Call string

const (
	CallSend    Call = "send"    // ChannelPort.Send
	CallReceive Call = "receive" // whatever Run asks the platform for messages with
)

// Fault is how it goes wrong.
type Fault string

const (
	FaultRateLimit    Fault = "rate_limit"   // refused, with RetryAfter to wait
	FaultWideLimit    Fault = "wide_limit"   // the same for every write of the account
	FaultForbidden    Fault = "forbidden"    // refused for good: the person blocked the bot
	FaultGone         Fault = "gone"         // refused: there is no such chat
	FaultUnauthorized Fault = "unauthorized" // the token is refused
	FaultOutage       Fault = "outage"       // the platform answers that it is down
	FaultCut          Fault = "cut"          // done, and then the connection breaks before the answer
	FaultHang         Fault = "hang"         // never answered, until the caller leaves
)

// RetryAfter is what the platform asks for under FaultRateLimit and FaultWideLimit.
const RetryAfter = 7 * time.Second

// Grouper is a platform with groups; a Platform may implement it.
type Grouper interface {
	// Group is a new group with the bot and these people in it.
	Group(name string, people ...Person) (Group, error)
}

// Group is a chat of several people and the bot.
type Group interface {
	// Say writes to everybody.
	Say(p Person, text string) error
	// Mention writes to everybody and names the bot in the platform's way.
	Mention(p Person, text string) error
}

// Noiser is a platform that can send what no adapter has heard of; a Platform
// may implement it.
type Noiser interface {
	// Noise makes the platform deliver one broken and one unknown event.
	Noise() error
}

// Deleter is a platform where messages of the bot can vanish; a Person may
// implement it.
type Deleter interface {
	// DeleteAll removes what the private chat shows.
	DeleteAll() error
}

// Attacher is a platform where people send files; a Person may implement it.
type Attacher interface {
	// Attach sends a file to the bot, as Say does a text.
	Attach(name string, data []byte) error
}

// Watcher is a platform that knows whether the bot is shown as typing; a Person
// may implement it.
type Watcher interface {
	// SeesTyping reports whether typing was shown since the chat began.
	SeesTyping() bool
}

// ErrNotApplicable is what a Check returns where the channel or the platform
// lacks what the rule is about.
var ErrNotApplicable = errors.New("not applicable")

// Rule is one promise of a channel.
type Rule struct {
	Name string
	Why  string
	// Check returns nil if the rule holds, ErrNotApplicable, or what is broken, in words.
	Check func(ctx context.Context, h Harness) error
}
