package discord

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
)

// modules is where npm ci installed discord.js. Where it is missing the test is
// skipped, in CI it fails.
func modules(t *testing.T) string {
	t.Helper()
	dir, err := filepath.Abs("../../node_modules")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "discord.js")); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatalf("discord.js is not installed: %v", err)
		}
		t.Skipf("SKIPPED, not proven: discord.js is not installed (npm ci in tests/): %v", err)
	}
	return dir
}

// foreign is a bot that nobody here wrote the library of.
type foreign struct {
	t     *testing.T
	lines chan map[string]any
}

// foreignBot runs the bot of testdata until the test ends.
func foreignBot(t *testing.T, s *Server) *foreign {
	t.Helper()
	return foreignClient(t, s, "bot.mjs")
}

func foreignClient(t *testing.T, s *Server, file string) *foreign {
	t.Helper()
	dir := modules(t)
	node := filepath.Join(dir, ".bin", "node")
	if _, err := os.Stat(node); err != nil {
		node = "node"
	}
	cmd := exec.Command(node, "testdata/"+file)
	cmd.Env = append(os.Environ(), "FAKE="+s.URL(), "TOKEN="+s.Token(), "MODULES="+dir)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	f := &foreign{t: t, lines: make(chan map[string]any, 1000)}
	read := make(chan struct{})
	go func() {
		defer close(read)
		defer close(f.lines)
		for in := bufio.NewScanner(out); in.Scan(); {
			line := map[string]any{}
			if json.Unmarshal(in.Bytes(), &line) != nil {
				line["what"] = in.Text()
			}
			f.lines <- line
		}
	}()
	t.Cleanup(func() {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		<-read
		_ = cmd.Wait() // killed: its status says no more
		if !t.Failed() {
			return
		}
		for line := range f.lines {
			t.Logf("the bot also said: %v", line)
		}
		t.Logf("stderr of the bot: %s", stderr.String())
	})
	return f
}

// sees waits for a line of a kind and, if fields are named, with this first one; the others
// must be these. Other lines before it are fine, but none that tells of an error.
func (f *foreign) sees(what string, fields ...any) map[string]any {
	f.t.Helper()
	late := time.After(2 * time.Minute)
	for {
		select {
		case line, there := <-f.lines:
			switch {
			case !there:
				f.t.Fatalf("the bot ended, and did not see: %s", what)
			case line["what"] == "error" || line["what"] == "failed" || line["what"] == "warn":
				f.t.Fatalf("the bot complains: %v", line)
			case line["what"] != what, len(fields) > 0 && fmt.Sprint(line[fields[0].(string)]) != fmt.Sprint(fields[1]):
				continue
			}
			for i := 0; i < len(fields); i += 2 {
				if got := line[fields[i].(string)]; fmt.Sprint(got) != fmt.Sprint(fields[i+1]) {
					f.t.Errorf("%s: %v is %v, want %v", what, fields[i], got, fields[i+1])
				}
			}
			return line
		case <-late:
			f.t.Fatalf("the bot did not see: %s", what)
		}
	}
}

// shows waits until the last message of the bot in a channel is this text.
func shows(t *testing.T, s *Server, channel, text string) Sent {
	t.Helper()
	var last Sent
	waitFor(t, func() bool {
		sent := s.Sent(channel)
		if len(sent) > 0 {
			last = sent[len(sent)-1]
		}
		return last.Text == text
	})
	return last
}

// TestABotOnDiscordJSSeesDiscord has a library that knows the real Discord talk to
// the fake: what it cannot read or send the fake has wrong.
func TestABotOnDiscordJSSeesDiscord(t *testing.T) {
	s := start(t, Options{})
	ann := s.User("ann")
	guild := s.Guild("Team")
	room := guild.Channel("general")
	bot := foreignBot(t, s)
	bot.sees("ready", "user", DefaultUsername, "application", BotID, "guilds", "[Team]")
	if names, _ := s.Commands(""); !slices.Equal(names, []string{"ask", "Ask about this"}) {
		t.Errorf("commands: %v", names)
	}
	asked := ann.SayIn(room, s.Mention()+" answer")
	bot.sees("message", "text", s.Mention()+" answer", "author", "ann", "guild", "Team", "mentioned", true, "thread", false, "type", typeDefault)
	if m := shows(t, s, room, "hello "+ann.Mention()); m.ReplyTo != asked || len(m.Pinged) != 0 || m.Nonce != "7" {
		t.Errorf("%+v", m)
	}
	ann.Reply(room, asked, "quoted")
	bot.sees("message", "reply", asked, "type", typeReply)
	bot.sees("quoted", "text", s.Mention()+" answer")
	ann.Say("edit")
	bot.sees("message", "text", "edit", "guild", "")
	if m := shows(t, s, ann.DM(), "second"); m.Edits != 1 {
		t.Errorf("%+v", m)
	}
	ann.Say("remove")
	bot.sees("deleted")
	shows(t, s, ann.DM(), "second")
	ann.SayIn(room, "dm")
	shows(t, s, ann.DM(), "in private")
	said := ann.SayIn(room, "react")
	waitFor(t, func() bool { return len(s.Reacted(room, said, "👀")) == 1 })
	ann.React(room, said, "👍")
	bot.sees("reaction", "emoji", "👍", "user", ann.ID())
	ann.Edit(room, said, "read better")
	bot.sees("edited", "text", "read better", "edited", true)
	s.Unfurl(room, said)
	bot.sees("edited", "embeds", 1)
	ann.Delete(room, said)
	bot.sees("deleted", "id", said)
	ann.SayIn(room, "typing")
	waitFor(t, func() bool { return s.Typings(room) == 1 })
	ann.SayIn(room, "embed")
	waitFor(t, func() bool { l := s.Sent(room); return l[len(l)-1].Embeds == 1 })
	ann.DeleteMany(room, ann.SayIn(room, "a"), ann.SayIn(room, "b"))
	bot.sees("deletedMany")
	s.Guild("Other")
	bot.sees("guild", "name", "Other")
}

