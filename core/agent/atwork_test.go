package agent

import (
	"testing"
	"testing/synctest"
	"time"

	"dragoman/ports"
)

func TestWhatRunsIsToldInALine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var w atWork
		is := func(want string) {
			t.Helper()
			if got := w.line(); got != want {
				t.Errorf("it says %q, want %q", got, want)
			}
		}
		is("")
		first := w.begin("files__search")
		time.Sleep(time.Second)
		is("") // soon over
		time.Sleep(11 * time.Second)
		is("⏳ `files__search` · 12 s")
		second := w.begin("web__fetch")
		first.tells(ports.Progress{Done: 3, Total: 10, Text: "at `docs`\nand\x1b[31m\u202e [more](http://x) " + string(make([]rune, 3)) + "of this and that and much more than fits"})
		is("⏳ `files__search` · 12 s · 30 % · `at 'docs' and[31m [more](http://x) of this and that and much…` · and 1 more")
		first.tells(ports.Progress{Done: 1234567})
		is("⏳ `files__search` · 12 s · 1234567 · and 1 more")
		first.tells(ports.Progress{Done: 11, Total: 10}) // which cannot be
		first.end()
		is("")
		time.Sleep(3 * time.Minute)
		is("⏳ `web__fetch` · 3 min")
		second.end()
		is("")
	})
}
