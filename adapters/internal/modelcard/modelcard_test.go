package modelcard

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"

	"dragoman/ports"
)

func TestARowIsFoundByEveryNameOfItsModel(t *testing.T) {
	astra := &ports.Price{Input: 10, CachedInput: 1, CacheWrite: 12.5, Output: 50}
	opus := &ports.Price{Input: 5, CachedInput: 0.5, CacheWrite: 6.25, Output: 25}
	for _, c := range []struct {
		host, model string
		context     int
		price       *ports.Price
		images      bool
	}{
		{"api.openai.com", "gpt-6-astra", 272000, astra, true},
		{"API.openai.com:443", " GPT-6-Astra ", 272000, astra, true},
		{"api.openai.com", "gpt-6-astra-2026-09-03", 272000, astra, true},
		{"openrouter.ai", "openai/gpt-6-astra", 272000, astra, true},
		{"openrouter.ai", "openai/gpt-6-astra:free", 272000, nil, true},
		{"openrouter.ai", "gpt-6-astra", 272000, nil, true},
		{"openrouter.ai", "someone/gpt-6-astra", 272000, nil, true},
		{"gateway.example.org", "openai/gpt-6-astra", 272000, nil, true},
		{"api.openai.com.evil.example", "gpt-6-astra", 272000, nil, true},
		{"127.0.0.1:11434", "gpt-6-astra", 272000, nil, true},
		{"api.anthropic.com", "claude-opus-4-6", 1000000, opus, true},
		{"api.anthropic.com", "claude-opus-4-6-20260205", 1000000, opus, true},
		{"openrouter.ai", "anthropic/claude-opus-4.6", 1000000, opus, true},
		{"example.org", "claude-opus-4-6@20260205", 1000000, nil, true},
		{"api.anthropic.com", "claude-opus-4-20250514", unknownContext, nil, false},
		{"generativelanguage.googleapis.com", "models/gemini-2.5-pro", 200000, &ports.Price{Input: 1.25, CachedInput: 0.125, CacheWrite: 1.25, Output: 10}, true},
		{"api.mistral.ai", "mistral-medium-3-5", 262144, &ports.Price{Input: 1.5, CachedInput: 1.5, CacheWrite: 1.5, Output: 7.5}, true},
		{"api.deepseek.com", "deepseek-v4-flash", 1000000, nil, false},
		{"127.0.0.1:11434", "gemma3:27b", unknownContext, nil, true},
		{"127.0.0.1:11434", "gemma3:1b", unknownContext, nil, false},
		{"127.0.0.1:11434", "phi4:latest", 16384, nil, false},
		{"api.openai.com", "ft:gpt-4o-mini-2024-07-18:org::id", unknownContext, nil, false},
		{"api.openai.com", "gpt-99", unknownContext, nil, false},
		{"", "", unknownContext, nil, false},
	} {
		f := Config{}.Facts(c.host, c.model, 0, 0)
		if f.ContextTokens != c.context || f.Images != c.images || !same(f.Price, c.price) {
			t.Errorf("%s at %q: %s, want a window of %d, images %t, price %v", c.model, c.host, show(f), c.context, c.images, c.price)
		}
	}
}

// TestARegionCostsMore: a price that is too low makes a cap that does not hold.
func TestARegionCostsMore(t *testing.T) {
	want := ports.Price{Input: 11, CachedInput: 1.1, CacheWrite: 13.75, Output: 55}
	for _, host := range []string{"eu.api.openai.com", "EU.api.openai.com:443", "us.api.openai.com"} {
		f := Config{}.Facts(host, "gpt-6-astra", 0, 0)
		if f.Price == nil || !near(f.Price.Input, want.Input) || !near(f.Price.CachedInput, want.CachedInput) || !near(f.Price.CacheWrite, want.CacheWrite) || !near(f.Price.Output, want.Output) {
			t.Errorf("%s: %v, want %v", host, f.Price, want)
		}
	}
}

func near(a, b float64) bool { return math.Abs(a-b) < 1e-9 }

