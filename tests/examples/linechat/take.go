package linechat

import (
	"context"
	"fmt"
	"strings"
	"time"

	"dragoman/ports"
)

// take hands a message to the core, and tells its person once it is stored. It is
// tried again until then, under the same Event, also when they have left.
func (s *session) take(ctx context.Context, m said) error {
	switch {
	case m.long:
		return s.note("not taken: it is longer than %d bytes", maxSaid)
	case strings.TrimSpace(m.text) == "":
		return nil
	}
	s.count++
	event := fmt.Sprintf("%s-%d", s.id, s.count)
	batch := ports.Batch{Messages: []ports.Message{{Event: event, ID: ports.MessageID(event), In: ports.Conversation{Chat: s.name},
		Private: true, From: s.name, Name: s.name, Text: m.text, At: time.Now()}}}
	retry := newRetry()
	for first := true; ; first = false {
		err := s.receive(ctx, batch)
		if err == nil {
			return s.note("ok")
		}
		if ctx.Err() != nil {
			return s.note("not taken: say it again later")
		}
		if first {
			_ = s.note("not taken yet: trying again")
		}
		wait := max(retry.NextBackOff(), ports.RetryAfter(err))
		s.channel.log.Warn("linechat_receive_failed", "user", s.name, "kind", ports.KindOf(err), "err", err, "dur", wait)
		sleep(ctx, wait)
	}
}

func (s *session) receive(ctx context.Context, b ports.Batch) error {
	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	return s.in.Receive(ctx, b)
}
