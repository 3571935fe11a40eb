package outbox

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"dragoman/ports"
)

func (d drafting) React(_ context.Context, _ ports.Conversation, id ports.MessageID, emoji string) error {
	d.note("react %s %s", id, emoji)
	return nil
}

func TestAReceiptIsAReactionThatLimitsMayDrop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := drafts(t, ports.Traits{ShowEvery: time.Second})
		m := ports.Message{ID: "5", In: s.lease.In, Private: true}
		s.box.Heard(m)
		synctest.Wait()
		s.box.Heard(m) // within the chat's second
		time.Sleep(time.Second)
		m.ID = "6"
		s.box.Heard(m)
		synctest.Wait()
		s.box.channels["chat"].gate.heed(m.In, &ports.Error{Kind: ports.KindRateLimited, RetryAfter: time.Minute})
		time.Sleep(5 * time.Second)
		m.ID = "7"
		s.box.Heard(m)
		time.Sleep(time.Second)
		s.want("0s react 5 👀", "1s react 6 👀")
	})
}

func TestAReceiptOfAChannelWithoutReactionsIsNone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		s.box.Heard(ports.Message{ID: "5", In: s.lease.In})
		synctest.Wait()
		s.want()
	})
}
