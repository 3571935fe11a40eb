package agent

import (
	"bytes"
	"strings"
	"sync"
	"time"

	"dragoman/ports"
)

// What things take in a prompt, about: no tokenizer is asked. Prose of all
// languages is on the careful side with 3 bytes, JSON is denser.
const (
	proseBytes  = 3.0
	jsonBytes   = 2.2
	imageTokens = 1600
	audioBytes  = 500 // of a block, to a token
	entryTokens = 4   // that hold an entry or a call together
)

const (
	// defaultWindow is assumed of an agent whose models do not say.
	defaultWindow = 32000
	// fullAt is the share of the window, without the room for the reply, beyond
	// which a prompt is made smaller.
	fullAt = 0.8
	// keptShare is the share of the window that the last turns may fill that stay
	// whole beside a memo.
	keptShare = 0.22
	// turnShare is the share of a full prompt that a single turn of the past may fill.
	turnShare = 0.4
	// replyRoom is left for a reply of a model that does not say how long it may be.
	replyRoom = 4096
	// coldAfter is how long providers keep a prompt that do not say.
	coldAfter = 5 * time.Minute
)

// guessText is about how many tokens a text has.
func guessText(s string) int {
	per := proseBytes
	if strings.HasPrefix(s, "{") || strings.HasPrefix(s, "[") {
		per = jsonBytes
	}
	return int(float64(len(s))/per) + 1
}

func guessJSON(n int) int { return int(float64(n)/jsonBytes) + 1 }

// guessEntries is about how many tokens entries have.
func guessEntries(list []ports.Entry) int {
	n := 0
	for _, e := range list {
		n += entryTokens + guessText(e.Text)
		if len(e.State) > 0 {
			n += int(float64(len(e.State)) / proseBytes)
		}
		for _, c := range e.Calls {
			n += entryTokens + guessText(c.Name) + guessJSON(len(c.Arguments)) + guessJSON(len(c.State))
		}
		for _, b := range e.Blocks {
			switch b.Kind {
			case ports.BlockImage:
				n += imageTokens
			default:
				n += max(len(b.Data), int(b.Size))/audioBytes + guessText(b.Text)
			}
		}
	}
	return n
}

// guessFixed is about how many tokens of a request are the same in each.
func guessFixed(system string, tools []ports.ToolSpec) int {
	n := guessText(system)
	for _, s := range tools {
		n += 2*entryTokens + guessText(s.Name) + guessText(s.Description) + guessJSON(len(bytes.TrimSpace(s.InputSchema)))
	}
	return n
}

// measured is what a provider said that a prompt of ours took.
type measured struct {
	model  string // who said it
	tokens int
	guess  int // what we had guessed of that prompt
}

// fits reports whether it can be believed: some providers count what is in their
// cache in another place, or nothing at all.
func (m measured) fits() bool {
	return m.tokens > 0 && m.guess > 0 && m.tokens < 5*m.guess && m.guess < 5*m.tokens
}

// scales are how far off our guesses are, by the model that counts: tokens as it
// counts them to one of ours, as an average of the last replies. The zero value
// is ready. Safe for many goroutines.
type scales struct {
	mu sync.Mutex
	by map[string]float64
}

const (
	leastScale, mostScale = 0.4, 4.0
	// lastWeighs is how much the newest reply counts.
	lastWeighs = 0.2
)

// learn takes in what a model counted.
func (s *scales) learn(m measured) {
	if !m.fits() {
		return
	}
	ratio := float64(m.tokens) / float64(m.guess)
	s.mu.Lock()
	defer s.mu.Unlock()
	if was, ok := s.by[m.model]; ok {
		ratio = was + lastWeighs*(ratio-was)
	}
	if s.by == nil {
		s.by = map[string]float64{}
	}
	s.by[m.model] = min(max(ratio, leastScale), mostScale)
}

// of is a model's scale; of one that is not known that of the model that counts most.
func (s *scales) of(model string) float64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	if f, ok := s.by[model]; ok {
		return f
	}
	most := 0.0
	for _, f := range s.by {
		most = max(most, f)
	}
	if most == 0 {
		return 1
	}
	return most
}

// ofTokens is what we guess of a prompt that has so many tokens, as far as can be
// expected: by what the provider counted of the last one, and for what is more
// than that by the model's scale.
func (t *turn) ofTokens(tokens int) int {
	m := t.lastMeasured()
	switch {
	case !m.fits():
		return int(float64(tokens) / t.scales.of(m.model))
	case tokens <= m.tokens:
		return int(float64(tokens) * float64(m.guess) / float64(m.tokens))
	}
	return m.guess + int(float64(tokens-m.tokens)/t.scales.of(m.model))
}

// lastMeasured is what the conversation's last reply tells of its prompt.
func (t *turn) lastMeasured() measured {
	if m := measuredBy(t.steps); m.fits() {
		return m
	}
	for i := len(t.past) - 1; i >= 0; i-- {
		if t.past[i].measured.fits() {
			return t.past[i].measured
		}
	}
	return measured{}
}

// measuredBy is what the last reply of a journal tells of its prompt.
func measuredBy(steps []ports.Step) measured {
	for i := len(steps) - 1; i >= 0; i-- {
		var b replyBody
		if steps[i].Kind == ports.StepReply && read(steps[i], &b) == nil && b.Usage != nil {
			if m := (measured{b.Model, b.Usage.Input, b.Guess}); m.fits() {
				return m
			}
		}
	}
	return measured{}
}

func (a *Agent) window() int { return Window(a.cfg.Models) }

// Window is the smallest window of an agent's models, in tokens: a fallback must not
// fail for the prompt's size.
func Window(models []Model) int {
	least := 0
	for _, m := range models {
		if m.ContextTokens > 0 && (least == 0 || m.ContextTokens < least) {
			least = m.ContextTokens
		}
	}
	if least == 0 {
		return defaultWindow
	}
	return least
}

// room is what of the window is there for a prompt: the reply has to fit beside it.
func (t *turn) room() int {
	window, reply := t.window(), 0
	for _, m := range t.cfg.Models {
		longest := m.Facts.MaxTokens
		if longest == 0 {
			longest = min(replyRoom, window/5)
		}
		reply = max(reply, min(longest, longestReply(window)))
	}
	return window - reply
}

// longestReply is how long a reply may be beside a prompt that is worth it.
func longestReply(window int) int { return window / 3 }

// full is the size beyond which a prompt is made smaller.
func (t *turn) full() int { return int(fullAt * float64(t.room())) }

// cold is how long after a request its prompt is gone from the provider's cache.
func (t *turn) cold() time.Duration {
	var longest time.Duration
	for _, m := range t.cfg.Models {
		longest = max(longest, m.Facts.CacheFor)
	}
	if longest == 0 {
		return coldAfter
	}
	return longest
}

// bytesPerToken is what of a text is a token, on the careful side.
const bytesPerToken = 3

// size is what entries take in a request, in bytes.
func size(list []ports.Entry) int {
	n := 0
	for _, e := range list {
		n += len(e.Text) + len(e.State) + 16
		for _, c := range e.Calls {
			n += len(c.Name) + len(c.Arguments) + len(c.State) + 16
		}
		for _, b := range e.Blocks {
			n += len(b.Data) / 100 // images are priced by their area, not by their bytes
		}
	}
	return n
}
