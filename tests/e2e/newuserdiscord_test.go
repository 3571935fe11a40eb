package e2e

import (
	"fmt"
	"strings"
	"testing"

	"dragoman/tests/fake/discord"
	"dragoman/tests/fake/model"
	"dragoman/tests/fake/telegram"
)

// newDiscordUser is somebody who has read the README, on Discord.
type newDiscordUser struct {
	*scene
	g    *gateway
	dc   *discord.Server
	ann  *discord.User
	open func(bool) // the lab's door
}

// TestANewUserOfDiscord begins without a key, on the demo model, then turns to a model
// that sees, and does what a new user does.
func TestANewUserOfDiscord(t *testing.T) {
	t.Parallel()
	dc := discord.New(discord.Options{})
	t.Cleanup(dc.Close)
	folder, lab, open := newUsersFolder(t)
	m := model.New(model.Options{Answer: newUsersModel{folder}.answer})
	t.Cleanup(m.Close)
	script := nodePackage(t, "@modelcontextprotocol", "server-filesystem", "dist", "index.js")
	g := newGateway(t, gatewayBinary(t), `{
	"listen": "${LISTEN}",
	"models":      {"demo": {"type": "demo"}, "main": {"type": "openai", "base_url": `+quoted(m.URL())+`, "api_key": "k", "model": "gpt-4.1-mini"}},
	"channels":    {"dc": {"type": "discord", "token": `+quoted(dc.Token())+`, "api_url": `+quoted(dc.URL())+`}},
	"mcp_servers": {"files": {"command": `+quoted(node(t))+`, "args": [`+quoted(script)+`, `+quoted(folder)+`]}, "lab": `+lab+`},
	"tools":       {"policy": {"files__read_*": "allow", "files__list_*": "allow", "lab__look": "allow"}}   // everything else asks first
}`)
	u := &newDiscordUser{g: g, dc: dc, ann: dc.User("Ann"), open: open}
	u.scene = newScene(t, "Discord, with the README alone", dc.Transcript)
	u.begins()
	u.redoes()
	u.stops()
	u.sendsFiles()
	u.edits()
	u.deletes()
	u.talksInAServer()
	u.whole("Ann's direct messages", u.ann.DM())
	for _, command := range []string{"audit", "usage"} {
		out, _, _ := u.g.CLI(command)
		u.tell("dragoman "+command, out)
	}
}

func (u *newDiscordUser) says(title, text string, want ...string) string {
	u.t.Helper()
	id := u.ann.Say(text)
	u.act(title, u.ann.DM(), want...)
	return id
}

// press presses a button of the newest message that has it.
func (u *newDiscordUser) press(button string) {
	u.t.Helper()
	sent := u.dc.Sent(u.ann.DM())
	for i := len(sent) - 1; i >= 0; i-- {
		if strings.Contains(strings.Join(sent[i].Buttons(), "|"), button) {
			if _, err := u.ann.Press(u.ann.DM(), sent[i].ID, button); err != nil {
				u.t.Fatal(err)
			}
			return
		}
	}
	u.t.Fatalf("there is no button %q:\n%s", button, u.view(u.ann.DM()))
}

func (u *newDiscordUser) begins() {
	out, errs, code := u.g.CLI("check")
	u.tell("dragoman check", out+errs)
	if code != 0 {
		u.t.Fatalf("check: %s%s", out, errs)
	}
	u.g.Start()
	u.g.WaitReady()
	line := u.g.WaitLine(`(.*/start ([A-Z0-9-]{6,}).*)`, answerWithin)
	u.tell("what the gateway prints", line[1])
	eventually(u.t, answerWithin, "the bot listens", func() error {
		if u.dc.Gateway().Connected == 0 {
			return fmt.Errorf("nobody is connected")
		}
		return nil
	})
	bob := u.dc.User("Bob")
	bob.Say("hi there")
	u.act("Bob writes, whom nobody has let in", bob.DM(), "people my admin has let in", "pair approve")
	u.says("Ann pairs", "/start "+line[2], "You are this bot's admin")
	u.g.WaitLine("mcp_server_connected.*files", readyWithin)
	u.g.WaitLine("mcp_server_connected.*lab", readyWithin)
	u.says("Ann asks the demo model", "what time is it in Tokyo?", "UTC: ")
}

func (u *newDiscordUser) redoes() {
	u.open(true)
	id := u.says("Ann has a tool called that changes things", `call lab__write {"what": "mlik"}`, "May I run", "[Yes, run it]")
	u.press("Yes, run it")
	u.act("and lets it run", u.ann.DM(), "You said: Yes, run it", "it ran")
	u.ann.Edit(u.ann.DM(), id, `call lab__write {"what": "milk"}`)
	u.act("Ann edits it after the answer", u.ann.DM(), "You edited", "[Redo]")
	u.press("Redo")
	u.act("Ann presses “Redo”: what changes things asks again", u.ann.DM(), "You said: Redo", "May I run", `"milk"`, "[Yes, run it]")
	u.press("Yes, run it")
	u.act("Ann lets it run", u.ann.DM(), "it ran")
	u.open(false)
}

