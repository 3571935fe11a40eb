package config_test

import (
	"bytes"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/tailscale/hujson"

	"dragoman/config"
)

// testSchema is the schema of what decodeSections takes.
func testSchema(t testing.TB) *jsonschema.Schema {
	t.Helper()
	text, err := config.Schema(config.Adapters{
		Models:   map[string]reflect.Type{"demo": reflect.TypeFor[struct{}](), "openai": reflect.TypeFor[modelConfig]()},
		Channels: map[string]reflect.Type{"web": reflect.TypeFor[struct{}](), "telegram": reflect.TypeFor[channelConfig]()},
		Server:   reflect.TypeFor[serverConfig](),
	})
	if err != nil {
		t.Fatal(err)
	}
	return compile(t, text)
}

// compile checks the schema against the metaschema too.
func compile(t testing.TB, text []byte) *jsonschema.Schema {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("dragoman.schema.json", doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("dragoman.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// validate is what an editor does with a config as it is written.
func validate(t testing.TB, s *jsonschema.Schema, text string) error {
	t.Helper()
	standard, err := hujson.Standardize(append([]byte(strings.TrimPrefix(text, "\uFEFF")), '\n'))
	if err != nil {
		return err
	}
	value, err := jsonschema.UnmarshalJSON(bytes.NewReader(standard))
	if err != nil {
		return err
	}
	return s.Validate(value)
}

func TestTheSchemaTakesTheGoodFile(t *testing.T) {
	text, err := os.ReadFile("testdata/good.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := validate(t, testSchema(t), string(text)); err != nil {
		t.Errorf("%#v", err)
	}
}

// TestTheSchemaRefusesBadFiles but those whose faults no schema can tell.
func TestTheSchemaRefusesBadFiles(t *testing.T) {
	beyond := map[string]string{
		"no_model":     "what is named is not there",
		"references":   "what is named is not there",
		"server_tools": "a tool of the server may be called so",
		"twice":        "a key given twice is one to a parser of JSON",
	}
	files, err := filepath.Glob("testdata/bad/*.json")
	if err != nil || len(files) == 0 {
		t.Fatalf("no files to test: %v", err)
	}
	s := testSchema(t)
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		name := strings.TrimSuffix(filepath.Base(file), ".json")
		wrong := validate(t, s, string(text))
		switch why := beyond[name]; {
		case why == "" && wrong == nil:
			t.Errorf("%s is valid", name)
		case why != "" && wrong != nil:
			t.Errorf("%s is refused, though %s: %v", name, why, wrong)
		}
		delete(beyond, name)
	}
	if len(beyond) > 0 {
		t.Errorf("no such files: %v", slices.Collect(maps.Keys(beyond)))
	}
}

// TestTheSchemaAgreesWithTheLoader has single values; both must say the same.
func TestTheSchemaAgreesWithTheLoader(t *testing.T) {
	s := testSchema(t)
	for _, text := range []string{
		`{}`, `[]`, `null`, `{"version": 1}`, `{"version": 2}`, `{"version": "1"}`, `{"version": "${ONE}"}`, `{"version": "$${ONE}"}`,
		`{"mcp": {"timeout": "15s"}}`, `{"mcp": {"timeout": "1h30m"}}`, `{"mcp": {"timeout": ".5s"}}`, `{"mcp": {"timeout": "0s"}}`,
		`{"mcp": {"timeout": "-1s"}}`, `{"mcp": {"timeout": "15"}}`, `{"mcp": {"timeout": 15}}`, `{"mcp": {"timeout": "${SECOND}"}}`,
		`{"mcp": {"timeout": "1µs"}}`, `{"mcp": {"timeout": "15 s"}}`, `{"mcp": {"timeout": ""}}`, `{"mcp": {"timeout": "${ONE}s"}}`,
		`{"ask": {"group_wait": "0"}}`, `{"ask": {"group_wait": "-0"}}`, `{"ask": {"group_wait": "0s"}}`, `{"ask": {"group_wait": "-2m"}}`, `{"ask": null}`,
		`{"mcp": {"enabled": true}}`, `{"mcp": {"enabled": "true"}}`, `{"mcp": {"enabled": "${YES}"}}`, `{"mcp": {"enabled": null}}`,
		`{"access": {"rate": ""}}`, `{"access": {"rate": "30/1m"}}`, `{"access": {"rate": "30"}}`, `{"access": {"rate": "0/1m"}}`,
		`{"access": {"rate": "1/0s"}}`, `{"access": {"rate": "+5/1m"}}`, `{"access": {"rate": "5/-1m"}}`, `{"access": {"rate": null}}`,
		`{"log": {"format": ""}}`, `{"log": {"format": "json"}}`, `{"log": {"format": "xml"}}`, `{"log": {"level": ""}}`, `{"log": {"level": "${INFO}"}}`,
		`{"data_dir": "x"}`, `{"data_dir": ""}`, `{"data_dir": "a$b"}`, `{"data_dir": "$"}`, `{"data_dir": "$$"}`, `{"data_dir": "$${"}`, `{"data_dir": "a${"}`,
		`{"data_dir": "${"}`, `{"data_dir": "${}"}`, `{"data_dir": "${ONE}"}`, `{"data_dir": "$${ONE}${ONE}$"}`, `{"data_dir": "$$${ONE}"}`,
		`{"data_dir": "${1A}"}`, `{"data_dir": "${NONE:-}x"}`, `{"data_dir": "${NONE:-a$b}"}`, `{"data_dir": "${NONE:-$}"}`, `{"data_dir": "${A:-${ONE}}"}`,
		`{"data_dir": "${ONE:x}"}`, `{"data_dir": "${A B}"}`, `{"data_dir": "${file:testdata/key.txt}"}`, `{"data_dir": "a\nb"}`,
		`{"limits": {"spend": {"person_daily": 0}}}`, `{"limits": {"spend": {"total_daily": 2}}}`, `{"limits": {"spend": {"total_daily": "${ONE}"}}}`, `{"limits": {"spend": {"total_daily": 1000001}}}`, `{"limits": {"spend": {"total_daily": null}}}`,
		`{"limits": {"turns": 0}}`, `{"limits": {"turns": 1.5}}`, `{"limits": {"turns": 1}}`, `{"limits": {"turns": "${ONE}"}}`, `{"limits": {"turns": "1"}}`,
		`{"tools": {"policy": {"x": "allow"}}}`, `{"tools": {"policy": {"x": ""}}}`, `{"tools": {"policy": {"x": "${ALLOW}"}}}`, `{"tools": {"policy": []}}`,
		`{"agents": {"main": {"x": 1}}}`, `{"agents": {"a b": {}}, "models": {"m": {"type": "demo"}}}`, `{"models": {"m": {"type": "demo", "model": "x"}}}`,
		`{"models": {"m": {"type": "demo"}}, "agents": {"a": {"models": ["m", "m"]}}}`, `{"models": {"m": {"type": "openai", "model": "x"}}}`, `{"models": {"m": {"type": "openai", "model": ""}}}`, `{"models": {"m": {"type": "openai"}}}`,
		`{"models": {"m": {"type": "${OPENAI}", "model": "x"}}}`, `{"models": {"m": {}}}`, `{"models": {"m": {"type": "gpt"}}}`,
		`{"models": {"m": {"type": "openai", "model": "x", "small": 128}}}`, `{"models": {"m": {"type": "openai", "model": "x", "ports": [65536]}}}`,
		`{"models": {"m": {"type": "openai", "model": "x", "max_tokens": 200}}}`, `{"models": {"m": {"type": "openai", "model": "x", "max_tokens": 201}}}`,
		`{"models": {"m": {"type": "openai", "model": "x", "ratio": null}}}`, `{"models": {"m": {"type": "openai", "model": "x", "ratio": 1.1}}}`,
		`{"models": {"m": {"type": "openai", "model": "x", "any": null, "raw": []}}}`, `{"models": {"m": {"type": "openai", "model": "x", "base_url": "x"}}}`,
		`{"channels": {"c": {"type": "telegram", "token": "x"}}}`, `{"channels": {"c": {"type": "telegram"}}}`, `{"channels": {"c": {"type": "web", "token": "x"}}}`,
		`{"channels": {"c": {"type": "telegram", "token": "x", "mode": "webhook"}}}`, `{"channels": {"c": {"type": "telegram", "token": "x", "mode": "webhook", "secret": "s"}}}`,
		`{"channels": {"c": {"type": "web", "access": {"mode": null}}}}`, `{"channels": {"c": {"type": "web", "access": {"mode": "pairing"}}}}`,
		`{"channels": {"c": {"type": "web", "access": {"mode": ""}}}}`, `{"channels": {"c": {"type": "web", "access": {"rate": ""}}}}`,
		`{"channels": {"c": {"type": "telegram", "token": "x", "key": ""}}}`, `{"channels": {"c": {"type": "telegram", "token": "x", "key": "c"}}}`,
		`{"mcp_servers": {"s": {"command": "x"}}}`, `{"mcpServers": {"s": {"command": "x"}}}`, `{"mcp_servers": {"s": {}}}`, `{"mcpServers": {"s": {"url": "x"}}}`,
		`{"mcp_servers": {"s": {"url": "http://x"}}}`, `{"mcp_servers": {"s": {"url": "http://x", "command": "x"}}}`, `{"mcp_servers": {"s": {"command": 7}}}`,
		`{"mcp_servers": {"s": {"command": "x"}}, "mcpServers": {"t": {"command": "x"}}}`, `{"mcp_servers": {"a__b": {"command": "x"}}}`,
		`{"mcp_servers": {"s": {"url": "${URL}"}}}`, `{"mcp_servers": {"s": {"command": "x", "tools": {"allow": "*"}}}}`,
	} {
		cfg, err := config.Parse("c", []byte(text), ".", func(name string) (string, bool) {
			value, ok := map[string]string{"ONE": "1", "SECOND": "1s", "YES": "true", "INFO": "info", "ALLOW": "allow", "OPENAI": "openai", "URL": "http://x"}[name]
			return value, ok
		})
		if cfg != nil {
			err = config.Join(err, decodeSections(cfg))
		}
		if wrong := validate(t, s, text); (wrong == nil) != (err == nil) {
			t.Errorf("%s\nloader: %v\nschema: %v", text, err, wrong)
		}
	}
}
