package telegram

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

func TestPeopleEditAndReactAndQuote(t *testing.T) {
	s := start(t, Options{})
	call(t, s, "getUpdates", "allowed_updates", `["message","edited_message","message_reaction","my_chat_member"]`)
	ann := s.User(7, "Ann")
	said := ann.Say("helo")
	ann.Edit(said, "hello /stop")
	call(t, s, "sendMessage", "chat_id", "7", "text", "😀 good morning")
	ann.Post(Post{ReplyTo: 2, Quote: "good", Text: "how so?"})
	if list := string(call(t, s, "getUpdates").Result); strings.Count(list, `"edited_message"`) != 1 {
		t.Errorf("an edit is not told as one: %s", list)
	}
	ms := received(t, s)
	if ms[1].ID != said || ms[1].Text != "hello /stop" || ms[1].EditDate == 0 || len(ms[1].Entities) != 1 || ms[1].Date != ms[0].Date {
		t.Errorf("an edit came as %+v", ms[1])
	}
	if q := ms[2].Quote; q == nil || q.Text != "good" || q.Position != 3 || !q.Manual || ms[2].ReplyTo.ID != 2 {
		t.Errorf("a quote came as %+v", ms[2])
	}
	ann.React(2, "🔥")
	ann.React(2, "")
	list := string(call(t, s, "getUpdates").Result)
	if !strings.Contains(list, `"new_reaction":[{"type":"emoji","emoji":"🔥"}],"old_reaction":[]`) ||
		!strings.Contains(list, `"new_reaction":[],"old_reaction":[{"type":"emoji","emoji":"🔥"}]`) {
		t.Errorf("reactions came as %s", list)
	}
	ann.Block()
	ann.Block()
	if list := string(call(t, s, "getUpdates").Result); strings.Count(list, `"my_chat_member"`) != 1 || !strings.Contains(list, `"status":"kicked"`) {
		t.Errorf("a block came as %s", list)
	}
}

func TestReactionsInAGroupAreForAdministrators(t *testing.T) {
	s := start(t, Options{})
	call(t, s, "getUpdates", "allowed_updates", `["message_reaction"]`)
	ann, team := s.User(7, "Ann"), s.Group(-100, "Team")
	said := ann.SayIn(team, "hello")
	ann.ReactIn(team, said, "👍")
	if n := s.Pending(); n != 0 {
		t.Errorf("%d updates, want none", n)
	}
	team.Promote()
	ann.ReactIn(team, said, "👎")
	if n := s.Pending(); n != 1 {
		t.Errorf("%d updates, want 1", n)
	}
}

func TestTheBotReacts(t *testing.T) {
	s := start(t, Options{})
	s.User(7, "Ann").Say("hello")
	react := func(message, list string) got {
		return call(t, s, "setMessageReaction", "chat_id", "7", "message_id", message, "reaction", list)
	}
	if a := react("1", `[{"type":"emoji","emoji":"👀"}]`); !a.OK || s.Reaction(7, 1) != "👀" {
		t.Errorf("got %+v, Ann sees %q", a, s.Reaction(7, 1))
	}
	for list, want := range map[string]string{
		`[{"type":"emoji","emoji":"🚀"}]`: "REACTION_INVALID",
		`[{"type":"paid"}]`:              "REACTION_INVALID",
		`[{"type":"emoji","emoji":"👀"},{"type":"emoji","emoji":"🔥"}]`: "REACTIONS_TOO_MANY",
		`👀`: "can't parse",
	} {
		if a := react("1", list); a.Code != 400 || !strings.Contains(a.Description, want) {
			t.Errorf("%s: %+v", list, a)
		}
	}
	if a := react("9", `[]`); !strings.Contains(a.Description, "message to react not found") {
		t.Errorf("got %+v", a)
	}
	if a := react("1", `[]`); !a.OK || s.Reaction(7, 1) != "" {
		t.Errorf("taken back: %+v", a)
	}
}

