package ports

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"
	"unicode"
)

// ChannelPort is a chat platform, seen through one bot account.
//
// Run, Send and the abilities are called from different goroutines, Send and
// the abilities from many at once.
type ChannelPort interface {
	// Traits are fixed facts of the platform. No I/O.
	Traits() Traits
	// Run receives until ctx ends and then returns nil or ctx's error. It hands
	// over what arrives in the platform's order and acknowledges upstream only
	// after Receive returned nil; when Receive fails it keeps the batch and
	// tries again, with a pause, so that nothing is lost. It waits out passing
	// faults by itself. It returns another error only when going on is
	// pointless without an admin (a token that is refused: KindUnauthorized).
	// The gateway may call it again after it returned.
	Run(ctx context.Context, in Receiver) error
	// Send posts one platform message and returns its id. It does not retry:
	// the outbox does, by the error's kind. KindUnsure means that the message
	// may have been posted. Outgoing.Nonce is the same in every try of one
	// delivery: use it where the platform can drop doubles.
	Send(ctx context.Context, m Outgoing) (MessageID, error)
}

// Receiver is what a channel is handed to deliver into. Safe for many goroutines.
type Receiver interface {
	// Receive stores the batch and its cursor in one commit. nil means: stored,
	// or seen before, or not for us; the platform may be told. An error means
	// that nothing of it was stored.
	Receive(ctx context.Context, b Batch) error
	// Cursor is the last stored cursor of this channel, "" at first.
	Cursor(ctx context.Context) (string, error)
}

// Knower is an ability of a Receiver: whether a message's sender is let in, asked
// without counting or answering. It is for a channel of our own, which must not
// keep what strangers write.
type Knower interface {
	Known(ctx context.Context, m Message) (bool, error)
}

// Menu is an ability of a Receiver: the commands that people can type, in the order
// in which they read them, for a platform that shows such a list. Fixed; no I/O.
type Menu interface {
	Commands() []Command
}

// Command is a command that people can type.
type Command struct {
	Name  string // without the slash, of [a-z0-9_]
	Says  string // what it does, in one line
	Takes string // what may stand behind it, in a word of [a-z0-9_]; "": nothing
}

// Reporter is an ability of a Receiver: how receiving goes, for the admin. Report
// an error while a fault that Run waits out goes on, nil when it is over. It
// returns at once.
type Reporter interface {
	Report(err error)
}

// Traits are a platform's fixed facts.
type Traits struct {
	MaxText int // longest text of one message in the platform's own unit; 0 = no limit
	// EditEvery is the shortest pause between two edits of one preview, GroupEditEvery
	// the same in a group (0 = EditEvery). With EditEvery 0 an Editor shows no previews.
	EditEvery      time.Duration
	GroupEditEvery time.Duration
	ChatLimits     bool // a RetryAfter is for a chat with all its threads; without it for the conversation alone
	Choices        bool // has buttons; without them a question lists its choices as text
	Exclusive      bool // one receiver at a time: the gateway holds a lease around Run

	// Drafts says where a Drafter is used, and not the previews of an Editor. DraftEvery
	// is the shortest pause between two drafts (0 = EditEvery), DraftLife how long one is
	// shown unless it comes again (0 = for good).
	Drafts     DraftScope
	DraftEvery time.Duration
	DraftLife  time.Duration

	// What may be left out (typing, drafts, previews) keeps this pause in a chat, all its
	// threads together, and in a group leaves room below this many writes a minute, answers
	// included (0 = none). Answers wait for neither.
	ShowEvery   time.Duration
	GroupMinute int
}

// DraftScope is where drafts are shown.
type DraftScope string

const (
	DraftsEverywhere DraftScope = ""
	DraftsPrivate    DraftScope = "private" // in conversations of one person
	DraftsNowhere    DraftScope = "nowhere" // as this account is configured
)

// Typer shows that an answer is being made. Best effort; called again about every 4 s.
type Typer interface {
	Typing(ctx context.Context, in Conversation) error
}

