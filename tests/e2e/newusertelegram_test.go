package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"dragoman/tests/fake/model"
	"dragoman/tests/fake/telegram"
)

// newUsersConfig is the README's first config, on the fakes, with a lab.
func newUsersConfig(t *testing.T, tg *telegram.Server, m *model.Server, folder, lab, more string) string {
	t.Helper()
	script := nodePackage(t, "@modelcontextprotocol", "server-filesystem", "dist", "index.js")
	return `{
	"listen": "${LISTEN}", ` + more + `
	"models":      {"main":  {"type": "openai", "base_url": ` + quoted(m.URL()) + `, "api_key": "k", "model": "gpt-4.1-mini"}},
	"channels":    {"tg":    {"type": "telegram", "token": ` + quoted(tg.Token()) + `, "api_url": ` + quoted(tg.URL()) + `, "mode": "${MODE:-poll}"}},
	"mcp_servers": {"files": {"command": ` + quoted(node(t)) + `, "args": [` + quoted(script) + `, ` + quoted(folder) + `]}, "lab": ` + lab + `},
	"tools":       {"policy": {"files__read_*": "allow", "files__list_*": "allow", "lab__look": "allow"}}   // everything else asks first
}`
}

// newUser is somebody who has read the README, on Telegram.
type newUser struct {
	*scene
	g    *gateway
	tg   *telegram.Server
	ann  *telegram.User
	dir  string     // of the files
	open func(bool) // the lab's door
}

