package modelcard

import (
	"errors"

	"dragoman/ports"
)

// Config is what an admin may say of a model beside its sizes; every model's own
// Config embeds it. The zero Config says nothing, and the table counts.
type Config struct {
	Price  *Price `json:"price" doc:"US dollars per million tokens; absent: as the built-in table has it, else unknown"`
	Images *bool  `json:"images" doc:"Whether it takes images; absent: as the built-in table has it, else no"`
	Audio  *bool  `json:"audio" doc:"Whether it takes sounds; absent: as the built-in table has it, else no"`
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
const longestReply = 8192

// Check finds what the validate tags find in a file, for literals.
func (c Config) Check() error {
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

// Facts are what is known of a model: what the config says (a size of 0 says
// nothing), else what the table does for this model at this host (as in a URL, also
// with a port), else the careful guess. The sizes are always known.
func (c Config) Facts(host, model string, contextTokens, maxOutputTokens int) ports.ModelFacts {
	facts := lookup(host, model)
	if contextTokens > 0 {
		facts.ContextTokens = contextTokens
	}
	if maxOutputTokens > 0 {
		facts.MaxTokens = maxOutputTokens
	} else { // a bound from elsewhere must not eat the window that was given
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
