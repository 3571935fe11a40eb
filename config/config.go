package config

import "time"

// Config is dragoman.json with defaults filled in and variables put in.
type Config struct {
	Schema     string             `json:"$schema" doc:"Where an editor finds the JSON Schema of this file: dragoman schema prints it"`
	Version    int                `json:"version" default:"1" validate:"eq=1" doc:"Version of this file's grammar"`
	DataDir    string             `json:"data_dir" default:"./dragoman-data" validate:"required" format:"path" doc:"Folder of all data, relative to this file"`
	SecretKey  Secret             `json:"secret_key" validate:"omitempty,min=16" doc:"Seals the tokens of logins to MCP servers; absent: made once, in the file secret-key of data_dir"`
	Listen     string             `json:"listen" default:"127.0.0.1:7420" doc:"Host and port of the web chat, /healthz, /readyz and /metrics; empty = none"`
	PublicURL  string             `json:"public_url" doc:"Where browsers reach this gateway from outside, as https://bot.example.org; logins to MCP servers come back there"`
	Admin      Admin              `json:"admin" doc:"How admins and their machines get in over HTTP"`
	Store      Store              `json:"store" doc:"Where everything is kept"`
	Models     map[string]Model   `json:"models" validate:"dive" doc:"Language models by name; absent: the first found of a key in the environment, Ollama, demo"`
	Agents     map[string]Agent   `json:"agents" validate:"dive" doc:"What answers in channels, by name; absent: one named main"` // never empty
	Channels   map[string]Channel `json:"channels" validate:"dive" doc:"Bot accounts and the web chat, by name"`
	MCP        MCP                `json:"mcp" doc:"Holds for every MCP server that does not say otherwise"`
	MCPServers map[string]Server  `json:"mcp_servers" alias:"mcpServers" validate:"dive" doc:"MCP servers by name, which begins their tools' names: NAME__TOOL"`
	Tools      Tools              `json:"tools" doc:"What tools may do"`
	Ask        Ask                `json:"ask" doc:"Questions that wait for a person"`
	Access     Access             `json:"access" doc:"Who may talk to the bot; a channel may say otherwise"`
	People     map[string]Person  `json:"people" validate:"dive" doc:"People you know already, by name"`
	Limits     Limits             `json:"limits" doc:"Bounds of this process's work"`
	Log        Log                `json:"log" doc:"How the program logs"`

	Dir string `json:"-"` // the folder that relative paths start from

	patterns []pattern    // those of Tools.Policy
	ids      []platformID // of chats and people
}

// Admin is how admins and their machines get in over HTTP.
type Admin struct {
	Token Secret `json:"token" validate:"omitempty,min=16,printascii" doc:"Bearer token of /metrics; absent: made once, in the file admin-token of data_dir"`
}

// Store is where everything is kept.
type Store struct {
	Type string `json:"type" default:"sqlite" validate:"oneof=sqlite" doc:"Kind of store"`
	Path string `json:"path" format:"path" doc:"Database file, relative to this file, that is there already: a backup, say; empty = dragoman.db in data_dir"`
	Sync string `json:"sync" default:"full" validate:"oneof=full normal" doc:"full: a commit survives a power cut; normal: it may lose the last moments then"`
}

// Model is one language model; the section is its adapter's.
type Model struct {
	Type string `json:"type" validate:"required" doc:"What the model speaks"`
	Section
}

// Agent is what answers in a channel.
type Agent struct {
	Models       []string      `json:"models" validate:"unique" doc:"Names of models in order of fallback; absent: all, in the order of the file"`
	Instructions string        `json:"instructions" doc:"What the model is told about its work"`
	MCPServers   []string      `json:"mcp_servers" default:"[\"*\"]" doc:"Names of the MCP servers it may use; * = all"`
	Tools        Filter        `json:"tools" doc:"Which tools it may use, by the names that the model sees: SERVER__TOOL"`
	MaxSteps     int           `json:"max_steps" default:"20" validate:"gt=0" doc:"Replies of the model in one turn at most"`
	TurnTimeout  time.Duration `json:"turn_timeout" default:"10m" validate:"gt=0" doc:"How long one turn may take"`
	Busy         string        `json:"busy" default:"queue" validate:"oneof=queue steer interrupt collect" doc:"A message that comes while a turn runs: waits, joins its next step, ends it, or waits for a second of silence"`
	// A call that was refused, or that its person stopped, did not fail.
	OnToolFailure string `json:"on_tool_failure" default:"tell_model" validate:"oneof=tell_model stop" doc:"A tool that fails: the model is told and goes on, or the turn ends"`
}

// Filter chooses tools by patterns; what Deny names is out.
type Filter struct {
	Allow []string `json:"allow" default:"[\"*\"]" doc:"Patterns of names that are in"`
	Deny  []string `json:"deny" doc:"Patterns of names that are out, whatever allow says"`
}

// Channel is one bot account; the section is its adapter's.
type Channel struct {
	Type          string          `json:"type" validate:"required" doc:"The chat platform"`
	Agent         string          `json:"agent" doc:"Name of the agent that answers; absent: the only one, else main"`
	Chats         map[string]Chat `json:"chats" validate:"dive" doc:"Chats that differ, by their id on the platform: /status tells it"`
	Access        AccessOverride  `json:"access" doc:"Who may talk to the bot here, where it differs"`
	SendsInFlight int             `json:"sends_in_flight" default:"8" validate:"gt=0" doc:"Sends at a time; as many may repeat after a crash"`
	Section
}

