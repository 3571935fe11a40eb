package openai

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"dragoman/ports"
)

const aCipher = `[{"type":"reasoning","summary":[],"encrypted_content":"c2VjcmV0"},{"type":"function_call"},{"type":"function_call"},{"type":"function_call"},{"type":"function_call"}]`

// fullOverResponses is fullRequest with the state of this wire.
func fullOverResponses() ports.ModelRequest {
	r := fullRequest()
	r.CacheKey = "conversation-1"
	r.Entries[1].State = json.RawMessage(aCipher)
	return r
}

// TestResponsesOnTheWire compares whole request bodies with testdata/responses-*.json.
func TestResponsesOnTheWire(t *testing.T) {
	for name, c := range map[string]struct {
		base   string
		change func(*Config)
		r      ports.ModelRequest
	}{
		"full":     {"http://model.test/v1", overResponses, fullOverResponses()},
		"minimal":  {"http://model.test/v1", overResponses, hello()},
		"official": {"https://api.openai.com/v1", func(c *Config) { c.ReasoningEffort = "low" }, textOnly(callPromptTools())},
	} {
		t.Run(name, func(t *testing.T) {
			raw, err := testModel(t, c.base, c.change).responsesBody(c.r, options{cipher: true, state: true})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := checkResponses(raw); err != nil {
				t.Errorf("the provider would refuse it: %v", err)
			}
			var got bytes.Buffer
			if err := json.Indent(&got, raw, "", "  "); err != nil {
				t.Fatal(err)
			}
			got.WriteByte('\n')
			golden(t, "responses-"+name+".json", got.Bytes())
		})
	}
}

// callPromptTools is a short request with a tool.
func callPromptTools() ports.ModelRequest {
	r := hello()
	r.System, r.Tools = "Be brief.", fullRequest().Tools[:1]
	return r
}

func textOnly(r ports.ModelRequest) ports.ModelRequest {
	r.NoCalls = true
	return r
}

// TestTheWireFollowsFromTheHost: everything but OpenAI itself speaks chat.
func TestTheWireFollowsFromTheHost(t *testing.T) {
	for _, c := range []struct{ base, api, op string }{
		{"https://api.openai.com/v1", "auto", "openai responses"},
		{"https://eu.api.openai.com/v1", "auto", "openai responses"},
		{"https://api.openai.com:443/v1", "auto", "openai responses"},
		{"https://api.openai.com/v1", "chat", "openai chat"},
		{"http://127.0.0.1:11434/v1", "auto", "openai chat"},
		{"http://127.0.0.1:11434/v1", "responses", "openai responses"},
		{"https://api.openai.com.example.org/v1", "auto", "openai chat"},
		{"https://notapi.openai.com/v1", "auto", "openai chat"},
	} {
		if m := testModel(t, c.base, func(cfg *Config) { cfg.API = c.api }); m.op != c.op {
			t.Errorf("%s with %s is asked over %s, want %s", c.base, c.api, m.op, c.op)
		}
	}
}

// TestEqualBeginningsAreEqualOnTheWire: a conversation that grows, and a request
// for words alone, change nothing of what went before.
func TestEqualBeginningsAreEqualOnTheWire(t *testing.T) {
	bothWires(t, func(t *testing.T, _ *peer, m *Model) {
		body := func(r ports.ModelRequest) map[string]json.RawMessage {
			write := m.body
			if m.responses {
				write = func(r ports.ModelRequest) ([]byte, error) {
					return m.responsesBody(r, options{cipher: true, state: true})
				}
			}
			raw, err := write(r)
			if err != nil {
				t.Fatal(err)
			}
			var whole map[string]json.RawMessage
			if err := json.Unmarshal(raw, &whole); err != nil {
				t.Fatal(err)
			}
			return whole
		}
		r := fullOverResponses()
		before := body(r)
		r.Entries = append(r.Entries, ports.Entry{Role: ports.RoleAssistant, Text: "Bye."}, ports.Entry{Role: ports.RoleUser, Text: "Bye."})
		after := body(textOnly(r))
		list := "messages"
		if m.responses {
			list = "input"
		}
		if start := bytes.TrimSuffix(before[list], []byte("]")); !bytes.HasPrefix(after[list], start) {
			t.Errorf("it began as\n%s\nand begins as\n%s", start, after[list])
		}
		for name, was := range before {
			if name != list && !bytes.Equal(was, after[name]) {
				t.Errorf("%s was %s and is %s", name, was, after[name])
			}
		}
		if string(after["tool_choice"]) != `"none"` || before["tool_choice"] != nil {
			t.Errorf("tool_choice was %s and is %s", before["tool_choice"], after["tool_choice"])
		}
	})
}

