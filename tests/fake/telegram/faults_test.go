package telegram

import (
	"context"
	"errors"
	"io"
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
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if a, err := send(ctx); err == nil {
		t.Errorf("a hanging call got %+v", a)
	}
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
	for deadline := time.Now().Add(5 * time.Second); len(s.Sent(7)) < 3; time.Sleep(time.Millisecond) {
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
	s := start(t, Options{PerChat: time.Hour, Overall: 2})
	for id := range int64(3) {
		s.User(id+1, "Ann").Say("hello")
	}
	for i, test := range []struct {
		chat string
		code int
	}{{"1", 0}, {"1", 429}, {"2", 0}, {"3", 429}} {
		if a := call(t, s, "sendMessage", "chat_id", test.chat, "text", "x"); a.Code != test.code {
			t.Errorf("send %d: %+v, want %d", i, a, test.code)
		}
	}
}
