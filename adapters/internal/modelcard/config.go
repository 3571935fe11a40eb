package modelcard

import (
	"errors"

	"dragoman/ports"
)

// Config is what an admin may say of a model; every model's own Config embeds it.
// The zero Config says nothing, and the table counts.
type Config struct {
	ContextTokens   int    `json:"context_tokens" validate:"gte=0" default:"0" doc:"Size of the context window; 0 = as the built-in table has it, else 32000"`
	MaxOutputTokens int    `json:"max_output_tokens" validate:"gte=0" default:"0" doc:"Longest reply when a request names no bound; 0 = what the built-in table says that the model can write, 16384 at most, else 4096"`
	Price           *Price `json:"price" doc:"US dollars per million tokens; absent: as the built-in table has it, else unknown"`
	Images          *bool  `json:"images" doc:"Whether it takes images; absent: as the built-in table has it, else no"`
	Audio           *bool  `json:"audio" doc:"Whether it takes sounds; absent: as the built-in table has it, else no"`
}

// Price is what a model costs, in US dollars per million tokens. It replaces the
// table's whole: nothing of that is mixed in.
type Price struct {
	Input       *float64 `json:"input" validate:"required,gte=0" doc:"Of the prompt"`
	CachedInput *float64 `json:"cached_input" validate:"omitempty,gte=0" doc:"Of what the provider's cache had; absent: as input"`
	CacheWrite  *float64 `json:"cache_write" validate:"omitempty,gte=0" doc:"Of what goes into the cache; absent: as input"`
	Output      *float64 `json:"output" validate:"required,gte=0" doc:"Of the reply"`
}

// What holds for a model of which neither the config nor the table says more.
const (
	unknownContext = 32000
	unknownOutput  = 4096
)

// longestReply bounds what the table alone lets a reply be. Providers count the
// bound of a reply against the limits of a minute, and a spend cap sets its price
// aside, long before it is written; the most that models can write is many times what
// a chat needs.
const longestReply = 16384

// Check finds what the validate tags find in a file, for literals.
func (c Config) Check() error {
	if c.ContextTokens < 0 || c.MaxOutputTokens < 0 {
		return errors.New("context_tokens and max_output_tokens are not below 0")
	}
	if c.ContextTokens > 0 && c.MaxOutputTokens >= c.ContextTokens {
		return errors.New("max_output_tokens leaves no room for a prompt in context_tokens")
	}
	if c.Price == nil {
		return nil
	}
	if c.Price.Input == nil || c.Price.Output == nil {
		return errors.New("price has no input or no output")
	}
	for _, p := range []*float64{c.Price.Input, c.Price.CachedInput, c.Price.CacheWrite, c.Price.Output} {
		if p != nil && *p < 0 {
			return errors.New("price is below 0")
		}
	}
	return nil
}

// Facts are what is known of a model: what the config says, else what the table
// does for this model at this host (as in a URL, also with a port), else the
// careful guess. The window and the bound of a reply are always known.
func (c Config) Facts(host, model string) ports.ModelFacts {
	facts := lookup(host, model)
	if c.ContextTokens > 0 {
		facts.ContextTokens = c.ContextTokens
	}
	if c.MaxOutputTokens > 0 {
		facts.MaxTokens = c.MaxOutputTokens
	}
	// A bound from elsewhere must not eat the window that was given.
	if c.MaxOutputTokens == 0 {
		facts.MaxTokens = min(facts.MaxTokens, max(1, facts.ContextTokens/2))
	}
	if c.Price != nil {
		facts.Price = c.Price.full()
	}
	if c.Images != nil {
		facts.Images = *c.Images
	}
	if c.Audio != nil {
		facts.Audio = *c.Audio
	}
	return facts
}

// full is the price with the defaults in it.
func (p *Price) full() *ports.Price {
	if p.Input == nil || p.Output == nil {
		return nil // Check refuses it
	}
	out := &ports.Price{Input: *p.Input, CachedInput: *p.Input, CacheWrite: *p.Input, Output: *p.Output}
	if p.CachedInput != nil {
		out.CachedInput = *p.CachedInput
	}
	if p.CacheWrite != nil {
		out.CacheWrite = *p.CacheWrite
	}
	return out
}
