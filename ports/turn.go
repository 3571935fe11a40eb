package ports

import (
	"encoding/json"
	"time"
)

// Lease is the right to write for one conversation. Every write under it is
// fenced: once another process (or a later life of this one) took the
// conversation over, the Epoch is no longer the stored one and the write fails
// with KindFenced, having changed nothing.
type Lease struct {
	In    Conversation
	Epoch int64
}

// Source is who calls Accept. Epoch is that of the channel's own lease where its
// Traits say Exclusive, else 0.
type Source struct {
	Channel string
	Epoch   int64
}

// RouteKind is where an accepted message goes.
type RouteKind string

const (
	RouteLane    RouteKind = "lane"    // waits for a turn
	RouteControl RouteKind = "control" // waits too; the running turn looks at it at once (a stop)
	RouteAnswer  RouteKind = "answer"  // answers a question: belongs to its turn
	RouteReply   RouteKind = "reply"   // answered at receipt: a turn of its own, finished by the same commit
)

// Sight is what a route function may look at, read inside the receive commit
// with the questions under lock.
type Sight struct {
	Message Message
	Seq     int64     // the seq that the message gets if it is accepted
	Pressed *Question // of Message.Choice; nil: no such question
	Open    *Question // the conversation's open question
	Turn    *Turn     // the conversation's unfinished turn
	Earlier *Earlier  // the message that Message changes, that Pressed is about, or that Message replies to; nil: the lane never had it
	// Waiting counts the conversation's messages of no turn yet, up to MaxCounted. Only
	// who asks pays for it.
	Waiting func() int `json:"-"`
	// Question reads a question by its ID; nil: there is none. Only who asks pays for it.
	Question func(id string) *Question `json:"-"`
}

// Earlier is a message of the lane that was accepted before. With Turn "" it
// waits; its Change is ChangeDelete once it was deleted.
type Earlier struct {
	Inbox
	Running bool    // it is in the conversation's unfinished turn
	Now     Message // as it reads now, where its person has edited it since
	Last    int64   // Seq of Now
}

// MaxCounted is the largest count of Sight.Waiting: there may be more.
const MaxCounted = 256

// Route is the decision on one message. A dropped message is not stored and
// changes no other; its Deliveries are posted all the same.
type Route struct {
	Drop    bool
	Kind    RouteKind
	Person  PersonID
	Replace bool // Sight.Earlier has the Text and Attachments of Message from now on. KindInvalid: it does not wait
	// Forget: what Sight.Earlier says, in all its forms, is deleted: its rows stay, with
	// Change as ChangeDelete. So is what others quote of it, or come to quote later, and of
	// what was said in a turn of which nothing else is left. Its artifacts are gone. A Message
	// that is itself no change means the whole album of the earlier one.
	Forget bool
	// Redo: Sight.Earlier's turn, and all after it, is out of the history once this is
	// stored, and in place of Message the messages of that turn wait anew, as they read now.
	// Of a turn that is out of the history already nothing else goes.
	Redo       bool
	Offer      *Question // stored, with QuestionOffered; in place of one of its ID that nobody took
	Question   *Question // written back: settled, or with a nearer expiry. Settling wakes its turn
	Also       *Question // the same, of another one
	Deliveries []Delivery
}

// Accepted tells what a receive commit did.
type Accepted struct {
	Leases                []Lease // conversations of this process that have work and something new, or seen again
	Unsent                bool    // one of them has something to send, whoever left it
	Stored, Seen, Dropped int
}

// Inbox is an accepted message. Seq is per conversation, from 1, without gaps.
type Inbox struct {
	Seq      int64
	Person   PersonID
	Route    RouteKind
	Turn     string // "" while it waits
	Received time.Time
	Changed  int64 // Seq of the message that changed it last; 0 = none did
	Undoes   int64 // the first message of a redo: seq of the turn that is undone from there on, unless a turn before the redo takes it; 0 = it is none
	Message
}

// TurnState is how far a turn is.
type TurnState string

const (
	TurnRunning TurnState = "run"
	TurnParked  TurnState = "wait" // its question is open
	TurnDone    TurnState = "done"
)

// Outcome is how a turn ended.
type Outcome string

const (
	OutcomeAnswered   Outcome = "answered"
	OutcomeFailed     Outcome = "failed"
	OutcomeSuperseded Outcome = "superseded"
	OutcomeStopped    Outcome = "stopped"
)

