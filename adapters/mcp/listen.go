package mcp

import (
	"context"
	"errors"
	"time"

	"dragoman/ports"
)

const (
	// firstRelisten and lastRelisten bound the pause before a subscription is made again.
	firstRelisten = time.Second
	lastRelisten  = time.Minute
)

// listen keeps a subscription to changes of the tools, until ctx ends (MCP
// basic/patterns/subscriptions). That it is acknowledged counts as a change: what
// changed before it, since the tools were listed, nobody heard of. Legacy servers
// say changes unasked.
func (s *session) listen(ctx context.Context) {
	if !s.modern || !s.can.toolsChange {
		return
	}
	pause := firstRelisten
	for {
		begun := time.Now()
		_, err := s.call(ctx, s.lastID.Add(1), ask{method: methodListen,
			params: map[string]any{"notifications": map[string]bool{"toolsListChanged": true}}})
		var answer *answerError
		if errors.As(err, &answer) && answer.kind() == ports.KindNotFound || ctx.Err() != nil {
			return
		}
		s.log.Debug("mcp_subscription_ended", "err", err)
		if time.Since(begun) > lastRelisten {
			pause = firstRelisten
		}
		if !sleep(ctx, pause) {
			return
		}
		pause = min(2*pause, lastRelisten)
	}
}
