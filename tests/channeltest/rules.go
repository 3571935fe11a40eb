package channeltest

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"
)

// ruleTime bounds one rule.
const ruleTime = 3 * time.Minute

// Rules are all promises of a channel, in the order in which they are best read.
func Rules() []Rule {
	return slices.Concat(receiveRules(), lifeRules(), sendRules(), faultRules(), choiceRules(), abilityRules(), uploadRules())
}

// Run checks every rule against a channel, each as a subtest of its name.
func Run(t *testing.T, h Harness) {
	t.Helper()
	for _, r := range Rules() {
		t.Run(r.Name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), ruleTime)
			defer cancel()
			switch err := r.Check(ctx, h); {
			case errors.Is(err, ErrNotApplicable):
				t.Skip(err)
			case err != nil:
				t.Errorf("broken: %v\nthe rule is there because %s", err, r.Why)
			}
		})
	}
}