func (u *newDiscordUser) stops() {
	u.says("Ann asks for what takes too long", "call lab__look {}", "lab__look", inTheMaking)
	u.press("⏹ Stop")
	u.act("Ann presses “Stop”", u.ann.DM(), "Stopped.")
}

func (u *newDiscordUser) sendsFiles() {
	if _, err := u.ann.Command(u.ann.DM(), "model", map[string]any{"name": "main"}); err != nil {
		u.t.Fatal(err)
	}
	u.act("Ann turns to a model that sees", u.ann.DM(), "From now on I ask")
	u.ann.Post(u.ann.DM(), discord.Post{Text: "what is this?", Files: []discord.File{{Name: "cat.png", Content: telegram.Photo(40, 30).Data}}})
	u.act("Ann sends a photo", u.ann.DM(), "I see 1 of them")
	u.ann.Post(u.ann.DM(), discord.Post{Files: []discord.File{{Name: "voice-message.ogg", Type: "audio/ogg", Content: telegram.Voice(3).Data}}})
	u.act("Ann sends a voice note", u.ann.DM(), "You sent me this:", "audio/ogg")
}

func (u *newDiscordUser) edits() {
	u.says("Ann asks for what takes long", "look in the lab", "lab__look", inTheMaking)
	id := u.ann.Say("what is teh time?")
	u.ann.Edit(u.ann.DM(), id, "what is the time?")
	u.ann.Say("and the date?") // it is stored behind the edit
	u.heard("and the date?")
	u.open(true)
	u.act("Ann asks something else meanwhile, and mends it before its answer", u.ann.DM(), "It says: it ran", "You said: what is the time?")
	u.open(false)

	id = u.says("Ann asks for what takes long again", "Please look in the lab once more", "lab__look", inTheMaking)
	u.ann.Edit(u.ann.DM(), id, "Please look in the lab once more, and tell me in French")
	u.ann.Say("and thank you")
	u.heard("and thank you")
	u.open(true)
	u.act("Ann edits the question while it is worked on", u.ann.DM(), "En français", "You said: and thank you")
	u.open(false)
}

// heard waits until the newest message that says so bears the bot's receipt.
func (u *newDiscordUser) heard(text string) {
	u.t.Helper()
	eventually(u.t, answerWithin, "a receipt for "+text, func() error {
		_, after, _ := strings.Cut(u.view(u.ann.DM()), text)
		if !strings.Contains(after, "👀") {
			return fmt.Errorf("there is none:\n%s", after)
		}
		return nil
	})
}

func (u *newDiscordUser) deletes() {
	id := u.says("Ann tells a secret", "My PIN is 4711", "You said: My PIN is 4711")
	u.ann.Delete(u.ann.DM(), id)
	u.says("Ann deletes it, and asks what the bot remembers", "what did I tell you?", "You told me:", "and thank you")
	sent := u.dc.Sent(u.ann.DM())
	last := sent[len(sent)-1].Text
	if strings.Contains(last, "4711") {
		u.t.Errorf("it remembers: %s", last)
	}
	if strings.Contains(last, "mlik") {
		u.t.Errorf("what was done again is still told: %s", last)
	}
}

func (u *newDiscordUser) talksInAServer() {
	guild := u.dc.Guild("Home")
	room := guild.Channel("kitchen")
	u.ann.SayIn(room, "hello everybody")
	u.ann.SayIn(room, u.dc.Mention()+" help")
	u.act("In a server Ann speaks to everybody, and then to the bot", room, "┌ Ann:", "I can reach")
	sent := u.dc.Sent(room)
	if len(sent) != 1 {
		u.t.Errorf("the bot said %d things in the channel:\n%s", len(sent), u.view(room))
	}
	u.ann.Reply(room, sent[0].ID, "thank you")
	u.act("Ann replies to the bot", room, "You are welcome")
	if _, err := u.ann.Command(room, "status", nil); err != nil {
		u.t.Fatal(err)
	}
	u.act("Ann gives a slash command", room, "used /status", "Agent: ")
	eve := u.dc.User("Eve")
	eve.SayIn(room, u.dc.Mention()+" and me?")
	u.act("Eve, whom nobody has let in, speaks to the bot", room, "people my admin has let in")

	first := u.ann.SayIn(room, "let us talk of dinner")
	thread := u.ann.Thread(room, first, "Dinner")
	u.ann.SayIn(thread, u.dc.Mention()+" thank you")
	u.act("Ann opens a thread and speaks to the bot there", thread, "You are welcome")
	u.whole("The channel", room)
	u.whole("The thread", thread)
}