// TestANewUserOfTelegram does what a new user does, and sees what they see.
func TestANewUserOfTelegram(t *testing.T) {
	t.Parallel()
	tg := telegram.New(telegram.Options{Topics: true})
	t.Cleanup(tg.Close)
	folder, lab, open := newUsersFolder(t)
	m := model.New(model.Options{Answer: newUsersModel{folder}.answer})
	t.Cleanup(m.Close)
	g := newGateway(t, gatewayBinary(t), newUsersConfig(t, tg, m, folder, lab, ""))
	u := &newUser{g: g, tg: tg, ann: tg.User(1001, "Ann"), dir: folder, open: open}
	u.scene = newScene(t, "Telegram, with the README alone", func(room string) string {
		chat, err := strconv.ParseInt(room, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		return tg.Transcript(chat)
	})
	u.begins()
	u.sendsFiles()
	u.editsBeforeTheAnswer()
	u.editsDuringTheAnswer()
	u.editsAfterTheAnswer()
	u.stops()
	u.forgets()
	u.talksInAGroup()
	u.talksInATopic()
	u.turnsToAWebhook()
	u.whole("Ann's chat with the bot", u.chat())
}

func (u *newUser) chat() string { return strconv.FormatInt(u.ann.ID(), 10) }

// says writes in private and waits for what comes of it.
func (u *newUser) says(title, text string, want ...string) int {
	u.t.Helper()
	id := u.ann.Say(text)
	u.act(title, u.chat(), want...)
	return id
}

// press presses a button of the newest message that has it.
func (u *newUser) press(button string) {
	u.t.Helper()
	sent := u.tg.Sent(u.ann.ID())
	for i := len(sent) - 1; i >= 0; i-- {
		if strings.Contains(strings.Join(sent[i].Buttons(), "|"), button) {
			if err := u.ann.Press(sent[i].ID, button); err != nil {
				u.t.Fatal(err)
			}
			return
		}
	}
	u.t.Fatalf("there is no button %q:\n%s", button, u.view(u.chat()))
}

func (u *newUser) begins() {
	out, errs, code := u.g.CLI("check")
	u.tell("dragoman check", out+errs)
	if code != 0 {
		u.t.Fatalf("check: %s%s", out, errs)
	}
	u.g.Start()
	u.g.WaitReady()
	line := u.g.WaitLine(`(.*/start ([A-Z0-9-]{6,}).*)`, answerWithin)
	u.tell("what the gateway prints", line[1])
	bob := u.tg.User(1002, "Bob")
	bob.Say("hi there")
	u.act("Bob writes, whom nobody has let in", "1002", "people my admin has let in", "pair approve")
	u.says("Ann pairs", "/start "+line[2], "You are this bot's admin")
	u.g.WaitLine("mcp_server_connected.*files", readyWithin)
	u.g.WaitLine("mcp_server_connected.*lab", readyWithin)
	list, _, _ := u.g.CLI("pair", "list")
	u.tell("dragoman pair list", list)
	u.says("Ann asks", "Please read notes.txt", "It says: Milk, bread, tea.")
	u.says("Ann asks for what changes things", "write bread", "May I run files__write_file?", "[Yes, run it]")
	u.press("Yes, run it")
	u.act("Ann presses “Yes, run it”", u.chat(), "You said: Yes, run it", "Successfully wrote")
}

func (u *newUser) sendsFiles() {
	u.ann.SendPhoto("what is this?")
	u.act("Ann sends a photo", u.chat(), "I see 1 of them")
	u.ann.SendVoice()
	u.act("Ann sends a voice note", u.chat(), "You sent me this:", "audio/ogg")
}

// looksInTheLab begins a call that lasts until the lab's door opens.
func (u *newUser) looksInTheLab(title, text string) int {
	u.t.Helper()
	return u.says(title, text, "lab__look", inTheMaking)
}

func (u *newUser) editsBeforeTheAnswer() {
	u.looksInTheLab("Ann asks for what takes long", "Look in the lab")
	id := u.ann.Say("what is teh time?")
	u.ann.Edit(id, "what is the time?")
	eventually(u.t, answerWithin, "the edit is stored", func() error {
		if n := u.tg.Pending(); n > 0 {
			return fmt.Errorf("%d updates wait", n)
		}
		return nil
	})
	u.open(true)
	u.act("Ann asks something else meanwhile, and mends it before its answer", u.chat(), "It says: it ran", "You said: what is the time?")
	u.open(false)
}

func (u *newUser) editsDuringTheAnswer() {
	id := u.looksInTheLab("Ann asks for what takes long again", "Please look in the lab once more")
	u.ann.Edit(id, "Please look in the lab once more, and tell me in French")
	eventually(u.t, answerWithin, "the edit is stored", func() error {
		if n := u.tg.Pending(); n > 0 {
			return fmt.Errorf("%d updates wait", n)
		}
		return nil
	})
	u.open(true)
	u.act("Ann edits the question while it is worked on", u.chat(), "En français")
	u.open(false)
}

func (u *newUser) editsAfterTheAnswer() {
	id := u.says("Ann asks, with a slip", "write mlik", "May I run")
	u.press("Yes, run it")
	u.act("and lets it run", u.chat(), "Successfully wrote")
	u.ann.Edit(id, "write milk")
	u.act("Ann edits the question after the answer", u.chat(), "You edited", "[Redo]")
	u.press("Redo")
	u.act("Ann presses “Redo”: what changes things asks again", u.chat(), "You said: Redo", "May I run", "milk", "[Yes, run it]")
	u.press("Yes, run it")
	u.act("Ann lets it run", u.chat(), "Successfully wrote")
	if b, err := os.ReadFile(filepath.Join(u.dir, "list.txt")); err != nil || string(b) != "milk" {
		u.t.Errorf("the file says %q (%v)", b, err)
	}
}

func (u *newUser) stops() {
	u.looksInTheLab("Ann asks for what takes too long", "look in the lab, and take your time")
	began := time.Now()
	u.press("⏹ Stop")
	u.act("Ann presses “Stop”", u.chat(), "Stopped.")
	u.t.Logf("the stop was seen after %v", time.Since(began))
}

func (u *newUser) forgets() {
	id := u.says("Ann tells a secret", "My PIN is 4711", "You said: My PIN is 4711")
	u.ann.Reply(id, "/forget")
	u.act("Ann replies to it with /forget", u.chat(), "I have forgotten that message.")
	u.says("Ann asks what it remembers", "what did I tell you?", "You told me:", "write milk")
	sent := u.tg.Sent(u.ann.ID())
	if last := sent[len(sent)-1].Text; strings.Contains(last, "4711") {
		u.t.Errorf("it remembers: %s", last)
	}
	if last := sent[len(sent)-1].Text; strings.Contains(last, "mlik") {
		u.t.Errorf("what was done again is still told: %s", last)
	}
	u.ann.Say("/forget")
	u.act("Ann writes /forget alone", u.chat(), "Reply with /forget")
}

func (u *newUser) talksInAGroup() {
	group := u.tg.Group(-5000, "Kitchen")
	room := strconv.FormatInt(group.ID(), 10)
	at := "@" + u.tg.Username()
	u.ann.SayIn(group, "hello everybody")
	u.ann.SayIn(group, at+" please read notes.txt")
	u.act("In a group Ann speaks to everybody, and then to the bot", room, "↩", "It says: Milk, bread, tea.")
	sent := u.tg.Sent(group.ID())
	if len(sent) != 1 {
		u.t.Errorf("the bot said %d things in the group:\n%s", len(sent), u.view(room))
	}
	u.ann.ReplyIn(group, sent[0].ID, "and what else?")
	u.act("Ann replies to the bot", room, "You said:", "and what else?")
	u.ann.SayIn(group, "/status"+at)
	u.act("Ann gives a command", room, "Agent: main", "I am at rest")
	eve := u.tg.User(1003, "Eve")
	eve.SayIn(group, at+" and me?")
	u.act("Eve, whom nobody has let in, speaks to the bot", room, "people my admin has let in")
	u.whole("The group", room)
}

func (u *newUser) talksInATopic() {
	topic := u.ann.NewTopic("Cooking")
	u.ann.Post(telegram.Post{Topic: topic, Text: "what did I tell you?"})
	u.act("Ann opens a topic in her chat with the bot: another conversation", u.chat(), "#Cooking Dragoman: You told me:")
	sent := u.tg.Sent(u.ann.ID())
	if last := sent[len(sent)-1]; strings.Contains(last.Text, "milk") {
		u.t.Errorf("the topic knows what was said in the chat: %s", last.Text)
	}
	group := u.tg.Group(-5001, "Forum")
	id := group.Topic()
	u.ann.SayInTopic(group, id, "@"+u.tg.Username()+" please read notes.txt")
	u.act("Ann asks in a topic of a group", strconv.FormatInt(group.ID(), 10), "#Topic Dragoman:", "It says: Milk")
}

func (u *newUser) turnsToAWebhook() {
	u.g.Term()
	file := filepath.Join(u.g.Dir, "dragoman.json")
	b, err := os.ReadFile(file)
	if err != nil {
		u.t.Fatal(err)
	}
	b = []byte(strings.Replace(strings.Replace(string(b), "${MODE:-poll}", "webhook", 1), `"listen"`, `"public_url": "http://${LISTEN}", "listen"`, 1))
	if err := os.WriteFile(file, b, 0o600); err != nil {
		u.t.Fatal(err)
	}
	out, errs, code := u.g.CLI("check", "--connect")
	u.tell("The admin turns to a webhook: dragoman check --connect", out+errs)
	if code != 0 {
		u.t.Errorf("check: exit %d", code)
	}
	u.g.Start()
	u.g.WaitReady()
	u.says("Ann goes on, over a webhook", "hello again", "You said: hello again")
	eventually(u.t, answerWithin, "Telegram has its answer", func() error { // the chat may have its own first
		if list := u.tg.Deliveries(); len(list) == 0 || list[len(list)-1].Status != 200 {
			return fmt.Errorf("it delivered %+v", list)
		}
		return nil
	})
	for _, command := range []string{"audit", "usage"} {
		out, _, _ := u.g.CLI(command)
		u.tell("dragoman "+command, out)
	}
}
