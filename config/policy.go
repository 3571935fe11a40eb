package config

import (
	"maps"
	"regexp"
	"slices"
	"strings"
)

// pattern is one of Tools.Policy, with where it stands.
type pattern struct {
	text  string
	at    int // its offset
	fault func(format string, args ...any) Fault
}

// policy notes where the patterns stand.
func (c *checker) policy() {
	for text := range c.cfg.Tools.Policy {
		if at := c.places[rootRule+".tools.policy["+text+"]"]; at.node != nil {
			c.cfg.patterns = append(c.cfg.patterns, pattern{text, at.node.key, func(format string, args ...any) Fault {
				return c.doc.fault(at.node.key, at.path, format, args...)
			}})
		}
	}
	slices.SortFunc(c.cfg.patterns, func(a, b pattern) int { return a.at - b.at })
}

// Unmatched are the patterns of tools.policy that no tool can have the name for:
// neither one of the built-in tools nor any tool of a server in the config. They
// break nothing, and are most likely not what was meant.
func (c *Config) Unmatched(builtIn ...string) Faults {
	servers := slices.Sorted(maps.Keys(c.MCPServers))
	var list Faults
	for _, p := range c.patterns {
		if slices.ContainsFunc(servers, func(s string) bool { return reaches(p.text, s+"__") }) || slices.ContainsFunc(builtIn, glob(p.text).MatchString) {
			continue
		}
		server, _, qualified := strings.Cut(p.text, "__")
		switch {
		case qualified && len(servers) > 0:
			list = append(list, p.fault("matches no tool: no MCP server has this name (%s)", Instead(server, servers)))
		case qualified:
			list = append(list, p.fault("matches no tool: no MCP server has this name (there is none)"))
		default:
			list = append(list, p.fault("matches no tool (must be SERVER__TOOL, or a built-in tool: %s; * stands for any text)", strings.Join(builtIn, ", ")))
		}
	}
	return list
}

// reaches reports whether a pattern covers some text that begins with start and goes on.
func reaches(pattern, start string) bool {
	literal, _, open := strings.Cut(pattern, "*")
	if open && len(literal) <= len(start) {
		return strings.HasPrefix(start, literal)
	}
	return strings.HasPrefix(literal, start) && (open || literal != start)
}

// glob is a pattern, in which * stands for any text.
func glob(pattern string) *regexp.Regexp {
	return regexp.MustCompile("^" + strings.ReplaceAll(regexp.QuoteMeta(pattern), `\*`, ".*") + "$")
}

// keysOfOthers are keys that other programs have in a block of mcpServers, and
// what says the same here.
func keysOfOthers(server string) map[string]string {
	allowed := `here: "tools": {"policy": {"` + server + `__TOOL": "allow"}} at the top of the config`
	return map[string]string{
		"disabled":      `here: "enabled": false`,
		"autoApprove":   allowed,
		"alwaysAllow":   allowed,
		"trust":         allowed,
		"includeTools":  `here: "tools": {"allow": […]}`,
		"excludeTools":  `here: "tools": {"deny": […]}`,
		"disabledTools": `here: "tools": {"deny": […]}`,
		"serverUrl":     `here: "url"`,
		"httpUrl":       `here: "url"`,
	}
}
