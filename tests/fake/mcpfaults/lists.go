package mcpfaults

import (
	"fmt"
	"strings"
)

// lists are faults of tools/list as a whole.
func lists() []Fault {
	return []Fault{
		{Name: "no such method", Over: Stdio, Why: "a server may have no tools, and nothing is wrong with it then", say: refuses("tools/list", -32601, "Method not found")},
		{Name: "no tools member", Over: Stdio, Why: "an answer without the list is not an empty list", say: answers("tools/list", `{}`)},
		{Name: "tools is an object", Over: Stdio, Why: "the same with the wrong type", say: answers("tools/list", `{"tools":{"echo":{}}}`)},
		{Name: "repeats a cursor", Over: Stdio, Why: "the next page is this page, for ever",
			say: answers("tools/list", strings.TrimSuffix(list(), "}")+`,"nextCursor":"again"}`)},
		{Name: "endless pages", Over: Stdio, Why: "every page has another cursor",
			say: onList(func(p *peer) string {
				return strings.TrimSuffix(list(tool(fmt.Sprintf("page_%d", p.lists), objectSchema)), "}") + fmt.Sprintf(`,"nextCursor":"%d"}`, p.lists)
			})},
		{Name: "endless empty pages", Over: Stdio, Why: "pages with nothing on them cost a round trip each",
			say: onList(func(p *peer) string {
				if p.lists == 1 {
					return strings.TrimSuffix(list(), "}") + `,"nextCursor":"0"}`
				}
				return fmt.Sprintf(`{"tools":[],"nextCursor":"%d"}`, p.lists)
			})},
		{Name: "cursor is a number", Over: Stdio, Why: "a cursor is opaque, but it is a string",
			say: answers("tools/list", strings.TrimSuffix(list(), "}")+`,"nextCursor":7}`)},
		{Name: "too many tools", Over: Stdio, Why: "thousands of tools are no catalog",
			say: onList(func(*peer) string {
				var more []string
				for n := range 3000 {
					more = append(more, tool(fmt.Sprintf("t%d", n), objectSchema))
				}
				return list(more...)
			})},
		{Name: "two tools of one name", Over: Stdio, Why: "a name that means two things is decided the same way each time",
			say: answers("tools/list", list(tool("echo", objectSchema)))},
		{Name: "other tools each time", Over: Stdio, Why: "a catalog that never settles is taken as it comes, and no oftener than it must",
			say: func(p *peer, m message) bool {
				if m.Method != "tools/list" {
					return false
				}
				p.answer(m, list(tool(fmt.Sprintf("passing_%d", p.lists), objectSchema)))
				p.line(`{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`)
				return true
			}},
		{Name: "names that steer", Over: Stdio, Why: "a tool's name and words are shown on terminals and in chats",
			say: answers("tools/list", list(`{"name":"\u001b[2Jclear","inputSchema":{"type":"object"}}`, `{"name":"say","title":"\u001b]0;own3d\u0007","description":"\u202eevil\u0000","inputSchema":{"type":"object"}}`))},
		{Name: "vanished tool", Over: Stdio, Why: "a tool that was listed and is no longer known",
			say: acts(func(p *peer, m message) { p.line(refusal(m.ID, -32602, "Unknown tool: act")) })},
	}
}

func onList(answer func(*peer) string) func(*peer, message) bool {
	return func(p *peer, m message) bool {
		if m.Method != "tools/list" {
			return false
		}
		p.answer(m, answer(p))
		return true
	}
}

func tool(name, schema string) string {
	return fmt.Sprintf(`{"name":%q,"inputSchema":%s}`, name, schema)
}

