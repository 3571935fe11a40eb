package toolbox

import (
	"fmt"
	"os"
	"slices"
	"testing"

	"dragoman/ports"
)

// answered counts the questions of which a right tool is among the first that a
// search lists.
func answered(t *testing.T, v *View, asked []question, show bool) int {
	t.Helper()
	n := 0
	for i, q := range asked {
		got := find(t, v, ports.Conversation{Channel: "c", Chat: fmt.Sprint(i)}, q.Text)
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
	_, v := searcher(t, allowAll)
	tuned := answered(t, v, tuning, show != "")
	held := answered(t, v, figure, show == "all")
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

// TestTheToolPartOfAPromptIsSmall asks all questions in one conversation, and each in
// one of its own.
func TestTheToolPartOfAPromptIsSmall(t *testing.T) {
	_, v := searcher(t, allowAll)
	_, all := v.seen()
	part := func(in ports.Conversation) int {
		size := 0
		for _, s := range v.Specs(t.Context(), in) {
			size += tokens(s)
		}
		return size
	}
	most, sum, asked := 0, 0, questions(t)
	for i, q := range asked {
		in := ports.Conversation{Channel: "c", Chat: fmt.Sprint(i)}
		find(t, v, in, q.Text)
		find(t, v, here, q.Text)
		sum += part(in)
		most = max(most, part(in), part(here))
	}
	share := func(n int) float64 { return 100 * float64(n) / float64(all) }
	t.Logf("all tools take %d tokens; before a search %d (%.1f %%), after one %d (%.1f %%), at most %d (%.1f %%)",
		all, part(ports.Conversation{}), share(part(ports.Conversation{})), sum/len(asked), share(sum/len(asked)), most, share(most))
	if share(most) > 15 {
		t.Errorf("the tool part takes %.1f %% of all", share(most))
	}
}
