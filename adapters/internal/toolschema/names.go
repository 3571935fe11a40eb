package toolschema

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"dragoman/ports"
)

// rename gives a property a name of letters, digits, "_", "." and "-", at most 64
// of them: the old one as far as it goes, and a few signs of its hash.
func rename(name string) string {
	sum := sha256.Sum256([]byte(name))
	readable := strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z', r >= 'A' && r <= 'Z', r >= '0' && r <= '9', r == '_', r == '.', r == '-':
			return r
		}
		return '_'
	}, name)
	return readable[:min(len(readable), 48)] + "_" + hex.EncodeToString(sum[:4])
}

// longestName is what all providers take of a tool's name, in bytes.
const longestName = 64

// Name is what the provider gets to see for a tool of this name. It is the same
// for the same name, and no other tool's: none of ours begins with "_". Done leads
// back. What an entry of the prompt called goes by it too.
func (t *Tools) Name(own string) string {
	if !profiles[t.profile].lettersLead || own == "" || own[0] == '_' || own[0]|0x20 >= 'a' && own[0]|0x20 <= 'z' {
		return own
	}
	if len(own) < longestName {
		return "_" + own
	}
	sum := sha256.Sum256([]byte(own))
	tail := "_" + hex.EncodeToString(sum[:4])
	return "_" + own[:longestName-1-len(tail)] + tail
}

// own is the name of the tool that the provider knows by this one.
func (t *Tools) own(tools []ports.ToolSpec, name string) string {
	if i := slices.IndexFunc(tools, func(s ports.ToolSpec) bool { return t.Name(s.Name) == name }); i >= 0 {
		return tools[i].Name
	}
	return name
}

// Restore gives the properties of a call's arguments, at any depth, their own
// names again. Arguments that are no JSON, or without such a property, stay byte for byte.
func (p Projection) Restore(args json.RawMessage) json.RawMessage {
	if !slices.ContainsFunc(slices.Collect(maps.Keys(p.Names)), func(n string) bool { return bytes.Contains(args, []byte(n)) }) {
		return args
	}
	dec := json.NewDecoder(bytes.NewReader(args))
	dec.UseNumber()
	var v any
	if !json.Valid(args) || dec.Decode(&v) != nil {
		return args
	}
	raw, err := encode(p.restore(v))
	if err != nil {
		return args
	}
	return raw
}

func (p Projection) restore(v any) any {
	switch v := v.(type) {
	case []any:
		for i, e := range v {
			v[i] = p.restore(e)
		}
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			e := p.restore(v[name])
			own, ok := p.Names[name]
			if !ok {
				own = name
			} else if _, taken := v[own]; taken {
				continue // said twice: what has its own name counts
			}
			delete(v, name)
			v[own] = e
		}
	}
	return v
}
