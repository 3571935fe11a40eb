package config_test

import (
	"fmt"
	"log/slog"
	"maps"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"dragoman/config"
)

// equal says where two values differ.
func equal(t *testing.T, what string, got, want any) {
	t.Helper()
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%s\n got %+v\nwant %+v", what, got, want)
	}
}

func loadGood(t *testing.T) *config.Config {
	t.Helper()
	cfg, err := config.Load("testdata/good.json", environment)
	if err != nil {
		t.Fatal(err)
	}
	return cfg
}

func TestEveryKey(t *testing.T) {
	cfg := loadGood(t)
	dir, err := filepath.Abs("testdata")
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "dir", cfg.Dir, dir)
	equal(t, "$schema", cfg.Schema, "./dragoman.schema.json")
	equal(t, "version", cfg.Version, 1)
	equal(t, "data_dir", cfg.DataDir, filepath.Join(dir, "data"))
	equal(t, "listen", cfg.Listen, "127.0.0.1:7001")
	equal(t, "admin", []string{cfg.Admin.Token.Reveal(), fmt.Sprint(cfg.Admin.Token)}, []string{"0123456789abcdef", "[redacted]"})
	equal(t, "secret_key", cfg.SecretKey.Reveal(), "fedcba9876543210")
	equal(t, "public_url", cfg.PublicURL, "https://bot.example.org")
	equal(t, "store", cfg.Store, config.Store{Type: "sqlite", Path: filepath.Join(dir, "monday.db"), Sync: "normal"})
	equal(t, "agents", cfg.Agents, map[string]config.Agent{
		"main": {
			Models: []string{"claude", "main"}, Instructions: "You cost $5.", MCPServers: []string{"files"},
			Tools:    config.Filter{Allow: []string{"files__*"}, Deny: []string{"*__delete_*"}},
			MaxSteps: 5, TurnTimeout: time.Minute, Busy: "steer", OnToolFailure: "stop",
		},
		"other": {
			Models: []string{"main", "claude", "backup"}, MCPServers: []string{"*"},
			Tools: config.Filter{Allow: []string{"*"}}, MaxSteps: 20, TurnTimeout: 10 * time.Minute,
			Busy: "queue", OnToolFailure: "tell_model",
		},
	})
	equal(t, "mcp", cfg.MCP, config.MCP{Enabled: true, Timeout: 3 * time.Second, CallTimeout: 9 * time.Second})
	equal(t, "tools", cfg.Tools, config.Tools{
		Policy:  map[string]string{"files__read_*": "allow", "files__write_*": "ask", "*__delete_*": "deny"},
		Default: "deny", ResultBytes: 1000, SearchAbove: 5000,
	})
	equal(t, "ask", cfg.Ask, config.Ask{Expires: time.Hour, OnMessage: "wait"})
	equal(t, "access", cfg.Access, config.Access{Mode: "allowlist", Groups: "all", Rate: config.Rate{Count: 5, Per: 10 * time.Second}})
	equal(t, "people", cfg.People, map[string]config.Person{"ann": {IDs: []string{"tg:12345", "web:a:b"}, Role: "admin"}, "bob": {Role: "user"}})
	equal(t, "limits", cfg.Limits, config.Limits{Turns: 2, StaleAfter: 30 * time.Minute, DrainTimeout: time.Second, Spend: config.Spend{PersonDaily: new(0.05), TotalDaily: new(20.0)}})
	equal(t, "log", cfg.Log, config.Log{Format: "json", Level: "debug"})
}

func TestModelSection(t *testing.T) {
	cfg := loadGood(t)
	equal(t, "models", slices.Sorted(maps.Keys(cfg.Models)), []string{"backup", "claude", "main"})
	equal(t, "type", cfg.Models["main"].Type, "openai")
	var got modelConfig
	if err := cfg.Models["main"].Decode(&got); err != nil {
		t.Fatal(err)
	}
	warn, half := slog.LevelWarn, float32(0.5)
	equal(t, "model", got, modelConfig{
		common: common{Timeout: 5 * time.Minute, Level: &warn},
		Model:  "m-1", APIKey: "s3cret-key", BaseURL: "https://api.example.org/v1", MaxTokens: 100, Small: 7, Ratio: &half,
		Any: map[string]any{"a": []any{1.0, "${b}", nil}}, Raw: []byte(`{"b":"h","n":1.50}`), Ports: []uint16{1, 2},
	})
}

func TestChannels(t *testing.T) {
	cfg := loadGood(t)
	tg, web := cfg.Channels["tg"], cfg.Channels["web"]
	equal(t, "tg type, agent, sends", []any{tg.Type, tg.Agent, tg.SendsInFlight}, []any{"telegram", "other", 3})
	equal(t, "chats of tg, web", []map[string]config.Chat{tg.Chats, web.Chats}, []map[string]config.Chat{{"-5000": {Agent: "main"}}, nil})
	equal(t, "web type, agent, sends", []any{web.Type, web.Agent, web.SendsInFlight}, []any{"web", "main", 8})
	equal(t, "access of tg", cfg.Access.With(tg.Access), config.Access{Mode: "open", Groups: "all"})
	equal(t, "access of web", cfg.Access.With(web.Access), cfg.Access)
	var got channelConfig
	if err := tg.Decode(&got); err != nil {
		t.Fatal(err)
	}
	equal(t, "section of tg", got, channelConfig{Token: "12:ab", Mode: "webhook", Secret: "s"})
}

