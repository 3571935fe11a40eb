package discord

import (
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"
)

const oneButton = `{"content":"May I?","components":[{"type":1,"components":[{"type":2,"style":3,"label":"Yes","custom_id":"y"}]}]}`

// asked is a private chat in which the bot asked, and the id of its question.
func asked(t *testing.T, s *Server) (*User, string) {
	t.Helper()
	ann := s.User("ann")
	a := ask(t, s, "POST", "/channels/"+ann.DM()+"/messages", oneButton)
	if a.status != 200 {
		t.Fatalf("%d %s", a.status, a.body)
	}
	return ann, a.ID
}

func press(t *testing.T, ann *User, question string) *Interaction {
	t.Helper()
	in, err := ann.Press(ann.DM(), question, "Yes")
	if err != nil {
		t.Fatal(err)
	}
	return in
}

func answer(t *testing.T, s *Server, in *Interaction, body string) got {
	t.Helper()
	return ask(t, s, "POST", "/interactions/"+in.ID()+"/"+in.Token()+"/callback", body)
}

func hook(in *Interaction, rest string) string { return "/webhooks/" + BotID + "/" + in.Token() + rest }

func TestAPressComesWithAllThatTheBotNeeds(t *testing.T) {
	s := start(t, Options{})
	ann, question := asked(t, s)
	k := dial(t, s)
	k.enter(s, 0)
	in := press(t, ann, question)
	e := k.next()
	var o struct {
		ID, Token string
		Type      int
		Data      struct {
			CustomID string `json:"custom_id"`
		}
		User    *user
		Message message
	}
	if err := json.Unmarshal(e.Data, &o); err != nil || e.Type != "INTERACTION_CREATE" {
		t.Fatalf("%+v %v", e, err)
	}
	if o.ID != in.ID() || o.Token != in.Token() || o.Type != interactionPress || o.Data.CustomID != "y" || o.User.Username != "ann" || o.Message.ID != question {
		t.Errorf("%s", e.Data)
	}
	if _, err := ann.Press(ann.DM(), question, "No"); err == nil {
		t.Error("a button that is none was pressed")
	}
	if _, err := s.User("bob").Press(ann.DM(), "1", "Yes"); err == nil {
		t.Error("a message that is none was pressed")
	}
}

func TestAnInteractionIsAnsweredOnceWithinThreeSeconds(t *testing.T) {
	s := start(t, Options{})
	ann, question := asked(t, s)
	in := press(t, ann, question)
	if in.Acknowledged() || in.Failed() {
		t.Error("it is over before it began")
	}
	if a := answer(t, s, in, `{"type":6}`); a.status != 204 || !in.Acknowledged() {
		t.Fatalf("%d %s", a.status, a.body)
	}
	if a := answer(t, s, in, `{"type":6}`); !a.is(400, 40060) {
		t.Errorf("twice: %d %s", a.status, a.body)
	}
	late := press(t, ann, question)
	s.Advance(answerFor + time.Second)
	if a := answer(t, s, late, `{"type":6}`); !a.is(404, 10062) || !late.Failed() {
		t.Errorf("late: %d %s", a.status, a.body)
	}
	if a := ask(t, s, "POST", "/interactions/1/x/callback", `{"type":6}`); !a.is(404, 10062) {
		t.Errorf("none: %d %s", a.status, a.body)
	}
	if a := answer(t, s, press(t, ann, question), `{"type":3}`); !a.fault("type", "BASE_TYPE_CHOICES") {
		t.Errorf("a type that is none: %d %s", a.status, a.body)
	}
	if a := answer(t, s, press(t, ann, question), `{"type":4,"data":{}}`); !a.is(400, 50006) {
		t.Errorf("an answer without one: %d %s", a.status, a.body)
	}
}

