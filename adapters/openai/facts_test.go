package openai

import (
	"encoding/json"
	"testing"

	"dragoman/adapters/internal/modelcard"
	"dragoman/ports"
)

func TestTheModelSaysWhatIsKnownOfIt(t *testing.T) {
	absent := func(c *Config) { c.ContextTokens, c.MaxOutputTokens, c.Images, c.Audio = 0, 0, nil, nil }
	f := testModel(t, "http://127.0.0.1:1/v1", absent).Facts()
	if f != (ports.ModelFacts{ContextTokens: 32000, MaxTokens: 4096}) {
		t.Errorf("of an unknown model: %+v", f)
	}
	f = testModel(t, "https://api.openai.com/v1", absent, func(c *Config) { c.Model = "gpt-4.1-mini-2025-04-14" }).Facts()
	if f.ContextTokens != 1047576 || f.Price == nil || f.Price.Output != 1.6 || !f.Images {
		t.Errorf("of one of the table: %+v", f)
	}
	in, out := 1.0, 3.0
	f = testModel(t, "https://api.openai.com/v1", func(c *Config) { c.Model, c.Price = "gpt-4.1", &modelcard.Price{Input: &in, Output: &out} }).Facts()
	if f.ContextTokens != 128000 || f.MaxTokens != 4096 || *f.Price != (ports.Price{Input: 1, CachedInput: 1, CacheWrite: 1, Output: 3}) {
		t.Errorf("of one that the config describes: %+v", f)
	}
}

// TestAReplyIsBoundedByWhatIsKnown: the bound that Facts promise is the one that
// the provider gets.
func TestAReplyIsBoundedByWhatIsKnown(t *testing.T) {
	m := testModel(t, "http://127.0.0.1:1/v1", func(c *Config) { c.ContextTokens, c.MaxOutputTokens, c.Model = 0, 0, "gpt-4o" })
	raw, err := m.body(hello())
	var body struct {
		MaxTokens int `json:"max_tokens"`
	}
	if err != nil || json.Unmarshal(raw, &body) != nil || body.MaxTokens != m.Facts().MaxTokens || body.MaxTokens != 8192 {
		t.Errorf("%v: the provider is told %d, the facts say %d", err, body.MaxTokens, m.Facts().MaxTokens)
	}
}
