package sqlstore

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

func TestFeedIsBounded(t *testing.T) {
	s := openAt(t, t.TempDir())
	for chat, n := range map[string]int{"full": feedKept, "other": 3, "old": feedKept + 500} { // old: from before there was a bound
		err := s.update(t.Context(), "test", func(ctx context.Context, q *session) error {
			_, err := q.exec(ctx, `WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < $2)
				INSERT INTO feed (channel, chat, seq, nonce, body, at) SELECT 'web', $1, i, 'n' || i, '{}', i FROM n`, chat, n)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	f := s.Feed("web")
	add := func(chat, nonce string, seq int64) {
		t.Helper()
		item, err := f.Append(t.Context(), chat, nonce, json.RawMessage(`{}`))
		if err != nil || item.Seq != seq {
			t.Fatalf("got item %d %v, want %d", item.Seq, err, seq)
		}
	}
	has := func(chat string, first, last int64) {
		t.Helper()
		items, err := f.Tail(t.Context(), chat, 0, 2*feedKept)
		if err != nil || int64(len(items)) != last-first+1 || items[0].Seq != first || items[len(items)-1].Seq != last {
			t.Errorf("%s has %d items (%v), want %d to %d", chat, len(items), err, first, last)
		}
	}
	add("full", "n5", 5) // adds nothing, so nothing goes
	has("full", 1, feedKept)
	for i := range int64(3) {
		add("full", fmt.Sprint("new", i), feedKept+1+i)
	}
	has("full", 4, feedKept+3)
	add("old", "new", feedKept+501)
	has("old", 502, feedKept+501)
	has("other", 1, 3)
}

// The rows to remove are found by index: an append to a full chat costs no scan.
func TestFeedIsTrimmedByIndex(t *testing.T) {
	s := openAt(t, t.TempDir())
	var plan strings.Builder
	err := s.view(t.Context(), "test", func(ctx context.Context, q *session) error {
		return q.each(ctx, `EXPLAIN QUERY PLAN `+trimFeed, []any{"web", "c", 1}, func(scan scanner) error {
			var id, parent, unused int
			var detail string
			err := scan(&id, &parent, &unused, &detail)
			plan.WriteString(detail + "\n")
			return err
		})
	})
	if err != nil || !strings.Contains(plan.String(), "SEARCH feed USING") || !strings.Contains(plan.String(), "seq<") {
		t.Errorf("the plan is %q %v", plan.String(), err)
	}
}
