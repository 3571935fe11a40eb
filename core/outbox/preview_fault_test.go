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

// typed feeds the live show a longer text every second.
func typed(v *Live, seconds int) {
	for i := range seconds {
		v.Text(strings.Repeat("x", i+1))
		<-time.After(time.Second)
	}
}

func TestAnEditThatTimedOutDoesNotOverwriteTheAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		s.edit = func(ctx context.Context) error { // the platform has it, and takes its time
			s.edit = nil
			<-ctx.Done()
			return ports.Errorf(ports.KindTimeout, "edit", "no answer")
		}
		v := s.live(ports.Preview{Posted: "44"})
		typed(v, 9)
		s.answer(v.Close(), "44")
		s.want("700ms edit 44 x …", "9s send answer", "9s stored t/1/0 as 55")
		if len(s.box.unsettled) != 0 {
			t.Error("it is remembered for ever that an edit of that preview may come")
		}
	})
}

func TestASlowPreviewIsReplacedAllTheSame(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		s.send = func(context.Context) error {
			s.send = nil
			time.Sleep(4 * time.Second)
			return nil
		}
		v := s.live(ports.Preview{})
		v.Text("x")
		time.Sleep(800 * time.Millisecond)
		s.answer(v.Close(), "55")
		s.want("700ms send x …", "4.7s stored t/0/preview as 55", "4.7s edit 55 answer", "4.7s stored t/1/0 as 55")
	})
}

func TestAPreviewThatNeverArrivedIsForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		s.send = func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }
		for i := range 10 {
			v := s.box.Live(t.Context(), s.lease, ports.Preview{ID: fmt.Sprintf("t#%d/0/preview", i)})
			v.Text("x")
			time.Sleep(time.Second)
			if id := v.Close(); id != "" {
				t.Errorf("%s is to be replaced, and nobody knows whether it is there", id)
			}
		}
		if n := len(s.box.unsettled); n > 0 {
			t.Errorf("%d previews of turns that are over are remembered for ever", n)
		}
	})
}

func TestAPreviewTakesNoChannelsOnlySlot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		s.start(1)
		v := s.live(ports.Preview{})
		typed(v, 3)
		s.answer(v.Close(), "")
		s.want("3s send answer", "3s stored t/1/0 as 55")
	})
}

func TestAnAnswerHeedsTheWaitThatItsPreviewWasTold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		s.edit = func(context.Context) error {
			s.edit = nil
			return &ports.Error{Kind: ports.KindRateLimited, Op: "edit", RetryAfter: 30 * time.Second}
		}
		v := s.live(ports.Preview{Posted: "44"})
		typed(v, 5)
		s.answer(v.Close(), "44")
		time.Sleep(time.Minute)
		s.want("700ms edit 44 x …", "30.7s edit 44 answer", "30.7s stored t/1/0 as 44")
	})
}

func TestATextThatFoundNoSlotIsShownLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		slots := s.box.channels["chat"].inFlight
		slots <- struct{}{}
		v := s.live(ports.Preview{})
		v.Text("x") // and then a tool runs
		time.Sleep(1500 * time.Millisecond)
		<-slots
		time.Sleep(time.Minute)
		v.Close()
		s.want("1.7s send x …", "1.7s stored t/0/preview as 55")
	})
}

func TestAPreviewThatWasSurelyNotPostedIsPostedLater(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		s.send = func(context.Context) error {
			s.send = nil
			return ports.Errorf(ports.KindTemporary, "send", "connection refused")
		}
		v := s.live(ports.Preview{})
		typed(v, 3)
		v.Close()
		s.want("700ms send x …", "1.7s send xx …", "1.7s stored t/0/preview as 55", "2.7s edit 55 xxx …")
	})
}

func TestAnEditThatIsRefusedForGoodIsNotRepeated(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		s.edit = func(context.Context) error { return ports.Errorf(ports.KindForbidden, "edit", "the bot was blocked") }
		v := s.live(ports.Preview{Posted: "44"})
		typed(v, 300)
		v.Close()
		s.want("700ms edit 44 x …")
	})
}

func TestAPreviewDoesNotOvertakeAnAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		s.send = func(context.Context) error {
			s.send = nil
			return &ports.Error{Kind: ports.KindTemporary, Op: "send", RetryAfter: 5 * time.Second}
		}
		s.answer("", "") // of the turn before, and it is late
		v := s.live(ports.Preview{})
		typed(v, 7)
		v.Close()
		s.want("0s send answer", "5s send answer", "5s stored t/1/0 as 55", "5.7s send xxxxxx …", "5.7s stored t/0/preview as 55", "6.7s edit 55 xxxxxxx …")
	})
}

func TestWhatMayBeDroppedIsDroppedWhileTheAccountIsHeld(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		s.box.channels["chat"].gate.heed(s.lease.In, &ports.Error{Kind: ports.KindRateLimited, RetryAfter: 10 * time.Second, Wide: true})
		s.rooms[s.lease.In] = []ports.Delivery{{ID: "t/0/9", Edits: "q", EditID: "33", Optional: true, Out: ports.Outgoing{In: s.lease.In}}}
		s.box.Wake(s.lease)
		time.Sleep(time.Second)
		s.answer("", "")
		time.Sleep(time.Minute)
		s.want("0s stored t/0/9 as send: the platform asked to wait", "10s send answer", "10s stored t/1/0 as 55")
	})
}

func TestAnAccountIsNotHeldForHoursByOneRefusal(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		s.send = func(context.Context) error {
			s.send = nil
			return &ports.Error{Kind: ports.KindRateLimited, Op: "send", RetryAfter: 3 * time.Hour, Wide: true}
		}
		s.answer("", "")
		time.Sleep(2 * time.Minute)
		s.want("0s send answer", "1m0s send answer", "1m0s stored t/1/0 as 55")
	})
}
