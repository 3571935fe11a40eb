package gateway_test

import (
	"testing"
	"time"

	"dragoman/ports"
)

// A receipt of unknown outcome that was written after all: the platform delivers
// the message again, which the store has seen, and it is answered all the same.
func TestAMessageOfAnUnsureReceiptIsAnswered(t *testing.T) {
	w := newWorld(t)
	w.model.reply = echo
	w.startFailing(1, unsure)
	for late := time.Now().Add(5 * time.Second); w.chat.try(t.Context(), ports.Message{Event: "1", Text: "hello"}) != nil && time.Now().Before(late); {
		<-time.After(10 * time.Millisecond)
	}
	eventually(t, "the message is answered", func() bool { return len(w.chat.texts()) == 1 })
}
