package storetest_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"dragoman/adapters/sqlstore"
	"dragoman/ports"
	"dragoman/tests/storetest"
)

// careless is a good store with one fault.
type careless struct{ *sqlstore.Store }

func (c careless) Entries(ctx context.Context, limit int) ([]ports.AuditEntry, error) {
	list, err := c.Store.Entries(ctx, limit)
	slices.Reverse(list) // the fault
	return list, err
}

// In a test, storetest.Run(t, h) is all. Here the rules are gone through by hand,
// and those of one facet alone, as is good to do with a store in the making.
//
// Crash is to drop the store as a killed process would. From outside this one can
// only be closed, which is milder.
func Example() {
	dir, _ := os.MkdirTemp("", "storetest")
	defer os.RemoveAll(dir)
	h := storetest.Harness{
		Open: func(ctx context.Context, place string) (storetest.Store, error) {
			s, err := sqlstore.Open(ctx, sqlstore.Config{Dir: filepath.Join(dir, place), Sync: "normal"}, slog.New(slog.DiscardHandler))
			return careless{s}, err
		},
		Crash: func(s storetest.Store) error { return s.Close() },
	}
	for _, rule := range storetest.Rules() {
		if !strings.HasPrefix(rule.Name, "audit/") {
			continue
		}
		if err := rule.Check(context.Background(), h); err != nil {
			fmt.Printf("%s: broken, and %s\n", rule.Name, rule.Why)
		}
	}
	// Output:
	// audit/newest first: broken, and an admin looks at what just happened
}
