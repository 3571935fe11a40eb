package mcp

import (
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/go-playground/validator/v10"

	"dragoman/ports"
)

func TestConfigFaults(t *testing.T) {
	for says, cfg := range map[string]Config{
		"command is missing":                     {},
		`transport "http" is not supported yet`:  {Transport: "http", Command: "x"},
		`transport "sse" is not supported yet`:   {Type: "sse"},
		`transport "carrier pigeon" is unknown`:  {Type: "carrier pigeon"},
		"cannot be negative":                     {Command: "x", Timeout: -1},
		`"A=B" cannot be the name of a variable`: {Command: "x", Env: map[string]ports.Secret{"A=B": "1"}},
	} {
		_, err := New(cfg, nil)
		if !ports.IsKind(err, ports.KindInvalid) || !strings.Contains(err.Error(), says) {
			t.Errorf("%+v gives %v, want %q", cfg, err, says)
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
	if err := check.Struct(Config{Command: "x", Env: map[string]ports.Secret{"A": "1"}, InheritEnv: []string{"B"}}); err != nil {
		t.Errorf("a good config: %v", err)
	}
	for _, bad := range []Config{{}, {Command: "x", Type: "http"}, {Command: "x", Env: map[string]ports.Secret{"": "1"}}, {Command: "x", Timeout: -1}} {
		if check.Struct(bad) == nil {
			t.Errorf("%+v is accepted", bad)
		}
	}
}

func TestConfigKeepsSecrets(t *testing.T) {
	cfg := Config{Command: "x", Env: map[string]ports.Secret{"KEY": "hunter2hunter2"}}
	if text := fmt.Sprintf("%v %+v %#v", cfg, cfg, cfg); strings.Contains(text, "hunter2") {
		t.Errorf("the config prints as %s", text)
	}
}
