package ports

import (
	"context"
	"encoding/json"
)

// ModelPort is a language model. Safe for many goroutines.
type ModelPort interface {
	// Generate makes one reply. onText, if not nil, is called with each piece of
	// visible text as it arrives, from the calling goroutine, never after
	// Generate returned; the reply is whole either way. Generate succeeds only
	// if the provider marked the end of its reply: a stream that just stops is
	// KindProtocol, and no call in it may run. It does not retry.
	// KindRateLimited carries RetryAfter; KindTooLarge means that the request is
	// beyond the context window; KindRefused that the provider's filter spoke.
	Generate(ctx context.Context, r ModelRequest, onText func(delta string)) (ModelReply, error)
}

// ModelRequest is a prompt. Entries are in order; each Call of an assistant
// entry is answered by a tool entry that follows.
type ModelRequest struct {
	System    string
	Entries   []Entry
	Tools     []ToolSpec // Name is what the model sees; sorted by it; the adapter projects the schema
	MaxTokens int        // of the reply; 0 = the adapter's default
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

// Tokens is what a reply cost. CachedInput is part of Input.
type Tokens struct {
	Input       int `json:"input"`
	CachedInput int `json:"cached_input,omitempty"`
	Output      int `json:"output"`
}
