package burst

import (
	"testing"
	"testing/synctest"
	"time"

	"dragoman/ports"
)

// piece is a message that came in so long ago; More says that it is one of several.
type piece struct {
	ago  time.Duration
	more bool
}

func TestABurstLastsUntilASilenceOrItsEnd(t *testing.T) {
	t.Parallel()
	album := func(n int, every time.Duration) (list []piece) {
		for i := range n {
			list = append(list, piece{time.Duration(n-1-i) * every, true})
		}
		return list
	}
	for what, c := range map[string]struct {
		list []piece
		want time.Duration
	}{
		"a message by itself":               {[]piece{{0, false}}, 0},
		"two messages by themselves":        {[]piece{{100 * time.Millisecond, false}, {0, false}}, 0},
		"the first of an album":             {[]piece{{0, true}}, Silence},
		"a while after it":                  {[]piece{{300 * time.Millisecond, true}}, Silence - 300*time.Millisecond},
		"after a silence":                   {[]piece{{Silence, true}}, 0},
		"long after":                        {[]piece{{time.Hour, true}}, Silence - time.Hour},
		"the end of a long text":            {[]piece{{50 * time.Millisecond, true}, {0, false}}, Silence},
		"a question before an album":        {[]piece{{50 * time.Millisecond, false}, {0, true}}, Silence},
		"an album before a silence":         {[]piece{{Silence + 1, true}, {0, false}}, 0},
		"an album at the edge of a silence": {[]piece{{Silence, true}, {0, false}}, Silence},
		"ten at once":                       {album(10, 0), Silence},
		"near its longest":                  {album(20, 500*time.Millisecond), 500 * time.Millisecond},
		"at its longest":                    {album(21, 500*time.Millisecond), 0},
		"beyond it":                         {album(30, 500*time.Millisecond), Most - 14500*time.Millisecond},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var list []ports.Inbox
				for _, p := range c.list {
					list = append(list, ports.Inbox{Received: time.Now().Add(-p.ago), Message: ports.Message{More: p.more}})
				}
				if got := Left(list); got != c.want && (got > 0 || c.want > 0) {
					t.Errorf("%s are left, want %s", got, c.want)
				}
			})
		})
	}
}
