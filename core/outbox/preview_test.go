package outbox

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"dragoman/core/internal/guard"
	"dragoman/ports"
)

// stage is a platform and a store that note what is done to them, with the time
// since the test began.
type stage struct {
	t      *testing.T
	box    *Outbox
	began  time.Time
	lease  ports.Lease
	traits ports.Traits

	mu    sync.Mutex
	did   []string
	edit  func(context.Context) error // what an edit does; nil = it works
	send  func(context.Context) error
	keep  func() error                            // what the store does
	read  func(ports.Artifact) error              // what reading a part does
	save  error                                   // what saving one does
	code  string                                  // what is in an artifact, if it is this
	rooms map[ports.Conversation][]ports.Delivery // what is pending
}

func newStage(t *testing.T) *stage {
	s := &stage{t: t, began: time.Now(), lease: ports.Lease{In: ports.Conversation{Channel: "chat", Chat: "1"}, Epoch: 1},
		traits: ports.Traits{EditEvery: time.Second, GroupEditEvery: 4 * time.Second}, rooms: map[ports.Conversation][]ports.Delivery{}}
	s.start(2)
	return s
}

func (s *stage) start(slots int) {
	s.box = New(s.t.Context(), s, new(guard.Leaks), slog.New(slog.DiscardHandler))
	s.box.Add("chat", s, slots)
}

func (s *stage) live(p ports.Preview) *Live {
	p.ID = "t/0/preview"
	return s.box.Live(s.t.Context(), s.lease, p)
}

func (s *stage) note(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.did = append(s.did, fmt.Sprintf("%v ", time.Since(s.began))+fmt.Sprintf(format, args...))
}

func (s *stage) last() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.did[len(s.did)-1]
}

func (s *stage) want(lines ...string) {
	s.t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if !slices.Equal(s.did, lines) {
		s.t.Errorf("it did\n  %s\nwant\n  %s", strings.Join(s.did, "\n  "), strings.Join(lines, "\n  "))
	}
}

func (s *stage) Traits() ports.Traits                            { return s.traits }
func (s *stage) Run(ctx context.Context, _ ports.Receiver) error { return ctx.Err() }

func (s *stage) Send(ctx context.Context, m ports.Outgoing) (ports.MessageID, error) {
	s.note("send %s", m.Content.Text)
	if s.send != nil {
		if err := s.send(ctx); err != nil {
			return "", err
		}
	}
	return "55", nil
}

func (s *stage) Edit(ctx context.Context, id ports.MessageID, m ports.Outgoing) error {
	s.note("edit %s %s", id, m.Content.Text)
	if s.edit != nil {
		return s.edit(ctx)
	}
	return nil
}

func (s *stage) Pending(_ context.Context, l ports.Lease) ([]ports.Delivery, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.rooms[l.In]), nil
}

func (s *stage) Delivered(_ context.Context, l ports.Lease, id string, r ports.Receipt) error {
	if s.keep != nil {
		if err := s.keep(); err != nil {
			return err
		}
	}
	s.note("stored %s as %s%s", id, r.ID, r.Failed)
	s.mu.Lock()
	defer s.mu.Unlock()
	s.rooms[l.In] = slices.DeleteFunc(s.rooms[l.In], func(d ports.Delivery) bool { return d.ID == id })
	return nil
}

// Read gives an artifact of 600 KiB, each page of another letter.
func (s *stage) Read(_ context.Context, in ports.Conversation, id string, offset, limit int64) (ports.Artifact, error) {
	if s.code != "" {
		return ports.Artifact{In: in, ID: id, Size: int64(len(s.code)), Data: []byte(s.code[offset:])}, nil
	}
	a := ports.Artifact{In: in, ID: id, Size: 600 << 10}
	for i := offset; i < min(offset+limit, a.Size); i++ {
		a.Data = append(a.Data, 'a'+byte(i/filePage))
	}
	if s.read != nil {
		return a, s.read(a)
	}
	return a, nil
}

func (s *stage) Save(_ context.Context, a ports.Artifact) error {
	s.note("save %s of %d bytes", a.Name, a.Size)
	return s.save
}

// answer says what comes after the preview, as a turn does.
func (s *stage) answer(replaces string, posted ports.MessageID) {
	s.mu.Lock()
	s.rooms[s.lease.In] = []ports.Delivery{{ID: "t/1/0", Edits: replaces, EditID: posted, Out: ports.Outgoing{In: s.lease.In, Content: ports.Content{Text: "answer"}}}}
	s.mu.Unlock()
	s.box.Wake(s.lease)
	synctest.Wait()
}

func TestAPreviewGrowsAndBecomesTheAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		v := s.live(ports.Preview{})
		for i := range 30 {
			v.Text(strings.Repeat("x", i/10+1))
			time.Sleep(100 * time.Millisecond)
		}
		s.answer(v.Close(), "55")
		s.want("700ms send x …", "700ms stored t/0/preview as 55", "1.7s edit 55 xx …", "2.7s edit 55 xxx …", "3s edit 55 answer", "3s stored t/1/0 as 55")
	})
}

