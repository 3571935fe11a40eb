package ports

import (
	"context"
	"encoding/json"
	"time"
)

// Admin is what an admin may see and do: the command line over the control
// socket today, a console later. The gateway implements it; the adapters that
// serve it to somebody take it. Safe for many goroutines.
type Admin interface {
	// Ready reports whether the gateway can do its work, and what it lacks.
	Ready(ctx context.Context) Readiness
	// Servers lists the tool sources by name.
	Servers(ctx context.Context) ([]ServerInfo, error)
	// Tools lists all tools by name. KindUnavailable never: a server that is
	// down lists the tools it last had.
	Tools(ctx context.Context) ([]ToolInfo, error)
	// CallTool calls one tool as an admin: "deny" holds, "ask" is skipped, and the
	// call is audited. timeout 0 = the server's own. What goes wrong with the
	// call is in the report's Outcome.
	CallTool(ctx context.Context, name string, args json.RawMessage, timeout time.Duration) (CallReport, error)
	// Reconnect drops a server's connection, makes a new one and waits for it, not
	// much longer than the server's time-out. What came of it is in the answer's
	// Phase and Err. Calls in flight end with an unknown outcome. KindNotFound: no
	// such server; KindInvalid: it is disabled; KindTimeout: it was busy for so long.
	Reconnect(ctx context.Context, name string) (ServerInfo, error)
	// SetEnabled starts a server, or stops it: its process is gone when it returns
	// and its tools are no longer there. That holds over restarts, until the
	// config's own word on it changes. One that is started is waited for as by
	// Reconnect. KindNotFound: no such server; KindInvalid: the config starts none.
	SetEnabled(ctx context.Context, name string, enabled bool) (ServerInfo, error)
	// Pairings lists who asked for access and who has it.
	Pairings(ctx context.Context) ([]Pairing, error)
	// Approve lets in whoever was given this code. KindNotFound: no such code, or too old.
	Approve(ctx context.Context, code string, role Role) (Pairing, error)
	// Revoke takes a person's access away, by person id or by channel:user. KindNotFound: no such person.
	Revoke(ctx context.Context, id string) (Pairing, error)
	// Entries reads the last limit entries of the audit, newest first.
	Entries(ctx context.Context, limit int) ([]AuditEntry, error)
	Usage
}

// Role of a person.
type Role string

const (
	RoleNone   Role = ""
	RoleMember Role = "user"
	RoleAdmin  Role = "admin"
)

// Readiness is the body of /readyz.
type Readiness struct {
	Ready    bool           `json:"ready"`
	Store    string         `json:"store"`    // "ok" or what is wrong
	Channels []ChannelState `json:"channels"` // by name
	Servers  map[string]int `json:"servers"`  // how many are in each phase
}

// ChannelState is how a channel stands.
type ChannelState struct {
	Name  string `json:"name"`
	State string `json:"state"` // running | degraded | stopped
	Err   string `json:"error,omitempty"`
}

// ServerInfo is one tool source as an admin sees it.
type ServerInfo struct {
	Name  string `json:"name"`
	Tools int    `json:"tools"`
	// DisabledBy is whose word keeps it from being started, ByConfig or ByAdmin,
	// and DisabledAt when an admin said so; "" and zero where it is enabled.
	DisabledBy string    `json:"disabled_by"`
	DisabledAt time.Time `json:"disabled_at,omitzero"`
	State
}

// Whose word disables a server.
const (
	ByConfig = "config"
	ByAdmin  = "admin"
)

// Checker is an ability of an adapter that reaches out: Check finds out whether
// what it would use is there and lets us in, by a request that changes nothing,
// and says what it found, in a few words. No Run is needed.
type Checker interface {
	Check(ctx context.Context) (found string, err error)
}

// ToolInfo is one tool as an admin sees it.
type ToolInfo struct {
	Name        string          `json:"name"`   // as the model sees it
	Server      string          `json:"server"` // "" = built in
	Tool        string          `json:"tool"`   // as its server calls it
	Title       string          `json:"title"`
	Description string          `json:"description"`
	InputSchema json.RawMessage `json:"input_schema"`
	Policy      Policy          `json:"policy"`
	State       string          `json:"state"` // ready | unavailable
}

// CallReport is what a call by an admin gave.
type CallReport struct {
	Server     string          `json:"server"`
	Tool       string          `json:"tool"`
	Outcome    CallOutcome     `json:"outcome"`
	Content    []Block         `json:"content"`
	Text       string          `json:"text"`
	Structured json.RawMessage `json:"structured"`
	IsError    bool            `json:"is_error"`
}

// Pairing is a person who asked for access, or has it.
type Pairing struct {
	ID       string    `json:"id,omitempty"`   // the person, once let in
	Code     string    `json:"code,omitempty"` // while waiting
	Identity string    `json:"identity"`       // channel:user
	Name     string    `json:"name,omitempty"`
	Role     Role      `json:"role,omitempty"`
	State    string    `json:"state"` // waiting | approved
	Expires  time.Time `json:"expires,omitzero"`
}