func TestALongPasteComesInParts(t *testing.T) {
	s := start(t, Options{})
	text := strings.Repeat("😀", 5000)
	ids := s.User(7, "Ann").Paste(Post{Text: text})
	all := ""
	for _, m := range received(t, s) {
		if units(m.Text) > maxText {
			t.Errorf("a part of %d units", units(m.Text))
		}
		all += m.Text
	}
	if len(ids) != 3 || all != text {
		t.Errorf("%d parts, %d bytes of %d", len(ids), len(all), len(text))
	}
}

func TestTheBotQuotesAndDeletes(t *testing.T) {
	s := start(t, Options{})
	s.User(7, "Ann").Say("one two three")
	reply := func(quote string) got {
		return call(t, s, "sendMessage", "chat_id", "7", "text", "x", "reply_parameters", `{"message_id":1,"quote":"`+quote+`"}`)
	}
	if a := reply("two"); !a.OK || s.Sent(7)[0].Quote != "two" || s.Sent(7)[0].ReplyTo != 1 {
		t.Errorf("got %+v", a)
	}
	if a := reply("four"); a.Code != 400 || !strings.Contains(a.Description, "QUOTE_TEXT_INVALID") {
		t.Errorf("a quote that is not there: %+v", a)
	}
	if a := call(t, s, "deleteMessage", "chat_id", "7", "message_id", "2"); !a.OK || len(s.Sent(7)) != 0 {
		t.Errorf("got %+v", a)
	}
	if a := call(t, s, "deleteMessage", "chat_id", "7", "message_id", "2"); !strings.Contains(a.Description, "message to delete not found") {
		t.Errorf("again: %+v", a)
	}
	team := s.Group(-100, "Team")
	s.User(7, "Ann").SayIn(team, "hello")
	if a := call(t, s, "deleteMessage", "chat_id", "-100", "message_id", "1"); !strings.Contains(a.Description, "can't be deleted") {
		t.Errorf("another's in a group: %+v", a)
	}
	team.Promote()
	if a := call(t, s, "deleteMessages", "chat_id", "-100", "message_ids", "[1,99]"); !a.OK {
		t.Errorf("as an administrator: %+v", a)
	}
}

func TestCaptionsAreEditedAsCaptions(t *testing.T) {
	s := start(t, Options{})
	s.User(7, "Ann").Say("hello")
	upload(t, s, "sendDocument", map[string][]byte{"document": []byte("x")}, "chat_id", "7", "caption", "one")
	call(t, s, "sendMessage", "chat_id", "7", "text", "two")
	edit := func(what, id, text string) got {
		return call(t, s, "editMessage"+title(what), "chat_id", "7", "message_id", id, what, text)
	}
	if a := edit("text", "2", "x"); !strings.Contains(a.Description, "no text in the message") {
		t.Errorf("the text of a file: %+v", a)
	}
	if a := edit("caption", "3", "x"); !strings.Contains(a.Description, "no caption in the message") {
		t.Errorf("the caption of a text: %+v", a)
	}
	if a := edit("caption", "2", "one"); !strings.Contains(a.Description, "message is not modified") {
		t.Errorf("the same caption: %+v", a)
	}
	if a := edit("caption", "2", ""); !a.OK || s.Sent(7)[0].Text != "" || s.Sent(7)[0].Edits != 1 {
		t.Errorf("no caption: %+v", a)
	}
}

