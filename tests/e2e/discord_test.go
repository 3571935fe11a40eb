package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"dragoman/tests/fake/discord"
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
	g.Kill()
	ann.Say("help")
	g.Start()
	g.WaitReady()
	inDiscord(t, dc, ann.DM(), "the answer after the death", func(m discord.Sent) bool { return !strings.Contains(m.Text, "UTC: ") })
	if n := len(dc.Sent(ann.DM())); n != 2 {
		t.Errorf("two questions got %d answers:\n%s", n, dc.Transcript(ann.DM()))
	}
}
