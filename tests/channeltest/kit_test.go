package channeltest

import (
	"context"
	"errors"
	"testing"
	"time"
)

func harness(bug string, patience time.Duration) Harness {
	return Harness{
		Start:    func(context.Context) (Platform, error) { return newMemory(bug), nil },
		Patience: patience,
	}
}

func TestRightChannelPasses(t *testing.T) {
	for _, r := range Rules() {
		t.Run(r.Name, func(t *testing.T) {
			t.Parallel()
			// ErrNotApplicable is a failure here: the platform in memory has it all.
			if err := r.Check(t.Context(), harness("", 0)); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestRulesAreNamed(t *testing.T) {
	seen := map[string]bool{}
	for _, r := range Rules() {
		if r.Name == "" || r.Why == "" || seen[r.Name] {
			t.Errorf("the rule %q has no name, no reason, or another's name", r.Name)
		}
		seen[r.Name] = true
	}
}

// bugs by the rule that must catch them. Every rule is here.
var bugs = map[string][]string{
	"message-fields":              {"no sender"},
	"text-unharmed":               {"trims"},
	"order-kept":                  {"reverses"},
	"events-unique":               {"one event for equal texts"},
	"people-apart":                {"mixes people up"},
	"stored-before-acknowledged":  {"drops what is refused"},
	"same-event-again":            {"renames on redelivery"},
	"refusal-is-paced":            {"hammers"},
	"unstored-survives-restart":   {"starts at the end"},
	"restart-resumes":             {"starts at the end"},
	"cursor-fault-waited-out":     {"ends without cursor"},
	"outage-waited-out":           {"ends in outage"},
	"noise-blocks-nothing":        {"chokes on noise"},
	"group-addressing":            {"always addressed", "mixes people up"},
	"traits-fixed":                {"moody traits"},
	"run-ends-idle":               {"leaks", "stays", "odd end"},
	"run-ends-while-refused":      {"stays while refused"},
	"run-ends-in-outage":          {"ends in outage", "stays"},
	"run-again":                   {"runs once"},
	"refused-token-ends-run":      {"tries a refused token", "bare errors"},
	"send-shows":                  {"wrong chat", "one id"},
	"send-as-it-is":               {"eats markup"},
	"send-without-run":            {"sends only while it runs"},
	"send-in-parallel":            {"one id"},
	"longest-text-whole":          {"cuts early"},
	"longer-text-cut":             {"halves characters"},
	"reply-accepted":              {"refuses replies"},
	"ended-context-sends-nothing": {"sends for the departed"},
	"cancel-ends-send":            {"hangs"},
	"nonce-drops-doubles":         {"ignores the nonce"},
	"rate-limit-kind":             {"forgets how long", "bare errors", "loses the cause"},
	"forbidden-kind":              {"retries the blocked"},
	"gone-kind":                   {"retries the blocked"},
	"unauthorized-kind":           {"retries the blocked"},
	"outage-kind":                 {"gives up"},
	"cut-is-unsure":               {"sure"},
	"works-after-faults":          {"stuck after a fault"},
	"secrets-kept":                {"tells the token"},
	"texts-kept":                  {"logs texts"},
	"press-comes-back":            {"forgets the field"},
	"longest-choice":              {"short choices"},
	"press-events-unique":         {"one event per button"},
	"press-stored-first":          {"drops what is refused"},
	"edit-replaces":               {"edits by posting"},
	"edit-to-the-same":            {"refuses the same"},
	"edit-takes-buttons-off":      {"keeps buttons"},
	"edit-after-restart":          {"edits its own only"},
	"edit-of-gone":                {"edits what is gone"},
	"typing-works":                {"types by posting", "types nothing"},
	"draft-then-send":             {"leaves drafts"},
	"react-works":                 {"cannot react"},
	"render-makes-parts":          {"buttons first", "no body"},
}

func TestBrokenChannelsAreCaught(t *testing.T) {
	for _, r := range Rules() {
		if len(bugs[r.Name]) == 0 {
			t.Errorf("no broken channel tries the rule %s", r.Name)
		}
		for _, bug := range bugs[r.Name] {
			t.Run(r.Name+"/"+bug, func(t *testing.T) {
				t.Parallel()
				err := r.Check(t.Context(), harness(bug, 900*time.Millisecond))
				if err == nil || errors.Is(err, ErrNotApplicable) {
					t.Errorf("a channel that %q keeps the rule: %v", bug, err)
				}
			})
		}
	}
}