// Drafter shows the text so far of an answer in the making, where Traits.Drafts says
// so; each call replaces the one before, and the next Send in the conversation
// replaces the draft. Best effort.
type Drafter interface {
	Draft(ctx context.Context, in Conversation, text string) error
}

// Editor replaces a message that Send posted. Replacing it by what it already
// is succeeds. KindNotFound: it is gone, send anew.
type Editor interface {
	Edit(ctx context.Context, id MessageID, m Outgoing) error
}

// Reactor puts an emoji on a message, as a receipt. Best effort.
type Reactor interface {
	React(ctx context.Context, in Conversation, id MessageID, emoji string) error
}

// Opener reads an attachment that came with a message. The caller closes it.
type Opener interface {
	Open(ctx context.Context, a Attachment) (io.ReadCloser, error)
}

// Uploader is an ability of a channel that posts files: it is Send for content that
// has a File. A channel without it shows such content as its Text, which says what
// the file is, or links to the file by means of its own. open reads the file from its beginning; whoever opens it closes it.
type Uploader interface {
	Upload(ctx context.Context, m Outgoing, open func(context.Context) (io.ReadCloser, error)) (MessageID, error)
}

// Renderer turns content (its Text is Markdown) into the platform's own
// messages, split at the platform's limits, each with Body set to whatever Send
// needs. Pure; called before the answer is stored, so what is stored is what is
// sent. The choices go with the last part. Without it the core splits plain text.
type Renderer interface {
	Render(c Content) ([]Content, error)
}

// HTTP is an adapter that serves HTTP; the gateway mounts its handler. The
// adapter does its own authentication. Requests may come before and after Run.
type HTTP interface {
	Handler() http.Handler
}

// Hooker is an ability of a channel: the platform brings what people write over
// HTTP. The gateway mounts the handler at /hook/CHANNEL, for every method and
// without a login: the adapter does its own authentication. nil: as it is
// configured, it takes none. Requests may come before and after Run.
type Hooker interface {
	Hook() http.Handler
}

// Conversation is one chat, or one thread of it, on one channel. It is the unit
// of order, of history and of visibility. Comparable. Channel is the channel's
// name in the config, stamped by the gateway: an adapter leaves it empty in
// what it receives and ignores it in what it sends.
type Conversation struct {
	Channel string `json:"channel"`
	Chat    string `json:"chat"`
	Thread  string `json:"thread,omitempty"`
}

// String is a stable, unambiguous text form: channel:chat or channel:chat:thread.
func (c Conversation) String() string {
	s := url.QueryEscape(c.Channel) + ":" + url.QueryEscape(c.Chat)
	if c.Thread != "" {
		s += ":" + url.QueryEscape(c.Thread)
	}
	return s
}

// MessageID is a platform's name for a posted message, unique within its channel.
type MessageID string

// PersonID is the gateway's own name for a person, whatever identities they have.
type PersonID string

// Batch is what arrived together, in order, with the cursor that stands behind it.
// A batch without messages moves the cursor. Cursor "" leaves it as it is.
type Batch struct {
	Messages []Message
	Cursor   string
}

// Message is something a person did in a chat: wrote, or pressed a button.
type Message struct {
	Event       string          `json:"event"` // dedupe key in the channel (an update id): edits and presses share a message's ID
	ID          MessageID       `json:"id"`    // what reply, edit and react refer to; of a press: the message with the button
	In          Conversation    `json:"in"`
	Private     bool            `json:"private,omitempty"`   // nobody but this person and the bot sees the conversation
	Addressed   bool            `json:"addressed,omitempty"` // in a group: speaks to the bot (mention, reply to it, command)
	From        string          `json:"from"`                // the platform's user id
	Name        string          `json:"name,omitempty"`      // what the person is called there
	Text        string          `json:"text,omitempty"`
	ReplyTo     MessageID       `json:"reply_to,omitempty"`
	Quote       *Quote          `json:"quote,omitempty"`  // what ReplyTo says, as far as the platform tells
	Change      MessageChange   `json:"change,omitempty"` // what became of the message ID; "": it is new
	More        bool            `json:"more,omitempty"`   // the platform splits what people send: more of this is likely to follow at once
	Album       string          `json:"album,omitempty"`  // of several messages that people see as one: to forget one of them is to forget all
	Choice      *Choice         `json:"choice,omitempty"`
	Attachments []Attachment    `json:"attachments,omitempty"`
	At          time.Time       `json:"at"`              // when it was written, of an edit when it was edited, by the platform's clock; zero if unknown
	Reply       json.RawMessage `json:"reply,omitempty"` // opaque; the adapter gets it back in Outgoing.Reply
}

