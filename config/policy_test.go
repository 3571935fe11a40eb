package config_test

import (
	"strings"
	"testing"

	"dragoman/config"
)

func TestUnmatchedPatterns(t *testing.T) {
	cfg, err := config.Parse("c", []byte(`{"mcp_servers": {"files": {"command": "x", "enabled": false}, "my_db": {"command": "x"}}, "tools": {"policy": {
"*": "ask", "*__delete_*": "deny", "files__*": "allow", "files__read_file": "allow", "fi*": "allow", "my_db__q*": "allow", "clock": "ask", "cl*k": "ask", "*_artifact": "allow",
"file__read": "allow",
"files__": "allow",
"files": "allow",
"Files__*": "allow",
"weather__*": "deny",
"clocks": "ask"}}}`), "", nil)
	if err != nil {
		t.Fatal(err)
	}
	want := strings.TrimPrefix(`
c:3:1: tools.policy.file__read: matches no tool: no MCP server has this name (did you mean "files"?)
c:4:1: tools.policy.files__: matches no tool: no MCP server has this name (did you mean "files"?)
c:5:1: tools.policy.files: matches no tool (must be SERVER__TOOL, or a built-in tool: clock, read_artifact; * stands for any text)
c:6:1: tools.policy["Files__*"]: matches no tool: no MCP server has this name (did you mean "files"?)
c:7:1: tools.policy["weather__*"]: matches no tool: no MCP server has this name (must be one of files, my_db)
c:8:1: tools.policy.clocks: matches no tool (must be SERVER__TOOL, or a built-in tool: clock, read_artifact; * stands for any text)`, "\n")
	if got := cfg.Unmatched("clock", "read_artifact"); got.Error() != want {
		t.Errorf("got\n%v\nwant\n%s", got, want)
	}
}

func TestNoPatternIsUnmatchedWithoutAPolicy(t *testing.T) {
	cfg, err := config.Parse("c", []byte(`{}`), "", nil)
	if err != nil {
		t.Fatal(err)
	}
	if got := cfg.Unmatched(); len(got) > 0 {
		t.Errorf("got %v", got)
	}
}

// TestKeysOfOtherPrograms: a block copied from a README is told what is written here instead.
func TestKeysOfOtherPrograms(t *testing.T) {
	cfg, err := config.Parse("c", []byte(`{"mcpServers": {"files": {"command": "x",
"disabled": true,
"autoApprove": ["read_file"],
"disabledTools": []}}}`), "", nil)
	if err != nil {
		t.Fatal(err)
	}
	want := strings.TrimPrefix(`
c:2:1: mcpServers.files.disabled: is not a known key (here: "enabled": false)
c:3:1: mcpServers.files.autoApprove: is not a known key (here: "tools": {"policy": {"files__TOOL": "allow"}} at the top of the config)
c:4:1: mcpServers.files.disabledTools: is not a known key (here: "tools": {"deny": […]})`, "\n")
	if err := cfg.MCPServers["files"].Decode(&serverConfig{}); err == nil || err.Error() != want {
		t.Errorf("got\n%v\nwant\n%s", err, want)
	}
}
