package e2e

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"dragoman/tests/fake/discord"
	"dragoman/tests/fake/model"
	"dragoman/tests/fake/telegram"
)

// coder is a model that answers with n bytes of Go, and the code.
func coder(t testing.TB, n int) (url, code string) {
	t.Helper()
	var b strings.Builder
	for i := 0; b.Len() < n; i++ {
		fmt.Fprintf(&b, "func f%d() int {\n\treturn %d // 😀 ` ``\n}\n\n", i, i)
	}
	code = b.String()
	m := model.New(model.Options{Answer: func(model.Request) model.Reply {
		return model.Reply{Text: "Here it is:\n\n```go\n" + code + "```\n\nRun it with **go run**."}
	}})
	t.Cleanup(m.Close)
	return m.URL(), code
}

func coderConfig(url, channel string) string {
	return `{"listen": "${LISTEN}", "models": {"main": {"type": "openai", "base_url": ` + quoted(url) + `, "model": "m", "api_key": "k"}},
		"channels": {"chat": ` + channel + `}, "access": {"mode": "open", "rate": ""}}`
}

// TestVeryLongCodeComesAsAFileAlsoAfterACrash: the text names the file, and the file
// comes once and whole, though the gateway died between the two.
func TestVeryLongCodeComesAsAFileAlsoAfterACrash(t *testing.T) {
	t.Parallel()
	tg := telegram.New(telegram.Options{})
	t.Cleanup(tg.Close)
	url, code := coder(t, 20_000)
	tg.Fail("sendDocument", -1, telegram.ServerError)
	g := startGateway(t, coderConfig(url, `{"type": "telegram", "streaming": "off", "token": `+quoted(tg.Token())+`, "api_url": `+quoted(tg.URL())+`}`))
	ann := tg.User(1, "Ann")
	ann.Say("write it")
	eventually(t, answerWithin, "an upload is tried", func() error {
		if tg.Calls("sendDocument") == 0 {
			return fmt.Errorf("the chat shows\n%s", tg.Transcript(ann.ID()))
		}
		return nil
	})
	g.Kill()
	tg.Mend("sendDocument")
	g.Start()
	g.WaitReady()
	sent := answers(t, tg, ann, 2)
	if text := sent[0].Text; !strings.Contains(text, "Here it is:") || !strings.Contains(text, "answer-1.go") || !strings.Contains(text, "go run") || strings.Contains(text, "func") {
		t.Errorf("the text is %q", text)
	}
	if f := sent[1].File; f == nil || f.Kind != "document" || f.Name != "answer-1.go" || string(f.Data) != code {
		t.Errorf("the file is %+v", sent[1])
	}
}

// TestVeryLongCodeComesAsAFileInDiscord, which takes less in a message.
func TestVeryLongCodeComesAsAFileInDiscord(t *testing.T) {
	t.Parallel()
	dc := discord.New(discord.Options{})
	t.Cleanup(dc.Close)
	url, code := coder(t, 4_500)
	startGateway(t, coderConfig(url, `{"type": "discord", "token": `+quoted(dc.Token())+`, "api_url": `+quoted(dc.URL())+`}`))
	ann := dc.User("Ann")
	eventually(t, answerWithin, "the bot listens", func() error {
		if dc.Gateway().Connected == 0 {
			return fmt.Errorf("nobody is connected")
		}
		return nil
	})
	room := ann.DM()
	ann.Say("write it")
	with := inDiscord(t, dc, room, "the file", func(m discord.Sent) bool { return len(m.Files) > 0 })
	if f := with.Files[0]; f.Name != "answer-1.go" || string(f.Content) != code {
		t.Errorf("the file is %s with %d bytes, want %d", f.Name, len(f.Content), len(code))
	}
	all := dc.Sent(room)
	at := slices.IndexFunc(all, tells("Here it is"))
	if len(all) != 2 || at != 0 || !strings.Contains(all[0].Text, "`answer-1.go`") || strings.Contains(all[0].Text, "func") {
		t.Errorf("the room shows\n%s", dc.Transcript(room))
	}
}
