package config

import (
	"fmt"
	"maps"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// rootRule is the validator's name for the whole config.
const rootRule = "Config"

// checker finds what is wrong between keys. It names them as the validator does.
type checker struct {
	*decoder
	cfg *Config
}

func (c *checker) check() {
	c.listen()
	c.publicURL()
	c.names("models", slices.Collect(maps.Keys(c.cfg.Models)), "a model")
	c.names("agents", slices.Collect(maps.Keys(c.cfg.Agents)), "an agent")
	c.names("channels", slices.Collect(maps.Keys(c.cfg.Channels)), "a channel")
	c.names("mcp_servers", slices.Collect(maps.Keys(c.cfg.MCPServers)), "a server")
	c.agents()
	c.channels()
	c.people()
	c.policy()
	c.serverTools()
}

// serverTools refuses patterns of a server's own tools that no name can match: the
// name with the server before it is what the model sees.
func (c *checker) serverTools() {
	for name, server := range c.cfg.MCPServers {
		key := "mcp_servers[" + name + "].tools"
		for field, patterns := range map[string][]string{"Filter.allow": server.Tools.Allow, "Filter.deny": server.Tools.Deny,
			"read_only": server.Tools.ReadOnly, "idempotent": server.Tools.Idempotent} {
			for i, pattern := range patterns {
				at := fmt.Sprintf("%s.%s[%d]", key, field, i)
				switch own, qualified := strings.CutPrefix(pattern, name+"__"); {
				case pattern == "":
					c.fault(at, "is empty (must be a pattern of tools' names, as \"read_*\")")
				case qualified:
					c.fault(at, "is %q, but here tools go by their server's own names (try %q)", pattern, own)
				}
			}
		}
	}
}

// listen allows port 0, which lets the kernel choose.
func (c *checker) listen() {
	if c.cfg.Listen == "" {
		return
	}
	_, port, err := net.SplitHostPort(c.cfg.Listen)
	if err == nil {
		_, err = strconv.ParseUint(port, 10, 16)
	}
	if err != nil {
		c.wrong("listen", "is no address", `must be a host and port like "127.0.0.1:7420", or "" for none`)
	}
}

// publicURL wants https, or http on this machine: passwords and codes come back there.
func (c *checker) publicURL() {
	if c.cfg.PublicURL == "" {
		return
	}
	u, err := url.Parse(c.cfg.PublicURL)
	if err != nil || u.Hostname() == "" || u.User != nil || u.RawQuery != "" || u.ForceQuery || u.Fragment != "" ||
		u.Scheme != "https" && (u.Scheme != "http" || !onThisMachine(u.Hostname())) {
		c.wrong("public_url", "is no address that browsers could safely come back to", `must be like "https://bot.example.org"`)
	}
}

func onThisMachine(host string) bool {
	ip := net.ParseIP(host)
	return strings.EqualFold(host, "localhost") || ip != nil && ip.IsLoopback()
}

func (c *checker) names(key string, names []string, of string) {
	form := entryNames[key]
	for _, name := range names {
		if form.allows(name) {
			continue
		}
		at := c.places[rootRule+"."+key+"["+name+"]"]
		if at.node == nil {
			continue
		}
		c.faults = append(c.faults, c.doc.fault(at.node.key, at.path, "is not a name for %s (%s; try %q)", of, form.words, form.repair(name, names)))
	}
}

func (c *checker) agents() {
	models := slices.Sorted(maps.Keys(c.cfg.Models))
	servers := slices.Sorted(maps.Keys(c.cfg.MCPServers))
	for name, agent := range c.cfg.Agents {
		key := "agents[" + name + "]"
		if c.places[rootRule+"."+key].node == nil {
			continue // not in the file
		}
		switch {
		case c.hasFault(rootRule + ".models"):
		case len(models) == 0:
			c.fault(key, "has no model (must be at least one in models)")
		case len(agent.Models) == 0:
			c.fault(key+".models", "is empty (%s)", oneOf(models))
		default:
			c.all(key+".models", agent.Models, models, "model")
		}
		if !c.hasFault(rootRule + ".mcp_servers") {
			c.all(key+".mcp_servers", agent.MCPServers, append([]string{"*"}, servers...), "MCP server")
		}
	}
}

// all checks that each entry of a list is the name of something.
func (c *checker) all(key string, list, known []string, of string) {
	for i, name := range list {
		if !slices.Contains(known, name) {
			c.unknown(fmt.Sprintf("%s[%d]", key, i), name, known, of)
		}
	}
}

func (c *checker) channels() {
	if c.hasFault(rootRule + ".agents") {
		return
	}
	known := slices.Sorted(maps.Keys(c.cfg.Agents))
	for name, channel := range c.cfg.Channels {
		if !slices.Contains(known, channel.Agent) {
			c.unknown("channels["+name+"].agent", channel.Agent, known, "agent")
		}
		c.chats(name, channel.Chats, known)
	}
}

func (c *checker) chats(channel string, chats map[string]Chat, agents []string) {
	for id, chat := range chats {
		at := "channels[" + channel + "].chats[" + id + "]"
		if id == "" {
			place := c.places[rootRule+"."+at]
			c.faults = append(c.faults, c.doc.fault(place.node.key, place.path, `is an empty id (must be a chat's, like "-1001234567890")`))
			continue
		}
		c.noteID(at, channel, id)
		if chat.Agent != "" && !slices.Contains(agents, chat.Agent) {
			c.unknown(at+".agent", chat.Agent, agents, "agent")
		}
	}
}

func (c *checker) people() {
	owner := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(c.cfg.People)) {
		if name == "" {
			at := c.places[rootRule+".people[]"]
			c.faults = append(c.faults, c.doc.fault(at.node.key, at.path, `is an empty name (must be a name like "ann")`))
		}
		for i, id := range c.cfg.People[name].IDs {
			key := fmt.Sprintf("people[%s].ids[%d]", name, i)
			if first, taken := owner[id]; taken {
				c.wrong(key, "is an identity of "+strconv.Quote(first)+" already", "must be one person's")
				continue
			}
			if c.identity(key, id) {
				owner[id] = name
			}
		}
	}
}

