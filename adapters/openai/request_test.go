package openai

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"dragoman/ports"
)

var update = flag.Bool("update", false, "write the golden files anew")

// TestRequestsOnTheWire compares whole request bodies with testdata/*.json.
func TestRequestsOnTheWire(t *testing.T) {
	for name, c := range map[string]struct {
		base   string
		change func(*Config)
		r      ports.ModelRequest
	}{
		"full":     {"http://model.test/v1", func(*Config) {}, fullRequest()},
		"minimal":  {"http://model.test/v1", func(*Config) {}, hello()},
		"official": {"https://api.openai.com/v1", func(c *Config) { c.ReasoningEffort = "none" }, hello()},
	} {
		t.Run(name, func(t *testing.T) {
			raw, err := testModel(t, c.base, c.change).body(c.r)
			if err != nil {
				t.Fatal(err)
			}
			var got bytes.Buffer
			if err := json.Indent(&got, raw, "", "  "); err != nil {
				t.Fatal(err)
			}
			got.WriteByte('\n')
			golden(t, name+".json", got.Bytes())
		})
	}
}

// fullRequest has everything in it that a request may have.
func fullRequest() ports.ModelRequest {
	png := []byte("\x89PNG")
	return ports.ModelRequest{
		System: "Be brief.",
		Entries: []ports.Entry{
			{Role: ports.RoleUser, Text: "Look.", Blocks: []ports.Block{
				{Kind: ports.BlockImage, MIME: "image/png", Data: png},
				{Kind: ports.BlockAudio, MIME: "audio/mpeg", Data: []byte("mp3")},
				{Kind: ports.BlockImage, MIME: "image/tiff", Name: "scan.tiff", Data: png},
				{Kind: ports.BlockResource, URI: "file:///a.txt", Text: "rain"},
				{Kind: ports.BlockLink, URI: "https://example.org/", Name: "site", Text: "a page"},
			}},
			{Role: ports.RoleAssistant, Model: "model.test/test-1", State: json.RawMessage(`{"reasoning_content":"hm"}`), Calls: []ports.Call{
				{ID: "c1", Name: "a__look", Arguments: json.RawMessage(`{"n":12345678901234567890}`), State: json.RawMessage(`{"extra_content":{"google":{"thought_signature":"s"}}}`)},
				{ID: "c2", Name: "b__look", Arguments: json.RawMessage(`"{\"n"`)},
				{ID: "c3", Name: "b__look"},
				{ID: "c4", Name: "b__look", Arguments: json.RawMessage(`{}`)},
			}},
			{Role: ports.RoleTool, CallID: "c1", Text: "a cat", Blocks: []ports.Block{{Kind: ports.BlockImage, MIME: "image/png", Data: png}}},
			{Role: ports.RoleTool, CallID: "c2", Text: "not an object", IsError: true},
			{Role: ports.RoleTool, CallID: "c3", IsError: true},
			{Role: ports.RoleTool, CallID: "c4"},
			{Role: ports.RoleAssistant},
			{Role: ports.RoleAssistant, Model: "elsewhere/x", State: json.RawMessage(`{"reasoning_content":"foreign"}`), Text: "A cat.",
				Calls: []ports.Call{{ID: "c5", Name: "a__look", Arguments: json.RawMessage(`{}`), State: json.RawMessage(`{"extra_content":"foreign"}`)}}},
			{Role: ports.RoleTool, CallID: "c5", Blocks: []ports.Block{{Kind: ports.BlockImage, MIME: "image/png", Data: png}}},
		},
		Tools: []ports.ToolSpec{
			{Name: "a__look", Description: "Looks.", InputSchema: json.RawMessage(`{"$schema":"x","type":"object","properties":{"n":{"type":"integer","maximum":9007199254740993}}}`)},
			{Name: "b__look", InputSchema: json.RawMessage(`{}`)},
		},
		MaxTokens: 77,
	}
}

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s is now\n%s", file, got)
	}
}