// TestServers has servers under both keys, and the time-outs of mcp where a server has none.
func TestServers(t *testing.T) {
	cfg := loadGood(t)
	files, off := cfg.MCPServers["files"], cfg.MCPServers["off_server"]
	equal(t, "enabled", []bool{files.Enabled, off.Enabled}, []bool{true, false})
	equal(t, "tools", files.Tools, config.ServerTools{Filter: config.Filter{Allow: []string{"read_*"}, Deny: []string{}},
		ReadOnly: []string{"read_*"}, Idempotent: []string{"put_*"}})
	equal(t, "path", off.Path(), "mcpServers.off_server")
	var got, gotOff serverConfig
	if err := config.Join(files.Decode(&got), off.Decode(&gotOff)); err != nil {
		t.Fatal(err)
	}
	equal(t, "files", got, serverConfig{
		Command: "npx", Args: []string{"-y", "pkg"}, Env: map[string]secret{"KEY": "k"}, Timeout: 3 * time.Second, CallTimeout: time.Hour,
	})
	equal(t, "off_server", gotOff, serverConfig{Command: "x", Timeout: 3 * time.Second, CallTimeout: 9 * time.Second})
}

// TestDefaults holds the values that the contract shows.
func TestDefaults(t *testing.T) {
	cfg, err := config.Parse("c", []byte("{}"), "/srv", nil)
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "defaults", *cfg, config.Config{
		Version: 1, DataDir: "/srv/dragoman-data", Listen: "127.0.0.1:7420", Dir: "/srv",
		Store: config.Store{Type: "sqlite", Sync: "full"},
		Agents: map[string]config.Agent{"main": {
			MCPServers: []string{"*"}, Tools: config.Filter{Allow: []string{"*"}}, MaxSteps: 20, TurnTimeout: 10 * time.Minute,
			Busy: "queue", OnToolFailure: "tell_model",
		}},
		MCP:    config.MCP{Enabled: true, Timeout: 15 * time.Second, CallTimeout: time.Minute},
		Tools:  config.Tools{Default: "ask", ResultBytes: 16384, SearchAbove: 12000},
		Ask:    config.Ask{Expires: 24 * time.Hour, OnMessage: "supersede", GroupWait: 2 * time.Minute},
		Access: config.Access{Mode: "pairing", Groups: "mention", Rate: config.Rate{Count: 30, Per: time.Minute}},
		Limits: config.Limits{Turns: 1024, StaleAfter: time.Hour, DrainTimeout: 20 * time.Second},
		Log:    config.Log{Level: "info"},
	})
}

func TestAgentsThatFollow(t *testing.T) {
	const models = `"models": {"z": {"type": "demo"}, "a": {"type": "demo"}, "m": {"type": "demo"}}, "channels": {"web": {"type": "web"}}`
	for _, tt := range []struct{ name, agents, agent string }{
		{"none is given", ``, "main"},
		{"one is given", `, "agents": {"sales": {}}`, "sales"},
		{"many with main", `, "agents": {"sales": {}, "main": {}, "c": {}}`, "main"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			cfg, err := config.Parse("c", []byte("{"+models+tt.agents+"}"), "", nil)
			if err != nil {
				t.Fatal(err)
			}
			equal(t, "agent of web", cfg.Channels["web"].Agent, tt.agent)
			equal(t, "its models, in the order of the file", cfg.Agents[tt.agent].Models, []string{"z", "a", "m"})
		})
	}
}

// TestSectionsHideTheirTexts prints a config in all the ways that logs do.
func TestSectionsHideTheirTexts(t *testing.T) {
	cfg := loadGood(t)
	for _, format := range []string{"%v", "%+v", "%#v", "%s"} {
		for name, value := range map[string]any{"config": *cfg, "models": cfg.Models, "section": cfg.Channels["tg"].Section} {
			if text := fmt.Sprintf(format, value); strings.Contains(text, "s3cret-key") || strings.Contains(text, "12:ab") {
				t.Errorf("%s as %s shows a secret: %s", name, format, text)
			}
		}
	}
	tg := cfg.Channels["tg"].Section
	equal(t, "a section as text", fmt.Sprintf("%v %#v", tg, tg), `channels.tg config.Section("channels.tg")`)
	var log strings.Builder
	slog.New(slog.NewJSONHandler(&log, nil)).Info("config", "all", cfg, "section", cfg.Channels["tg"].Section)
	if strings.Contains(log.String(), "s3cret-key") || strings.Contains(log.String(), "12:ab") {
		t.Errorf("the log shows a secret: %s", log.String())
	}
}
