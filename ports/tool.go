package ports

import (
	"context"
	"encoding/json"
	"time"
)

// ToolPort is one tool that a model may call. Safe for many goroutines.
type ToolPort interface {
	// Spec is fixed for the life of the value: a changed tool is a new ToolPort
	// in a new Catalog.
	Spec() ToolSpec
	// Call runs the tool once and never twice, whatever goes wrong. A tool that
	// says it failed is a result (IsError); an error means that the tool did not
	// answer: KindTimeout, KindCancelled, KindUnavailable (not connected: it was
	// never asked), KindUnsure (it was asked, and then lost: it may have run),
	// KindProtocol (nonsense on the wire), KindNotFound (the server no longer
	// has it), KindInvalid (the server refuses the arguments as such),
	// KindUnauthorized (the server refuses our login), KindTooLarge (the answer
	// is beyond a limit: it ran).
	// When ctx ends the tool's server is told to stop, and Call returns.
	Call(ctx context.Context, call ToolCall, host Host) (ToolResult, error)
}

// ToolSpec describes a tool to the model and to the core.
type ToolSpec struct {
	Server       string          `json:"server,omitempty"` // stamped by the gateway; "" = built in
	Name         string          `json:"name"`             // as its server calls it; in a ModelRequest as the model sees it
	Title        string          `json:"title,omitempty"`
	Description  string          `json:"description,omitempty"`
	InputSchema  json.RawMessage `json:"input_schema"` // pristine, as the server wrote it
	OutputSchema json.RawMessage `json:"output_schema,omitempty"`
	Class        Class           `json:"class"` // read or idempotent only where the admin trusts the source
}

// Class says what running a tool again can do.
type Class string

const (
	ClassUnsafe     Class = "unsafe"     // changes the world, or nobody knows
	ClassIdempotent Class = "idempotent" // running it again with the same key changes nothing more
	ClassRead       Class = "read"       // changes nothing; may run beside others
)

// Policy is what the admin decided for a tool.
type Policy string

const (
	PolicyAllow Policy = "allow"
	PolicyAsk   Policy = "ask"
	PolicyDeny  Policy = "deny"
)

// Outcome of a tool call, as the model, the log and the metrics name it.
type CallOutcome string

const (
	CallOK            CallOutcome = "ok"
	CallToolError     CallOutcome = "tool_error"      // ran, and says it failed
	CallInvalidParams CallOutcome = "invalid_params"  // the arguments break the schema
	CallNotFound      CallOutcome = "tool_not_found"  // no such tool
	CallTimeout       CallOutcome = "timeout"         // no answer in time
	CallTransport     CallOutcome = "transport_error" // not connected, or died
	CallProtocol      CallOutcome = "protocol_error"  // malformed messages
	CallDenied        CallOutcome = "denied"          // by policy or by the person
	CallCancelled     CallOutcome = "cancelled"       // given up; outcome unknown
	CallInterrupted   CallOutcome = "interrupted"     // cut off by a crash; outcome unknown
)

// Ruling is the toolbox's verdict on a call before it runs. Outcome is set when
// the call cannot run at all (unknown tool, bad arguments, deny), with Why in
// words for the model.
type Ruling struct {
	Policy  Policy      `json:"policy,omitempty"`
	Class   Class       `json:"class,omitempty"`
	Outcome CallOutcome `json:"outcome,omitempty"`
	Why     string      `json:"why,omitempty"`
}

// NeedsApproval reports whether a person has to say yes before the call runs.
// The turn is parked meanwhile.
func (r Ruling) NeedsApproval() bool { return r.Outcome == "" && r.Policy == PolicyAsk }

// Call is what a model asked for.
type Call struct {
	ID        string          `json:"id"`              // the provider's name for this call
	Name      string          `json:"name"`            // the tool as the model sees it
	Arguments json.RawMessage `json:"arguments"`       // a JSON object; {} if the model gave none
	State     json.RawMessage `json:"state,omitempty"` // the provider's own, opaque
}

// ToolCall is a Call on its way to a tool.
type ToolCall struct {
	Call
	Turn   string
	Person PersonID
	In     Conversation
	Key    string  // idempotency key, turn/replyStep/callIndex: the same when the call is run again
	Resume *Resume // set when the call goes on after NeedsInput
}

// Resume continues a call that needed input.
type Resume struct {
	State   json.RawMessage   `json:"state"`
	Answers map[string]string `json:"answers"`
}

// ToolResult is what a tool said.
type ToolResult struct {
	Content    []Block         `json:"content"`
	Structured json.RawMessage `json:"structured,omitempty"`
	IsError    bool            `json:"is_error,omitempty"`
	NeedsInput *NeedsInput     `json:"needs_input,omitempty"` // not done: the turn is parked, the answers come in a new Call
}

// CallResult is what became of a call, ready for the journal, the model and the
// log: the toolbox makes it of a ToolResult or of an error. Text is capped; what
// was cut off is kept as an Artifact that Text names.
type CallResult struct {
	Outcome    CallOutcome     `json:"outcome"`
	Text       string          `json:"text"`
	Blocks     []Block         `json:"blocks,omitempty"` // images and audio, for models that take them
	Files      []File          `json:"files,omitempty"`  // pictures, recordings and files: the person gets them behind the answer
	Links      []Block         `json:"links,omitempty"`  // into the web: the person gets those that the answer does not name
	NeedsInput *NeedsInput     `json:"needs_input,omitempty"`
	Structured json.RawMessage `json:"-"`
	Content    []Block         `json:"-"` // all of it, for an admin's call
}