// Turn is one piece of work: some messages of one person, and what became of
// them. Its ID is TurnID of its first message, the same before and after a crash.
type Turn struct {
	ID       string
	In       Conversation
	Person   PersonID
	State    TurnState
	Outcome  Outcome
	Question string // the last question it asked
	Started  time.Time
}

// StepKind is the kind of a journal row.
type StepKind string

const (
	StepReply  StepKind = "reply"  // a model's reply; its calls are the intents
	StepStart  StepKind = "start"  // a call begins now
	StepInput  StepKind = "input"  // messages that joined the turn
	StepResult StepKind = "result" // what a call gave
	StepFinal  StepKind = "final"  // what the person is told
	StepMemo   StepKind = "memo"   // what prompts say from here on instead of the turns before: a summary, or nothing
)

// Step is a journal row of a turn. Index is from 0 without gaps; Body is
// versioned JSON that belongs to core/agent; Call is the call's index in its reply.
type Step struct {
	Index int
	Kind  StepKind
	Call  int
	Body  json.RawMessage
}

// Change is what one commit adds to a turn. The first Change of a turn makes
// its row. A Step or a Delivery whose key is there already with the same
// content is left as it is: a commit of unknown outcome may be tried again.
type Change struct {
	Turn       string
	Person     PersonID
	Take       []int64 // waiting messages that belong to this turn from now on
	Changed    int64   // Work.Changed that it goes by. KindConflict: a message that it takes was changed after it
	Steps      []Step
	Ask        *Question
	Deliveries []Delivery
	Usage      []Spent
	Audit      []AuditEntry
}

// Spent is what one request to a model used, a failed one included where it cost
// something. It is booked by the commit that adds the step that it names, with
// that step and so once, however often the commit is made: of a step that is there
// already it is left out. KindInvalid: the change adds no such step.
type Spent struct {
	Step      int    // of the turn's journal, that the request was made for; one step may have several
	Agent     string // by its name in the config, as Model is
	Model     string
	Cost      Money     // 0 where it is not Priced
	Priced    bool      // the model's price is known
	Estimated bool      // the provider did not say: Tokens are an estimate
	At        time.Time // when it was spent, which is the day that it counts for; zero = at the commit
	Tokens
}

// Work is everything that a lane needs to go on with its conversation.
type Work struct {
	Turn     *Turn     // the unfinished turn, if there is one
	Taken    []Inbox   // its messages, joined ones and answers included, by seq
	Steps    []Step    // its journal
	Question *Question // its last question
	Waiting  []Inbox   // messages of no turn yet, by seq: the first 256, and stops behind them; the rest comes with the next Load
	Preview  *Preview  // of the turn: posted, and nothing said since has replaced it; ID and Posted alone
	Last     string    // ID of the last finished turn, as History has it; "" = none
	Deaths   Deaths    // of processes that had this work
	Changed  int64     // Seq of the conversation's last message that changed another; 0 = there is none
	Gone     int64     // of Turn, as Past.Gone
}

// Deaths counts how often a process died (a stop in order is no death) while a
// conversation had something to run, since the journal of its turns last grew;
// once it saw one, only where it had been taken up again (see Turns.Trial). A
// poisonous message looks the same as one that was only near when others killed:
// the deaths that it was alone for tell them apart.
type Deaths struct {
	All   int
	Alone int // of them: nothing else had anything to do, or this alone was on trial
}

// MaxDeaths is how many processes may die of one piece of work.
const MaxDeaths = 3

// Fatal reports whether so many processes died of it that it is given up.
func (d Deaths) Fatal() bool { return d.Alone >= MaxDeaths }

// Preview is a message that shows an answer in the making. What its turn says
// next replaces it by an edit.
type Preview struct {
	ID     string    // of its delivery: turn/…/preview
	Posted MessageID // "" = not yet
	Group  bool      // others are in the conversation
	Out    Outgoing  // what it goes out as; its text is what was said so far
}

// Past is a finished turn, for the history of a prompt.
type Past struct {
	Turn  Turn
	Inbox []Inbox
	Steps []Step
	// Gone is the seq of the first turn that lost a message, or a quote, to a deletion
	// since this turn's first message came in; 0 = none did.
	Gone int64
}

// Delivery is one platform message on its way out. ID is turn/step/part, or any
// other id that is the same after a crash; one that is there already is not
// added again. Order is that of the commits, then that of the slice.
type Delivery struct {
	ID       string
	Question string    // the question whose prompt this is
	Edits    string    // ID of the delivery that this one replaces by an edit where the platform can
	EditID   MessageID // filled in by Pending: what Edits was posted as; "" if it never was
	Optional bool      // may be dropped: taking buttons off, status
	Tries    int
	Out      Outgoing // its Since is filled in by Pending
}

