package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"dragoman/tests/fake/discord"
	"dragoman/tests/fake/model"
)

// discordConfig is a gateway on the fake Discord, with the demo model and the gated
// server, that lets nobody in who was not paired.
func discordConfig(t testing.TB, dc *discord.Server, dir string) string {
	t.Helper()
	script := filepath.Join(dir, "server.sh")
	if err := os.WriteFile(script, []byte(gatedServer), 0o600); err != nil {
		t.Fatal(err)
	}
	vars := `"OPEN": ` + quoted(filepath.Join(dir, "open")) + `, "RAN": ` + quoted(filepath.Join(dir, "ran"))
	return `{
	"listen": "${LISTEN}", "models": {"main": {"type": "demo"}}, "log": {"format": "json", "level": "info"},
	"channels": {"dc": {"type": "discord", "token": ` + quoted(dc.Token()) + `, "api_url": ` + quoted(dc.URL()) + `}},
	"mcp_servers": {"gated": {"command": "/bin/sh", "args": [` + quoted(script) + `], "trusted": true, "env": {` + vars + `}}},
	"tools": {"default": "allow"}
}`
}

// inDiscord waits until a room shows a message of the bot that ok accepts.
func inDiscord(t testing.TB, dc *discord.Server, room, what string, ok func(discord.Sent) bool) discord.Sent {
	t.Helper()
	var found discord.Sent
	eventually(t, answerWithin, what, func() error {
		for _, m := range dc.Sent(room) {
			if ok(m) {
				found = m
				return nil
			}
		}
		return fmt.Errorf("the room shows\n%s", dc.Transcript(room))
	})
	return found
}

func tells(text string) func(discord.Sent) bool {
	return func(m discord.Sent) bool { return strings.Contains(m.Text, text) }
}

func TestADiscordBotIsPairedAskedAndStopped(t *testing.T) {
	t.Parallel()
	dc := discord.New(discord.Options{})
	t.Cleanup(dc.Close)
	dir := t.TempDir()
	g := startGateway(t, discordConfig(t, dc, dir))
	g.WaitLine("mcp_server_connected", readyWithin)
	code := g.WaitLine(`/start ([A-Z0-9-]{6,})`, answerWithin)[1]
	eventually(t, answerWithin, "the bot listens", func() error {
		if dc.Gateway().Connected == 0 {
			return fmt.Errorf("nobody is connected")
		}
		return nil
	})
	ann := dc.User("Ann")
	ann.Say("/start " + code)
	inDiscord(t, dc, ann.DM(), "the welcome", tells("You are this bot's admin"))

	ann.Say("what time is it in Tokyo?")
	inDiscord(t, dc, ann.DM(), "the answer", tells("UTC: "))
	if _, err := ann.Command(ann.DM(), "status", nil); err != nil {
		t.Fatal(err)
	}
	inDiscord(t, dc, ann.DM(), "the status", tells("Agent"))

	ann.Say("call gated__look {}")
	button := inDiscord(t, dc, ann.DM(), "the stop button", func(m discord.Sent) bool { return len(m.Buttons()) == 1 })
	if _, err := ann.Press(ann.DM(), button.ID, button.Buttons()[0]); err != nil {
		t.Fatal(err)
	}
	inDiscord(t, dc, ann.DM(), "the end of the turn", tells("Stopped."))

	// Whoever is not paired gets no answer but how to be.
	bob := dc.User("Bob")
	bob.Say("what time is it in Tokyo?")
	if m := inDiscord(t, dc, bob.DM(), "the refusal", func(discord.Sent) bool { return true }); strings.Contains(m.Text, "UTC") {
		t.Errorf("a stranger was answered %q", m.Text)
	}
}