func TestAPressChangesItsMessageNowOrLater(t *testing.T) {
	s := start(t, Options{})
	ann, question := asked(t, s)
	if a := answer(t, s, press(t, ann, question), `{"type":7,"data":{"content":"Thanks","components":[]}}`); a.status != 204 {
		t.Fatalf("%d %s", a.status, a.body)
	}
	if sent := s.Sent(ann.DM()); sent[0].Text != "Thanks" || len(sent[0].Rows) != 0 {
		t.Errorf("%+v", sent)
	}
	_, question = asked(t, s)
	in := press(t, ann, question)
	answer(t, s, in, `{"type":6}`)
	if a := ask(t, s, "PATCH", hook(in, "/messages/@original"), `{"content":"Later"}`); a.status != 200 || a.ID != question {
		t.Fatalf("%d %s", a.status, a.body)
	}
	if a := ask(t, s, "POST", hook(in, ""), `{"content":"And more"}`); a.status != 200 || a.ID == question {
		t.Errorf("%d %s", a.status, a.body)
	}
	if sent := s.Sent(ann.DM()); len(sent) != 3 || sent[1].Text != "Later" || sent[2].Text != "And more" {
		t.Errorf("%+v", sent)
	}
}

// commands registers one command with an option that is needed and one that is not.
func commands(t *testing.T, s *Server) {
	t.Helper()
	a := ask(t, s, "PUT", "/applications/"+BotID+"/commands", `[{"name":"ask","description":"Asks","options":[`+
		`{"type":3,"name":"text","description":"What","required":true},{"type":5,"name":"long","description":"How"}]}]`)
	if a.status != 200 {
		t.Fatalf("%d %s", a.status, a.body)
	}
}

func TestADeferredAnswerIsWritten15MinutesLong(t *testing.T) {
	s := start(t, Options{})
	commands(t, s)
	ann := s.User("ann")
	room := s.Guild("Team").Channel("general")
	in, err := ann.Command(room, "ask", map[string]any{"text": "why"})
	if err != nil {
		t.Fatal(err)
	}
	if a := ask(t, s, "PATCH", hook(in, "/messages/@original"), `{"content":"x"}`); !a.is(404, 10015) {
		t.Errorf("before the answer: %d %s", a.status, a.body)
	}
	if a := answer(t, s, in, `{"type":6}`); !a.fault("type", "BASE_TYPE_CHOICES") {
		t.Errorf("a command has no message to change: %d %s", a.status, a.body)
	}
	if a := answer(t, s, in, `{"type":5,"data":{"flags":64}}`); a.status != 204 {
		t.Fatalf("%d %s", a.status, a.body)
	}
	if m, there := in.Response(); !there || !m.Thinking || m.OnlyFor != "ann" {
		t.Errorf("%+v", m)
	}
	first := ask(t, s, "POST", hook(in, ""), `{"content":"the answer"}`)
	m, _ := in.Response()
	if m.ID != first.ID || m.Text != "the answer" || m.Thinking || m.OnlyFor != "ann" {
		t.Errorf("the first follow-up is the promised answer: %+v", m)
	}
	if a := ask(t, s, "GET", "/channels/"+room+"/messages", ""); strings.Contains(string(a.body), "the answer") {
		t.Error("what one person sees is in the history")
	}
	s.Advance(14 * time.Minute)
	if a := ask(t, s, "PATCH", hook(in, "/messages/@original"), `{"content":"longer"}`); a.status != 200 {
		t.Errorf("%d %s", a.status, a.body)
	}
	s.Advance(2 * time.Minute)
	for _, c := range [][3]string{{"PATCH", "/messages/@original", `{"content":"x"}`}, {"POST", "", `{"content":"x"}`}, {"DELETE", "/messages/" + first.ID, ""}} {
		if a := ask(t, s, c[0], hook(in, c[1]), c[2]); !a.is(401, 50027) {
			t.Errorf("%s after 15 minutes: %d %s", c[0], a.status, a.body)
		}
	}
	if a := ask(t, s, "POST", "/webhooks/"+BotID+"/x", `{"content":"x"}`); !a.is(404, 10015) {
		t.Errorf("%d %s", a.status, a.body)
	}
}

