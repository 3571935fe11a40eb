package telegram

import (
	"context"
	"errors"
	"io"
	"slices"
	"sync"
	"testing"
	"time"
)

func TestFaults(t *testing.T) {
	s := start(t, Options{})
	s.User(7, "Ann").Say("hello")
	send := func(ctx context.Context) (got, error) {
		return ask(ctx, s, "sendMessage", "chat_id", "7", "text", "x")
	}
	s.Fail("sendMessage", 2, TooManyRequests(3))
	for i, want := range []int{429, 429, 0} {
		if a, err := send(t.Context()); err != nil || a.Code != want || want == 429 && a.Parameters.RetryAfter != 3 {
			t.Errorf("call %d: %+v, %v", i, a, err)
		}
	}
	s.Cut("sendMessage", 1)
	if a, err := send(t.Context()); err == nil {
		t.Errorf("a cut call got %+v", a)
	}
	if n := len(s.Sent(7)); n != 2 {
		t.Errorf("%d messages, want 2: a cut call takes effect", n)
	}
	s.Drop("sendMessage", 1)
	if a, err := send(t.Context()); err == nil {
		t.Errorf("a dropped call got %+v", a)
	}
	if n := len(s.Sent(7)); n != 2 {
		t.Errorf("%d messages, want 2: a dropped call has no effect", n)
	}
	s.Hang("sendMessage", 1)
	ctx, cancel := context.WithCancel(t.Context())
	var group sync.WaitGroup
	group.Go(func() {
		if a, err := send(ctx); err == nil {
			t.Errorf("a hanging call got %+v", a)
		}
	})
	for deadline := time.Now().Add(time.Minute); s.Calls("sendMessage") < 6 && time.Now().Before(deadline); time.Sleep(time.Millisecond) {
	} // what was dropped may still be open
	cancel()
	group.Wait()
	if n := len(s.Sent(7)); n != 2 {
		t.Errorf("%d messages, want 2: a hanging call has no effect", n)
	}
	if n := s.Calls("sendMessage"); n != 6 {
		t.Errorf("%d calls counted, want 6", n)
	}
}

func TestAnswersThatAreLostAfterTheMessageIsPosted(t *testing.T) {
	s := start(t, Options{})
	s.User(7, "Ann").Say("hello")
	for i, lose := range []func(){
		func() { s.Break("sendMessage", 1) },
		func() { s.Lose("sendMessage", 1, Garbage) },
		func() { s.Lose("sendMessage", 1, BadGateway) },
	} {
		lose()
		if a, err := ask(t.Context(), s, "sendMessage", "chat_id", "7", "text", "x"); err == nil || i == 0 && !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("case %d: an answer that is lost came as %+v, %v", i, a, err)
		}
	}
	s.Lose("sendMessage", 1, ServerError)
	if a := call(t, s, "sendMessage", "chat_id", "7", "text", "x"); a.Code != 500 || a.status != 500 {
		t.Errorf("got %+v", a)
	}
	s.Fail("sendMessage", 1, ServerError)
	call(t, s, "sendMessage", "chat_id", "7", "text", "x")
	if n := len(s.Sent(7)); n != 4 {
		t.Errorf("%d messages, want 4: all but the last, which failed, were posted", n)
	}
}

func TestDelayTakesEffectAtOnce(t *testing.T) {
	s := start(t, Options{})
	s.User(7, "Ann").Say("hello")
	s.Delay("sendMessage", time.Minute)
	ctx, cancel := context.WithCancel(t.Context())
	var group sync.WaitGroup
	for range 3 {
		group.Go(func() { _, _ = ask(ctx, s, "sendMessage", "chat_id", "7", "text", "x") })
	}
	waitOpen(t, s, "sendMessage", 3)
	for deadline := time.Now().Add(30 * time.Second); len(s.Sent(7)) < 3; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%d messages are shown before their answers, want 3", len(s.Sent(7)))
		}
	}
	cancel()
	group.Wait()
	waitOpen(t, s, "sendMessage", 0)
	if n := s.Peak("sendMessage"); n != 3 {
		t.Errorf("at most %d were open, want 3", n)
	}
}

func TestLimits(t *testing.T) {
	for try := 0; ; try++ {
		s := start(t, Options{PerChat: time.Hour, Overall: 2})
		for id := range int64(3) {
			s.User(id+1, "Ann").Say("hello")
		}
		began := time.Now()
		var got []int
		for _, chat := range []string{"1", "1", "2", "3"} {
			got = append(got, call(t, s, "sendMessage", "chat_id", chat, "text", "x").Code)
		}
		switch late := time.Since(began) >= time.Second; {
		case slices.Equal(got, []int{0, 429, 0, 429}):
			return
		case !late || try == 20: // else the last came in another second than the first
			t.Fatalf("the answers are %v", got)
		}
	}
}
