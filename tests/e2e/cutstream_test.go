package e2e

import (
	"bytes"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"testing"
	"time"

	"dragoman/tests/fake/telegram"
)

// cutStream is a reply that breaks off.
type cutStream struct {
	name      string
	recording []byte
	at        int
	whole     bool // the reply itself is over by then
	calls     bool // and has a call
}

// cutStreams are the recorded replies, each cut at each byte.
func cutStreams(t testing.TB) (cuts []cutStream) {
	every := 1
	if raceEnabled() {
		every = 13 // a prime: no period of the frames hides from it
	}
	for _, name := range []string{"answer", "call"} {
		recording, err := os.ReadFile(filepath.Join("testdata", name+".sse"))
		if err != nil {
			t.Fatal(err)
		}
		end := endOf(t, recording)
		for n := 0; n <= len(recording); n += every {
			if n > end-2 && n < end {
				continue // the frame is there and the line that ends it is not: both are right
			}
			cuts = append(cuts, cutStream{fmt.Sprintf("%s cut at %d", name, n), recording, n, n >= end, name == "call"})
		}
	}
	return cuts
}

// A provider's stream may end at any byte, inside of a letter too. Nothing of it
// counts unless its own end was seen, and no tool runs of it.
func TestAStreamCutAtAnyByteIsNoReply(t *testing.T) {
	t.Parallel()
	wrote := filepath.Join(t.TempDir(), "wrote")
	cuts := cutStreams(t)
	h := startEachAlone(t, len(cuts), "", toolServer("tools", "30s", "E2E_WROTE", wrote))
	h.WaitLine("mcp_server_connected", readyWithin)
	began, runs := time.Now(), 0
	users := make([]*telegram.User, len(cuts))
	for i, c := range cuts {
		users[i] = h.tg.User(firstAlone+int64(i), "Ann")
		if c.whole && c.calls {
			runs++
		}
		again := cutAfter(c.recording, c.at, i%2 == 0)
		h.model.On(c.name, func(w http.ResponseWriter, r *http.Request, p prompt) {
			if len(p.Results) > 0 {
				repeats(w, r, p)
				return
			}
			again(w, r, p)
		})
	}
	for i, c := range cuts {
		users[i].Say(c.name)
	}
	references := map[string]string{}
	texts := make([]string, len(cuts))
	for i, c := range cuts {
		want := failure("")
		if c.whole {
			want = is(map[bool]string{false: "Grüße aus Zürich 🎉 — drei Wörter, 东京.", true: "Got: wrote Käse 🧀 und Brot"}[c.calls])
		}
		texts[i] = h.outcome(t, users[i], 1, want) // in the making it ends in a mark
		if m := reference.FindStringSubmatch(texts[i]); m != nil {
			references[m[1]] = c.name
		}
		users[i].Say("and now?")
	}
	for i := range cuts {
		h.outcome(t, users[i], 2, is("Fine."))
		h.only(t, users[i], texts[i], "Fine.")
	}
	t.Logf("%d cuts, %d of them failures, in %s", len(cuts), len(references), time.Since(began).Round(time.Millisecond))
	h.failedOnce(t, references)
	h.nothingLeaked(t, users...)
	h.alive(t)
	if b, _ := os.ReadFile(wrote); bytes.Count(b, []byte("\n")) != runs {
		t.Errorf("the tool ran %d times, want %d: only for the whole replies", bytes.Count(b, []byte("\n")), runs)
	}
}

// endOf is where in a recording the frame with the finish_reason is over.
func endOf(t testing.TB, recording []byte) int {
	t.Helper()
	at := regexp.MustCompile(`"finish_reason":"[a-z_]+"[^\n]*\n\n`).FindIndex(recording)
	if at == nil {
		t.Fatal("the recording has no end")
	}
	return at[1]
}
