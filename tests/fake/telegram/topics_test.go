package telegram

import (
	"fmt"
	"strings"
	"testing"
)

func TestTopicsOfAForum(t *testing.T) {
	s := start(t, Options{})
	ann, team := s.User(7, "Ann"), s.Group(-100, "Team")
	id := team.Topic()
	thread := fmt.Sprint(id)
	if id <= generalTopic {
		t.Fatalf("the topic has the id %d, which is the general one's", id)
	}
	asked := ann.SayInTopic(team, id, "in the topic")
	ann.SayIn(team, "outside")
	ms := received(t, s)
	if !ms[0].IsTopic || ms[0].Thread != id || ms[0].ReplyTo == nil || ms[0].ReplyTo.ID != id || !ms[0].Chat.IsForum {
		t.Errorf("a message in a topic came as %+v", ms[0])
	}
	if ms[1].IsTopic || ms[1].Thread != 0 {
		t.Errorf("a message of the general topic came as %+v", ms[1])
	}
	send := func(form ...string) got {
		return call(t, s, "sendMessage", append([]string{"chat_id", "-100", "text", "x"}, form...)...)
	}
	if a := send("message_thread_id", thread); !a.OK || !strings.Contains(string(a.Result), `"message_thread_id":`+thread+`,"is_topic_message":true`) {
		t.Errorf("a send into the topic: %+v", a)
	}
	if a := send("reply_parameters", fmt.Sprintf(`{"message_id":%d}`, asked)); s.Sent(-100)[len(s.Sent(-100))-1].Thread != id {
		t.Errorf("a reply without the thread's id leaves the topic: %+v", a)
	}
	if a := send("message_thread_id", "1"); a.Code != 400 || !strings.Contains(a.Description, "message thread not found") {
		t.Errorf("a send that names the general topic: %+v", a)
	}
	for _, action := range []string{"1", thread} {
		if a := call(t, s, "sendChatAction", "chat_id", "-100", "message_thread_id", action, "action", "typing"); !a.OK {
			t.Errorf("typing in topic %s: %+v", action, a)
		}
	}
	if s.TypingIn(-100, 1) != 1 || s.TypingIn(-100, id) != 1 || s.Typing(-100) != 2 {
		t.Error("typing is not counted by topic")
	}
	team.CloseTopic(id)
	if a := send("message_thread_id", thread); !strings.Contains(a.Description, "TOPIC_CLOSED") {
		t.Errorf("a send into a closed topic: %+v", a)
	}
	team.DeleteTopic(id)
	for _, method := range []string{"sendMessage", "sendChatAction"} {
		form := []string{"chat_id", "-100", "message_thread_id", thread, "text", "x"}
		if method == "sendChatAction" {
			form = append(form[:4], "action", "typing")
		}
		if a := call(t, s, method, form...); a.Code != 400 || !strings.Contains(a.Description, "message thread not found") {
			t.Errorf("%s in a deleted topic: %+v", method, a)
		}
	}
	if a := call(t, s, "editMessageText", "chat_id", "-100", "message_id", "5", "text", "y"); !strings.Contains(a.Description, "message to edit not found") {
		t.Errorf("what was said in a deleted topic is still there: %+v", a)
	}
}

