package ports

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"time"
)

// ModelPort is a language model. Safe for many goroutines.
type ModelPort interface {
	// Generate makes one reply. onText, if not nil, is called with each piece of
	// visible text as it arrives, from the calling goroutine, never after
	// Generate returned; the reply is whole either way. Generate succeeds only
	// if the provider marked the end of its reply: a stream that just stops is
	// KindProtocol, and no call in it may run. It does not retry.
	// KindRateLimited carries RetryAfter; KindTooLarge means that the request is
	// beyond the context window; KindRefused that the provider's filter spoke;
	// KindInvalid with a *RefusedTool in its chain that the provider does not take
	// the definition of that tool.
	Generate(ctx context.Context, r ModelRequest, onText func(delta string)) (ModelReply, error)
}

// ModelDescriber is an ability of a model: it says what is known of it before it
// is asked.
type ModelDescriber interface {
	// Facts are fixed for the life of the value. No I/O.
	Facts() ModelFacts
}

// ModelFacts are what is known of a model. Of a model that is no ModelDescriber
// the zero value holds: nothing is known.
type ModelFacts struct {
	ContextTokens int           // the window, of prompt and reply together; 0 = unknown
	MaxTokens     int           // of a reply, where the request names no bound; 0 = unknown
	Price         *Price        // nil = unknown
	Images, Audio bool          // takes them in a prompt; else the adapter says in words that there was one
	CacheFor      time.Duration // how long the provider keeps the prefix of a prompt; 0 = unknown
}

// Price is what a model costs, in US dollars per million tokens.
type Price struct {
	Input       float64 `json:"input"`
	CachedInput float64 `json:"cached_input"`
	CacheWrite  float64 `json:"cache_write"`
	Output      float64 `json:"output"`
}

// Cost is what a reply that used these tokens costs.
func (p Price) Cost(t Tokens) Money {
	fresh := t.Input - t.CachedInput - t.CacheWrite
	dollars := (float64(fresh)*p.Input + float64(t.CachedInput)*p.CachedInput + float64(t.CacheWrite)*p.CacheWrite + float64(t.Output)*p.Output) / 1e6
	return Dollars(dollars)
}

// Money is an amount in billionths of a US dollar.
type Money int64

// Dollars makes Money of dollars, rounded up: what is reckoned with is never
// less than what is paid.
func Dollars(d float64) Money { return Money(math.Ceil(d * 1e9)) }

// Dollars is the amount in dollars.
func (m Money) Dollars() float64 { return float64(m) / 1e9 }

// String is the amount as people read it: two digits behind the point, of less than
// a dollar four.
func (m Money) String() string {
	if m < 1e9 && m > -1e9 && m != 0 {
		return fmt.Sprintf("$%.4f", m.Dollars())
	}
	return fmt.Sprintf("$%.2f", m.Dollars())
}

// RefusedTool is the cause of a KindInvalid error of Generate: the provider
// refused the whole request for this one tool's definition.
type RefusedTool struct {
	Name string // as the model sees it
	Err  error
}

// Error is for logs.
func (e *RefusedTool) Error() string { return "tool " + e.Name + " is refused: " + e.Err.Error() }

// Unwrap gives the cause.
func (e *RefusedTool) Unwrap() error { return e.Err }

// ModelRequest is a prompt. Entries are in order; each Call of an assistant
// entry is answered by a tool entry that follows. Equal beginnings of two requests
// are written down in equal bytes, so that providers find them in their caches.
type ModelRequest struct {
	System    string
	Entries   []Entry
	Tools     []ToolSpec // Name is what the model sees; in this order; the adapter projects the schema
	NoCalls   bool       // Tools are listed as ever, but the reply must be text alone
	MaxTokens int        // of the reply; 0 = the adapter's default
	CacheKey  string     // the same for all requests of a conversation, and opaque; "" = none
}

// EntryRole is who an Entry is from.
type EntryRole string

const (
	RoleUser      EntryRole = "user"
	RoleAssistant EntryRole = "assistant"
	RoleTool      EntryRole = "tool"
)

// Entry is one message of a prompt. State is the provider's own and opaque; it
// goes back only to the adapter whose ModelReply.Model it came with.
type Entry struct {
	Role    EntryRole       `json:"role"`
	Text    string          `json:"text,omitempty"`
	Blocks  []Block         `json:"blocks,omitempty"`  // images and audio beside the text
	Calls   []Call          `json:"calls,omitempty"`   // of an assistant entry
	CallID  string          `json:"call_id,omitempty"` // of a tool entry: which call it answers
	IsError bool            `json:"is_error,omitempty"`
	State   json.RawMessage `json:"state,omitempty"`
	Model   string          `json:"model,omitempty"` // who made State
}

// StopReason is why a reply ended.
type StopReason string

const (
	StopEnd    StopReason = "end"    // said all
	StopCalls  StopReason = "calls"  // waits for tool results
	StopLength StopReason = "length" // cut at MaxTokens
)

// ModelReply is a whole reply. A reply with Calls wants their results; Text may
// stand beside them.
type ModelReply struct {
	Text  string          `json:"text,omitempty"`
	Calls []Call          `json:"calls,omitempty"`
	State json.RawMessage `json:"state,omitempty"`
	Model string          `json:"model"` // provider and model, for State and for usage
	Stop  StopReason      `json:"stop"`
	Usage Tokens          `json:"usage"`
}

// Tokens is what a reply used. CachedInput and CacheWrite are parts of Input:
// read from the provider's cache, and written to it.
type Tokens struct {
	Input       int `json:"input"`
	CachedInput int `json:"cached_input,omitempty"`
	CacheWrite  int `json:"cache_write,omitempty"`
	Output      int `json:"output"`
}
