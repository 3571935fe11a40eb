package mcp

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"time"

	"dragoman/ports"
)

const (
	defaultTimeout         = 15 * time.Second
	defaultCallTimeout     = 60 * time.Second
	defaultMaxMessageBytes = 16 << 20
)

// Config is one MCP server in the config file. In a Config made by hand a zero
// duration or size means its default.
type Config struct {
	// Transport is how to reach the server; Type is another name for it, found
	// in the READMEs of servers. "stdio" follows from Command.
	Transport string `json:"transport,omitempty" validate:"omitempty,oneof=stdio"`
	Type      string `json:"type,omitempty" validate:"omitempty,oneof=stdio"`
	// Command is the program that speaks MCP on its stdin and stdout, Args its arguments.
	Command string   `json:"command" validate:"required"`
	Args    []string `json:"args,omitempty"`
	// Env is set for the program. Of our own environment it sees PATH, HOME,
	// LANG, TMPDIR, USER and what InheritEnv names, and nothing else.
	Env        map[string]ports.Secret `json:"env,omitempty" validate:"dive,keys,required,excludes==,endkeys"`
	InheritEnv []string                `json:"inherit_env,omitempty" validate:"dive,required,excludes=="`
	// Cwd is where the program starts, relative to the config file; "" = where we did.
	Cwd string `json:"cwd,omitempty" format:"path"`
	// Timeout is for starting, initialize and tools/list together.
	Timeout time.Duration `json:"timeout,omitempty" default:"15s" validate:"gte=0"`
	// CallTimeout is for one tool call; the caller may allow less.
	CallTimeout time.Duration `json:"call_timeout,omitempty" default:"60s" validate:"gte=0"`
	// MaxMessageBytes is the longest message taken from the server. A longer
	// one ends the connection.
	MaxMessageBytes int `json:"max_message_bytes,omitempty" default:"16777216" validate:"gte=0"`
	// Trusted says that the server's own words on what its tools do
	// (readOnlyHint, idempotentHint) are believed.
	Trusted bool `json:"trusted,omitempty"`
}

// complete gives c with its defaults, or what is wrong with it.
func (c Config) complete() (Config, error) {
	for _, t := range []string{c.Transport, c.Type} {
		switch t {
		case "", "stdio":
		case "http", "sse", "streamable-http", "streamableHttp", "streamable_http":
			return c, fmt.Errorf("transport %q is not supported yet; only \"stdio\" is (a command that is started here)", t)
		default:
			return c, fmt.Errorf("transport %q is unknown; \"stdio\" is supported", t)
		}
	}
	if strings.TrimSpace(c.Command) == "" {
		return c, fmt.Errorf("command is missing: the program that speaks MCP on its stdin and stdout")
	}
	if c.Timeout < 0 || c.CallTimeout < 0 || c.MaxMessageBytes < 0 {
		return c, fmt.Errorf("timeout, call_timeout and max_message_bytes cannot be negative")
	}
	for name := range c.Env {
		if name == "" || strings.ContainsAny(name, "=\x00") {
			return c, fmt.Errorf("env: %q cannot be the name of a variable", name)
		}
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

// redactor takes the values of Env out of texts that people will read. Short
// values are left: they are no secrets, and would blank half of every line.
func (c Config) redactor() *strings.Replacer {
	var pairs []string
	for _, value := range slices.SortedFunc(maps.Values(c.Env), func(a, b ports.Secret) int { return len(b) - len(a) }) {
		if len(value) >= 8 {
			pairs = append(pairs, value.Reveal(), value.String())
		}
	}
	return strings.NewReplacer(pairs...)
}