func TestADiscordBotMissesNothingWhileItIsDead(t *testing.T) {
	t.Parallel()
	dc := discord.New(discord.Options{})
	t.Cleanup(dc.Close)
	config := strings.Replace(discordConfig(t, dc, t.TempDir()), `"tools"`, `"access": {"mode": "open", "rate": ""}, "tools"`, 1)
	g := startGateway(t, config)
	eventually(t, answerWithin, "the bot listens", func() error {
		if dc.Gateway().Connected == 0 {
			return fmt.Errorf("nobody is connected")
		}
		return nil
	})
	ann := dc.User("Ann")
	ann.Say("what time is it in Tokyo?")
	inDiscord(t, dc, ann.DM(), "the first answer", tells("UTC: "))
	eventually(t, answerWithin, "the gateway knows that it came", func() error { return nothingPending(g.Dir) })
	g.Kill()
	ann.Say("help")
	g.Start()
	g.WaitReady()
	inDiscord(t, dc, ann.DM(), "the answer after the death", func(m discord.Sent) bool { return !strings.Contains(m.Text, "UTC: ") })
	if n := len(dc.Sent(ann.DM())); n != 2 {
		t.Errorf("two questions got %d answers:\n%s", n, dc.Transcript(ann.DM()))
	}
}

// A question that opened a thread is a part of what is said there: once its person
// deletes it, the model does not hear of it any more.
func TestADeletedQuestionIsForgottenByTheThreadThatItOpened(t *testing.T) {
	t.Parallel()
	dc := discord.New(discord.Options{})
	m := model.New(model.Options{Answer: func(r model.Request) model.Reply {
		text := "I heard:"
		for _, m := range r.Messages {
			if m.Role == "user" {
				text += " " + m.Text
			}
		}
		return model.Reply{Text: strings.ReplaceAll(text, "pomegranate", "a fruit")}
	}})
	t.Cleanup(m.Close)
	onDiscord(t, dc, m, `, "threads": true`)
	ann, room := dc.User("Ann"), dc.Guild("Team").Channel("general")
	thread := ann.SayIn(room, dc.Mention()+" remember pomegranate")
	inDiscord(t, dc, thread, "the answer in a thread", tells("remember a fruit"))
	ann.SayIn(thread, "and this")
	inDiscord(t, dc, thread, "what it remembers", tells("remember a fruit Ann: and this"))
	ann.Delete(room, thread)
	ann.SayIn(thread, "what do you remember?")
	last := inDiscord(t, dc, thread, "what it remembers now", tells("what do you remember?"))
	if strings.Contains(last.Text, "fruit") || !strings.Contains(last.Text, "and this") {
		t.Errorf("it remembers %q", last.Text)
	}
	if n := len(dc.Sent(room)); n != 0 {
		t.Errorf("the channel has %d messages of the bot", n)
	}
}

// Discord takes an answer to a command for a quarter of an hour.
func TestAnAnswerThatIsTooLateForItsCommandIsAMessage(t *testing.T) {
	t.Parallel()
	dc := discord.New(discord.Options{})
	think := make(chan struct{})
	m := model.New(model.Options{Answer: func(model.Request) model.Reply { <-think; return model.Reply{Text: "42"} }})
	t.Cleanup(m.Close)
	onDiscord(t, dc, m, "")
	eventually(t, answerWithin, "the commands", func() error {
		if names, _ := dc.Commands(""); !slices.Contains(names, "ask") || !slices.Contains(names, "forget") || !slices.Contains(names, "busy") {
			return fmt.Errorf("there are %q", names)
		}
		return nil
	})
	ann := dc.User("Ann")
	i, err := ann.Command(ann.DM(), "ask", map[string]any{"text": "what is the answer?"})
	if err != nil {
		t.Fatal(err)
	}
	eventually(t, answerWithin, "the question is with the model", func() error {
		if m.Calls() == 0 {
			return fmt.Errorf("it was not asked")
		}
		return nil
	})
	eventually(t, answerWithin, "the question is acknowledged", func() error { // beside its turn
		if !i.Acknowledged() {
			return fmt.Errorf("it is not")
		}
		return nil
	})
	dc.Advance(16 * time.Minute)
	close(think)
	if got := inDiscord(t, dc, ann.DM(), "the answer", tells("42")); got.Thinking {
		t.Errorf("it is %+v", got)
	}
	if n := strings.Count(dc.Transcript(ann.DM()), "42"); n != 1 {
		t.Errorf("it came %d times:\n%s", n, dc.Transcript(ann.DM()))
	}
}
