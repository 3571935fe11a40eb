package storetest

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"
)

func newBench(t *testing.T, flaw string) *bench {
	return &bench{dir: t.TempDir(), flaw: flaw, pasts: map[string]*past{}}
}

func TestReferencePasses(t *testing.T) {
	Run(t, newBench(t, "").harness())
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

// TestBrokenStoresAreCaught breaks the store in one way at a time. The rule that
// the break is named for must say so, in its own words: a rule that stumbles
// over something else has not seen the break.
func TestBrokenStoresAreCaught(t *testing.T) {
	rules := Rules()
	tried := map[string]bool{}
	for _, c := range slices.Concat(acceptCatches, earlierCatches, deathCatches, turnCatches, questionCatches, usageCatches, otherCatches) {
		tried[c.rule] = true
		t.Run(c.rule+"/"+c.flaw, func(t *testing.T) {
			t.Parallel()
			i := slices.IndexFunc(rules, func(r Rule) bool { return r.Name == c.rule })
			if i < 0 {
				t.Fatalf("there is no rule %q", c.rule)
			}
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
			defer cancel()
			err := rules[i].Check(ctx, newBench(t, c.flaw).harness())
			if err == nil {
				t.Fatalf("a store that %s keeps the rule", c.flaw)
			}
			if !strings.Contains(err.Error(), c.says) {
				t.Errorf("of a store that %s the rule says %q, without %q", c.flaw, err, c.says)
			}
		})
	}
	for _, r := range rules {
		if !tried[r.Name] {
			t.Errorf("no broken store tries the rule %q", r.Name)
		}
	}
}
