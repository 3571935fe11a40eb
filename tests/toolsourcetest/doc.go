// Package toolsourcetest is the conformance kit of ports.ToolSource: a table of
// named rules, each with the reason it exists. A source passes with
//
//	func TestConformance(t *testing.T) {
//		toolsourcetest.Run(t, toolsourcetest.Harness{New: …, Echo: …})
//	}
//
// A rule that needs something the harness does not have (a slow tool, a peer to
// kill) is skipped by name. The rules count goroutines and children of the test
// process: run nothing beside them.
package toolsourcetest

import (
	"context"
	"errors"
	"testing"
	"time"

	"dragoman/ports"
)

// Harness is what the rules need to know of an implementation.
type Harness struct {
	// New makes a fresh source, not running, all with the same tools.
	New func() (ports.ToolSource, error)
	// Echo is a tool that answers each call with what belongs to that call.
	Echo Echo
	// Failing is a call that its tool answers with a failure of its own.
	Failing *Probe
	// Slow is a call that takes ten seconds or more unless it is given up.
	Slow *Probe
	// Refused is a call that the peer answers with a refusal of the arguments.
	Refused *Probe
	// Kill ends the peer of a running source without a word, as a crash would.
	Kill func(ports.ToolSource) error
	// Trusted says that the source was told to believe its peer's annotations.
	Trusted bool
	// Patience is how long a source may take to become ready; 0 = 15 s.
	Patience time.Duration
}

// Echo is a tool, and for any n the arguments and a check of what they give.
type Echo struct {
	Tool string
	Args func(n int) string
	Want func(n int, r ports.ToolResult) error
}

// Probe is one call.
type Probe struct{ Tool, Args string }

// Rule is one thing that every source does. Check returns in words what is
// wrong, or ErrSkip if the harness has not what it takes to see.
type Rule struct {
	Name, Why string
	Check     func(ctx context.Context, h Harness) error
}

// ErrSkip is a rule that this harness cannot check.
var ErrSkip = errors.New("the harness has nothing to check this with")

// Rules are all rules. Each makes its own source.
func Rules() []Rule {
	var all []Rule
	for _, group := range [][]Rule{lifeRules(), catalogRules(), callRules(), endingRules(), lossRules()} {
		all = append(all, group...)
	}
	return all
}

// Run checks all rules, one after the other.
func Run(t *testing.T, h Harness) {
	for _, r := range Rules() {
		t.Run(r.Name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
			defer cancel()
			err := r.Check(ctx, h)
			switch {
			case errors.Is(err, ErrSkip):
				t.Skip(err)
			case err != nil:
				t.Errorf("%v\nthe rule: %s", err, r.Why)
			}
		})
	}
}

func (h Harness) patience() time.Duration {
	if h.Patience > 0 {
		return h.Patience
	}
	return 15 * time.Second
}
