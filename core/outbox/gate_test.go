package outbox

import (
	"context"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"dragoman/ports"
)

// refuse says what the platform says to the next write.
func refuse(s *stage, wide bool) {
	s.send = func(context.Context) error {
		s.send = nil
		return &ports.Error{Kind: ports.KindRateLimited, Op: "send", RetryAfter: 5 * time.Second, Wide: wide}
	}
}

// others posts an answer in three other chats, and waits for a minute.
func (s *stage) others() {
	for i := range 3 {
		in := ports.Conversation{Channel: "chat", Chat: strconv.Itoa(i + 2)}
		s.mu.Lock()
		s.rooms[in] = []ports.Delivery{{ID: in.Chat, Out: ports.Outgoing{In: in, Content: ports.Content{Text: "to " + in.Chat}}}}
		s.mu.Unlock()
		s.box.Wake(ports.Lease{In: in, Epoch: 1})
		synctest.Wait()
	}
	time.Sleep(time.Minute)
}

func TestARefusalOfTheAccountHoldsAllItsWrites(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		s.start(1)
		refuse(s, true)
		s.others()
		s.want("0s send to 2", "5s send to 2", "5s stored 2 as 55", "5s send to 3", "5s stored 3 as 55", "5s send to 4", "5s stored 4 as 55")
	})
}

func TestARefusalOfAChatHoldsNoOther(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		refuse(s, false)
		s.others()
		s.want("0s send to 2", "0s send to 3", "0s stored 3 as 55", "0s send to 4", "0s stored 4 as 55", "5s send to 2", "5s stored 2 as 55")
	})
}

func TestWhatMayBeDroppedIsNotShownWhileTheAccountIsHeld(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		s.box.channels["chat"].gate.heed(s.lease.In, &ports.Error{Kind: ports.KindRateLimited, RetryAfter: 4500 * time.Millisecond, Wide: true})
		v := s.live(ports.Preview{})
		for i := range 8 {
			v.Text(strconv.Itoa(i))
			time.Sleep(time.Second)
		}
		v.Close()
		s.want("4.5s send 4 …", "4.5s stored t/0/preview as 55", "5.5s edit 55 5 …", "6.5s edit 55 6 …", "7.5s edit 55 7 …")
	})
}

func TestARefusalIsWaitedOutNoLongerThanItSays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		left := 9
		s.send = func(context.Context) error {
			if left--; left < 0 {
				return nil
			}
			return &ports.Error{Kind: ports.KindRateLimited, Op: "send", RetryAfter: time.Second}
		}
		s.answer("", "")
		time.Sleep(time.Minute)
		synctest.Wait()
		if last := s.last(); last != "9s stored t/1/0 as 55" {
			t.Errorf("after nine refusals of a second each: %s", last)
		}
	})
}

// A platform that counts by chats is asked by no thread of a chat that it refused.
func TestARefusalHoldsTheOtherThreadsWhereAChatIsWhatIsLimited(t *testing.T) {
	for whole, other := range map[bool]string{true: "5s", false: "0s"} {
		synctest.Test(t, func(t *testing.T) {
			s := newStage(t)
			s.traits.ChatLimits = whole
			s.start(2)
			refuse(s, false)
			for _, thread := range []string{"a", "b"} {
				in := ports.Conversation{Channel: "chat", Chat: "1", Thread: thread}
				s.mu.Lock()
				s.rooms[in] = []ports.Delivery{{ID: thread, Out: ports.Outgoing{In: in, Content: ports.Content{Text: "to " + thread}}}}
				s.mu.Unlock()
				s.box.Wake(ports.Lease{In: in, Epoch: 1})
				synctest.Wait()
			}
			time.Sleep(time.Minute)
			s.mu.Lock()
			defer s.mu.Unlock()
			if sent := strings.Join(s.did, ", "); strings.Count(sent, "send to a") != 2 || strings.Count(sent, "send to b") != 1 || !strings.Contains(sent, other+" send to b") {
				t.Errorf("with ChatLimits %v: %s", whole, sent)
			}
		})
	}
}
