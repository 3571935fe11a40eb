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
		m.ID = "6" // within the chat's second
		s.box.Heard(m)
		time.Sleep(2 * time.Second)
		s.box.channels["chat"].gate.heed(m.In, &ports.Error{Kind: ports.KindRateLimited, RetryAfter: time.Minute})
		m.ID = "7"
		s.box.Heard(m)
		time.Sleep(2 * time.Minute)
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
