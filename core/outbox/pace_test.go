package outbox

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"dragoman/ports"
)

// drafting is a stage with drafts and typing.
type drafting struct{ *stage }

func (d drafting) Draft(_ context.Context, _ ports.Conversation, text string) error {
	d.note("draft %s", text)
	return nil
}

func (d drafting) Typing(context.Context, ports.Conversation) error {
	d.note("typing")
	return nil
}

// drafts is a stage that drafts in private, and types.
func drafts(t *testing.T, traits ports.Traits) *stage {
	s := newStage(t)
	s.traits = traits
	s.box.Add("chat", drafting{s}, 2)
	return s
}

func (s *stage) count(word string) (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, line := range s.did {
		if strings.Contains(line, " "+word) {
			n++
		}
	}
	return n
}

var privately = ports.Traits{EditEvery: time.Second, Drafts: ports.DraftsPrivate, DraftEvery: 2 * time.Second, DraftLife: 30 * time.Second}

func TestDraftsArePrivateWhereTheChannelSaysSo(t *testing.T) {
	for name, c := range map[string]struct {
		scope         ports.DraftScope
		group         bool
		drafts, edits int
	}{
		"a person":            {ports.DraftsPrivate, false, 2, 0},
		"a group":             {ports.DraftsPrivate, true, 0, 1},
		"a group, everywhere": {ports.DraftsEverywhere, true, 2, 0},
		"a person, nowhere":   {ports.DraftsNowhere, false, 0, 1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				traits := privately
				traits.Drafts = c.scope
				s := drafts(t, traits)
				v := s.live(ports.Preview{Group: c.group})
				v.Text("a")
				time.Sleep(3 * time.Second)
				v.Text("a b")
				time.Sleep(3 * time.Second)
				v.Close()
				if d, e := s.count("draft"), s.count("edit"); d != c.drafts || e != c.edits {
					t.Errorf("%d drafts and %d edits, want %d and %d: %q", d, e, c.drafts, c.edits, s.did)
				}
			})
		})
	}
}

func TestADraftThatWouldFadeIsShownAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := drafts(t, privately)
		v := s.live(ports.Preview{})
		v.Text("Let me see")
		time.Sleep(65 * time.Second)
		v.Close()
		var at []string
		for _, line := range s.did {
			if strings.Contains(line, "draft") {
				at = append(at, line)
			}
		}
		want := "[0s draft Let me see 20s draft Let me see 40s draft Let me see 1m0s draft Let me see]"
		if fmt.Sprint(at) != want {
			t.Errorf("it did %v, want %v", at, want)
		}
	})
}

func TestWhatMayBeLeftOutKeepsTheChatsPace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		traits := privately
		traits.DraftEvery, traits.ShowEvery = 100*time.Millisecond, time.Second
		s := drafts(t, traits)
		v := s.live(ports.Preview{})
		for i := range 100 {
			v.Text(fmt.Sprint(i))
			time.Sleep(100 * time.Millisecond)
		}
		v.Close()
		if n := s.count("draft") + s.count("typing"); n < 8 || n > 11 {
			t.Errorf("%d signs of life in ten seconds: %q", n, s.did)
		}
	})
}

func TestAGroupKeepsRoomForItsAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := drafts(t, ports.Traits{EditEvery: time.Second, Drafts: ports.DraftsPrivate, ShowEvery: time.Second, GroupMinute: 20})
		lives := []*Live{}
		for thread := range 3 { // topics of one group
			s.lease.In.Thread = fmt.Sprint(thread)
			lives = append(lives, s.live(ports.Preview{Group: true}))
		}
		for i := range 50 {
			for _, v := range lives {
				v.Text(fmt.Sprint(i))
			}
			time.Sleep(time.Second)
		}
		shown := s.count("typing") + s.count("edit") + s.count("send")
		if shown != 15 {
			t.Errorf("%d signs of life in a group's minute, want 15: %q", shown, s.did)
		}
		began := time.Now()
		s.answer(lives[0].Close(), "55")
		if took := time.Since(began); took > 0 {
			t.Errorf("the answer waited for %v", took)
		}
		for _, v := range lives[1:] {
			v.Close()
		}
	})
}

// A preview whose place was taken by typing is shown as soon as there is one, and
// not after the pause between two edits.
func TestAPreviewThatHadToWaitIsNotPutOffAsAnEditIs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := drafts(t, ports.Traits{EditEvery: 4 * time.Second, ShowEvery: time.Second, Drafts: ports.DraftsNowhere})
		v := s.live(ports.Preview{})
		v.Text("It")
		time.Sleep(3 * time.Second)
		v.Close()
		s.want("300ms typing", "1.4s send It …", "1.4s stored t/0/preview as 55")
	})
}
