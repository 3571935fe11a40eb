package inbox

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"

	"dragoman/ports"
)

func TestOneSuspectAtATimeAndTheLeastSuspectFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var court trial
		open := make(chan struct{})
		var order []ports.Deaths
		leaves := make(chan func(), 4)
		for _, deaths := range []ports.Deaths{{All: 9, Alone: 2}, {All: 3, Alone: 1}, {All: 5}, {All: 2}} {
			go func() {
				leave, ok := court.enter(t.Context(), open, deaths)
				if !ok {
					t.Error("a suspect was sent away")
				}
				order = append(order, deaths)
				leaves <- leave
			}()
			synctest.Wait() // the first is in before the others come
		}
		for range 4 {
			synctest.Wait()
			if len(leaves) != 1 {
				t.Fatalf("%d suspects run at a time", len(leaves))
			}
			leave := <-leaves
			leave()
			leave() // once is enough
		}
		if want := []ports.Deaths{{All: 9, Alone: 2}, {All: 2}, {All: 5}, {All: 3, Alone: 1}}; !slices.Equal(order, want) {
			t.Errorf("the order is %v, want %v", order, want)
		}
	})
}

func TestASuspectThatWaitsLeavesWithTheGateway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var court trial
		closed := make(chan struct{})
		first, _ := court.enter(t.Context(), closed, ports.Deaths{})
		ctx, cancel := context.WithCancel(t.Context())
		sent := make(chan bool, 2)
		go func() { _, ok := court.enter(ctx, closed, ports.Deaths{}); sent <- ok }()
		go func() { _, ok := court.enter(t.Context(), closed, ports.Deaths{}); sent <- ok }()
		synctest.Wait()
		cancel()
		if <-sent {
			t.Error("whoever left was let in")
		}
		close(closed)
		if <-sent {
			t.Error("somebody was let in after the end")
		}
		first()
		if len(court.wait) != 0 || court.busy {
			t.Errorf("%d wait, busy %v", len(court.wait), court.busy)
		}
	})
}