// Receipt is what became of a delivery. With Failed set it was given up, for
// the reason in words; the conversation goes on.
type Receipt struct {
	ID     MessageID
	Failed string
}

// QuestionKind is what a question is about.
type QuestionKind string

const (
	QuestionApproval QuestionKind = "approval" // may this call run?
	QuestionForm     QuestionKind = "form"     // values for NeedsInput
	QuestionUnknown  QuestionKind = "unknown"  // a call's outcome is unknown: run again, skip, stop?
	QuestionStale    QuestionKind = "stale"    // is what was written long ago still wanted?
	QuestionRedo     QuestionKind = "redo"     // shall what was edited be done again? It is offered, not open: nothing waits for it
)

// QuestionState is how a question stands. All but open and offered are final.
type QuestionState string

const (
	QuestionOpen       QuestionState = "open"
	QuestionOffered    QuestionState = "offered" // may be answered, and keeps nothing from going on
	QuestionAnswered   QuestionState = "answered"
	QuestionSuperseded QuestionState = "superseded" // another message came
	QuestionExpired    QuestionState = "expired"
	QuestionStopped    QuestionState = "stopped"
)

// Question is an open question as a row. At most one is open in a conversation.
// It counts once, for the call Call of the reply at step Step, or for no call (-1).
type Question struct {
	ID      string            `json:"id"` // at most 16 of [a-z0-9]
	Turn    string            `json:"turn"`
	In      Conversation      `json:"in"`
	Person  PersonID          `json:"person"` // who alone may answer
	Kind    QuestionKind      `json:"kind"`
	Step    int               `json:"step"`
	Call    int               `json:"call"`
	Steps   int               `json:"steps"` // journal rows of the turn once it was asked
	Text    string            `json:"text"`
	Fields  []Field           `json:"fields,omitempty"`
	Answers map[string]string `json:"answers,omitempty"` // by field
	State   QuestionState     `json:"state"`
	Asked   time.Time         `json:"asked"`
	Expires time.Time         `json:"expires"`
	// GroupWait is how long it stays open, at most, once a message of another
	// person waits for it.
	GroupWait time.Duration   `json:"group_wait,omitempty"`
	Prompt    string          `json:"prompt"`           // the Delivery that asks it
	Posted    MessageID       `json:"posted,omitempty"` // what the prompt was posted as
	Reply     json.RawMessage `json:"reply,omitempty"`
	About     MessageID       `json:"about,omitempty"` // of QuestionRedo: the message that was edited
}

// The field of every question but a form, and its values.
const (
	AnswerField = "do"
	AnswerYes   = "yes"
	AnswerNo    = "no"
	AnswerAgain = "again"
	AnswerSkip  = "skip"
	AnswerStop  = "stop"
)

// About is what a question of a turn is about: a call of one of its replies, or
// what its person wrote.
type About struct {
	Turn   string
	In     Conversation
	Person PersonID
	Steps  int // journal rows once the question's own commit is done
	Taken  int // messages of the turn, answers included: a question may be put again between two rows
	Step   int // index of the reply; -1 = none
	Call   int // index of the call in it; -1 = none
	Tool   Call
	Said   string          // what the person wrote; set where the question is about that
	At     time.Time       // when they wrote it
	Reply  json.RawMessage // Message.Reply of what the turn answers
}

// Busy is what becomes of a message that comes while a turn of its conversation
// runs.
type Busy string

const (
	BusyQueue     Busy = "queue"     // it waits; the next turn takes all that waited
	BusySteer     Busy = "steer"     // it joins the running turn at its next step; the next turn takes it if there is none
	BusyInterrupt Busy = "interrupt" // it ends the running turn as superseded, and begins one anew
	BusyCollect   Busy = "collect"   // as queue, and each turn waits for a second of silence before it begins
)

// Settings are what the people of a conversation chose for it; "" is as the agent
// has it.
type Settings struct {
	Model string `json:"model,omitempty"` // asked first; by its name in the config
	Busy  Busy   `json:"busy,omitempty"`
}

// Field is one value that a question asks for.
type Field struct {
	Name     string          `json:"name"`
	Label    string          `json:"label,omitempty"`
	Choices  []Choice        `json:"choices,omitempty"`
	Required bool            `json:"required,omitempty"`
	Schema   json.RawMessage `json:"schema,omitempty"` // JSON Schema of the value
}

// Answer is what came of a question that a live call waits for.
type Answer struct {
	State  QuestionState
	Values map[string]string
}