// NeedsInput asks the person for values before the call can go on.
type NeedsInput struct {
	Text     string          `json:"text,omitempty"` // what the tool says about it
	Requests []Field         `json:"requests"`
	State    json.RawMessage `json:"state"`
}

// Block is one piece of content. Kind says which of the others are set.
type Block struct {
	Kind BlockKind `json:"kind"`
	Text string    `json:"text,omitempty"`
	MIME string    `json:"mime,omitempty"`
	Data []byte    `json:"data,omitempty"`
	URI  string    `json:"uri,omitempty"`
	Name string    `json:"name,omitempty"`
	Size int64     `json:"size,omitempty"` // of what a link leads to, in bytes; 0 = not told
}

// BlockKind is the kind of a Block.
type BlockKind string

const (
	BlockText     BlockKind = "text"     // Text
	BlockImage    BlockKind = "image"    // MIME, Data
	BlockAudio    BlockKind = "audio"    // MIME, Data
	BlockResource BlockKind = "resource" // URI, MIME, Text or Data
	BlockLink     BlockKind = "link"     // URI, Name, MIME, Size, Text (its description); Data, where its source has read it
)

// ToolSource is where tools come from: one MCP server, say.
type ToolSource interface {
	// Run connects, registers what it found, and keeps connected until ctx ends;
	// then it ends every process and connection it made and returns nil or ctx's
	// error. A server that cannot be reached is a State, not an end: Run tries
	// again by itself. It never panics and never uses reg after it returned.
	Run(ctx context.Context, reg Registrar) error
}

// Registrar is what a source is handed. Its methods return at once and are safe
// for many goroutines.
type Registrar interface {
	// Register replaces everything this source offers. A server that is lost
	// unregisters nothing: calls to its tools fail with KindUnavailable.
	Register(c Catalog)
	// State replaces what is known about the source's health.
	State(s State)
}

// Catalog is all that a source offers at a moment.
type Catalog struct {
	Tools     []ToolPort
	Prompts   []PromptSpec
	Resources []ResourceSpec
}

// PromptSpec describes a prompt template of a source.
type PromptSpec struct {
	Name, Title, Description string
	Arguments                []PromptArgument
}

// PromptArgument is one argument of a prompt.
type PromptArgument struct {
	Name, Description string
	Required          bool
}

// ResourceSpec describes something to read at a source. Template marks an RFC 6570 URI template.
type ResourceSpec struct {
	URI, Name, Description, MIME string
	Template                     bool
}

// Phase is where a source stands.
type Phase string

const (
	PhaseConnecting Phase = "connecting"
	PhaseReady      Phase = "ready"
	PhaseIdle       Phase = "idle"     // not connected, for want of work: the next call connects
	PhaseDegraded   Phase = "degraded" // lost; its tools stay listed, a new try is under way
	PhaseParked     Phase = "parked"   // will not try again by itself: Err says why
	PhaseStopped    Phase = "stopped"
	PhaseDisabled   Phase = "disabled" // by the config or an admin; the gateway says so, never a source
)

// State is a source's health, for people.
type State struct {
	Phase     Phase  `json:"state"`
	Err       string `json:"last_error"` // the last failure, in words; no secrets
	Transport string `json:"transport"`  // stdio, http
	Protocol  string `json:"protocol_version"`
	Peer      string `json:"peer"` // what the server calls itself, with its version
	Restarts  int    `json:"restarts"`
	// Connections is how many there are now: one at most, unless people or conversations have their own.
	Connections int           `json:"connections"`
	RetryIn     time.Duration `json:"retry_in,omitempty"`
	Login       string        `json:"login,omitempty"`  // where an admin logs the gateway in to the server; "" = no login is wanted
	Stderr      []string      `json:"stderr,omitempty"` // the last lines a child printed
}

// Callable reports whether a call has a good chance now: there is a connection,
// or the call makes one.
func (p Phase) Callable() bool { return p == PhaseReady || p == PhaseIdle }

// PromptSource renders a prompt of the source.
type PromptSource interface {
	Prompt(ctx context.Context, name string, args map[string]string) ([]Entry, error)
}

// ResourceSource reads a resource of the source.
type ResourceSource interface {
	Resource(ctx context.Context, uri string) ([]Block, error)
}

// Completer suggests values for a prompt's or template's argument.
type Completer interface {
	Complete(ctx context.Context, ref, argument, prefix string) ([]string, error)
}

// Reconnector drops a source's connection and makes a new one now.
type Reconnector interface {
	Reconnect(ctx context.Context) error
}

// Rejoiner is a ToolPort whose calls may outlive the process that made them: a
// call that its server runs as a task.
type Rejoiner interface {
	// Rejoin takes up a call that an earlier process began, and gives its result.
	// It never starts anything. call has the Key of that call. KindNotFound: it is
	// not known to run anywhere; then nobody knows what became of it. Otherwise
	// as ToolPort.Call.
	Rejoin(ctx context.Context, call ToolCall, host Host) (ToolResult, error)
}

// Host is what a running tool may ask of the gateway. It serves one call and
// dies with it. Safe for many goroutines.
type Host interface {
	// Ask puts a question to the call's person and waits. Only for servers whose
	// live request waits (protocols up to 2025-11-25). KindInvalid: nobody can be asked.
	Ask(ctx context.Context, q Question) (Answer, error)
	// Sample asks the turn's model, within the turn's budget.
	Sample(ctx context.Context, r ModelRequest) (ModelReply, error)
	// Progress tells how far the call is. Best effort, never blocks.
	Progress(ctx context.Context, p Progress)
}

// Progress of a running call. Total 0 = unknown.
type Progress struct {
	Done, Total float64
	Text        string
}
