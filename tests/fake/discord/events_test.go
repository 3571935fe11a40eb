package discord

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestWithoutTheIntentContentIsForMentionsAndPrivateChatsOnly(t *testing.T) {
	s := start(t, Options{})
	ann := s.User("ann")
	room := s.Guild("Team").Channel("general")
	k := dial(t, s)
	k.enter(s, intentGuilds|intentGuildMessages|intentDirectMessages)
	ann.SayIn(room, "among us")
	if m := k.message("MESSAGE_CREATE"); m.Content != "" || m.GuildID == "" || m.Member == nil {
		t.Errorf("%+v", m)
	}
	ann.Post(room, Post{Text: s.Mention() + " look", Files: []File{{Name: "a.txt", Content: []byte("a")}}})
	if m := k.message("MESSAGE_CREATE"); !strings.HasSuffix(m.Content, "look") || len(m.Attachments) != 1 || len(m.Mentions) != 1 {
		t.Errorf("%+v", m)
	}
	ann.Say("between us")
	if m := k.message("MESSAGE_CREATE"); m.Content != "between us" || m.Member != nil {
		t.Errorf("%+v", m)
	}
}

func TestIntentsAndShardsSayWhatASessionHears(t *testing.T) {
	s := start(t, Options{})
	ann := s.User("ann")
	g := s.Guild("Team")
	room := g.Channel("general")
	mine := shardOf(g.ID(), 2)
	k := dial(t, s)
	k.say(opIdentify, map[string]any{"token": s.Token(), "intents": usual, "properties": map[string]string{}, "shard": []int{1 - mine, 2}})
	if e := k.next(); e.Type != "READY" || strings.Contains(string(e.Data), g.ID()) {
		t.Fatalf("%+v %s", e, e.Data)
	}
	dm := dial(t, s)
	dm.enter(s, intentDirectMessages)
	all := dial(t, s)
	all.enter(s, usual|intentGuildReactions|intentDirectTyping)
	said := ann.SayIn(room, "in the guild")
	all.message("MESSAGE_CREATE")
	ann.React(room, said, "👍")
	if e := all.next(); e.Type != "MESSAGE_REACTION_ADD" {
		t.Errorf("%+v", e)
	}
	ann.Types(ann.DM())
	if e := all.next(); e.Type != "TYPING_START" {
		t.Errorf("%+v", e)
	}
	ann.Say("in private")
	for name, c := range map[string]*socket{"direct": dm, "all": all} {
		if m := c.message("MESSAGE_CREATE"); m.Content != "in private" {
			t.Errorf("%s heard %+v", name, m)
		}
	}
	if mine == 1 { // shard 0 is the other one, and hears private chats
		if m := k.message("MESSAGE_CREATE"); m.Content != "in private" {
			t.Errorf("shard 0 heard %+v", m)
		}
	}
}

func TestWhatPeopleDoIsToldAsDiscordTellsIt(t *testing.T) {
	s := start(t, Options{})
	ann := s.User("ann")
	k := dial(t, s)
	k.enter(s, usual)
	g := s.Guild("Team")
	if e := k.next(); e.Type != "GUILD_CREATE" || !strings.Contains(string(e.Data), `"threads":[]`) {
		t.Errorf("%+v", e)
	}
	room := g.Channel("general")
	if e := k.next(); e.Type != "CHANNEL_CREATE" {
		t.Errorf("%+v", e)
	}
	one, two := ann.SayIn(room, "one"), ann.SayIn(room, "two")
	k.message("MESSAGE_CREATE")
	k.message("MESSAGE_CREATE")
	ann.Reply(room, one, "to one")
	if m := k.message("MESSAGE_CREATE"); m.Type != typeReply || m.Reference.MessageID != one || !strings.Contains(string(m.Shown), `"one"`) {
		t.Errorf("a reply: %+v", m)
	}
	ann.Edit(room, one, "one!")
	if m := k.message("MESSAGE_UPDATE"); m.Content != "one!" || m.Edited == nil {
		t.Errorf("an edit: %+v", m)
	}
	s.Unfurl(room, two)
	if m := k.message("MESSAGE_UPDATE"); m.Edited != nil || len(m.Embeds) != 1 {
		t.Errorf("a preview: %+v", m)
	}
	ann.Delete(room, one)
	if e := k.next(); e.Type != "MESSAGE_DELETE" || !strings.Contains(string(e.Data), one) {
		t.Errorf("%+v", e)
	}
	ann.DeleteMany(room, two)
	if e := k.next(); e.Type != "MESSAGE_DELETE_BULK" || !strings.Contains(string(e.Data), two) {
		t.Errorf("%+v", e)
	}
	s.Inject("MESSAGE_CREATE", json.RawMessage(`{"id":"1","channel_id":"2"}`))
	if m := k.message("MESSAGE_CREATE"); m.Author != nil || m.ID != "1" {
		t.Errorf("%+v", m)
	}
	ann.Say("first words") // makes the private chat, of which bots are not told
	if m := k.message("MESSAGE_CREATE"); m.Content != "first words" {
		t.Errorf("%+v", m)
	}
}

func TestOfAChannelThatTheBotMayNotSeeItHearsNothing(t *testing.T) {
	s := start(t, Options{})
	ann := s.User("ann")
	room := s.Guild("Team").Channel("general")
	k := dial(t, s)
	k.enter(s, usual)
	said := ann.SayIn(room, "seen")
	k.message("MESSAGE_CREATE")
	thread := ann.Thread(room, said, "Talk")
	for range 3 {
		k.next()
	}
	s.Deny(room, ViewChannel)
	ann.SayIn(room, "unseen")
	ann.SayIn(thread, "unseen too")
	ann.Say("in private")
	if m := k.message("MESSAGE_CREATE"); m.Content != "in private" {
		t.Errorf("the bot heard %q", m.Content)
	}
}

func TestWhereTheIntentIsOffTheHistoryIsEmptyToo(t *testing.T) {
	s := start(t, Options{NoMessageContent: true})
	ann := s.User("ann")
	room := s.Guild("Team").Channel("general")
	said := ann.SayIn(room, "among us")
	ann.SayIn(room, s.Mention()+" hi")
	var list []message
	ask(t, s, "GET", "/channels/"+room+"/messages", "").into(t, &list)
	if len(list) != 2 || list[0].Content == "" || list[1].Content != "" {
		t.Errorf("%+v", list)
	}
	ask(t, s, "PUT", "/applications/"+BotID+"/commands", `[{"name":"Ask about this","type":3}]`)
	k := dial(t, s)
	k.enter(s, intentGuilds)
	if _, err := ann.CommandOn(room, said, "Ask about this"); err != nil {
		t.Fatal(err)
	}
	if e := k.next(); e.Type != "INTERACTION_CREATE" || !strings.Contains(string(e.Data), "among us") {
		t.Errorf("what a command points to is hidden: %s", e.Data)
	}
	if _, err := ann.CommandOn(room, said, "ask"); err == nil {
		t.Error("a command that is none was used")
	}
}
