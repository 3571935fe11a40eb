package inbox

import (
	"context"
	"testing"
	"testing/synctest"
)

func TestOneSuspectAtATimeAndTheMostSuspectFirst(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var court trial
		open := make(chan struct{})
		var order []int
		leaves := make(chan func(), 4)
		for _, deaths := range []int{2, 3, 5, 4} {
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
		if got := order; len(got) != 4 || got[0] != 2 || got[1] != 5 || got[2] != 4 || got[3] != 3 {
			t.Errorf("the order is %v", got)
		}
	})
}

func TestASuspectThatWaitsLeavesWithTheGateway(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var court trial
		closed := make(chan struct{})
		first, _ := court.enter(t.Context(), closed, 2)
		ctx, cancel := context.WithCancel(t.Context())
		sent := make(chan bool, 2)
		go func() { _, ok := court.enter(ctx, closed, 3); sent <- ok }()
		go func() { _, ok := court.enter(t.Context(), closed, 4); sent <- ok }()
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