// Chat is a chat of a channel, all its threads together, that differs from the others.
type Chat struct {
	Agent string `json:"agent" validate:"required" doc:"Name of the agent that answers in this chat"`
}

// MCP holds for every MCP server that does not say otherwise.
type MCP struct {
	Enabled     bool          `json:"enabled" default:"true" doc:"false: no MCP server is started"`
	Timeout     time.Duration `json:"timeout" default:"15s" validate:"gt=0" doc:"How long a server may take until its tools are listed"`
	CallTimeout time.Duration `json:"call_timeout" default:"60s" validate:"gt=0" doc:"How long one tool call may take"`
}

// Server is one MCP server; the section is its adapter's and has the time-outs
// of MCP as defaults.
type Server struct {
	Enabled bool        `json:"enabled" default:"true" doc:"false: the server is left alone"`
	Tools   ServerTools `json:"tools" doc:"What you say of its tools, by the server's own names"`
	Section
}

// ServerTools is what the admin says of a server's tools, by patterns of its own names.
type ServerTools struct {
	Filter
	ReadOnly   []string `json:"read_only" doc:"Patterns of tools that change nothing: several run at once, and one that a crash cut off runs again"`
	Idempotent []string `json:"idempotent" doc:"Patterns of tools that change nothing more when run again: one that a crash cut off does"`
}

// Tools is the policy for calls.
type Tools struct {
	Policy      map[string]string `json:"policy" validate:"dive,oneof=allow ask deny" doc:"By pattern of the name, SERVER__TOOL: allow, ask first, or deny"`
	Default     string            `json:"default" default:"ask" validate:"oneof=allow ask deny" doc:"Holds where no pattern does"`
	ResultBytes int               `json:"result_bytes" default:"16384" validate:"gt=0" doc:"Bytes of a result that the model sees at once; the rest it can read"`
	SearchAbove int               `json:"search_above_tokens" default:"12000" validate:"gte=0" doc:"Tokens that the tools of an agent may take in a prompt, a quarter of its window at most; where they take more, the model searches for them. 0 = it is always shown all"`
}

// Ask is about questions that wait for a person.
type Ask struct {
	Expires   time.Duration `json:"expires" default:"24h" validate:"gt=0" doc:"How long a question waits for its answer"`
	OnMessage string        `json:"on_message" default:"supersede" validate:"oneof=supersede wait" doc:"Another message ends the open question, or waits for its end"`
	GroupWait time.Duration `json:"group_wait" default:"2m" validate:"gte=0" doc:"How long a question may hold up other people of a group"`
}

// Access is who may talk to the bot.
type Access struct {
	Mode   string `json:"mode" default:"pairing" validate:"oneof=pairing allowlist open" doc:"pairing: by a code; allowlist: who is let in already; open: everybody"`
	Groups string `json:"groups" default:"mention" validate:"oneof=mention all off" doc:"What is answered in groups"`
	Rate   Rate   `json:"rate" default:"30/1m" doc:"Messages of one person in a time; empty = no limit"`
}

// AccessOverride is what a channel says otherwise; nil is as Access has it.
type AccessOverride struct {
	Mode   *string `json:"mode" validate:"omitempty,oneof=pairing allowlist open" doc:"pairing: by a code; allowlist: who is let in already; open: everybody"`
	Groups *string `json:"groups" validate:"omitempty,oneof=mention all off" doc:"What is answered in groups"`
	Rate   *Rate   `json:"rate" doc:"Messages of one person in a time; empty = no limit"`
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
	IDs  []string `json:"ids" doc:"Identities, each CHANNEL:USER"`
	Role string   `json:"role" default:"user" validate:"oneof=admin user" doc:"What they may do"`
}

// Limits bound the work of this process.
type Limits struct {
	Turns        int           `json:"turns" default:"1024" validate:"gt=0" doc:"Turns at a time"`
	StaleAfter   time.Duration `json:"stale_after" default:"1h" validate:"gte=0" doc:"A message that waited longer is asked about before anything is done; 0s = never"`
	DrainTimeout time.Duration `json:"drain_timeout" default:"20s" validate:"gte=0" doc:"How long running turns may go on after SIGTERM"`
	Spend        Spend         `json:"spend" doc:"What requests to models may cost in a day, in US dollars; wants models whose price is known"`
}

// Spend is what requests to models may cost in a calendar day, in US dollars; nil = no cap.
type Spend struct {
	PersonDaily *float64 `json:"person_daily" validate:"omitempty,gt=0,lte=1000000" doc:"Dollars a day of one person, in all their chats; absent: no cap"`
	ChatDaily   *float64 `json:"chat_daily" validate:"omitempty,gt=0,lte=1000000" doc:"Dollars a day of one chat, its threads together; absent: no cap"`
	AgentDaily  *float64 `json:"agent_daily" validate:"omitempty,gt=0,lte=1000000" doc:"Dollars a day of one agent; absent: no cap"`
	TotalDaily  *float64 `json:"total_daily" validate:"omitempty,gt=0,lte=1000000" doc:"Dollars a day of all together; absent: no cap"`
}

// Log is how the program logs. Format "" lets it choose.
type Log struct {
	Format string `json:"format" validate:"omitempty,oneof=pretty json" doc:"Absent: pretty on a terminal, else json"`
	Level  string `json:"level" default:"info" validate:"oneof=debug info warn error" doc:"From which weight on"`
}
