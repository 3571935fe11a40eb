package outbox

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"dragoman/ports"
)

func TestWhatRunsIsShownBehindTheText(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		var line atomic.Value
		line.Store("")
		v := s.live(ports.Preview{})
		v.Working(func() string { return line.Load().(string) })
		v.Text("Let me see.")
		time.Sleep(3 * time.Second)
		line.Store("a tool, 3 s")
		time.Sleep(2 * time.Second)
		line.Store("a tool, 5 s")
		time.Sleep(2 * time.Second)
		line.Store("")
		v.Text("It is")
		time.Sleep(2 * time.Second)
		s.answer(v.Close(), "55")
		s.want("700ms send Let me see. …", "700ms stored t/0/preview as 55",
			"4s edit 55 Let me see.\n\na tool, 3 s", "6s edit 55 Let me see.\n\na tool, 5 s", "7s edit 55 It is …", "9s edit 55 answer", "9s stored t/1/0 as 55")
	})
}

// Who waits for a tool before the first word sees the tool, and the answer takes its place.
func TestWhatRunsIsShownWithoutAWord(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		v := s.live(ports.Preview{})
		began := time.Now()
		v.Working(func() string { return fmt.Sprintf("a tool, %v", time.Since(began)) })
		time.Sleep(5 * time.Second)
		s.answer(v.Close(), "55")
		s.want("2.7s send a tool, 2s", "2.7s stored t/0/preview as 55", "4s edit 55 a tool, 4s", "5s edit 55 answer", "5s stored t/1/0 as 55")
	})
}

// However long it takes, an answer has twenty edits at most, its own among them; they
// are not all used up in the first minute.
func TestAMessageIsNotEditedWithoutEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		v := s.live(ports.Preview{})
		began := time.Now()
		v.Working(func() string { return time.Since(began).String() })
		time.Sleep(30 * time.Minute)
		s.answer(v.Close(), "55")
		edits, late := 0, false
		for _, line := range s.did {
			if strings.Contains(line, " edit ") {
				edits++
			}
			late = late || strings.HasPrefix(line, "6m")
		}
		if edits != 20 || !late {
			t.Errorf("%d edits, want 20, some of them after minutes: %q", edits, s.did)
		}
	})
}
