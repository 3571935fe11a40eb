package mcp

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"dragoman/adapters/mcp/oauth"
	"dragoman/ports"
)

const (
	defaultTimeout         = 15 * time.Second
	defaultCallTimeout     = 60 * time.Second
	defaultMaxMessageBytes = 16 << 20
	// leastTime and leastMessage are below what any server could work with.
	leastTime          = time.Millisecond
	leastMessage       = 1 << 10
	defaultMaxParallel = 16
	defaultIdleStop    = 10 * time.Minute
	// leastIdleStop keeps a connection for a call and the next.
	leastIdleStop = time.Second

	startEager        = "eager"
	startLazy         = "lazy"
	scopeShared       = "shared"
	scopePerson       = "person"
	scopeConversation = "conversation"
)

// Config is one MCP server in the config file: a program that is started here,
// or a server that runs elsewhere. In a Config made by hand a zero duration or
// size means its default.
type Config struct {
	// Transport follows from Command or URL. READMEs of servers have other names for it and for "http".
	Transport string `json:"transport,omitempty" alias:"type" validate:"omitempty,oneof=stdio http sse streamable-http streamableHttp" doc:"stdio with command, http or the older sse with url; absent: as fits, and sse where http is refused"`

	Command string   `json:"command,omitempty" validate:"required_without=URL,excluded_with=URL" doc:"Program that speaks MCP on its stdin and stdout"`
	Args    []string `json:"args,omitempty" validate:"excluded_with=URL" doc:"Its arguments"`
	// Of our own environment the program sees PATH, HOME, LANG, TMPDIR, USER and
	// what InheritEnv names, and nothing else.
	Env        map[string]ports.Secret `json:"env,omitempty" validate:"excluded_with=URL,dive,keys,required,excludes==,endkeys" doc:"Variables that are set for it"`
	InheritEnv []string                `json:"inherit_env,omitempty" validate:"excluded_with=URL,dive,required,excludes==" doc:"Names of variables that it gets as we have them, beside PATH HOME LANG TMPDIR USER"`
	Cwd        string                  `json:"cwd,omitempty" format:"path" validate:"excluded_with=URL" doc:"Folder that it starts in; absent: that of the config file"`

	// URL is a secret because it may hold one.
	URL     ports.Secret            `json:"url,omitempty" validate:"omitempty,http_url" doc:"Endpoint of a server that speaks streamable HTTP, or the older HTTP with SSE"`
	Headers map[string]ports.Secret `json:"headers,omitempty" validate:"excluded_without=URL,dive,keys,required,printascii,excludesall=:; ,endkeys" doc:"Headers of every request to the url, like Authorization"`

	// OAuth nil is automatic: what a server wants is found out when it refuses.
	OAuth *oauth.Config `json:"oauth,omitempty" validate:"excluded_without=URL" doc:"How to log in to the url, where finding it out from the server is not enough"`

	Timeout     time.Duration `json:"timeout,omitempty" default:"15s" validate:"gte=0" doc:"How long the server may take until its tools are listed"`
	CallTimeout time.Duration `json:"call_timeout,omitempty" default:"60s" validate:"gte=0" doc:"How long one tool call may take"`
	// A longer message costs the call that it answers. On stdio it ends the connection if it does not
	// tell which one that is, or is 64 times as long.
	MaxMessageBytes int `json:"max_message_bytes,omitempty" default:"16777216" validate:"gte=0" doc:"Longest message taken from the server"`
	MaxParallel     int `json:"max_parallel,omitempty" default:"16" validate:"gte=0" doc:"How many calls run at a time; further ones wait"`
	// ProtocolVersion is for a server that negotiates badly.
	ProtocolVersion string        `json:"protocol_version,omitempty" validate:"omitempty,oneof=2024-11-05 2025-03-26 2025-06-18 2025-11-25 2026-07-28" doc:"Revision of MCP to speak; absent: the newest that both know"`
	Start           string        `json:"start,omitempty" default:"eager" validate:"omitempty,oneof=eager lazy" doc:"eager: connect when the gateway starts; lazy: when a call needs it"`
	IdleStop        time.Duration `json:"idle_stop,omitempty" validate:"gte=0" doc:"End the connection when no call used it for so long; absent: never, or 10m with start lazy or a scope"`
	Scope           string        `json:"scope,omitempty" default:"shared" validate:"omitempty,oneof=shared person conversation" doc:"Who shares a process or session: all, the calls of one person, or those of one conversation"`
	Roots           []string      `json:"roots,omitempty" doc:"Folders or file:// addresses that the server is told it may work in"`
	Trace           bool          `json:"trace,omitempty" doc:"true: write what goes over the wire, without secrets, to trace/NAME.jsonl in data_dir"`

	// Trusted says that readOnlyHint and idempotentHint are believed.
	Trusted bool `json:"trusted,omitempty" doc:"true: the server is believed what it says that its tools change"`
}

// The transports, as complete leaves them in Config.Transport.
const (
	overStdio = "stdio"
	overHTTP  = "http"
	overSSE   = "sse" // the one before streamable HTTP
)

// complete gives c with its defaults, or what is wrong with it.
func (c Config) complete() (Config, error) {
	for _, check := range []func(*Config) error{(*Config).checkTransport, (*Config).checkCommand, (*Config).checkURL, (*Config).checkLogin, (*Config).checkTalk, (*Config).checkLife} {
		if err := check(&c); err != nil {
			return c, err
		}
	}
	if c.Timeout < 0 || c.CallTimeout < 0 || c.MaxMessageBytes < 0 {
		return c, fmt.Errorf("timeout, call_timeout and max_message_bytes cannot be negative")
	}
	if c.Timeout == 0 {
		c.Timeout = defaultTimeout
	}
	if c.CallTimeout == 0 {
		c.CallTimeout = defaultCallTimeout
	}
	if c.MaxMessageBytes == 0 {
		c.MaxMessageBytes = defaultMaxMessageBytes
	}
	return c, nil
}