// malformedTools has one bad tool among the good ones in each.
func malformedTools() []Fault {
	bad := []struct{ name, tool string }{
		{"no name", `{"inputSchema":{"type":"object"}}`},
		{"a number for a name", `{"name":7,"inputSchema":{"type":"object"}}`},
		{"a name without end", `{"name":"` + strings.Repeat("n", 5000) + `","inputSchema":{"type":"object"}}`},
		{"true for a schema", `{"name":"odd","inputSchema":true}`},
		{"a list for a schema", `{"name":"odd","inputSchema":[]}`},
		{"a list of properties", `{"name":"odd","inputSchema":{"type":"object","properties":["a"]}}`},
		{"required is a text", `{"name":"odd","inputSchema":{"type":"object","required":"a"}}`},
		{"a schema for a text", `{"name":"odd","inputSchema":{"type":"string"}}`},
		{"a text for a tool", `"odd"`},
		{"null for a tool", `null`},
		{"a list for a tool", `[{"name":"odd"}]`},
	}
	faults := make([]Fault, len(bad))
	for i, b := range bad {
		faults[i] = Fault{Name: "tool: " + b.name, Over: Stdio, Why: "one malformed tool must not cost the others", say: answers("tools/list", list(b.tool))}
	}
	return append(faults, Fault{Name: "tools that can be mended", Over: Stdio, Why: "these have been seen, and can be used", say: answers("tools/list", list(
		`{"name":"nullable","inputSchema":{"type":["object","null"]}}`,
		`{"name":"php","inputSchema":{"type":"object","properties":[]}}`,
		`{"name":"bare"}`,
		`{"name":"word_hint","inputSchema":{"type":"object"},"annotations":{"readOnlyHint":"yes"},"description":7,"icons":"none","outputSchema":false}`))})
}

// schemas are tools whose schemas are well formed and a burden: the tool
// "act" has them, and is called.
func schemas() []Fault {
	return []Fault{
		{Name: "deep schema", Over: Stdio, Why: "recursion over what a peer wrote ends somewhere, and should not on the stack", say: actsBy(nested(3000))},
		{Name: "deeper than JSON", Over: Stdio, Why: "no decoder goes so deep, and the tool is one among others", say: actsBy(nested(20_000))},
		{Name: "wide schema", Over: Stdio, Why: "ten thousand properties are checked and shown to a model", say: actsBy(wide(10_000))},
		{Name: "exponential schema", Over: Stdio, Why: "forty references, each to the next twice, are a million million branches", say: actsBy(doubling(40))},
		{Name: "circular schema", Over: Stdio, Why: "a reference to itself never ends", say: actsBy(`{"type":"object","$ref":"#"}`)},
		{Name: "schema elsewhere", Over: Stdio, Why: "a reference to the network or to a file is not fetched", say: actsBy(`{"type":"object","properties":{"text":{"$ref":"http://127.0.0.1:1/schema.json"},"file":{"$ref":"file:///etc/passwd"}}}`)},
		{Name: "schema of no known dialect", Over: Stdio, Why: "a schema that cannot be compiled costs the check, not the tool", say: actsBy(`{"$schema":"https://nobody.invalid/dialect","type":"object","properties":{"text":{"type":"word"}}}`)},
	}
}

// actsBy lists "act" with the schema.
func actsBy(schema string) func(*peer, message) bool {
	return answers("tools/list", `{"tools":[`+echoTool+`,`+tool("act", schema)+`]}`)
}

func nested(levels int) string {
	return strings.Repeat(`{"type":"object","properties":{"a":`, levels) + `{}` + strings.Repeat(`}}`, levels)
}

func wide(properties int) string {
	var b strings.Builder
	for n := range properties {
		fmt.Fprintf(&b, `,"p%d":{"type":"string","description":"one of many"}`, n)
	}
	return `{"type":"object","properties":{` + b.String()[1:] + `}}`
}

func doubling(levels int) string {
	var b strings.Builder
	for n := range levels {
		fmt.Fprintf(&b, `"d%d":{"allOf":[{"$ref":"#/$defs/d%d"},{"$ref":"#/$defs/d%d"}]},`, n, n+1, n+1)
	}
	return fmt.Sprintf(`{"type":"object","$defs":{%s"d%d":{"type":"object"}},"$ref":"#/$defs/d0"}`, b.String(), levels)
}