func TestTopicsThatTheBotMakes(t *testing.T) {
	s := start(t, Options{})
	s.User(7, "Ann").Say("hello")
	team := s.Group(-100, "Team")
	create := func(chat, name string) got { return call(t, s, "createForumTopic", "chat_id", chat, "name", name) }
	if a := create("7", "x"); !strings.Contains(a.Description, "not a forum") {
		t.Errorf("in a private chat without topics: %+v", a)
	}
	if a := create("-100", "x"); !strings.Contains(a.Description, "not a forum") {
		t.Errorf("in a group without topics: %+v", a)
	}
	team.Topic()
	if a := create("-100", "x"); !strings.Contains(a.Description, "not enough rights") {
		t.Errorf("without being an administrator: %+v", a)
	}
	team.Promote()
	if a := create("-100", strings.Repeat("x", 129)); !strings.Contains(a.Description, "TOPIC_TITLE_INVALID") {
		t.Errorf("a long name: %+v", a)
	}
	a := create("-100", "Plans")
	if !a.OK || !strings.Contains(string(a.Result), `"message_thread_id":3,"name":"Plans"`) && !strings.Contains(string(a.Result), `"name":"Plans"`) {
		t.Fatalf("got %+v", a)
	}
	for _, method := range []string{"editForumTopic", "closeForumTopic", "reopenForumTopic", "deleteForumTopic"} {
		form := []string{"chat_id", "-100", "message_thread_id", "3"}
		if method == "editForumTopic" {
			form = append(form, "name", "Other plans")
		}
		if a := call(t, s, method, form...); !a.OK {
			t.Errorf("%s: %+v", method, a)
		}
	}
	if a := call(t, s, "closeForumTopic", "chat_id", "-100", "message_thread_id", "3"); !strings.Contains(a.Description, "TOPIC_ID_INVALID") {
		t.Errorf("a deleted topic is closed: %+v", a)
	}
}

func TestTopicsOfAPrivateChat(t *testing.T) {
	s := start(t, Options{Topics: true})
	ann := s.User(7, "Ann")
	id := ann.NewTopic("Cooking")
	ann.Post(Post{Topic: id, Text: "a recipe?"})
	ms := received(t, s)
	if ms[0].TopicCreated == nil || ms[0].TopicCreated.Name != "Cooking" || ms[0].Thread != id {
		t.Errorf("a new topic came as %+v", ms[0])
	}
	if !ms[1].IsTopic || ms[1].Thread != id || ms[1].ReplyTo != nil {
		t.Errorf("a message in it came as %+v", ms[1])
	}
	if a := call(t, s, "sendMessage", "chat_id", "7", "text", "soup", "message_thread_id", fmt.Sprint(id)); !a.OK || s.Sent(7)[0].Thread != id {
		t.Errorf("an answer: %+v", a)
	}
	if a := call(t, s, "getMe"); !strings.Contains(string(a.Result), `"has_topics_enabled":true`) {
		t.Errorf("getMe says %s", a.Result)
	}
	ann.DeleteTopic(id)
	if a := call(t, s, "sendMessage", "chat_id", "7", "text", "soup", "message_thread_id", fmt.Sprint(id)); !strings.Contains(a.Description, "message thread not found") {
		t.Errorf("after the topic was deleted: %+v", a)
	}
}

func TestRepliesInAGroupWithoutTopicsAreAThreadButNoTopic(t *testing.T) {
	s := start(t, Options{})
	ann, team := s.User(7, "Ann"), s.Group(-100, "Team")
	first := ann.SayIn(team, "one")
	second := ann.ReplyIn(team, first, "two")
	ann.ReplyIn(team, second, "three")
	for i, m := range received(t, s)[1:] {
		if m.Thread != first || m.IsTopic {
			t.Errorf("reply %d came as %+v", i, m)
		}
	}
	if a := call(t, s, "sendMessage", "chat_id", "-100", "text", "x", "message_thread_id", fmt.Sprint(first)); a.OK {
		t.Error("a thread of replies was taken for a topic")
	}
}

func TestMigrationIsToldInBothChats(t *testing.T) {
	s := start(t, Options{})
	team := s.PlainGroup(-5, "Team")
	team.Migrate(-100)
	ms := received(t, s)
	if len(ms) != 2 || ms[0].Chat.ID != -5 || ms[0].Chat.Type != "group" || ms[0].MigrateTo != -100 ||
		ms[1].Chat.ID != -100 || ms[1].Chat.Type != "supergroup" || ms[1].MigrateFrom != -5 {
		t.Errorf("a migration came as %+v", ms)
	}
}
