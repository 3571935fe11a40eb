package mcp

import (
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/go-playground/validator/v10"

	"dragoman/ports"
)

func TestConfigFaults(t *testing.T) {
	at := func(url string, headers ...string) Config {
		c := Config{URL: ports.Secret(url), Headers: map[string]ports.Secret{}}
		for _, h := range headers {
			name, value, _ := strings.Cut(h, "=")
			c.Headers[name] = ports.Secret(value)
		}
		return c
	}
	for says, cfg := range map[string]Config{
		"command and url are both missing":           {},
		"command and url are both given":             {Command: "x", URL: "http://h/mcp"},
		`transport is "sse", but there is a command`: {Transport: "sse", Command: "x"},
		`transport "carrier pigeon" is unknown`:      {Transport: "carrier pigeon", Command: "x"},
		`transport is "stdio", but there is a url`:   {Transport: "stdio", URL: "http://h/mcp"},
		`transport is "http", but there is a comman`: {Transport: "http", Command: "x"},
		"args, env, inherit_env and cwd are for a c": {URL: "http://h/mcp", Args: []string{"-y"}},
		"headers are for a url":                      {Command: "x", Headers: map[string]ports.Secret{"A": "1"}},
		"url is not right":                           at("h/mcp"),
		"url has a part behind #":                    at("http://h/mcp#x"),
		`"a b" cannot be the name of a header`:       at("http://h/mcp", "a b=1"),
		"the value of A has characters":              at("http://h/mcp", "A=1\n2"),
		"Mcp-session-ID is set by the gateway":       at("http://h/mcp", "Mcp-session-ID=1"),
		"idempotency-key is set by the gateway":      at("http://h/mcp", "idempotency-key=1"),
		"cannot be negative":                         {Command: "x", Timeout: -1},
		"cannot be shorter than 1ms":                 {Command: "x", CallTimeout: 1},
		"max_message_bytes 1 is too small":           {Command: "x", MaxMessageBytes: 1},
		"is not spoken over sse":                     {URL: "http://h", Transport: "sse", ProtocolVersion: newestModern},
		`roots: "" is no folder`:                     {Command: "x", Roots: []string{"/", ""}},
		`roots: "https://h/x" is no folder`:          {Command: "x", Roots: []string{"https://h/x"}},
		`roots: "file://" is no folder`:              {Command: "x", Roots: []string{"file://"}},
		"DRAGOMAN_CHILD is set by the gateway":       {Command: "x", Env: map[string]ports.Secret{childVar: "1"}},
		`"A=B" cannot be the name of a variable`:     {Command: "x", Env: map[string]ports.Secret{"A=B": "1"}},
	} {
		_, err := New(cfg, Deps{})
		if !ports.IsKind(err, ports.KindInvalid) || !strings.Contains(err.Error(), says) {
			t.Errorf("%+v gives %v, want %q", cfg, err, says)
		}
	}
}

func TestTransportFollows(t *testing.T) {
	for want, list := range map[string][]Config{
		overStdio: {{Command: "x"}, {Command: "x", Transport: "stdio"}},
		overHTTP:  {{URL: "https://h/mcp"}, {URL: "http://h", Transport: "http"}, {URL: "http://h", Transport: "streamableHttp"}},
	} {
		for _, cfg := range list {
			if got, err := cfg.complete(); err != nil || got.Transport != want {
				t.Errorf("%+v is %q, %v; want %q", cfg, got.Transport, err, want)
			}
		}
	}
}

// TestConfigTags: the tags say what the code does.
func TestConfigTags(t *testing.T) {
	defaults := make(map[string]string)
	for f := range reflect.TypeFor[Config]().Fields() {
		if d, ok := f.Tag.Lookup("default"); ok {
			defaults[f.Name] = d
		}
	}
	timeout, err1 := time.ParseDuration(defaults["Timeout"])
	callTimeout, err2 := time.ParseDuration(defaults["CallTimeout"])
	size, err3 := strconv.Atoi(defaults["MaxMessageBytes"])
	if timeout != defaultTimeout || callTimeout != defaultCallTimeout || size != defaultMaxMessageBytes {
		t.Errorf("the default tags are %v (%v %v %v)", defaults, err1, err2, err3)
	}
	check := validator.New(validator.WithRequiredStructEnabled())
	for _, good := range []Config{
		{Command: "x", Env: map[string]ports.Secret{"A": "1"}, InheritEnv: []string{"B"}},
		{URL: "http://localhost:8080/mcp", Headers: map[string]ports.Secret{"Authorization": "Bearer x"}},
	} {
		if err := check.Struct(good); err != nil {
			t.Errorf("a good config: %v", err)
		}
	}
	for _, bad := range []Config{
		{}, {Command: "x", Transport: "soap"}, {Command: "x", Env: map[string]ports.Secret{"": "1"}}, {Command: "x", Timeout: -1},
		{Command: "x", URL: "http://h"}, {URL: "h"}, {URL: "ftp://h"}, {URL: "http://h", Args: []string{"a"}}, {URL: "http://h", Cwd: "/"},
		{Command: "x", Headers: map[string]ports.Secret{"A": "1"}}, {URL: "http://h", Headers: map[string]ports.Secret{"a b": "1"}},
	} {
		if check.Struct(bad) == nil {
			t.Errorf("%+v is accepted", bad)
		}
	}
}

func TestConfigKeepsSecrets(t *testing.T) {
	for _, cfg := range []Config{
		{Command: "x", Env: map[string]ports.Secret{"KEY": "hunter2hunter2"}},
		{URL: "http://me:hunter2hunter2@h/hunter2hunter2x?key=hunter2hunter2", Headers: map[string]ports.Secret{"A": "Bearer hunter2hunter2"}},
	} {
		if text := fmt.Sprintf("%v %+v %#v", cfg, cfg, cfg); strings.Contains(text, "hunter2") {
			t.Errorf("the config prints as %s", text)
		}
		if text := cfg.redactor().Replace("it says hunter2hunter2 and hunter2hunter2x"); strings.Contains(text, "hunter2") || cfg.URL != "" && cfg.origin() != "http://h" {
			t.Errorf("%q is left of a text, the origin is %q", text, cfg.origin())
		}
	}
}

// TestRootsBeginAtTheConfigFile, whatever folder the server starts in.
func TestRootsBeginAtTheConfigFile(t *testing.T) {
	c := Config{Command: "x", Cwd: "/elsewhere", Roots: []string{"data", "/abs", "file:///kept"}}
	roots := rootsOf(c.In("/etc/bot").Roots)
	want := []root{{"file:///etc/bot/data", "data"}, {"file:///abs", "abs"}, {URI: "file:///kept"}}
	if !slices.Equal(roots, want) {
		t.Errorf("the roots are %+v, want %+v", roots, want)
	}
	if c.Roots[0] != "data" {
		t.Error("the config was changed")
	}
}