func TestNoPreviewOfAnAnswerThatIsThereSoon(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		v := s.live(ports.Preview{})
		v.Text("x")
		time.Sleep(previewAfter - time.Millisecond)
		s.answer(v.Close(), "")
		time.Sleep(time.Minute)
		s.want("699ms send answer", "699ms stored t/1/0 as 55")
	})
}

func TestNoPreviewWithoutAPace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		s.traits = ports.Traits{}
		s.start(2)
		v := s.live(ports.Preview{})
		v.Text("x")
		time.Sleep(time.Minute)
		if id := v.Close(); id != "" {
			t.Errorf("there is a preview %q", id)
		}
		s.want()
	})
}

func TestAPreviewFromBeforeARestartGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		v := s.live(ports.Preview{Posted: "44", Group: true})
		for i := range 6 {
			v.Text(strings.Repeat("x", i+1))
			time.Sleep(time.Second)
		}
		s.answer(v.Close(), "44")
		s.want("700ms edit 44 x …", "4.7s edit 44 xxxxx …", "6s edit 44 answer", "6s stored t/1/0 as 44")
	})
}

func TestAPreviewFromBeforeARestartIsReplacedAlsoWithoutAWord(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		s.traits = ports.Traits{} // the admin switched streaming off
		s.start(2)
		s.answer(s.live(ports.Preview{Posted: "44"}).Close(), "44")
		s.want("0s edit 44 answer", "0s stored t/1/0 as 44")
	})
}

func TestAPreviewIsStoredBeforeItsFirstEdit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		fails := 2
		s.keep = func() error {
			if fails--; fails >= 0 {
				return ports.Errorf(ports.KindUnavailable, "store", "full")
			}
			return nil
		}
		v := s.live(ports.Preview{})
		for i := range 50 {
			v.Text(strings.Repeat("x", i/10+1))
			time.Sleep(100 * time.Millisecond)
		}
		v.Close()
		s.want("700ms send x …", "2.7s stored t/0/preview as 55", "3.7s edit 55 xxxx …", "4.7s edit 55 xxxxx …")
	})
}

func TestAnAnswerIsNotPutIntoAPreviewWhoseEditMayStillCome(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		v := s.live(ports.Preview{Posted: "44"})
		s.edit = func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }
		v.Text("x")
		time.Sleep(time.Second)
		s.answer(v.Close(), "44")
		s.want("700ms edit 44 x …", "5.7s send answer", "5.7s stored t/1/0 as 55")
	})
}

func TestAnAnswerWaitsForAPreviewThatIsOnItsWay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		s.send = func(context.Context) error { time.Sleep(time.Second); return nil }
		v := s.live(ports.Preview{})
		v.Text("x")
		time.Sleep(time.Second)
		s.answer(v.Close(), "55")
		s.want("700ms send x …", "1.7s stored t/0/preview as 55", "1.7s edit 55 answer", "1.7s stored t/1/0 as 55")
	})
}

func TestAPreviewThatMayHaveBeenPostedIsNotPostedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		s.send = func(context.Context) error { return ports.Errorf(ports.KindUnsure, "send", "the connection broke") }
		v := s.live(ports.Preview{})
		for i := range 9 {
			v.Text(strings.Repeat("x", i+1))
			time.Sleep(time.Second)
		}
		if id := v.Close(); id != "" {
			t.Errorf("the answer must replace %q, which nobody knows", id)
		}
		s.want("700ms send x …")
	})
}

func TestAPreviewKeepsQuietWhenAsked(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		once := errors.New("")
		s.send = func(context.Context) error {
			if once == nil {
				return nil
			}
			once = nil
			return &ports.Error{Kind: ports.KindRateLimited, Op: "send", RetryAfter: 3 * time.Second}
		}
		v := s.live(ports.Preview{})
		for i := range 6 {
			v.Text(strings.Repeat("x", i+1))
			time.Sleep(time.Second)
		}
		v.Close()
		s.want("700ms send x …", "3.7s send xxxx …", "3.7s stored t/0/preview as 55", "4.7s edit 55 xxxxx …", "5.7s edit 55 xxxxxx …")
	})
}

func TestPreviewsLeaveHalfOfTheSlotsToAnswers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		s.send = func(ctx context.Context) error { time.Sleep(time.Second); return nil }
		var all []*Live
		for range 3 {
			v := s.live(ports.Preview{})
			v.Text("x")
			all = append(all, v)
			time.Sleep(time.Millisecond)
		}
		time.Sleep(previewAfter)
		for _, v := range all {
			v.Close()
		}
		s.want("700ms send x …", "1.7s stored t/0/preview as 55")
	})
}

func TestAnEndlessAnswerIsShownByItsBeginning(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		v := s.live(ports.Preview{})
		v.Text(strings.Repeat("€", 1<<20))
		time.Sleep(time.Second)
		v.Close()
		want := strings.Repeat("€", shownMax/3) + unfinished
		s.want("700ms send "+want, "700ms stored t/0/preview as 55")
	})
}
