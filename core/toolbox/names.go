package toolbox

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"sync"

	"dragoman/ports"
)

// Names that every model provider accepts (facts of the providers: 64 signs).
const (
	nameMax    = 64
	hashLength = 6
)

// rebuild makes the table of names anew from what the sources registered.
// Built-in tools always keep their name; where others clash or are too long, all
// of those that clash get a suffix, so that none of them changes its meaning
// when another comes or goes first. Callers hold mu.
func (b *Toolbox) rebuild() {
	plain := map[string][]*tool{}
	before := b.tools
	b.tools = map[string]*tool{}
	for _, name := range sortedKeys(b.sources) {
		for _, t := range b.accepted(b.sources[name]) {
			key := qualified(name, t.own)
			plain[key] = append(plain[key], t)
		}
	}
	var renamed []*tool
	for _, key := range sortedKeys(plain) {
		for _, t := range plain[key] {
			t.goBy(key)
			if t.source.Name != "" && (len(plain[key]) > 1 || len(key) > nameMax) {
				renamed = append(renamed, t)
				continue
			}
			b.enter(key, t)
		}
	}
	for _, t := range renamed { // after those that keep their names, which they must not take
		name := t.names[1]
		if before[name] == nil {
			b.log.Warn("tool_renamed", "mcp_server", t.source.Name, "tool", t.own, "name", name)
		}
		b.enter(name, t)
	}
	tools := b.tools
	b.index = sync.OnceValue(func() *index { return newIndex(tools) })
}

// enter puts a tool into the table under a name. Callers hold mu.
func (b *Toolbox) enter(name string, t *tool) {
	if _, taken := b.tools[name]; taken {
		b.log.Error("tool_dropped", "mcp_server", t.source.Name, "tool", t.own, "err", "its name is taken")
		return
	}
	t.spec.Name, t.spec.Server = name, t.source.Name
	t.policy = b.policy(name, t)
	b.tools[name] = t
}

// accepted are a source's tools that its filter lets through.
func (b *Toolbox) accepted(s *source) []*tool {
	var list []*tool
	seen := map[string]bool{}
	for _, o := range s.tools {
		spec := o.spec
		if seen[spec.Name] || spec.Name == "" || s.Name == "" && spec.Name == findTools {
			b.log.Warn("tool_dropped", "mcp_server", s.Name, "tool", spec.Name, "err", "its name is empty, there twice or kept for our own")
			continue
		}
		seen[spec.Name] = true
		if len(s.Tools.Allow) > 0 && !matchesAny(s.Tools.Allow, spec.Name) {
			continue
		}
		spec.Class = s.class(spec)
		list = append(list, &tool{port: o.port, spec: spec, own: spec.Name, source: s, schema: o.schema, output: o.output})
	}
	return list
}

// class of a tool: by the admin's word, else by its source's.
func (s *source) class(spec ports.ToolSpec) ports.Class {
	switch {
	case matchesAny(s.ReadOnly, spec.Name):
		return ports.ClassRead
	case matchesAny(s.Idempotent, spec.Name):
		return ports.ClassIdempotent
	}
	return cmp.Or(spec.Class, ports.ClassUnsafe)
}

// policy of a tool: a deny anywhere wins; else the pattern with most literal
// characters, a tie going to the stricter. Built-in tools that only read are
// allowed unless a pattern says otherwise. What is not an allow holds under all
// of a tool's names: a server could shake it off with a second tool that clashes.
func (b *Toolbox) policy(name string, t *tool) ports.Policy {
	if matchesAny(t.source.Tools.Deny, t.own) {
		return ports.PolicyDeny
	}
	best, weight := b.cfg.Default, -1
	if t.source.Name == "" && t.spec.Class == ports.ClassRead {
		best = ports.PolicyAllow
	}
	for pattern, p := range b.cfg.Policy {
		if !matches(pattern, name) && (p == ports.PolicyAllow || !t.goesBy(pattern)) {
			continue
		}
		if p == ports.PolicyDeny {
			return ports.PolicyDeny
		}
		w := len(pattern) - strings.Count(pattern, "*")
		if w > weight || w == weight && p == ports.PolicyAsk {
			best, weight = p, w
		}
	}
	return best
}

// owner is the source that a name that nobody registered would belong to. Callers hold mu.
func (b *Toolbox) owner(name string) *source {
	server, _, ok := strings.Cut(name, "__")
	if !ok {
		return nil
	}
	return b.sources[server]
}

func qualified(server, own string) string {
	clean := strings.Map(func(r rune) rune {
		if r < 128 && (r == '_' || r == '-' || r >= '0' && r <= '9' || r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z') {
			return r
		}
		return '_'
	}, own)
	if server == "" {
		return clean
	}
	return server + "__" + clean
}

func suffixed(key, server, own string) string {
	id, _ := json.Marshal([]string{server, own})
	sum := sha256.Sum256(id)
	suffix := "_" + hex.EncodeToString(sum[:])[:hashLength]
	return key[:min(len(key), nameMax-len(suffix))] + suffix
}

// matches reports whether a pattern, in which * stands for any text, covers a name.
func matches(pattern, name string) bool {
	parts := strings.Split(pattern, "*")
	rest, ok := strings.CutPrefix(name, parts[0])
	if !ok || len(parts) == 1 {
		return ok && rest == ""
	}
	last := len(parts) - 1
	for _, part := range parts[1:last] {
		i := strings.Index(rest, part)
		if i < 0 {
			return false
		}
		rest = rest[i+len(part):]
	}
	return strings.HasSuffix(rest, parts[last])
}

// goBy notes the names that the tool has, had or may come to have: the plain one,
// that with the suffix, and that which its server writes.
func (t *tool) goBy(plain string) {
	t.names = []string{plain}
	if t.source.Name != "" {
		t.names = append(t.names, suffixed(plain, t.source.Name, t.own), t.source.Name+"__"+t.own)
	}
}

// goesBy reports whether a pattern covers any of them.
func (t *tool) goesBy(pattern string) bool {
	return slices.ContainsFunc(t.names, func(name string) bool { return matches(pattern, name) })
}

func matchesAny(patterns []string, name string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool { return matches(p, name) })
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