func TestAnAnswerToACommandIsSeenByAll(t *testing.T) {
	s := start(t, Options{})
	commands(t, s)
	room := s.Guild("Team").Channel("general")
	k := dial(t, s)
	k.enter(s, usual)
	in, err := s.User("ann").Command(room, "ask", map[string]any{"text": "why", "long": true})
	if err != nil {
		t.Fatal(err)
	}
	if e := k.next(); !strings.Contains(string(e.Data), `"value":"why"`) || !strings.Contains(string(e.Data), `"member"`) {
		t.Errorf("%s", e.Data)
	}
	path := "/interactions/" + in.ID() + "/" + in.Token() + "/callback?with_response=true"
	a := ask(t, s, "POST", path, `{"type":4,"data":{"content":"because"}}`)
	if a.status != 200 || !strings.Contains(string(a.body), `"content":"because"`) {
		t.Fatalf("%d %s", a.status, a.body)
	}
	if m := k.message("MESSAGE_CREATE"); m.Type != typeCommand || m.Meta == nil || m.Meta.ID != in.ID() || m.WebhookID != BotID {
		t.Errorf("%+v", m)
	}
	want := "  ┌ ann used /ask\ndragoman-test: because\n"
	if got := s.Transcript(room); got != want {
		t.Errorf("people see %q", got)
	}
}

func TestCommandsAreHeldToTheirRules(t *testing.T) {
	s := start(t, Options{})
	put := func(body string) got { return ask(t, s, "PUT", "/applications/"+BotID+"/commands", body) }
	long := strings.Repeat("x", 101)
	for _, c := range []struct{ name, body, field, code string }{
		{"a capital", `[{"name":"Ask","description":"x"}]`, "0.name", "APPLICATION_COMMAND_INVALID_NAME"},
		{"a blank", `[{"name":"a b","description":"x"}]`, "0.name", "APPLICATION_COMMAND_INVALID_NAME"},
		{"no description", `[{"name":"ask","description":""}]`, "0.description", "BASE_TYPE_BAD_LENGTH"},
		{"a long description", `[{"name":"ask","description":"` + long + `"}]`, "0.description", "BASE_TYPE_BAD_LENGTH"},
		{"a name twice", `[{"name":"ask","description":"x"},{"name":"ask","description":"y"}]`, "1.name", "APPLICATION_COMMANDS_DUPLICATE_NAME"},
		{"a type that is none", `[{"name":"ask","description":"x","type":9}]`, "0.type", "BASE_TYPE_CHOICES"},
		{"a context menu with a description", `[{"name":"Ask This","type":3,"description":"x"}]`, "0.description", "APPLICATION_COMMAND_DESCRIPTION_NOT_ALLOWED"},
		{"an option without a description", `[{"name":"ask","description":"x","options":[{"type":3,"name":"a","description":""}]}]`, "0.options.0.description", "BASE_TYPE_BAD_LENGTH"},
		{"a needed option behind another", `[{"name":"ask","description":"x","options":[{"type":3,"name":"a","description":"x"},{"type":3,"name":"b","description":"x","required":true}]}]`, "0.options.1.required", "APPLICATION_COMMAND_OPTIONS_REQUIRED_INVALID"},
	} {
		if a := put(c.body); !a.fault(c.field, c.code) {
			t.Errorf("%s: %d %s", c.name, a.status, a.body)
		}
	}
	if a := put(`[{"name":"ask","description":"x","shape":1}]`); !a.is(400, 50035) {
		t.Errorf("%d %s", a.status, a.body)
	}
	if a := put(`[{"name":"ask","description":"x"},{"name":"Ask This","type":3}]`); a.status != 200 {
		t.Fatalf("%d %s", a.status, a.body)
	}
	names, writes := s.Commands("")
	if !slices.Equal(names, []string{"ask", "Ask This"}) || writes != 1 {
		t.Errorf("%v, %d writes", names, writes)
	}
	ann := s.User("ann")
	commands(t, s)
	for name, try := range map[string]map[string]any{"ask": {"text": "x", "far": 1}, "nothing": nil} {
		if _, err := ann.Command(ann.DM(), name, try); err == nil {
			t.Errorf("/%s %v was sent", name, try)
		}
	}
	if _, err := ann.Command(ann.DM(), "ask", nil); err == nil {
		t.Error("/ask without its text was sent")
	}
	if a := ask(t, s, "PUT", "/applications/1/commands", `[]`); !a.is(http.StatusForbidden, 50001) {
		t.Errorf("%d %s", a.status, a.body)
	}
}

