package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/tailscale/hujson"

	"dragoman/config"
)

// nobody is a key that is like no other.
const nobody = "qqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqqq"

// load is what check does with a config's text; it gives the faults, by key.
func load(t testing.TB, text string) map[string]string {
	t.Helper()
	cfg, err := config.Parse("c", []byte(text), t.TempDir(), func(name string) (string, bool) {
		switch name {
		case "TELEGRAM_BOT_TOKEN":
			return "123456789:AAE-long_enough", true
		case "DISCORD_BOT_TOKEN":
			return "MTAw.long.enough", true
		}
		if strings.HasSuffix(name, "_KEY") || strings.HasSuffix(name, "_TOKEN") {
			return "a value that is long enough", true
		}
		return "", false
	})
	if cfg != nil {
		err = config.Join(err, checkSections(cfg))
	}
	found := map[string]string{}
	var faults config.Faults
	switch {
	case errors.As(err, &faults):
		for _, f := range faults {
			found[f.Path] = f.Text
		}
	case err != nil:
		t.Fatalf("%s: %v", text, err)
	}
	return found
}

// place is an object of the config: around puts its members where they belong.
type place struct {
	path   string
	around func(members string) string
	node   map[string]any // its schema
}

func (p place) in(key string) string {
	return strings.TrimPrefix(p.path+"."+key, ".")
}

func (p place) below(key string, node map[string]any, fixed string) place {
	return place{p.in(key), func(members string) string {
		return p.around(fmt.Sprintf("%q: {%s%s}", key, fixed, members))
	}, node}
}

func schemaTree(t testing.TB) map[string]any {
	t.Helper()
	text, err := schemaText()
	if err != nil {
		t.Fatal(err)
	}
	var root map[string]any
	if err := json.Unmarshal(text, &root); err != nil {
		t.Fatal(err)
	}
	return root
}

// TestSchemaAndLoaderKnowTheSameKeys asks both at every object of the config:
// the loader by a key that it cannot know, for it names those that it does.
func TestSchemaAndLoaderKnowTheSameKeys(t *testing.T) {
	root := place{"", func(members string) string { return "{" + members + "}" }, schemaTree(t)}
	aliases := map[string]bool{}
	places := walk(root)
	for _, p := range places {
		offered := properties(p.node)
		told, ok := load(t, p.around(fmt.Sprintf("%q: 0", nobody)))[p.in(nobody)]
		if !ok {
			t.Errorf("%s: the loader takes any key", p.path)
			continue
		}
		known := knownKeys(told)
		for _, key := range known {
			if offered[key] == nil {
				t.Errorf("%s: the loader knows it, the schema does not", p.in(key))
			}
		}
		for key, schema := range offered {
			wrong := load(t, p.around(fmt.Sprintf("%q: [[]]", key)))[p.in(key)]
			if strings.Contains(wrong, "is not a known key") {
				t.Errorf("%s: the schema knows it, the loader does not", p.in(key))
			}
			if !slices.Contains(known, key) {
				aliases[p.in(key)] = true
			}
			if schema["description"] == nil {
				t.Errorf("%s has no description", p.in(key))
			}
			checkDefault(t, p, key, schema)
		}
	}
	want := []string{"mcpServers", "mcpServers.x.type", "mcp_servers.x.type"}
	if got := slices.Sorted(maps.Keys(aliases)); !slices.Equal(got, want) {
		t.Errorf("keys that the loader takes and does not name: %q, want the aliases %q", got, want)
	}
	if len(places) < 20 {
		t.Errorf("only %d objects were found: this test looks in the wrong places", len(places))
	}
}

// checkDefault gives a key the default that the schema says, which changes nothing.
func checkDefault(t *testing.T, p place, key string, schema map[string]any) {
	t.Helper()
	value, ok := schema["default"]
	if !ok {
		return
	}
	text, err := json.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	if wrong := load(t, p.around(fmt.Sprintf("%q: %s", key, text)))[p.in(key)]; wrong != "" {
		t.Errorf("%s: the default %s %s", p.in(key), text, wrong)
	}
}

// walk finds the objects with keys of their own, this one and those below it.
func walk(p place) []place {
	found := []place{p}
	for key, schema := range properties(p.node) {
		if schema["type"] != "object" {
			continue
		}
		entry, isMap := schema["additionalProperties"].(map[string]any)
		switch {
		case !isMap:
			found = append(found, walk(p.below(key, schema, ""))...)
		case entry["type"] != "object":
		default:
			entries := p.below(key, schema, "")
			kinds := chosen(entry)
			for word, section := range kinds {
				found = append(found, walk(entries.below("x", section, fmt.Sprintf(`"type": %q, `, word)))...)
			}
			if len(kinds) == 0 {
				found = append(found, walk(entries.below("x", entry, ""))...)
			}
		}
	}
	return found
}

// chosen are the sections of an entry by its type, each with the keys that all have.
func chosen(entry map[string]any) map[string]map[string]any {
	found := map[string]map[string]any{}
	for _, branch := range list(entry["allOf"]) {
		condition, _ := branch["if"].(map[string]any)
		if word, ok := properties(condition)["type"]["const"].(string); ok {
			section, own := properties(branch["then"].(map[string]any)), properties(entry)
			maps.Copy(section, own)
			all := map[string]any{}
			for key, schema := range section {
				all[key] = schema
			}
			found[word] = map[string]any{"properties": all}
		}
	}
	return found
}

