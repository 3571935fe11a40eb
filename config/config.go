package config

import "time"

// Config is dragoman.json with defaults filled in and variables put in.
type Config struct {
	Schema     string             `json:"$schema"`
	Version    int                `json:"version" default:"1" validate:"eq=1"`
	DataDir    string             `json:"data_dir" default:"./dragoman-data" validate:"required" format:"path"`
	Listen     string             `json:"listen" default:"127.0.0.1:7420"` // "" = none
	Store      Store              `json:"store"`
	Models     map[string]Model   `json:"models" validate:"dive"`
	Agents     map[string]Agent   `json:"agents" validate:"dive"` // never empty
	Channels   map[string]Channel `json:"channels" validate:"dive"`
	MCP        MCP                `json:"mcp"`
	MCPServers map[string]Server  `json:"mcp_servers" alias:"mcpServers" validate:"dive"`
	Tools      Tools              `json:"tools"`
	Ask        Ask                `json:"ask"`
	Access     Access             `json:"access"`
	People     map[string]Person  `json:"people" validate:"dive"`
	Limits     Limits             `json:"limits"`
	Log        Log                `json:"log"`

	Dir string `json:"-"` // the folder that relative paths start from
}

// Store is where everything is kept.
type Store struct {
	Type string `json:"type" default:"sqlite" validate:"oneof=sqlite"`
	Sync string `json:"sync" default:"full" validate:"oneof=full normal"`
}

// Model is one language model; the section is its adapter's.
type Model struct {
	Type string `json:"type" validate:"required"`
	Section
}

// Agent is what answers in a channel.
type Agent struct {
	Models       []string      `json:"models"` // in order of fallback; absent: all, in the order of the file
	Instructions string        `json:"instructions"`
	MCPServers   []string      `json:"mcp_servers" default:"[\"*\"]"` // "*" = all
	Tools        Filter        `json:"tools"`
	MaxSteps     int           `json:"max_steps" default:"20" validate:"gt=0"`
	TurnTimeout  time.Duration `json:"turn_timeout" default:"10m" validate:"gt=0"`
}

// Filter chooses tools by patterns; what Deny names is out.
type Filter struct {
	Allow []string `json:"allow" default:"[\"*\"]"`
	Deny  []string `json:"deny"`
}

// Channel is one bot account; the section is its adapter's.
type Channel struct {
	Type          string         `json:"type" validate:"required"`
	Agent         string         `json:"agent"` // absent: the only one, else "main"
	Access        AccessOverride `json:"access"`
	SendsInFlight int            `json:"sends_in_flight" default:"8" validate:"gt=0"`
	Section
}

// MCP holds for every MCP server that does not say otherwise.
type MCP struct {
	Enabled     bool          `json:"enabled" default:"true"`
	Timeout     time.Duration `json:"timeout" default:"15s" validate:"gt=0"`
	CallTimeout time.Duration `json:"call_timeout" default:"60s" validate:"gt=0"`
}

// Server is one MCP server; the section is its adapter's and has the time-outs
// of MCP as defaults.
type Server struct {
	Enabled bool   `json:"enabled" default:"true"`
	Tools   Filter `json:"tools"`
	Section
}

// Tools is the policy for calls. Policy goes from a pattern to allow, ask or
// deny; Default holds where no pattern does.
type Tools struct {
	Policy      map[string]string `json:"policy" validate:"dive,oneof=allow ask deny"`
	Default     string            `json:"default" default:"ask" validate:"oneof=allow ask deny"`
	ResultBytes int               `json:"result_bytes" default:"16384" validate:"gt=0"`
}

// Ask is about questions that wait for a person.
type Ask struct {
	Expires   time.Duration `json:"expires" default:"24h" validate:"gt=0"`
	OnMessage string        `json:"on_message" default:"supersede" validate:"oneof=supersede wait"`
	GroupWait time.Duration `json:"group_wait" default:"2m" validate:"gte=0"`
}

// Access is who may talk to the bot.
type Access struct {
	Mode   string `json:"mode" default:"pairing" validate:"oneof=pairing allowlist open"`
	Groups string `json:"groups" default:"mention" validate:"oneof=mention all off"`
	Rate   Rate   `json:"rate" default:"30/1m"` // messages of one person
}

// AccessOverride is what a channel says otherwise; nil is as Access has it.
type AccessOverride struct {
	Mode   *string `json:"mode" validate:"omitempty,oneof=pairing allowlist open"`
	Groups *string `json:"groups" validate:"omitempty,oneof=mention all off"`
	Rate   *Rate   `json:"rate"`
}

// With is the access of a channel that says some of it otherwise.
func (a Access) With(o AccessOverride) Access {
	if o.Mode != nil {
		a.Mode = *o.Mode
	}
	if o.Groups != nil {
		a.Groups = *o.Groups
	}
	if o.Rate != nil {
		a.Rate = *o.Rate
	}
	return a
}

// Person is one human being across channels.
type Person struct {
	IDs  []string `json:"ids"` // channel:user
	Role string   `json:"role" default:"user" validate:"oneof=admin user"`
}

// Limits bound the work of this process.
type Limits struct {
	Turns        int           `json:"turns" default:"1024" validate:"gt=0"` // at a time
	DrainTimeout time.Duration `json:"drain_timeout" default:"20s" validate:"gte=0"`
}

// Log is how the program logs. Format "" lets it choose: pretty on a terminal, else json.
type Log struct {
	Format string `json:"format" validate:"omitempty,oneof=pretty json"`
	Level  string `json:"level" default:"info" validate:"oneof=debug info warn error"`
}