func TestAThreadIsAChannelOfItsOwn(t *testing.T) {
	s := start(t, Options{})
	ann := s.User("ann")
	g := s.Guild("Team")
	room := g.Channel("general")
	k := dial(t, s)
	k.enter(s, usual)
	said := ann.SayIn(room, "hello")
	k.message("MESSAGE_CREATE")
	path := "/channels/" + room + "/messages/" + said + "/threads"
	if a := ask(t, s, "POST", path, `{"name":"","auto_archive_duration":5}`); !a.fault("name", "BASE_TYPE_BAD_LENGTH") || !a.fault("auto_archive_duration", "BASE_TYPE_CHOICES") {
		t.Errorf("%d %s", a.status, a.body)
	}
	a := ask(t, s, "POST", path, `{"name":"Talk","auto_archive_duration":1440}`)
	if a.status != 200 || a.ID != said {
		t.Fatalf("%d %s", a.status, a.body)
	}
	if e := k.next(); e.Type != "THREAD_CREATE" || !strings.Contains(string(e.Data), `"newly_created":true`) {
		t.Errorf("%+v", e)
	}
	if m := k.message("MESSAGE_UPDATE"); m.Flags&flagHasThread == 0 || m.Thread == nil {
		t.Errorf("%+v", m)
	}
	if m := k.message("MESSAGE_CREATE"); m.Type != typeThreadStarter || m.ChannelID != said {
		t.Errorf("%+v", m)
	}
	if a := ask(t, s, "POST", path, `{"name":"Again"}`); !a.is(400, 160004) {
		t.Errorf("%d %s", a.status, a.body)
	}
	ann.SayIn(said, "in the thread")
	if m := k.message("MESSAGE_CREATE"); m.ChannelID != said || *m.ChannelType != channelThread || m.GuildID != g.ID() {
		t.Errorf("%+v", m)
	}
	active := func() bool {
		a := ask(t, s, "GET", "/guilds/"+g.ID()+"/threads/active", "")
		return strings.Contains(string(a.body), `"Talk"`)
	}
	if !active() {
		t.Error("the thread is not among those that are open")
	}
	s.Archive(said, false)
	if active() {
		t.Error("the thread was put away")
	}
	if a := ask(t, s, "POST", "/channels/"+said+"/messages", `{"content":"x"}`); a.status != 200 || !active() {
		t.Errorf("a message opens a thread again: %d %s", a.status, a.body)
	}
	s.Archive(said, true)
	if a := ask(t, s, "POST", "/channels/"+said+"/messages", `{"content":"x"}`); !a.is(400, 50083) {
		t.Errorf("%d %s", a.status, a.body)
	}
	s.DeleteChannel(said)
	if a := ask(t, s, "POST", "/channels/"+said+"/messages", `{"content":"x"}`); !a.is(404, 10003) {
		t.Errorf("%d %s", a.status, a.body)
	}
	if a := ask(t, s, "POST", "/channels/"+room+"/threads", `{"name":"Free","type":11}`); a.status != 200 || a.ID == "" {
		t.Errorf("%d %s", a.status, a.body)
	}
	if a := ask(t, s, "POST", "/channels/"+ann.DM()+"/threads", `{"name":"Free","type":11}`); !a.is(400, 50024) {
		t.Errorf("%d %s", a.status, a.body)
	}
}