// properties are the keys that an object may have, with what is said of them;
// those that depend on others too.
func properties(node map[string]any) map[string]map[string]any {
	found := map[string]map[string]any{}
	members, _ := node["properties"].(map[string]any)
	for key, schema := range members {
		if is, ok := schema.(map[string]any); ok {
			found[key] = is
		}
	}
	for _, branch := range list(node["allOf"]) {
		if otherwise, ok := branch["else"].(map[string]any); ok {
			maps.Copy(found, properties(otherwise))
		}
	}
	return found
}

func list(v any) (nodes []map[string]any) {
	all, _ := v.([]any)
	for _, one := range all {
		if node, ok := one.(map[string]any); ok {
			nodes = append(nodes, node)
		}
	}
	return nodes
}

// knownKeys reads the loader's words on an unknown key.
func knownKeys(fault string) []string {
	words := strings.TrimSuffix(strings.TrimPrefix(fault, "is not a known key ("), ")")
	words, ok := strings.CutPrefix(words, "must be ")
	if !ok {
		return nil
	}
	return strings.Split(strings.TrimPrefix(words, "one of "), ", ")
}

func compiled(t testing.TB) *jsonschema.Schema {
	t.Helper()
	text, err := schemaText()
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("s", doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("s")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// agree checks a text with the loader and with the schema.
func agree(t *testing.T, s *jsonschema.Schema, text string, good bool) {
	t.Helper()
	if faults := load(t, text); (len(faults) == 0) != good {
		t.Errorf("the loader says %v of\n%s", faults, text)
	}
	standard, err := hujson.Standardize([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(standard))
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Validate(value); (err == nil) != good {
		t.Errorf("the schema says %v of\n%s", err, text)
	}
}

// TestTheReadmesConfigs holds every config that the README shows.
func TestTheReadmesConfigs(t *testing.T) {
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	s := compiled(t)
	blocks := regexp.MustCompile("(?s)```jsonc\n(.*?)```").FindAllSubmatch(readme, -1)
	if len(blocks) == 0 {
		t.Fatal("the README shows no config")
	}
	for _, block := range blocks {
		agree(t, s, string(block[1]), true)
	}
}

// TestTheStarter is good as it is, and with its comments taken away.
func TestTheStarter(t *testing.T) {
	s := compiled(t)
	agree(t, s, string(starter), true)
	filled := regexp.MustCompile(`(?m)^(\s*)// ("|\}|  ")`).ReplaceAllString(string(starter), "$1$2")
	for _, want := range []string{"\n    \"tg\"", "\n    \"files\"", "\n    \"api\"", "\n      \"files__read_*\"", "\n  \"models\""} {
		if !strings.Contains(filled, want) {
			t.Errorf("no line begins with %q:\n%s", want, filled)
		}
	}
	agree(t, s, filled, true)
}

func TestSectionsInTheSchema(t *testing.T) {
	s := compiled(t)
	for text, good := range map[string]bool{
		`{"models": {"m": {"type": "demo"}}}`:                                                                                     true,
		`{"models": {"m": {"type": "demo", "model": "x"}}}`:                                                                       false,
		`{"models": {"m": {"type": "openai", "model": "x", "context_tokens": "${N:-8}"}}}`:                                        true,
		`{"models": {"m": {"type": "openai", "model": "x", "context_tokens": "8"}}}`:                                              false,
		`{"models": {"m": {"type": "anthropic", "api_key": "k", "model": "x", "thinking": "adaptive"}}}`:                          true,
		`{"models": {"m": {"type": "anthropic", "api_key": "k", "model": "x", "thinking_tokens": 2048}}}`:                         true,
		`{"models": {"m": {"type": "anthropic", "api_key": "k", "model": "x", "thinking_tokens": 0}}}`:                            true,
		`{"models": {"m": {"type": "anthropic", "api_key": "k", "model": "x", "thinking_tokens": 100}}}`:                          false,
		`{"models": {"m": {"type": "anthropic", "api_key": "k", "model": "x", "thinking_tokens": 2048, "thinking": "adaptive"}}}`: false,
		`{"models": {"m": {"type": "anthropic", "api_key": "k", "model": "x", "api": "chat"}}}`:                                   false,
		`{"models": {"m": {"type": "anthropic", "model": "x"}}}`:                                                                  false,
		`{"channels": {"c": {"type": "telegram", "token": "1:x"}}}`:                                                               true,
		`{"channels": {"c": {"type": "discord", "token": "x.y.z", "threads": true}}}`:                                             true,
		`{"channels": {"c": {"type": "discord", "token": "x", "mode": "poll"}}}`:                                                  false,
		`{"channels": {"c": {"type": "telegram"}}}`:                                                                               false,
		`{"channels": {"c": {"type": "telegram", "token": "1:x", "mode": "webhook", "webhook_url": "https://x.example/hook/c"}}}`: true,
		`{"channels": {"c": {"type": "telegram", "token": "x", "webhook_url": "bot.example"}}}`:                                   false,
		`{"channels": {"c": {"type": "telegram", "token": "x", "mode": "push"}}}`:                                                 false,
		`{"channels": {"c": {"type": "web", "token": "x"}}}`:                                                                      false,
		`{"mcpServers": {"s": {"type": "stdio", "command": "x"}}}`:                                                                true,
		`{"mcpServers": {"s": {"command": "x", "env": {"A": "b"}}}}`:                                                              true,
		`{"mcpServers": {"s": {"command": "x", "env": {"A=": "b"}}}}`:                                                             false,
		`{"mcpServers": {"s": {"command": "x", "disabled": true}}}`:                                                               false,
		`{"mcpServers": {"s": {"args": ["x"]}}}`:                                                                                  false,
	} {
		agree(t, s, text, good)
	}
}
