package mcp

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sony/gobreaker/v2"
)

const (
	// maxUnanswered is how many calls in a row may fail to be answered before
	// their tool gets no further ones for a while.
	maxUnanswered = 5
	// barFor is that while. Then one call tries whether the tool answers again. A
	// server that answers nothing is barred for as long, and then asked.
	barFor = 30 * time.Second
	// maxMuteNames is how many tools that do not answer are named.
	maxMuteNames = 3
)

// errNoVerdict says of a call that it tells nothing about the tool.
var errNoVerdict = errors.New("no verdict")

// breakers keep calls from the tools that do not answer, each tool for itself:
// one must not take the others of its server. Safe for many goroutines.
type breakers struct {
	limit uint32        // calls in a row without an answer
	hold  time.Duration // how long there are no further ones
	news  chan struct{} // has room for one: a tool fell silent, or answers again

	mu     sync.Mutex
	byTool map[string]*breaker
}

// breaker is that of one tool.
type breaker struct {
	*gobreaker.TwoStepCircuitBreaker[struct{}]
	until atomic.Pointer[time.Time] // when the next call may try; nil while it answers
}

func newBreakers(limit uint32, hold time.Duration) *breakers {
	return &breakers{limit: limit, hold: hold, news: make(chan struct{}, 1), byTool: make(map[string]*breaker)}
}

// of is the breaker of a tool. When there are too many, those go that bar nothing:
// a server may rename its tools for ever.
func (b *breakers) of(tool string) *breaker {
	b.mu.Lock()
	defer b.mu.Unlock()
	one := b.byTool[tool]
	if one != nil {
		return one
	}
	if len(b.byTool) >= maxTools {
		maps.DeleteFunc(b.byTool, func(_ string, old *breaker) bool { return old.until.Load() == nil })
	}
	one = new(breaker)
	one.TwoStepCircuitBreaker = gobreaker.NewTwoStepCircuitBreaker[struct{}](gobreaker.Settings{
		MaxRequests: 1,
		Timeout:     b.hold - 1, // it is over only after that: who comes back in time may pass
		ReadyToTrip: func(n gobreaker.Counts) bool { return n.ConsecutiveFailures >= b.limit },
		IsExcluded:  func(err error) bool { return errors.Is(err, errNoVerdict) },
		OnStateChange: func(_ string, _, to gobreaker.State) {
			switch to {
			case gobreaker.StateOpen:
				until := time.Now().Add(b.hold)
				one.until.Store(&until)
			case gobreaker.StateClosed:
				one.until.Store(nil)
			default: // on trial
				return
			}
			nudge(b.news)
		},
	})
	b.byTool[tool] = one
	return one
}

// pass lets a call of a tool through, if the tool is trusted with one now. settle
// is to be told the verdict.
func (b *breakers) pass(tool string) (settle func(verdict error), err error) {
	if settle, err = b.of(tool).Allow(); err != nil {
		return nil, b.refused(tool, b.hold)
	}
	return settle, nil
}

// closed is the refusal of a tool that gets no calls now; nil for one that might.
func (b *breakers) closed(tool string) error {
	until := b.of(tool).until.Load()
	if until == nil || !time.Now().Before(*until) {
		return nil
	}
	return b.refused(tool, time.Until(*until))
}

func (b *breakers) refused(tool string, after time.Duration) error {
	return &lostError{reason: fmt.Sprintf("the tool %q does not answer: it gets no calls for a while", tool), after: after}
}

// mute are the tools that do not answer, in order.
func (b *breakers) mute() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	var names []string
	for name, one := range b.byTool {
		if one.until.Load() != nil {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// muteWords says of tools that they do not answer; "" for none.
func muteWords(names []string, hold time.Duration) string {
	if len(names) == 0 {
		return ""
	}
	var quoted []string
	for _, name := range names[:min(len(names), maxMuteNames)] {
		quoted = append(quoted, fmt.Sprintf("%q", name))
	}
	if more := len(names) - len(quoted); more > 0 {
		quoted = append(quoted, fmt.Sprintf("%d more", more))
	}
	return fmt.Sprintf("%d calls in a row were not answered by the tool %s: it gets one call every %s until it answers", maxUnanswered, strings.Join(quoted, ", "), hold)
}