func TestTheCacheKeyIsAsLongAsItMayBe(t *testing.T) {
	m := testModel(t, "https://api.openai.com/v1", func(c *Config) { c.API = apiChat })
	for key, want := range map[string]string{
		"":                      "",
		"c-1":                   `"prompt_cache_key":"c-1"`,
		strings.Repeat("k", 64): `"prompt_cache_key":"` + strings.Repeat("k", 64) + `"`,
		strings.Repeat("k", 65): `"prompt_cache_key":"` + cacheKey(strings.Repeat("k", 65)) + `"`,
	} {
		r := hello()
		r.CacheKey = key
		chat, err := m.body(r)
		if err != nil {
			t.Fatal(err)
		}
		responses, err := m.responsesBody(r, options{})
		if err != nil {
			t.Fatal(err)
		}
		for _, raw := range [][]byte{chat, responses} {
			if has := bytes.Contains(raw, []byte("prompt_cache_key")); has != (key != "") || !bytes.Contains(raw, []byte(want)) {
				t.Errorf("%q goes out as %s", key, raw)
			}
		}
	}
	if a, b := cacheKey(strings.Repeat("k", 65)), cacheKey(strings.Repeat("k", 66)); len(a) != 64 || a == b {
		t.Errorf("%q, %q", a, b)
	}
}

// TestTheSmallestLimitIsTheProviders: it refuses less, and a short answer is wanted.
func TestTheSmallestLimitIsTheProviders(t *testing.T) {
	for asked, want := range map[int]string{1: "16", 16: "16", 17: "17", 0: "4096"} {
		r := hello()
		r.MaxTokens = asked
		raw, err := testModel(t, "http://model.test/v1", overResponses).responsesBody(r, options{})
		if err != nil || !bytes.Contains(raw, []byte(`"max_output_tokens":`+want+`,`)) {
			t.Errorf("%d goes out as %s, %v", asked, raw, err)
		}
	}
}

// TestWhatAModelDoesNotTakeIsToldInWords holds for a person's pictures and a tool's.
func TestWhatAModelDoesNotTakeIsToldInWords(t *testing.T) {
	bothWires(t, func(t *testing.T, _ *peer, m *Model) {
		picture := ports.Block{Kind: ports.BlockImage, MIME: "image/png", Name: "cat.png", Data: []byte("\x89PNG")}
		sound := ports.Block{Kind: ports.BlockAudio, MIME: "audio/mpeg", Data: []byte("mp3")}
		r := ports.ModelRequest{Entries: []ports.Entry{
			{Role: ports.RoleUser, Text: "Look.", Blocks: []ports.Block{picture, sound}},
			{Role: ports.RoleAssistant, Calls: []ports.Call{{ID: "c1", Name: "n", Arguments: json.RawMessage(`{}`)}}},
			{Role: ports.RoleTool, CallID: "c1", Text: "a cat", Blocks: []ports.Block{picture, sound}},
		}}
		for _, takes := range []bool{false, true} {
			m.facts.Images, m.facts.Audio = takes, false
			write := m.body
			if m.responses {
				write = func(r ports.ModelRequest) ([]byte, error) { return m.responsesBody(r, options{}) }
			}
			raw, err := write(r)
			if err != nil {
				t.Fatal(err)
			}
			told := bytes.Count(raw, []byte("[image cat.png, not shown: this model takes none]"))
			unheard := bytes.Count(raw, []byte("[audio, not shown: this model takes none]"))
			shown := bytes.Count(raw, []byte("data:image/png;base64,"))
			if unheard != 2 || bytes.Contains(raw, []byte("input_audio")) || takes && (shown != 2 || told != 0) || !takes && (shown != 0 || told != 2) {
				t.Errorf("takes pictures %t: %d shown, %d told, %d unheard in %s", takes, shown, told, unheard, raw)
			}
		}
	})
}