// checkTransport settles which transport it is.
func (c *Config) checkTransport() error {
	command, url := strings.TrimSpace(c.Command) != "", c.URL != ""
	switch {
	case command && url:
		return fmt.Errorf("command and url are both given (keep one: a program that is started here, or a server that runs elsewhere)")
	case !slices.Contains([]string{"", overStdio, overHTTP, overSSE, "streamable-http", "streamableHttp"}, c.Transport):
		return fmt.Errorf(`transport %q is unknown (must be "stdio", "http" or "sse")`, c.Transport)
	case !command && !url:
		return fmt.Errorf("command and url are both missing (command: the program that speaks MCP on its stdin and stdout; url: where the server is)")
	case url && c.Transport == overStdio:
		return fmt.Errorf(`transport is "stdio", but there is a url (must be "http", or a command instead of the url)`)
	case command && c.Transport != "" && c.Transport != overStdio:
		return fmt.Errorf(`transport is %q, but there is a command (must be "stdio", or a url instead of the command)`, c.Transport)
	case command:
		c.Transport = overStdio
	case c.Transport == overSSE:
	default:
		c.Transport = overHTTP
	}
	return nil
}

func (c *Config) checkCommand() error {
	if c.Transport != overStdio && (len(c.Args) > 0 || len(c.Env) > 0 || len(c.InheritEnv) > 0 || c.Cwd != "") {
		return fmt.Errorf("args, env, inherit_env and cwd are for a command, and there is a url (leave them out)")
	}
	for name := range c.Env {
		switch {
		case name == "" || strings.ContainsAny(name, "=\x00"):
			return fmt.Errorf("env: %q cannot be the name of a variable", name)
		case name == childVar:
			return fmt.Errorf("env: %s is set by the gateway itself (leave it out)", name)
		}
	}
	return nil
}

// checkTalk refuses limits that leave room for nothing, and what a server could
// not be told.
func (c *Config) checkTalk() error {
	switch {
	case c.Timeout > 0 && c.Timeout < leastTime, c.CallTimeout > 0 && c.CallTimeout < leastTime:
		return fmt.Errorf("timeout and call_timeout cannot be shorter than %s", leastTime)
	case c.MaxMessageBytes > 0 && c.MaxMessageBytes < leastMessage:
		return fmt.Errorf("max_message_bytes %d is too small (at least %d)", c.MaxMessageBytes, leastMessage)
	case c.Transport == overSSE && slices.Contains(modernVersions(), c.ProtocolVersion):
		return fmt.Errorf("protocol_version %s is not spoken over sse (leave one of them out)", c.ProtocolVersion)
	}
	for _, root := range c.Roots {
		path, isFile := strings.CutPrefix(root, "file://")
		if path == "" || !isFile && strings.Contains(root, "://") {
			return fmt.Errorf("roots: %q is no folder (must be one, or a file:// address)", root)
		}
	}
	return nil
}

// checkLife settles when there is a connection, and whose it is.
func (c *Config) checkLife() error {
	c.Start, c.Scope = cmp.Or(c.Start, startEager), cmp.Or(c.Scope, scopeShared)
	c.MaxParallel = cmp.Or(c.MaxParallel, defaultMaxParallel)
	switch {
	case c.Start != startEager && c.Start != startLazy:
		return fmt.Errorf(`start %q is unknown (must be "eager" or "lazy")`, c.Start)
	case !slices.Contains([]string{scopeShared, scopePerson, scopeConversation}, c.Scope):
		return fmt.Errorf(`scope %q is unknown (must be "shared", "person" or "conversation")`, c.Scope)
	case c.MaxParallel < 0:
		return fmt.Errorf("max_parallel cannot be negative")
	case c.IdleStop < 0 || c.IdleStop > 0 && c.IdleStop < leastIdleStop:
		return fmt.Errorf("idle_stop %s is too short (at least %s, or leave it out)", c.IdleStop, leastIdleStop)
	case c.IdleStop == 0 && (c.Start == startLazy || c.Scope != scopeShared):
		c.IdleStop = defaultIdleStop
	}
	return nil
}

// In is c with its program started in the folder, unless c says where, and with
// roots that begin there.
func (c Config) In(folder string) Config {
	if c.Command != "" && c.Cwd == "" {
		c.Cwd = folder
	}
	c.Roots = slices.Clone(c.Roots)
	for i, root := range c.Roots {
		if root != "" && !strings.Contains(root, "://") && !filepath.IsAbs(root) {
			c.Roots[i] = filepath.Join(folder, root)
		}
	}
	return c
}

// environ is the whole environment of the child: an allowlist, so that no token
// of ours reaches it unless the config says so.
func (c Config) environ() []string {
	env := make(map[string]string)
	for _, name := range append([]string{"PATH", "HOME", "LANG", "TMPDIR", "USER"}, c.InheritEnv...) {
		if value, ok := os.LookupEnv(name); ok {
			env[name] = value
		}
	}
	for name, value := range c.Env {
		env[name] = value.Reveal()
	}
	list := make([]string, 0, len(env))
	for _, name := range slices.Sorted(maps.Keys(env)) {
		list = append(list, name+"="+env[name])
	}
	return list
}