func TestTheConfigIsBelievedMoreThanTheTable(t *testing.T) {
	zero, yes, no := 0.0, true, false
	two := 2.0
	c := Config{Images: &no, Audio: &yes, Price: &Price{Input: &two, Output: &zero}}
	if err := c.Check(); err != nil {
		t.Fatal(err)
	}
	f := c.Facts("api.openai.com", "gpt-6-sol", 9000, 100)
	want := &ports.Price{Input: 2, CachedInput: 2, CacheWrite: 2} // nothing of the table's price is mixed in
	if f.ContextTokens != 9000 || f.MaxTokens != 100 || f.Images || !f.Audio || !same(f.Price, want) {
		t.Errorf("%s, price %v", show(f), f.Price)
	}
	f = Config{Price: &Price{Input: &zero, Output: &zero}}.Facts("127.0.0.1:11434", "qwen3", 0, 0)
	if f.Price == nil || *f.Price != (ports.Price{}) {
		t.Errorf("a price of nothing became %v", f.Price)
	}
}

func TestNothingIsKnownOfAnUnknownModelButTheCarefulGuess(t *testing.T) {
	f := Config{}.Facts("example.org", "mine", 0, 0)
	if f != (ports.ModelFacts{ContextTokens: 32000, MaxTokens: 4096}) {
		t.Errorf("%s", show(f))
	}
}

func TestAReplyNeverEatsTheWindow(t *testing.T) {
	if f := (Config{}).Facts("", "mine", 2000, 0); f.MaxTokens != 1000 {
		t.Errorf("a reply may have %d of 2000", f.MaxTokens)
	}
	if f := (Config{}).Facts("api.openai.com", "gpt-6-sol", 0, 0); f.MaxTokens != longestReply || f.CacheFor != 30*time.Minute {
		t.Errorf("%s", show(f))
	}
}

func TestAConfigThatCannotBeRightIsRefused(t *testing.T) {
	one, below := 1.0, -1.0
	for name, c := range map[string]Config{
		"price without input": {Price: &Price{Output: &one}},
		"price below 0":       {Price: &Price{Input: &one, Output: &one, CacheWrite: &below}},
	} {
		if c.Check() == nil {
			t.Errorf("%s is taken", name)
		}
	}
}

// TestEachRowSaysWhereItIsFrom holds the table to what doc.go promises of it.
func TestEachRowSaysWhereItIsFrom(t *testing.T) {
	rows, err := read(tableJSON)
	if err != nil {
		t.Fatal(err)
	}
	for name, r := range rows {
		_, cacheErr := time.ParseDuration(r.Cache)
		day, err := time.Parse(time.DateOnly, r.AsOf)
		switch {
		case err != nil || day.Year() < 2026 || r.Source == "":
			t.Errorf("%s: source %q, as of %q", name, r.Source, r.AsOf)
		case r.Context < 1000 || r.MaxOutput >= r.Context || r.MaxOutput < 0:
			t.Errorf("%s: window %d, reply %d", name, r.Context, r.MaxOutput)
		case r.Cache != "" && cacheErr != nil:
			t.Errorf("%s: cache %q", name, r.Cache)
		case r.Price != nil && (r.Open || len(hosts(r.Vendor)) == 0):
			t.Errorf("%s has a price that is asked nowhere", name)
		case r.Price != nil && Config{Price: r.Price}.Check() != nil:
			t.Errorf("%s: %v", name, Config{Price: r.Price}.Check())
		case r.Price != nil && cheaper(*r.Price.full()):
			t.Errorf("%s: a cached token costs more than a fresh one, or a reply less than its prompt: %v", name, *r.Price.full())
		case r.Price != nil && r.Vendor == "openai" && r.Cache == "30m" && !near(r.Price.full().CacheWrite, 1.25*r.Price.full().Input):
			t.Errorf("%s: since GPT-5.6 a token costs a quarter more that goes into the cache, not %v", name, *r.Price.full())
		case strings.ContainsAny(name, "/@ "):
			t.Errorf("%s is not a bare name", name)
		}
	}
}

func TestATableWithAMistakeIsNotRead(t *testing.T) {
	for name, text := range map[string]string{
		"unknown key":  `[{"names":["a"],"contxt":1}]`,
		"a name twice": `[{"names":["a-1"]},{"names":["A.1"]}]`,
	} {
		if _, err := read([]byte(text)); err == nil {
			t.Errorf("%s is taken", name)
		}
	}
}

func cheaper(p ports.Price) bool {
	return p.CachedInput > p.Input || p.CacheWrite < p.Input || p.Output < p.Input
}

func same(a, b *ports.Price) bool {
	if a == nil || b == nil {
		return a == b
	}
	return *a == *b
}

func show(f ports.ModelFacts) string {
	raw, err := json.Marshal(f)
	if err != nil {
		return err.Error()
	}
	return string(raw)
}
