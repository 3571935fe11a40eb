package toolbox

import (
	"os"
	"slices"
	"testing"

	"dragoman/ports"
)

// answered counts the questions of which a right tool is among the first that a
// search lists.
func answered(t *testing.T, x *index, asked []question, show bool) int {
	t.Helper()
	n := 0
	for _, q := range asked {
		got := x.search(q.Text, findLimit, func(string) bool { return true })
		if slices.ContainsFunc(q.Tools, func(name string) bool { return slices.Contains(got, name) }) {
			n++
		} else if show {
			t.Logf("missed: %q (%s) finds %q", q.Text, q.Lang, got)
		}
	}
	return n
}

// TestTheRightToolIsInTheFirstSearch prints both figures. What the tuning questions
// miss is shown with DRAGOMAN_SEARCH_MISSES=tuning; the misses of the others are for
// nobody who goes on tuning (=all shows them).
func TestTheRightToolIsInTheFirstSearch(t *testing.T) {
	var tuning, figure []question
	for _, q := range questions(t) {
		if q.heldOut() {
			figure = append(figure, q)
		} else {
			tuning = append(tuning, q)
		}
	}
	show := os.Getenv("DRAGOMAN_SEARCH_MISSES")
	x := catalogBox(t, Config{Default: ports.PolicyAllow}).index()
	tuned := answered(t, x, tuning, show != "")
	held := answered(t, x, figure, show == "all")
	t.Logf("the right tool is among the first %d: tuning %d of %d (%.1f %%), held out %d of %d (%.1f %%)", findLimit,
		tuned, len(tuning), 100*float64(tuned)/float64(len(tuning)), held, len(figure), 100*float64(held)/float64(len(figure)))
	if held*10 < len(figure)*9 {
		t.Errorf("held out: %d of %d, which is less than 90 %%", held, len(figure))
	}
}

// catalogBox has the recorded tools.
func catalogBox(t testing.TB, cfg Config) *Toolbox {
	t.Helper()
	b := newBox(cfg)
	for server, c := range recordedTools(t) {
		b.Add(Source{Name: server}).Register(c)
	}
	return b
}