func TestABotOnDiscordJSHandlesFilesThreadsAndRefusals(t *testing.T) {
	s := start(t, Options{})
	ann := s.User("ann")
	room := s.Guild("Team").Channel("general")
	bot := foreignBot(t, s)
	bot.sees("ready")
	ann.SayIn(room, "file")
	waitFor(t, func() bool { return len(s.Sent(room)) == 1 })
	if f := s.Sent(room)[0].Files; len(f) != 1 || f[0].Name != "table.csv" || string(f[0].Content) != "a,b\n" {
		t.Errorf("%+v", f)
	}
	ann.Post(room, Post{Text: "read", Files: []File{{Name: "note.txt", Content: []byte("a note")}}})
	bot.sees("message", "text", "read", "files", 1)
	if line := bot.sees("read", "text", "a note", "size", 6); !strings.HasPrefix(fmt.Sprint(line["type"]), "text/plain") {
		t.Errorf("%v", line)
	}
	thread := ann.SayIn(room, "thread")
	bot.sees("thread", "name", "Talk", "parent", "general")
	shows(t, s, thread, "in here")
	ann.SayIn(thread, "here too")
	bot.sees("message", "text", "here too", "thread", true, "guild", "Team")
	other := ann.Thread(room, ann.SayIn(room, "start"), "Hers")
	bot.sees("thread", "name", "Hers")
	ann.SayIn(other, "answer")
	shows(t, s, other, "hello "+ann.Mention())
	ann.Say("one")
	ann.Say("two")
	ann.Say("history")
	if got := fmt.Sprint(bot.sees("history")["texts"]); got != "[two one]" {
		t.Errorf("%s", got)
	}
	for name, want := range map[string][2]int{"long": {50035, 400}, "empty": {50006, 400}, "unknown": {10003, 404}, "foreign": {50005, 403}} {
		ann.Say(name)
		bot.sees("refused", "name", name, "code", want[0], "status", want[1])
	}
}

func TestABotOnDiscordJSAnswersInteractions(t *testing.T) {
	s := start(t, Options{AnswerFor: time.Minute})
	ann := s.User("ann")
	room := s.Guild("Team").Channel("general")
	bot := foreignBot(t, s)
	bot.sees("ready")
	for _, channel := range []string{room, ann.DM()} {
		in, err := ann.Command(channel, "ask", map[string]any{"text": "rain", "private": channel == room})
		if err != nil {
			t.Fatal(err)
		}
		bot.sees("interaction", "command", "ask", "text", "rain", "user", "ann", "dm", channel != room)
		if m := shows(t, s, channel, "and more"); (m.OnlyFor == "ann") != (channel == room) {
			t.Errorf("%+v", m)
		}
		if m, _ := in.Response(); m.Text != "about rain" || m.Thinking {
			t.Errorf("%+v", m)
		}
		bot.sees("refused", "name", "twice")
		bot.sees("refused", "name", "again", "code", 40060)
	}
	for button, want := range map[string]string{"Yes": "Thanks", "No": "Then not"} {
		ann.SayIn(room, "buttons")
		m := shows(t, s, room, "May I?")
		if !slices.Equal(m.Buttons(), []string{"Yes", "No", "Site"}) {
			t.Errorf("%v", m.Rows)
		}
		in, err := ann.Press(room, m.ID, button)
		if err != nil {
			t.Fatal(err)
		}
		bot.sees("interaction", "button", strings.ToLower(button))
		waitFor(t, func() bool { r, _ := in.Response(); return r.Text == want && len(r.Rows) == 0 })
		if button == "No" {
			if m := shows(t, s, room, "For you"); m.OnlyFor != "ann" {
				t.Errorf("%+v", m)
			}
		}
	}
}

func TestABotOnDiscordJSComesBackAsItWould(t *testing.T) {
	s := start(t, Options{})
	ann := s.User("ann")
	bot := foreignBot(t, s)
	bot.sees("ready")
	heard := func(text string) {
		t.Helper()
		bot.sees("message", "text", text)
	}
	s.CutGateway()
	ann.Say("during a cut")
	heard("during a cut")
	s.AskReconnect()
	bot.sees("reconnecting")
	ann.Say("during op 7")
	heard("during op 7")
	s.AskReconnectFirst(1)
	s.CutGateway()
	ann.Say("op 7 first")
	heard("op 7 first")
	if g := s.Gateway(); g.Identifies != 1 || g.Resumes < 3 {
		t.Errorf("%+v", g)
	}
	s.RefuseResumes(1)
	s.CutGateway()
	waitFor(t, func() bool { return s.Gateway().RefusedResumes == 1 })
	bot.sees("shardReady")
	ann.Say("after a refusal")
	heard("after a refusal")
	s.Invalidate(false)
	bot.sees("shardReady")
	ann.Say("after op 9")
	heard("after op 9")
	if g := s.Gateway(); g.Identifies != 3 || g.Connected != 1 {
		t.Errorf("%+v", g)
	}
	s.CloseGateway(CloseBadToken, "Authentication failed.")
	bot.sees("disconnected", "code", CloseBadToken)
}
