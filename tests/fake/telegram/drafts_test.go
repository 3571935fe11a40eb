package telegram

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
)

func TestADraftIsShownUntilTheMessageComes(t *testing.T) {
	s := start(t, Options{})
	ann := s.User(7, "Ann")
	ann.Say("hello")
	draft := func(form ...string) got {
		return call(t, s, "sendMessageDraft", append([]string{"chat_id", "7"}, form...)...)
	}
	if _, ok := ann.Draft(0); ok {
		t.Error("there is a draft before any was sent")
	}
	for i, text := range []string{"", "so", "so far"} {
		if a := draft("draft_id", "5", "text", text, "entities", "[]"); string(a.Result) != "true" {
			t.Errorf("draft %q: %+v", text, a)
		}
		if d, ok := ann.Draft(0); !ok || d.Text != text || d.Changes != i+1 || d.CanStop {
			t.Errorf("Ann sees %+v, %t", d, ok)
		}
	}
	if n := len(s.Sent(7)); n != 0 {
		t.Errorf("%d messages: a draft is none", n)
	}
	call(t, s, "sendMessage", "chat_id", "7", "text", "so far so good")
	if d, ok := ann.Draft(0); ok {
		t.Errorf("Ann still sees %+v", d)
	}
}

func TestADraftFades(t *testing.T) {
	s := start(t, Options{DraftLife: 30 * time.Millisecond})
	ann := s.User(7, "Ann")
	ann.Say("hello")
	call(t, s, "sendMessageDraft", "chat_id", "7", "draft_id", "5", "text", "so")
	until(t, "the draft is gone", func() bool { _, ok := ann.Draft(0); return !ok })
}

func TestDraftsAreRefused(t *testing.T) {
	s := start(t, Options{})
	s.User(7, "Ann").Say("hello")
	s.User(8, "Bob")
	s.Group(-100, "Team")
	for name, test := range map[string]struct{ chat, id, text, want string }{
		"in a group":      {"-100", "5", "x", "TEXTDRAFT_PEER_INVALID"},
		"no id":           {"7", "0", "x", "draft_id"},
		"a word as id":    {"7", "abc", "x", "draft_id"},
		"too long":        {"7", "5", strings.Repeat("x", 4097), "message is too long"},
		"to who is mute":  {"8", "5", "x", "can't initiate"},
		"an unknown chat": {"99", "5", "x", "chat not found"},
	} {
		if a := call(t, s, "sendMessageDraft", "chat_id", test.chat, "draft_id", test.id, "text", test.text); a.OK || !strings.Contains(a.Description, test.want) {
			t.Errorf("%s: %+v", name, a)
		}
	}
	if a := call(t, s, "sendMessageDraft", "chat_id", "7", "draft_id", "5", "text", "x", "message_thread_id", "3"); !strings.Contains(a.Description, "thread not found") {
		t.Errorf("in a topic that is not there: %+v", a)
	}
}

func TestTheStopButtonOfADraft(t *testing.T) {
	s := start(t, Options{Topics: true})
	ann := s.User(7, "Ann")
	topic := ann.NewTopic("x")
	if err := ann.StopDraft(topic); err == nil {
		t.Error("a draft that is not there was stopped")
	}
	draft := func() {
		call(t, s, "sendMessageDraft", "chat_id", "7", "message_thread_id", "2", "draft_id", "5", "text", "so", "can_stop", "true")
	}
	draft()
	if err := ann.StopDraft(topic); err != nil {
		t.Fatal(err)
	}
	var us []struct {
		Stopped struct {
			Thread int   `json:"message_thread_id"`
			Draft  int64 `json:"draft_id"`
		} `json:"stopped_message_generation"`
	}
	if err := json.Unmarshal(call(t, s, "getUpdates").Result, &us); err != nil || len(us) != 2 || us[1].Stopped.Draft != 5 || us[1].Stopped.Thread != topic {
		t.Errorf("a stop came as %+v, %v", us, err)
	}
	draft()
	if d, ok := ann.Draft(topic); ok {
		t.Errorf("what was stopped is shown again: %+v", d)
	}
}
