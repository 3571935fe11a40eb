package main

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"text/template"
	"time"

	"dragoman/config"
)

const defaultFile = "dragoman.json"

// loadConfig reads the config: the file that was named, else ./dragoman.json,
// else the built-in default. All faults of it come as one error, those of the
// adapters' sections included.
func loadConfig(ctx context.Context, file string) (*config.Config, string, error) {
	if file == "" {
		if _, err := os.Stat(defaultFile); errors.Is(err, os.ErrNotExist) {
			cfg, err := builtInConfig(ctx)
			return cfg, "the built-in default", err
		}
		file = defaultFile
	}
	cfg, err := config.Load(file, os.LookupEnv)
	if cfg == nil {
		return nil, file, err
	}
	if err := config.Join(err, checkSections(cfg)); err != nil {
		return nil, file, err
	}
	return cfg, file, chooseModel(ctx, cfg)
}

// locate reads of a config only where its data folder is, whatever else is wrong with it.
func locate(file string) (*config.Config, error) {
	if file == "" {
		if _, err := os.Stat(defaultFile); errors.Is(err, os.ErrNotExist) {
			return config.Parse("(built-in default)", []byte("{}"), ".", os.LookupEnv)
		}
		file = defaultFile
	}
	cfg, err := config.Load(file, os.LookupEnv)
	if cfg == nil || cfg.DataDir == "" {
		return nil, err
	}
	return cfg, nil
}

//go:embed default.json.tmpl
var defaultText string

// builtInConfig is what runs with no config at all: the web chat, the built-in
// tools, our own small MCP server as a real child, and the first model found.
func builtInConfig(ctx context.Context) (*config.Config, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("cannot find my own program file: %w", err)
	}
	text, err := template.New("default").Funcs(template.FuncMap{"json": asJSON, "literal": literal}).Parse(defaultText)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	if err := text.Execute(&b, map[string]any{"Self": self, "Model": findModel(ctx)}); err != nil {
		return nil, err
	}
	cfg, err := config.Parse("(built-in default)", b.Bytes(), ".", os.LookupEnv)
	if err != nil {
		return nil, err
	}
	return cfg, checkSections(cfg)
}

// chooseModel gives a config that names no model the one that the built-in
// default would have: a file that is only a list of MCP servers works.
func chooseModel(ctx context.Context, cfg *config.Config) error {
	if len(cfg.Models) > 0 {
		return nil
	}
	found, err := builtInConfig(ctx)
	if err != nil {
		return err
	}
	cfg.Models = found.Models
	for name, a := range cfg.Agents {
		a.Models = found.Agents["main"].Models
		cfg.Agents[name] = a
	}
	return nil
}

// literal is a text of JSON that the config takes as it is: its "${" is no variable.
func literal(s string) (string, error) {
	b, err := json.Marshal(strings.ReplaceAll(s, "${", "$${"))
	return string(b), err
}

func asJSON(v any) (string, error) {
	b, err := json.Marshal(v)
	return string(b), err
}

const ollama = "http://127.0.0.1:11434"

// findModel chooses the model of the built-in default: by the keys in the
// environment, else an Ollama on this machine, else the demo.
func findModel(ctx context.Context) map[string]string {
	if os.Getenv("ANTHROPIC_API_KEY") != "" {
		return map[string]string{"type": "anthropic", "api_key": "${ANTHROPIC_API_KEY}", "model": "claude-sonnet-5-5"}
	}
	if os.Getenv("OPENAI_API_KEY") != "" {
		return map[string]string{"type": "openai", "api_key": "${OPENAI_API_KEY}", "model": "gpt-4.1-mini"}
	}
	if name := findOllama(ctx); name != "" {
		return map[string]string{"type": "openai", "base_url": ollama + "/v1", "model": name}
	}
	return map[string]string{"type": "demo"}
}

// findOllama names the first model of an Ollama on this machine, "" if there is none.
func findOllama(ctx context.Context) string {
	ctx, cancel := context.WithTimeout(ctx, 300*time.Millisecond)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, ollama+"/api/tags", nil)
	if err != nil {
		return ""
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return ""
	}
	defer resp.Body.Close()
	var tags struct {
		Models []struct{ Name string }
	}
	if json.NewDecoder(resp.Body).Decode(&tags) != nil || len(tags.Models) == 0 {
		return ""
	}
	return tags.Models[0].Name
}