// MessageChange is what became of a message that was there already.
type MessageChange string

const (
	// ChangeEdit says that the message's Text and Attachments are these now.
	ChangeEdit MessageChange = "edit"
	// ChangeDelete says that the message is gone. It has no Text, and may have no From.
	ChangeDelete MessageChange = "delete"
)

// Quote is the message, or the part of it, that a message replies to.
type Quote struct {
	Text string `json:"text"`
	Name string `json:"name,omitempty"` // of who wrote it, as Message.Name
	Own  bool   `json:"own,omitempty"`  // the bot did
}

// Choice is a button: the question it answers, the field of it and the value.
// It comes back as Message.Choice when pressed. Question, Field and Value
// together are at most 56 bytes without ':', so that they fit a Telegram button.
type Choice struct {
	Question string `json:"question"`
	Field    string `json:"field"`
	Value    string `json:"value"`
	Label    string `json:"label,omitempty"` // what the person reads; not part of a press
}

// StopQuestion is the Question of the button that stops the turn at work that it is
// shown with: to press it is to write /stop. Its Value is the Seq of the turn's first
// message.
const StopQuestion = "stop"

// Attachment is a file that came with a message; ID is for the adapter's Opener.
type Attachment struct {
	ID   string `json:"id"`
	Name string `json:"name,omitempty"`
	MIME string `json:"mime,omitempty"`
	Size int64  `json:"size,omitempty"` // bytes; 0 = unknown
}

// Content is what a message says. Text is Markdown (CommonMark with GFM). Body
// is the platform's own form of it, made by the adapter's Renderer and opaque
// to the core; without it Send shows Text as it is, cut at MaxText.
type Content struct {
	Text    string          `json:"text"`
	File    *File           `json:"file,omitempty"` // the message is this file; Text is what is said of it
	Choices []Choice        `json:"choices,omitempty"`
	Body    json.RawMessage `json:"body,omitempty"`
	Partial bool            `json:"partial,omitempty"` // Text is the beginning of what is being written: a Renderer closes what is open in it
}

// File is an artifact of the conversation that is posted as a file.
type File struct {
	Artifact string `json:"artifact"`
	Name     string `json:"name,omitempty"`
	MIME     string `json:"mime,omitempty"`
	Size     int64  `json:"size,omitempty"` // bytes
}

// Outgoing is one platform message to post, or the new form of one.
type Outgoing struct {
	In      Conversation    `json:"in"`
	Content Content         `json:"content"`
	Nonce   string          `json:"nonce"` // = Delivery.ID
	ReplyTo MessageID       `json:"reply_to,omitempty"`
	Reply   json.RawMessage `json:"reply,omitempty"` // Message.Reply of what is answered
	// Since is when the delivery was stored: no try of it is older. Zero: there was
	// none before. Where a platform forgets a Nonce, what is older is looked for.
	Since time.Time `json:"-"`
}

// ParseCommand splits "/name args"; ok is false for a text that is no command. Platforms' own "/name@bot" is undone by
// their adapters.
func ParseCommand(text string) (name, args string, ok bool) {
	text = strings.TrimSpace(text)
	if !strings.HasPrefix(text, "/") {
		return "", "", false
	}
	name = text[1:]
	if i := strings.IndexFunc(name, unicode.IsSpace); i >= 0 { // also a line break
		name, args = name[:i], name[i:]
	}
	name = strings.ToLower(name)
	if name == "" || strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789_") != "" {
		return "", "", false
	}
	return name, strings.TrimSpace(args), true
}
