package discord

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"dragoman/tests/fake/dts"
)

// apiTypes are those of npm's discord-api-types, the newest description of the API.
func apiTypes(t *testing.T) dts.Types {
	t.Helper()
	dir := filepath.Join(modules(t), "discord-api-types")
	types, err := dts.Read(dir, filepath.Join(dir, "payloads"), filepath.Join(dir, "payloads/v10"), filepath.Join(dir, "payloads/v10/_interactions"),
		filepath.Join(dir, "payloads/v10/_interactions/_applicationCommands"), filepath.Join(dir, "payloads/v10/_interactions/_applicationCommands/_chatInput"),
		filepath.Join(dir, "rest"), filepath.Join(dir, "rest/v10"))
	if err != nil {
		t.Fatal(err)
	}
	gateway, err := dts.Read(filepath.Join(dir, "gateway"))
	if err != nil {
		t.Fatal(err)
	}
	for name, one := range gateway {
		types[name] = one
	}
	return types
}

// typesOf are the types of the gateway's events.
var typesOf = map[string]string{
	"READY": "GatewayReadyDispatchData", "GUILD_CREATE": "GatewayGuildCreateDispatchData", "CHANNEL_CREATE": "GatewayChannelCreateDispatchData",
	"CHANNEL_UPDATE": "GatewayChannelUpdateDispatchData", "CHANNEL_DELETE": "GatewayChannelDeleteDispatchData",
	"THREAD_CREATE": "GatewayThreadCreateDispatchData", "THREAD_UPDATE": "GatewayThreadUpdateDispatchData", "THREAD_DELETE": "GatewayThreadDeleteDispatchData",
	"MESSAGE_CREATE": "GatewayMessageCreateDispatchData", "MESSAGE_UPDATE": "GatewayMessageUpdateDispatchData",
	"MESSAGE_DELETE": "GatewayMessageDeleteDispatchData", "MESSAGE_DELETE_BULK": "GatewayMessageDeleteBulkDispatchData",
	"MESSAGE_REACTION_ADD": "GatewayMessageReactionAddDispatchData", "MESSAGE_REACTION_REMOVE": "GatewayMessageReactionRemoveDispatchData",
	"TYPING_START": "GatewayTypingStartDispatchData", "INTERACTION_CREATE": "GatewayInteractionCreateDispatchData",
}

// differ reports what is not of its type, each thing once.
func differ(t *testing.T, types dts.Types, what string, raw []byte, name string) {
	t.Helper()
	var v any
	if err := json.Unmarshal(raw, &v); err != nil {
		t.Fatalf("%s: %v", what, err)
	}
	all := []any{v}
	if one, is := strings.CutSuffix(name, "[]"); is {
		all, name = v.([]any), one
	}
	var list []string
	for _, v := range all {
		list = append(list, types.Differences(what, v, name)...)
	}
	slices.Sort(list)
	for _, one := range slices.Compact(list) {
		t.Error(one)
	}
}

// TestWhatTheGatewayTellsIsOfTheTypes lets people do all that they can, and holds every
// event to its type.
func TestWhatTheGatewayTellsIsOfTheTypes(t *testing.T) {
	types := apiTypes(t)
	s := start(t, Options{AnswerFor: time.Minute})
	ann := s.User("ann")
	room := s.Guild("Team").Channel("general")
	dial(t, s).enter(s, usual|intentGuildReactions|intentDirectReactions|intentGuildTyping|intentDirectTyping)
	s.Guild("Other").Channel("second")
	commands := `[{"name":"ask","description":"Asks","options":[{"type":3,"name":"text","description":"What"}]},{"name":"Look","type":3}]`
	if a := ask(t, s, "PUT", "/applications/"+BotID+"/commands", commands); a.status != 200 {
		t.Fatalf("%d %s", a.status, a.body)
	}
	thread := ann.Thread(room, ann.SayIn(room, "start"), "Hers")
	for _, ch := range []string{room, ann.DM(), thread} {
		first := ann.Post(ch, Post{Text: "look, " + s.Mention(), Files: []File{{Name: "a.txt", Content: []byte("a")}}})
		ann.Reply(ch, first, "again")
		ann.Edit(ch, first, "look here")
		s.Unfurl(ch, first)
		ann.React(ch, first, "👍")
		ann.Unreact(ch, first, "👍")
		ann.Types(ch)
		mine := ask(t, s, "POST", "/channels/"+ch+"/messages", `{"content":"May I?","nonce":"1","message_reference":{"message_id":"`+first+`"},
			"components":[{"type":1,"components":[{"type":2,"style":1,"label":"Yes","custom_id":"a"},{"type":2,"style":5,"label":"Site","url":"https://example.org"}]}]}`)
		in, err := ann.Press(ch, mine.ID, "Yes")
		if err != nil {
			t.Fatal(err)
		}
		ask(t, s, "POST", "/interactions/"+in.ID()+"/"+in.Token()+"/callback", `{"type":4,"data":{"content":"Thanks"}}`)
		if in, err = ann.Command(ch, "ask", map[string]any{"text": "x"}); err != nil {
			t.Fatal(err)
		}
		ask(t, s, "POST", "/interactions/"+in.ID()+"/"+in.Token()+"/callback", `{"type":5}`)
		ask(t, s, "PATCH", "/webhooks/"+BotID+"/"+in.Token()+"/messages/@original", `{"content":"x"}`)
		if _, err = ann.CommandOn(ch, first, "Look"); err != nil {
			t.Fatal(err)
		}
		ann.Delete(ch, first)
	}
	ann.DeleteMany(room, ann.SayIn(room, "a"), ann.SayIn(room, "b"))
	s.Deny(room, AttachFiles)
	s.Archive(thread, false)
	s.DeleteChannel(thread)
	s.DeleteChannel(room)
	seen := map[string]bool{}
	s.mu.Lock()
	var events []payload
	for _, n := range s.gate.sessions {
		events = append(events, n.events...)
	}
	s.mu.Unlock()
	for _, e := range events {
		name, known := typesOf[*e.Type]
		if !known {
			t.Errorf("the event %s has no type", *e.Type)
			continue
		}
		seen[*e.Type] = true
		differ(t, types, *e.Type, e.Data, name)
	}
	for event := range typesOf {
		if !seen[event] {
			t.Errorf("nothing told of a %s", event)
		}
	}
}

