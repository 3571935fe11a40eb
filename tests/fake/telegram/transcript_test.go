package telegram

import "testing"

func TestTheTranscriptIsWhatAPersonSees(t *testing.T) {
	s := start(t, Options{Topics: true})
	ann := s.User(7, "Ann")
	ann.Say("helo")
	ann.Edit(1, "hello\nworld")
	call(t, s, "sendMessage", "chat_id", "7", "text", "May I?", "reply_parameters", `{"message_id":1,"quote":"world"}`,
		"reply_markup", `{"inline_keyboard":[[{"text":"Yes","callback_data":"y"},{"text":"No","callback_data":"n"}]]}`)
	ann.React(2, "👍")
	ann.Post(Post{Text: "read", File: Document("a.txt", "text/plain", []byte("abc"))})
	topic := ann.NewTopic("Cooking")
	ann.Post(Post{Topic: topic, Text: "soup?"})
	call(t, s, "sendMessageDraft", "chat_id", "7", "draft_id", "1", "message_thread_id", "4")
	const want = `1 Ann (edited): hello
    world
2 Dragoman: ↩ 1 “world” May I?
    [Yes][No]
    👍
3 Ann: [document a.txt 3 bytes] read
4 #Cooking Ann: — made the topic Cooking
5 #Cooking Ann: soup?
Dragoman is writing #Cooking: Thinking…
`
	if got := s.Transcript(7); got != want {
		t.Errorf("the chat shows\n%s\nwant\n%s", got, want)
	}
	if got := s.Transcript(99); got != "" {
		t.Errorf("a chat that is not there shows %q", got)
	}
}
