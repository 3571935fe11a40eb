package gateway_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"dragoman/adapters/sqlstore"
	"dragoman/core/ask"
	"dragoman/core/gateway"
	"dragoman/ports"
)

// lateSweep is a store in which the first sweep comes after the first message.
type lateSweep struct {
	gateway.Store
	once     sync.Once
	accepted chan struct{}
}

func (s *lateSweep) Claim(ctx context.Context, limit int) ([]ports.Lease, error) {
	select {
	case <-s.accepted:
		return s.Store.Claim(ctx, limit)
	default:
		return nil, nil
	}
}

func (s *lateSweep) Accept(ctx context.Context, src ports.Source, b ports.Batch, route func(ports.Sight) ports.Route) (ports.Accepted, error) {
	got, err := s.Store.Accept(ctx, src, b, route)
	s.once.Do(func() { close(s.accepted) })
	return got, err
}

// A platform that tells of old messages as soon as it is connected: what an earlier
// process left unsent in their conversation goes out, though no sweep takes it up.
func TestWhatWasLeftUnsentIsSentThoughAMessageComesFirst(t *testing.T) {
	for name, event := range map[string]string{"seen before": "m1", "new": "m2"} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.opt.Drain = 10 * time.Millisecond
			w.opt.Ask.OnMessage = ask.Wait
			w.model.reply = byWord
			w.chat.fails = slices.Repeat([]error{ports.Errorf(ports.KindTemporary, "send", "down")}, 100)
			w.start()
			say := func(event string) {
				w.chat.receive(t, ports.Message{Event: event, From: "ann", Name: "ann", Text: "srv__ask_a", Private: true})
			}
			say("m1")
			eventually(t, "the prompt waits", func() bool { return w.count(`SELECT COUNT(*) FROM outbox WHERE state = 'pending'`) == 1 })
			w.end()
			w.chat.fails = nil
			w.startOn(func(s *sqlstore.Store) gateway.Store { return &lateSweep{Store: s, accepted: make(chan struct{})} })
			say(event)
			w.shown(1)
		})
	}
}