// TestWhatTheAPIAnswersIsOfTheTypes holds the answers of every kind to their types.
func TestWhatTheAPIAnswersIsOfTheTypes(t *testing.T) {
	types := apiTypes(t)
	s := start(t, Options{AnswerFor: time.Minute})
	ann := s.User("ann")
	guild := s.Guild("Team")
	room := guild.Channel("general")
	first := ann.SayIn(room, "start")
	message := `{"content":"x","embeds":[{"title":"t"}],"components":[{"type":1,"components":[{"type":2,"style":1,"label":"Yes","custom_id":"a"}]}],"message_reference":{"message_id":"` + first + `"}}`
	mine := ask(t, s, "POST", "/channels/"+room+"/messages", message)
	differ(t, types, "POST message", mine.body, "APIMessage")
	in, err := ann.Press(room, mine.ID, "Yes")
	if err != nil {
		t.Fatal(err)
	}
	callback := "/interactions/" + in.ID() + "/" + in.Token() + "/callback?with_response=true"
	for _, c := range []struct{ method, path, body, name string }{
		{"GET", "/gateway", "", "APIGatewayInfo"},
		{"GET", "/gateway/bot", "", "APIGatewayBotInfo"},
		{"GET", "/users/@me", "", "APIUser"},
		{"GET", "/users/" + ann.ID(), "", "APIUser"},
		{"GET", "/users/@me/guilds", "", "RESTGetAPICurrentUserGuildsResult"},
		{"GET", "/guilds/" + guild.ID(), "", "APIGuild"},
		{"GET", "/guilds/" + guild.ID() + "/channels", "", "APITextChannel[]"},
		{"GET", "/applications/@me", "", "APIApplication"},
		{"POST", "/users/@me/channels", `{"recipient_id":"` + ann.ID() + `"}`, "APIDMChannel"},
		{"GET", "/channels/" + room, "", "APITextChannel"},
		{"GET", "/channels/" + room + "/messages", "", "RESTGetAPIChannelMessagesResult"},
		{"GET", "/channels/" + room + "/messages/" + first, "", "APIMessage"},
		{"PATCH", "/channels/" + room + "/messages/" + mine.ID, `{"content":"y"}`, "APIMessage"},
		{"POST", "/channels/" + room + "/messages/" + first + "/threads", `{"name":"talk"}`, "APIThreadChannel"},
		{"PUT", "/applications/" + BotID + "/commands", `[{"name":"ask","description":"Asks","options":[{"type":3,"name":"text","description":"What"}]},{"name":"Look","type":3}]`, "RESTPutAPIApplicationCommandsResult"},
		{"GET", "/applications/" + BotID + "/commands", "", "RESTGetAPIApplicationCommandsResult"},
		{"POST", callback, `{"type":4,"data":{"content":"Thanks"}}`, "RESTPostAPIInteractionCallbackWithResponseResult"},
		{"GET", "/webhooks/" + BotID + "/" + in.Token() + "/messages/@original", "", "APIMessage"},
		{"POST", "/webhooks/" + BotID + "/" + in.Token(), `{"content":"and more"}`, "APIMessage"},
	} {
		a := ask(t, s, c.method, c.path, c.body)
		if a.status != 200 && a.status != 201 {
			t.Errorf("%s %s: %d %s", c.method, c.path, a.status, a.body)
			continue
		}
		differ(t, types, c.method+" "+c.name, a.body, c.name)
	}
	if a := ask(t, s, "POST", "/channels/"+room+"/messages", `{"content":""}`); fmt.Sprint(a.status) != "400" {
		t.Errorf("%d", a.status)
	} else {
		differ(t, types, "an error", a.body, "RESTError")
	}
	s.Flood("", time.Hour, TellAll)
	differ(t, types, "a 429", ask(t, s, "GET", "/users/@me", "").body, "RESTRateLimit")
}
