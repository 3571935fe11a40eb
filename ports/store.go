package ports

import (
	"context"
	"crypto/sha256"
	"encoding/base32"
	"encoding/json"
	"log/slog"
	"strconv"
	"strings"
	"time"
)

// The store is a family of facets. No type here unites them: each part of the
// core takes the slice it uses, and tests/storetest proves an implementation of
// all. Every method is safe for many goroutines; every write is one durable
// commit, done when the method returns nil; an error means that nothing of it
// was written, except KindUnsure, after which the same write may be made again.
// KindUnavailable: the store cannot write now (a full disk) but may later.

// Turns keeps conversations: inbox, turns with their journal, outbox.
//
// A conversation is owned exactly while it has work: a waiting message that may
// run, a running turn, an undelivered message. The commit that gives it work
// claims it for this process, with a new epoch; the commit that takes the last
// work away releases it. A parked turn with its prompt delivered is no work.
type Turns interface {
	// Cursor is the channel's last stored cursor, "" at first.
	Cursor(ctx context.Context, channel string) (string, error)
	// Accept stores what came in on a channel: for each message whose
	// (channel, Event) was not seen before, in order, it calls route and does what
	// that says; then it stores the cursor. One commit. route must be pure: it may
	// be called again for the same message. A panic in it fails the call.
	Accept(ctx context.Context, src Source, b Batch, route func(Sight) Route) (Accepted, error)
	// Claim takes up to limit conversations that have work and no owner, and tells
	// of own ones with news that this process has not been told.
	Claim(ctx context.Context, limit int) ([]Lease, error)
	// Load reads what there is to do. KindFenced: the lease is gone, leave.
	Load(ctx context.Context, l Lease) (Work, error)
	// History reads the last limit finished turns that messages of the lane began,
	// oldest first.
	History(ctx context.Context, l Lease, limit int) ([]Past, error)
	// Trial notes that what this conversation has to run is taken up again after it
	// saw a process die. If another dies before its journal grows it is blamed; what
	// saw a death and only waited is not. alone: it is a suspect, on trial; if others
	// are not, it was alone.
	Trial(ctx context.Context, l Lease, alone bool) error
	// Record adds to the running turn, or begins one.
	Record(ctx context.Context, l Lease, c Change) error
	// Park adds c with its question (Change.Ask) and leaves the turn waiting. If a
	// message of another person waits already, the question's GroupWait counts
	// from now.
	Park(ctx context.Context, l Lease, c Change) error
	// Finish adds c and ends the turn.
	Finish(ctx context.Context, l Lease, c Change, o Outcome) error
	// Pending reads the undelivered messages, in order.
	Pending(ctx context.Context, l Lease) ([]Delivery, error)
	// Delivered marks a delivery as done. A preview (an id of no stored delivery,
	// made of its turn's id, '/' and more) gets its row here, so that a later
	// delivery may edit it, which makes it a preview no more. A prompt that was given up settles its question as
	// expired and wakes its turn: nobody will answer what nobody saw.
	Delivered(ctx context.Context, l Lease, id string, r Receipt) error
	// Backlog counts waiting messages and undelivered deliveries, of all conversations.
	Backlog(ctx context.Context) (Backlog, error)
}

// Backlog is how much waits.
type Backlog struct{ Inbox, Outbox int }

// Questions reads and expires questions. They are written by Park and Accept.
type Questions interface {
	// Question reads one. KindNotFound: there is none of that id.
	Question(ctx context.Context, id string) (Question, error)
	// Expire settles up to limit open questions whose time is over and wakes their turns.
	Expire(ctx context.Context, limit int) (Accepted, error)
}

// Leases give one holder at a time a name, with an epoch that fences it.
type Leases interface {
	// Acquire takes the name. KindConflict: somebody alive holds it.
	Acquire(ctx context.Context, name string) (epoch int64, err error)
	// Renew says that the holder is alive. KindFenced: it is no longer the holder.
	Renew(ctx context.Context, name string, epoch int64) error
	// Release gives the name back. Releasing what is not held is no error.
	Release(ctx context.Context, name string, epoch int64) error
}

// Record is a small document with a version. Scope and Kind group records:
// persons, pairings, sessions, grants.
type Record struct {
	Scope, Kind, Key string
	Version          int64 // 0 = not stored yet
	Body             json.RawMessage
	Expires          time.Time // zero = never; an expired record is as good as absent
}

// Records keeps records, with compare-and-swap.
type Records interface {
	// Get reads one. KindNotFound: none, or expired.
	Get(ctx context.Context, scope, kind, key string) (Record, error)
	// List reads all of a kind, by key.
	List(ctx context.Context, scope, kind string) ([]Record, error)
	// Put writes r if the stored version is r.Version (0: there is none) and
	// returns it with its new version. KindConflict: it is another.
	Put(ctx context.Context, r Record) (Record, error)
	// Delete removes r if the stored version is r.Version. KindConflict: it is
	// another. Deleting what is absent is no error.
	Delete(ctx context.Context, r Record) error
}

// Artifact is something too large for a prompt, kept for its conversation.
type Artifact struct {
	In   Conversation
	ID   string
	Name string
	MIME string
	Size int64 // bytes; set by the store
	Data []byte
	// Message is the Seq of the message that it came with, and goes with when that is
	// deleted; 0 = of none. A Read leaves it out.
	Message int64
}

