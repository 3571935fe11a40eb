package discord

import (
	"net/http"
	"strings"
	"testing"
)

func TestABotHearsAPersonAndAnswers(t *testing.T) {
	s := start(t, Options{})
	ann := s.User("ann")
	c := dial(t, s)
	c.enter(s, usual)
	id := ann.Say("hello")
	m := c.message("MESSAGE_CREATE")
	if m.ID != id || m.Content != "hello" || m.ChannelID != ann.DM() || m.Author.Username != "ann" || m.GuildID != "" {
		t.Errorf("%+v", m)
	}
	path := "/channels/" + m.ChannelID + "/messages"
	a := ask(t, s, "POST", path, `{"content":" hi ","nonce":"n1","enforce_nonce":true,"message_reference":{"message_id":"`+id+`"},"allowed_mentions":{"parse":[]}}`)
	if a.status != http.StatusOK {
		t.Fatalf("%d %s", a.status, a.body)
	}
	if own := c.message("MESSAGE_CREATE"); own.ID != a.ID || own.Author.ID != BotID || string(own.Nonce) != `"n1"` {
		t.Errorf("the bot's own came as %+v", own)
	}
	sent := s.Sent(ann.DM())
	if len(sent) != 1 || sent[0].Text != "hi" || sent[0].ReplyTo != id || len(sent[0].Pinged) != 0 {
		t.Errorf("%+v", sent)
	}
	if a := ask(t, s, "PATCH", path+"/"+a.ID, `{"content":"hi there"}`); a.status != http.StatusOK {
		t.Fatalf("%d %s", a.status, a.body)
	}
	if m := c.message("MESSAGE_UPDATE"); m.Content != "hi there" || m.Edited == nil {
		t.Errorf("%+v", m)
	}
	var list []message
	ask(t, s, "GET", path+"?after="+id, "").into(t, &list)
	if len(list) != 1 || list[0].ID != a.ID || !strings.Contains(string(list[0].Shown), "hello") {
		t.Errorf("%+v", list)
	}
}