func TestFloods(t *testing.T) {
	s := start(t, Options{})
	s.User(7, "Ann").Say("hello")
	s.User(8, "Bob").Say("hello")
	send := func(chat string) got { return call(t, s, "sendMessage", "chat_id", chat, "text", "x") }
	s.Flood(7, 5*time.Minute)
	for range 2 {
		if a := send("7"); a.Code != 429 || a.Parameters.RetryAfter < 270 || a.Parameters.RetryAfter > 300 || a.Description != fmt.Sprint("Too Many Requests: retry after ", a.Parameters.RetryAfter) {
			t.Errorf("in a flood: %+v", a)
		}
	}
	if a := call(t, s, "sendMessageDraft", "chat_id", "7", "draft_id", "1", "text", "x"); a.Code != 429 {
		t.Errorf("a draft in a flood: %+v", a)
	}
	if a := send("8"); !a.OK || s.Refused(7) != 3 || s.Refused(8) != 0 {
		t.Errorf("another chat: %+v, %d and %d refused", a, s.Refused(7), s.Refused(8))
	}
	s.Flood(0, 0)
	if a := send("7"); !a.OK {
		t.Errorf("after the flood: %+v", a)
	}
}

func TestAGroupHasAMinutesLimitThatEditsCountIn(t *testing.T) {
	s := start(t, Options{PerGroup: 3})
	s.User(7, "Ann").Say("hello")
	s.Group(-100, "Team")
	for i, want := range []int{0, 0, 0, 429} {
		method, form := "sendMessage", []string{"chat_id", "-100", "text", fmt.Sprint(i)}
		if i > 0 {
			method, form = "editMessageText", append(form, "message_id", "1")
		}
		a := call(t, s, method, form...)
		if a.Code != want || want == 429 && (a.Parameters.RetryAfter < 30 || a.Parameters.RetryAfter > 60) {
			t.Errorf("call %d: %+v, want %d", i, a, want)
		}
		if a := call(t, s, "sendMessage", "chat_id", "7", "text", "x"); !a.OK {
			t.Errorf("a private chat: %+v", a)
		}
	}
}

func TestCommandMenus(t *testing.T) {
	s := start(t, Options{})
	ann := s.User(7, "Ann")
	set := func(name string, form ...string) got {
		return call(t, s, "setMyCommands", append([]string{"commands", `[{"command":"` + name + `","description":"x"}]`}, form...)...)
	}
	menu := func(form ...string) string { return string(call(t, s, "getMyCommands", form...).Result) }
	if menu() != "[]" || ann.Menu() != nil {
		t.Errorf("at first: %s", menu())
	}
	set("all")
	set("private", "scope", `{"type":"all_private_chats"}`)
	set("deutsch", "language_code", "de")
	if !strings.Contains(menu(), "all") || !strings.Contains(menu("language_code", "de"), "deutsch") || !strings.Contains(string(ann.Menu()), "private") {
		t.Errorf("set: %s, %s, %s", menu(), menu("language_code", "de"), ann.Menu())
	}
	call(t, s, "deleteMyCommands", "scope", `{"type":"all_private_chats"}`)
	if !strings.Contains(string(ann.Menu()), "all") {
		t.Errorf("after the narrower list is gone Ann sees %s", ann.Menu())
	}
	for name, form := range map[string][]string{
		"unsupported type": {"scope", `{"type":"everywhere"}`}, "can't parse": {"scope", `x`},
		"chat not found": {"scope", `{"type":"chat","chat_id":99}`}, "language_code": {"language_code", "german"},
	} {
		if a := set("x", form...); a.Code != 400 || !strings.Contains(a.Description, name) {
			t.Errorf("%s: %+v", form, a)
		}
	}
}

func TestQueriesExpire(t *testing.T) {
	s := start(t, Options{})
	ann := s.User(7, "Ann")
	ann.Say("hello")
	call(t, s, "sendMessage", "chat_id", "7", "text", "?", "reply_markup", `{"inline_keyboard":[[{"text":"Yes","callback_data":"y"}]]}`)
	answer := func() got {
		return call(t, s, "answerCallbackQuery", "callback_query_id", "9100000000", "text", "thanks")
	}
	if err := ann.Press(2, "Yes"); err != nil {
		t.Fatal(err)
	}
	s.ExpireQueries()
	if a := answer(); !strings.Contains(a.Description, "query is too old") || s.Toast() != "" {
		t.Errorf("got %+v", a)
	}
}
