package config_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"dragoman/config"
)

func TestExpansion(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "token"), []byte("\n  from file \r\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	env := func(name string) (string, bool) {
		value, ok := map[string]string{"A": "one", "B2_": "two", "EMPTY": "", "MONEY": "${A}$"}[name]
		return value, ok
	}
	for text, want := range map[string]string{
		`plain $A $ {A} $$`:                  `plain $A $ {A} $$`,
		`${A}`:                               `one`,
		`<${A}|${B2_}>`:                      `<one|two>`,
		`${EMPTY}`:                           ``,
		`${EMPTY:-x}`:                        `x`,
		`${UNSET:-x:-y $1}`:                  `x:-y $1`,
		`${UNSET:-}`:                         ``,
		`${A:-x}`:                            `one`,
		`$${A}`:                              `${A}`,
		`$${A} ${A} $${`:                     `${A} one ${`,
		`${MONEY}`:                           `${A}$`, // a value is not looked into
		`${file:token}!`:                     `from file!`,
		`${file:` + dir + `/token}`:          `from file`,
		`\u0024{A} caf\u00e9 \"q\"`:          `one café "q"`,
		`${file:../` + base(dir) + `/token}`: `from file`,
	} {
		cfg, err := config.Parse("c", []byte(`{"models": {"m": {"type": "x"}}, "agents": {"main": {"instructions": "`+text+`"}}}`), dir, env)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		equal(t, text, cfg.Agents["main"].Instructions, want)
	}
}

func base(dir string) string { return filepath.Base(dir) }

// TestKeysAreNotExpanded: a key from a variable could hide what is configured.
func TestKeysAreNotExpanded(t *testing.T) {
	cfg, err := config.Parse("c", []byte(`{"tools": {"policy": {"${A}": "deny"}}}`), "", nil)
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "policy", cfg.Tools.Policy, map[string]string{"${A}": "deny"})
}

// TestVariablesForOtherTypes: the environment knows text only.
func TestVariablesForOtherTypes(t *testing.T) {
	env := func(name string) (string, bool) {
		value, ok := map[string]string{"YES": "true", "N": "12", "RATE": "2/1s"}[name]
		return value, ok
	}
	text := `{"mcp": {"enabled": "${NO:-false}", "timeout": "${N}s"}, "limits": {"turns": "${N}"}, "access": {"rate": "${RATE}"}}`
	cfg, err := config.Parse("c", []byte(text), "", env)
	if err != nil {
		t.Fatal(err)
	}
	equal(t, "mcp.enabled", cfg.MCP.Enabled, false)
	equal(t, "limits.turns", cfg.Limits.Turns, 12)
	equal(t, "mcp.timeout", cfg.MCP.Timeout.String(), "12s")
	equal(t, "access.rate", cfg.Access.Rate.Count, 2)
}

// TestFilesThatCannotBeUsed: none of them is waited for, or read without end.
func TestFilesThatCannotBeUsed(t *testing.T) {
	dir := t.TempDir()
	for name, content := range map[string]string{"large": strings.Repeat("x", 2<<20), "binary": "\xff\x00"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for path, want := range map[string]string{
		"none":      "no such file or directory",
		"none/none": "no such file or directory",
		"large":     "it is larger than 1048576 bytes",
		"binary":    "it is not text (UTF-8)",
		".":         "it is not a regular file",
		"":          "no such file or directory",
		"/dev/zero": "it is not a regular file",
	} {
		_, err := config.Parse("c", []byte(`{"listen": "${file:`+path+`}"}`), dir, nil)
		if err == nil || !strings.Contains(err.Error(), "c:1:12: listen: uses ${file:"+path+"}, which cannot be read: "+want+" (") {
			t.Errorf("%q: got %v", path, err)
		}
	}
}

// TestNoPlaceShowsAVariable puts a secret variable at each text of a config in
// turn, and as each kind of entry; no fault may show its value.
func TestNoPlaceShowsAVariable(t *testing.T) {
	good, err := os.ReadFile("testdata/good.json")
	if err != nil {
		t.Fatal(err)
	}
	quotes := strings.Split(string(good), `"`)
	var faulty int
	for i := 1; i < len(quotes); i += 2 {
		if strings.HasPrefix(strings.TrimSpace(quotes[i+1]), ":") {
			continue // a key
		}
		changed := append([]string(nil), quotes...)
		changed[i] = "${STORE}"
		cfg, err := config.Parse("c", []byte(strings.Join(changed, `"`)), "testdata", environment)
		if cfg == nil {
			t.Fatalf("text %q: %v", quotes[i], err)
		}
		err = config.Join(err, decodeSections(cfg))
		if err == nil {
			continue
		}
		faulty++
		if strings.Contains(err.Error(), "hunter2") || strings.Contains(err.Error(), "topsecret") {
			t.Errorf("text %q: a fault shows the variable: %v", quotes[i], err)
		}
	}
	if faulty < 20 {
		t.Errorf("only %d places gave a fault", faulty)
	}
}