// Artifacts keeps artifacts. They are found by conversation and id only, never
// shared by content between people.
type Artifacts interface {
	// Save stores a. The same ID again, in its conversation, is left as it is.
	// KindNotFound: its message was deleted, and nothing is stored.
	Save(ctx context.Context, a Artifact) error
	// Read reads up to limit bytes of it from offset. KindNotFound: this
	// conversation has none of that id.
	Read(ctx context.Context, in Conversation, id string, offset, limit int64) (Artifact, error)
}

// AuditEntry is something done that an admin may want to know of. No secrets.
type AuditEntry struct {
	At     time.Time       `json:"at"`    // set by the store
	Actor  string          `json:"actor"` // a person's id, or "admin"
	What   string          `json:"what"`  // a constant phrase, as "tool_call"
	Ref    string          `json:"ref"`   // a turn, a call, a person
	Detail json.RawMessage `json:"detail,omitempty"`
}

// Audit is append-only.
type Audit interface {
	Append(ctx context.Context, e AuditEntry) error
	// Entries reads the last limit entries, newest first.
	Entries(ctx context.Context, limit int) ([]AuditEntry, error)
}

// Usage reads what the turns booked (Change.Usage).
type Usage interface {
	// Used sums what was spent (Spent.At) at Since or later, by q.By, the most expensive first.
	// KindInvalid: there is no such By.
	Used(ctx context.Context, q UsageQuery) ([]Used, error)
}

// UsageQuery chooses and groups what was booked. Zero fields choose all.
type UsageQuery struct {
	Since   time.Time
	Person  PersonID
	Channel string // with Chat: one chat, all its threads together
	Chat    string
	Agent   string
	By      UsageBy
}

// UsageBy is what usage is grouped by.
type UsageBy string

const (
	UsageTotal    UsageBy = ""       // one sum, of nothing too; Key is ""
	UsageByPerson UsageBy = "person" // Key is the PersonID
	UsageByChat   UsageBy = "chat"   // Key is ChatKey
	UsageByAgent  UsageBy = "agent"  // Key is the name in the config, as of a model
	UsageByModel  UsageBy = "model"
	UsageByDay    UsageBy = "day"  // Key is 2026-11-22, in the time zone of Since
	UsageByTurn   UsageBy = "turn" // Key is the turn's id
)

// ChatKey names a chat in usage: all threads of it together.
func ChatKey(in Conversation) string { return in.Channel + ":" + in.Chat }

// Used is what one group used.
type Used struct {
	Key      string
	Requests int
	Tokens
	Cost     Money
	Unpriced int // of Requests: their model's price is not known, and Cost lacks them
}

// Payer is on whose account a request to a model goes.
type Payer struct {
	Person PersonID
	In     Conversation
	Agent  string
}

// FeedItem is one line of what a channel of our own shows in a chat.
type FeedItem struct {
	Seq   int64 // per chat, from 1; set by the store
	Nonce string
	Body  json.RawMessage
	At    time.Time // set by the store
}

// Feed keeps what one channel of our own (the web chat) showed, so that every
// browser stream can be a tail of it.
type Feed interface {
	// Append adds an item and returns it as stored. A nonce that the chat has
	// already adds nothing: the stored item comes back.
	Append(ctx context.Context, chat, nonce string, body json.RawMessage) (FeedItem, error)
	// Tail reads up to limit items after seq, oldest first. A negative seq
	// counts from the end: -50 reads the last 50.
	Tail(ctx context.Context, chat string, seq int64, limit int) ([]FeedItem, error)
}

// Fates tells a channel of our own what became of its messages.
type Fates interface {
	// Fate reads how the message of this event stands. KindNotFound: none was accepted.
	Fate(ctx context.Context, event string) (Fate, error)
}

// Fate is how an accepted message stands.
type Fate struct {
	Turn   Turn      // ID "": it waits for one
	Open   *Question // the open question of its conversation, if there is one
	Unsent []string  // deliveries of Turn that are neither posted nor given up; none that may be dropped
}

// TurnID is the id of the turn that the message with this seq begins.
func TurnID(in Conversation, seq int64) string {
	return in.String() + "#" + strconv.FormatInt(seq, 10)
}

// DeliveryID is the id of one platform message of a turn.
func DeliveryID(turn string, step, part int) string {
	return turn + "/" + strconv.Itoa(step) + "/" + strconv.Itoa(part)
}

// Ref is the short reference of a turn: a failure quotes it to the person, and
// each log line of the turn carries it as "ref". "" of no turn.
func Ref(turn string) string {
	if turn == "" {
		return ""
	}
	sum := sha256.Sum256([]byte(turn))
	return strings.ToLower(base32.StdEncoding.EncodeToString(sum[:])[:6])
}

// TurnAttr is what a log line of a turn carries: the turn and its reference.
// Nothing of no turn.
func TurnAttr(turn string) slog.Attr {
	if turn == "" {
		return slog.Attr{}
	}
	return slog.Group("", "turn", turn, "ref", Ref(turn)) // a group without a name is no group: its keys stand by themselves
}

// TurnOf is the turn that a delivery's id was made of, "" if of none.
func TurnOf(delivery string) string {
	turn, _, ok := strings.Cut(delivery, "/")
	if !ok || !strings.Contains(turn, "#") {
		return ""
	}
	return turn
}