// identity checks the form of one person's id, and that its channel is there.
func (c *checker) identity(key, id string) bool {
	channel, user, found := strings.Cut(id, ":")
	if !found || channel == "" || user == "" {
		c.wrong(key, "is no identity", `must be channel:user like "tg:12345"`)
		return false
	}
	if _, exists := c.cfg.Channels[channel]; !exists && !c.hasFault(rootRule+".channels") {
		c.unknown(key, channel, slices.Sorted(maps.Keys(c.cfg.Channels)), "channel")
		return false
	}
	c.noteID(key, channel, user)
	return true
}

// unknown is a reference to what is not there. What a variable holds is not
// told by a suggestion either.
func (c *checker) unknown(key, name string, known []string, of string) {
	at := c.places[rootRule+"."+key]
	right := Instead(name, known)
	if len(known) == 0 {
		right = "there is none"
	} else if at.node == nil || len(at.node.refs) > 0 {
		right = oneOf(known)
	}
	if at.node == nil {
		c.fault(key, "is missing (%s)", right)
		return
	}
	c.wrong(key, "names no "+of, right)
}

// wrong is a fault at a given value, which it shows if it may.
func (c *checker) wrong(key, what, right string) {
	rule := rootRule + "." + key
	if at := c.places[rule]; at.node != nil {
		c.fault(key, "%s, which %s (%s)", shown(at.node), what, right)
	}
}

// fault is a fault at a key, unless it has one already.
func (c *checker) fault(key, format string, args ...any) {
	rule := rootRule + "." + key
	if at, ok := c.places[rule]; ok && !c.hasFault(rule) {
		c.faults = append(c.faults, c.doc.fault(at.at, at.path, format, args...))
	}
}
