package modeltest

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"dragoman/ports"
)

// Harness is a model under test with its peer.
type Harness struct {
	// Model is what is tested. Its own time limits should be beyond a second.
	Model ports.ModelPort
	// Script says how the peer is to treat the requests from now on, until the next
	// call of Script. An error that is errors.ErrUnsupported says that this peer
	// cannot, and why. nil: it can do nothing of all this.
	Script func(ctx context.Context, a Act) error
	// Seen is what the peer got since the last Script. nil: nobody can tell.
	Seen func(ctx context.Context) (Seen, error)
	// Secret is the credential that Model was made with; "" if it takes none.
	Secret string
	// OwnIDs says that calls have no ids on the wire: Model makes them.
	OwnIDs bool
}

// Act is what the peer does. The fields beside Do are what it says where Do has
// it say something.
type Act struct {
	Do    Do
	Text  string
	Calls []ports.Call // State: what the provider adds to this call, a JSON object
	Usage ports.Tokens // zero: it does not tell
	State string       // what the provider adds to the reply: a piece of text
	Tool  string       // the one whose definition it does not take
	Wait  time.Duration
}

// Do is one way to behave.
type Do string

const (
	Reply        Do = "reply"         // Text and Calls, whole
	Length       Do = "length"        // Text, ended by the token limit
	Filtered     Do = "filtered"      // Text, ended by the provider's filter
	Cut          Do = "cut"           // Text and Calls, then the connection is torn down before the end is marked
	Unmarked     Do = "unmarked"      // Text and Calls, then a clean end without the mark
	Empty        Do = "empty"         // a stream without anything in it
	BadFrame     Do = "bad frame"     // Text, then a frame that cannot be parsed
	ErrorFrame   Do = "error frame"   // Text, then the provider's "overloaded" inside the stream
	LimitFrame   Do = "limit frame"   // Text, then the provider's "rate limited" inside the stream
	RateLimit    Do = "rate limit"    // 429 with Retry-After: Wait
	ServerError  Do = "server error"  // 500
	Overloaded   Do = "overloaded"    // 503, 529
	Unauthorized Do = "unauthorized"  // 401; the words of the error quote the credential
	NotFound     Do = "not found"     // 404: no such model
	Invalid      Do = "invalid"       // 400
	BadTool      Do = "bad tool"      // 400 for the definition of Tool, in the words in which the provider tells which it is
	TooLarge     Do = "too large"     // beyond the context window
	HTML         Do = "html"          // 200 and a page for people
	HTMLError    Do = "html error"    // 502 and a page for people
	JSON         Do = "json"          // 200 and a JSON body where a stream belongs
	Hang         Do = "hang"          // no answer at all, for as long as the request lives
	HangMid      Do = "hang midway"   // Text, then silence
	MissingIDs   Do = "missing ids"   // Calls without ids
	DoubledIDs   Do = "doubled ids"   // Calls that all have one id
	BadArguments Do = "bad arguments" // Calls, the first of which has arguments that are not JSON
	NoArguments  Do = "no arguments"  // Calls, the first of which has no arguments at all
)

// Seen is what arrived at the peer.
type Seen struct {
	Requests int
	Tools    []string // of the last request: names, in its order
	Body     []byte   // of the last request
}

// Rule is one promise of ports.ModelPort. Check's error is how it was broken;
// one that is errors.ErrUnsupported means that it could not be checked.
type Rule struct {
	Name, Why string
	Check     func(ctx context.Context, h Harness) error
}

// patience bounds one rule; nothing that works comes near it.
const patience = 30 * time.Second

// Rules are all promises, in the order in which to read them.
func Rules() []Rule {
	var all []Rule
	all = append(all, replyRules()...)
	all = append(all, callRules()...)
	all = append(all, faultRules()...)
	all = append(all, endRules()...)
	return append(all, requestRules()...)
}

// Run checks every rule as a test of its own.
func Run(t *testing.T, h Harness) {
	t.Helper()
	run(t, Rules(), h, patience)
}

func run(t *testing.T, rules []Rule, h Harness, patience time.Duration) {
	t.Helper()
	for _, rule := range rules {
		t.Run(rule.Name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			switch err := rule.Check(ctx, h); {
			case errors.Is(err, errors.ErrUnsupported):
				t.Skip(err)
			case err != nil:
				t.Errorf("%v\nwhy it matters: %s", err, rule.Why)
			}
		})
	}
}

// script has the peer behave, or tells that it cannot.
func (h Harness) script(ctx context.Context, a Act) error {
	if h.Script == nil {
		return fmt.Errorf("this model has no peer that could %q: %w", a.Do, errors.ErrUnsupported)
	}
	if err := h.Script(ctx, a); err != nil {
		return fmt.Errorf("script %q: %w", a.Do, err)
	}
	return nil
}

// prefer has the peer behave where it can; the rule holds for any reply.
func (h Harness) prefer(ctx context.Context, a Act) error {
	if err := h.script(ctx, a); err != nil && !errors.Is(err, errors.ErrUnsupported) {
		return err
	}
	return nil
}

func (h Harness) seen(ctx context.Context) (Seen, error) {
	if h.Seen == nil {
		return Seen{}, fmt.Errorf("nobody can tell what this model's peer got: %w", errors.ErrUnsupported)
	}
	return h.Seen(ctx)
}
