package telegram

import (
	"slices"
	"testing"
	"time"
)

// In a storm every kind of write is refused, and what comes before the time that was told counts as early.
func TestAStormIsCountedCallByCall(t *testing.T) {
	s := start(t, Options{})
	ann, bob := s.User(7, "Ann"), s.User(8, "Bob")
	ann.Say("hello")
	bob.Say("hello")
	if a := call(t, s, "sendMessage", "chat_id", "7", "text", "x"); !a.OK {
		t.Fatalf("before the storm: %+v", a)
	}
	s.Begin(Storm{Chat: 7, For: time.Minute, Percent: 100, Least: 20, Most: 30})
	writes := [][]string{
		{"sendMessage", "chat_id", "7", "text", "x"},
		{"editMessageText", "chat_id", "7", "message_id", "2", "text", "y"},
		{"sendMessageDraft", "chat_id", "7", "draft_id", "1", "text", "y"},
		{"sendChatAction", "chat_id", "7", "action", "typing"},
	}
	for _, w := range writes {
		if a := call(t, s, w[0], w[1:]...); a.Code != 429 || a.Parameters.RetryAfter < 1 || a.Parameters.RetryAfter > 30 {
			t.Errorf("%s in the storm: %+v", w[0], a)
		}
	}
	if a := call(t, s, "sendMessage", "chat_id", "8", "text", "x"); !a.OK {
		t.Errorf("beside the storm: %+v", a)
	}
	var methods []string
	for i, r := range s.Refusals(7) {
		methods = append(methods, r.Method)
		if r.Early != (i > 0) || r.Until.Sub(r.At) < time.Second {
			t.Errorf("refusal %d is %+v", i, r)
		}
	}
	if want := []string{"sendMessage", "editMessageText", "sendMessageDraft", "sendChatAction"}; !slices.Equal(methods, want) {
		t.Errorf("refused were %q, want %q", methods, want)
	}
	if n := len(s.Refusals(8)); n != 0 {
		t.Errorf("%d refusals beside the storm", n)
	}
}

func TestABotThatWasKickedOutWritesNoMore(t *testing.T) {
	s := start(t, Options{})
	team := s.Group(-100, "Team")
	team.Kick()
	if a := call(t, s, "sendMessage", "chat_id", "-100", "text", "x"); a.Code != 403 || a.Description != "Forbidden: bot was kicked from the supergroup chat" {
		t.Errorf("it is told %+v", a)
	}
}
