package outbox

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"dragoman/ports"
)

// pend makes deliveries pending in a chat.
func (s *stage) pend(chat string, n int) ports.Lease {
	l := ports.Lease{In: ports.Conversation{Channel: "chat", Chat: chat}, Epoch: 1}
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range n {
		text := fmt.Sprint(chat, " ", i)
		s.rooms[l.In] = append(s.rooms[l.In], ports.Delivery{ID: "t/" + text + "/0", Out: ports.Outgoing{In: l.In, Content: ports.Content{Text: text}}})
	}
	return l
}

// sent are the texts in the order in which they were sent.
func (s *stage) sent() (list []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, line := range s.did {
		if _, text, ok := strings.Cut(line, " send "); ok {
			list = append(list, text)
		}
	}
	return list
}

// left is how much of the stage's own chat is still to be sent.
func (s *stage) left() int {
	synctest.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.rooms[s.lease.In])
}

// With one slot and a hundred deliveries of one chat, the answer of another waits
// for the one that is on its way and one more, at most; and the hundred keep their
// order.
func TestAChatOfManyDeliveriesDoesNotHoldUpAnother(t *testing.T) {
	for _, slots := range []int{1, 2} {
		t.Run(fmt.Sprint(slots), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newStage(t)
				s.start(slots)
				s.send = func(ctx context.Context) error { time.Sleep(time.Second); return nil }
				s.box.Wake(s.pend("noisy", 100))
				time.Sleep(10500 * time.Millisecond)
				for _, chat := range []string{"bob", "eve"} {
					s.box.Wake(s.pend(chat, 1))
				}
				time.Sleep(100 * time.Second)
				got := s.sent()
				if at := max(slices.Index(got, "bob 0"), slices.Index(got, "eve 0")); at > 13 {
					t.Errorf("others were sent as number %d, behind 11 that were before them", at+1)
				}
				var noisy []string
				for _, text := range got {
					if strings.HasPrefix(text, "noisy") {
						noisy = append(noisy, text)
					}
				}
				for i, text := range noisy {
					if text != fmt.Sprint("noisy ", i) {
						t.Fatalf("the %d. of the hundred is %q", i+1, text)
					}
				}
				if len(noisy) != 100 {
					t.Errorf("%d of the hundred were sent", len(noisy))
				}
			})
		})
	}
}

// A chat whose sends fail for a while waits without the slot: the others go on.
func TestAChatThatFailsDoesNotHoldTheSlot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		s.start(1)
		var works atomic.Bool
		s.send = func(context.Context) error {
			if works.Load() {
				return nil
			}
			return ports.Errorf(ports.KindTemporary, "send", "502")
		}
		s.box.Wake(s.pend("broken", 1))
		time.Sleep(time.Second)
		synctest.Wait()
		works.Store(true)
		began := time.Now()
		s.box.Wake(s.pend("bob", 3))
		synctest.Wait()
		if got := s.sent(); !slices.Contains(got, "bob 2") || time.Since(began) > 0 {
			t.Errorf("beside a chat that fails, after %s sent are %q", time.Since(began), got)
		}
	})
}

// Which failures of a send are tried again, and which end the delivery: this is
// the whole list of kinds.
func TestEachKindOfFailureIsTriedAgainOrEndsTheDelivery(t *testing.T) {
	again := []ports.Kind{ports.KindTemporary, ports.KindRateLimited, ports.KindTimeout, ports.KindCancelled, ports.KindUnauthorized,
		ports.KindUnavailable, ports.KindConflict, ports.KindUnsure}
	for kind := ports.KindInternal; kind <= ports.KindUnsure; kind++ {
		t.Run(kind.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := newStage(t)
				n := 0
				s.send = func(context.Context) error {
					if n++; n == 1 {
						return ports.Errorf(kind, "send", "no")
					}
					return nil
				}
				s.box.Wake(s.pend("1", 2))
				time.Sleep(2 * time.Minute)
				want := []string{"1 0", "1 1"}
				if slices.Contains(again, kind) {
					want = []string{"1 0", "1 0", "1 1"}
				}
				if got := s.sent(); !slices.Equal(got, want) {
					t.Errorf("sent are %q, want %q", got, want)
				}
				if n := s.left(); n != 0 {
					t.Errorf("%d are still pending", n)
				}
			})
		})
	}
}

// A failure that never passes frees the chat in the end, and what came behind it
// goes out.
func TestADeliveryThatNeverWorksIsGivenUpAfterHours(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		var works atomic.Bool
		s.send = func(context.Context) error {
			if works.Load() {
				return nil
			}
			return ports.Errorf(ports.KindTemporary, "send", "502")
		}
		s.box.Wake(s.pend("1", 2))
		time.Sleep(giveUpAfter - time.Minute)
		if n := s.left(); n != 2 {
			t.Errorf("before its time is over %d of 2 are pending", n)
		}
		time.Sleep(2 * time.Minute)
		if n := s.left(); n != 1 {
			t.Errorf("when its time is over %d of 2 are pending, want the second alone", n)
		}
		works.Store(true)
		time.Sleep(time.Minute)
		if n := s.left(); n != 0 {
			t.Errorf("in the end %d are pending", n)
		}
		if got := s.sent(); got[len(got)-1] != "1 1" {
			t.Errorf("the last one sent is %q", got[len(got)-1])
		}
	})
}
