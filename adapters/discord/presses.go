package discord

import (
	"context"
	"encoding/json"
	"sync"

	"dragoman/ports"
)

// storePresses stores interactions until ctx ends, and acknowledges each once it
// is stored: a person who reads that it failed presses again.
func (r *runner) storePresses(ctx context.Context) {
	in := r.incoming()
	places := make(chan struct{}, maxDefers)
	var work sync.WaitGroup
	defer work.Wait()
	for {
		events := r.presses.take(ctx)
		if events == nil {
			return
		}
		for _, e := range events {
			i, m, ok := r.readPress(in, e)
			if !ok {
				continue
			}
			end := r.channel.defers.begin(i.ID)
			r.deliver(ctx, ports.Batch{Messages: []ports.Message{m}})
			if ctx.Err() != nil {
				end()
				return
			}
			places <- struct{}{}
			work.Go(func() {
				defer func() { end(); <-places }()
				r.channel.acknowledge(ctx, i, m.In)
			})
		}
	}
}

func (r *runner) readPress(in incoming, e event) (i interaction, m ports.Message, ok bool) {
	if err := json.Unmarshal(e.data, &i); err != nil {
		r.log.Warn("discord_event_unreadable", "event", e.kind, "err", err)
		return i, m, false
	}
	m, why, ok := in.interaction(i)
	if !ok {
		r.log.Info("discord_event_skipped", "event", e.kind, "why", why)
		return i, m, false
	}
	if m.Private {
		r.rooms.learn(room{ID: i.RoomID, Type: typeDM})
	}
	return i, m, true
}
