// Package storetest proves a store: it is a table of named rules, each with the
// reason it exists, over all the facets of ports.
//
//	func TestConformance(t *testing.T) {
//		storetest.Run(t, storetest.Harness{Open: …, Crash: …})
//	}
package storetest

import (
	"context"
	"slices"
	"testing"
	"time"

	"dragoman/ports"
)

// Store is all the facets of a store. No part of the product needs them at once.
type Store interface {
	ports.Turns
	ports.Questions
	ports.Leases
	ports.Records
	ports.Artifacts
	ports.Audit
	ports.Usage
	Feed(channel string) ports.Feed
	Fates(channel string) ports.Fates
	Close() error
}

// Harness makes stores and breaks them.
type Harness struct {
	// Open opens the store at a place. A place that was never opened is empty;
	// what was stored at one is there at the next Open. At most one store is
	// open at a place at a time.
	Open func(ctx context.Context, place string) (Store, error)
	// Crash drops the store as a killed process would: what was committed stays,
	// nothing else is done.
	Crash func(Store) error
}

// Rule is one thing that a store must do. Check returns an error that says in
// words how the rule is broken.
type Rule struct {
	Name  string
	Why   string
	Check func(ctx context.Context, h Harness) error
}

// Rules are all the rules.
func Rules() []Rule {
	return slices.Concat(acceptRules(), earlierRules(), deletedRules(), changeRules(), historyRules(), workRules(), deathRules(), questionRules(), outboxRules(),
		leaseRules(), recordRules(), keepRules(), usageRules(), fateRules(), errorRules(), raceRules())
}

// Run checks every rule in a subtest of its own.
func Run(t *testing.T, h Harness) {
	for _, r := range Rules() {
		t.Run(r.Name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			if err := r.Check(ctx, h); err != nil {
				t.Errorf("%v\nthe rule exists because %s", err, r.Why)
			}
		})
	}
}
