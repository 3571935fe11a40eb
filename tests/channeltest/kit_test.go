package channeltest

import (
	"context"
	"testing"
	"testing/synctest"
	"time"
)

func harness(bug, lack string, patience time.Duration) Harness {
	return Harness{
		Start:    func(context.Context) (Platform, error) { return newMemory(bug, lack), nil },
		Patience: patience,
	}
}

func TestRightChannelPasses(t *testing.T) {
	for _, r := range Rules() {
		t.Run(r.Name, func(t *testing.T) {
			t.Parallel()
			// ErrNotApplicable is a failure here: the platform in memory has it all.
			synctest.Test(t, func(t *testing.T) {
				if err := r.Check(t.Context(), harness("", "", 0)); err != nil {
					t.Error(err)
				}
			})
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
