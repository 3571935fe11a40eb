package toolschema

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"dragoman/ports"
	"dragoman/tests/schemarules"
)

// TestToolsAreKept holds what the cache gives against a cache that has just been made.
func TestToolsAreKept(t *testing.T) {
	schema := func(property string) json.RawMessage {
		return json.RawMessage(`{"type":"object","properties":{"` + property + `":{"type":"string"}}}`)
	}
	base := ports.ToolSpec{Name: "n", Description: "d", InputSchema: schema("a")}
	c := NewTools(ForOpenAI, Chat)
	first, err := c.tool(base)
	if err != nil {
		t.Fatal(err)
	}
	same := ports.ToolSpec{Name: "n", Description: "d", InputSchema: bytes.Clone(base.InputSchema), Title: "another", Server: "s"}
	second, err := c.tool(same)
	if err != nil || &first.raw[0] != &second.raw[0] {
		t.Errorf("an equal tool was made anew: %s %v", second.raw, err)
	}
	for _, other := range []ports.ToolSpec{
		{Name: "m", Description: "d", InputSchema: schema("a")},
		{Name: "n", Description: "e", InputSchema: schema("a")},
		{Name: "n", Description: "d", InputSchema: schema("b")},
		{Name: "nd", InputSchema: schema("a")},
		{Name: "n"},
	} {
		got, err := c.tool(other)
		if err != nil {
			t.Fatal(err)
		}
		want, err := NewTools(ForOpenAI, Chat).tool(other)
		if err != nil || !bytes.Equal(got.raw, want.raw) || bytes.Equal(got.raw, first.raw) {
			t.Errorf("%+v gives %s, not %s (%v)", other, got.raw, want.raw, err)
		}
	}
}

func TestAToolIsWrittenWithoutEscapes(t *testing.T) {
	raw, err := NewTools(ForOpenAI, Chat).tool(ports.ToolSpec{Name: "n", Description: "a<b", InputSchema: json.RawMessage(`{"properties":{"a":{"pattern":"<&>","maximum":9007199254740993}}}`)})
	want := `{"function":{"name":"n","description":"a<b","parameters":{"properties":{"a":{"maximum":9007199254740993,"pattern":"<&>"}},"type":"object"}},"type":"function"}`
	if err != nil || string(raw.raw) != want {
		t.Errorf("%s %v", raw.raw, err)
	}
}

// TestGeminiNeverSeesANameThatBeginsWithADigit, and the call comes back by the
// tool's own name; others see the own name.
func TestGeminiNeverSeesANameThatBeginsWithADigit(t *testing.T) {
	long := "1" + strings.Repeat("x", 61)
	var tools []ports.ToolSpec
	for _, name := range []string{"1password__read", "-x__y", "a__b", "A", "_z", long + "y", long + "yz", long + "yy"} {
		tools = append(tools, ports.ToolSpec{Name: name})
	}
	gemini := NewTools(ForGemini, Chat)
	list := listOf(t, ForGemini, Chat, tools...)
	if faults := schemarules.Gemini(list); len(faults) > 0 {
		t.Errorf("%v: %s", faults, list)
	}
	for i, tool := range tools {
		name := gemini.Name(tool.Name)
		if plain := i >= 2 && i <= 4; (name == tool.Name) != plain {
			t.Errorf("%s is shown as %s", tool.Name, name)
		}
		reply, err := gemini.Done(tools, ports.ModelReply{Calls: []ports.Call{{Name: name}, {Name: tool.Name}, {Name: "_unknown"}}}, nil)
		if err != nil || reply.Calls[0].Name != tool.Name || reply.Calls[1].Name != tool.Name || reply.Calls[2].Name != "_unknown" {
			t.Errorf("%s comes back as %+v, %v", name, reply.Calls, err)
		}
		if name := NewTools(ForOpenAI, Chat).Name(tool.Name); name != tool.Name {
			t.Errorf("OpenAI is shown %s for %s", name, tool.Name)
		}
	}
}

func TestKeptToolsAreBounded(t *testing.T) {
	c := NewTools(ForOpenAI, Chat)
	long := strings.Repeat("x", 1<<20)
	for i := range 40 {
		if _, err := c.tool(ports.ToolSpec{Name: fmt.Sprint(i), Description: "d", InputSchema: json.RawMessage(`"` + long + `"`)}); err != nil {
			t.Fatal(err)
		}
		size := 0
		for key, done := range c.done {
			size += len(key.name) + len(key.description) + len(key.schema) + len(done.raw)
		}
		if size != c.size || size > maxKept || size == 0 {
			t.Fatalf("%d bytes are kept after %d tools, and %d are counted", size, i+1, c.size)
		}
	}
	kept := len(c.done)
	huge, err := c.tool(ports.ToolSpec{Name: strings.Repeat(long, 17)})
	if err != nil || len(huge.raw) < 17<<20 || len(c.done) != kept {
		t.Errorf("a tool larger than the cache: %d bytes, %v, %d kept", len(huge.raw), err, len(c.done))
	}
}
