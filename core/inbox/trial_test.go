package inbox

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"

	"dragoman/ports"
)

// in is a suspect that was let in.
type in struct {
	deaths ports.Deaths
	leave  func(acquitted bool)
}

// enters lets suspects come one after another; each tells when it is let in.
func enters(t *testing.T, c *court, suspects ...ports.Deaths) <-chan in {
	open, let := make(chan struct{}), make(chan in, len(suspects))
	for _, d := range suspects {
		go func() {
			leave, ok := c.enter(t.Context(), open, nil, d)
			if !ok {
				t.Error("a suspect was sent away")
			}
			let <- in{d, leave}
		}()
		synctest.Wait() // the first is in before the others come
	}
	return let
}

func TestOneSuspectAtATimeAndTheLeastSuspectFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		want := []ports.Deaths{{All: 9, Alone: 2}, {All: 2}, {All: 5}, {All: 3, Alone: 1}}
		let := enters(t, new(court), want[0], want[3], want[2], want[1])
		var order []ports.Deaths
		for range want {
			synctest.Wait()
			if len(let) != 1 {
				t.Fatalf("%d suspects are in at a time", len(let))
			}
			s := <-let
			order = append(order, s.deaths)
			s.leave(false)
			s.leave(true) // once is enough
		}
		if !slices.Equal(order, want) {
			t.Errorf("the order is %v, want %v", order, want)
		}
	})
}

func TestAcquittalsMakeRoomForMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		let := enters(t, new(court), make([]ports.Deaths, 40)...)
		var together []int
		for n := 0; n < 40; {
			synctest.Wait()
			list := make([]in, len(let))
			for i := range list {
				list[i] = <-let
			}
			together, n = append(together, len(list)), n+len(list)
			for _, s := range list {
				s.leave(true)
			}
		}
		if together[0] != 1 || together[3] != 1 || together[4] != 2 || len(together) > 20 {
			t.Errorf("so many were in at a time: %v", together)
		}
	})
}

func TestASuspectThatWaitsLeavesWithTheGateway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var c court
		closed := make(chan struct{})
		first, _ := c.enter(t.Context(), closed, nil, ports.Deaths{})
		ctx, cancel := context.WithCancel(t.Context())
		sent := make(chan bool, 2)
		go func() { _, ok := c.enter(ctx, closed, nil, ports.Deaths{}); sent <- ok }()
		go func() { _, ok := c.enter(t.Context(), closed, nil, ports.Deaths{}); sent <- ok }()
		synctest.Wait()
		cancel()
		if <-sent {
			t.Error("whoever left was let in")
		}
		close(closed)
		if <-sent {
			t.Error("somebody was let in after the end")
		}
		first(false)
		if len(c.wait) != 0 || c.in != 0 {
			t.Errorf("%d wait, %d are in", len(c.wait), c.in)
		}
	})
}
