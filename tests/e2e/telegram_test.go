package e2e

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"dragoman/tests/fake/telegram"
)

const answerWithin = time.Minute

// telegramConfig is a gateway on the fake Telegram, with aimock as its model and
// the npm filesystem server on a folder as its tools.
func telegramConfig(t testing.TB, tg *telegram.Server, mock *aimock, files, more string) string {
	t.Helper()
	script := nodePackage(t, "@modelcontextprotocol", "server-filesystem", "dist", "index.js")
	return `{
	"version": 1, "listen": "${LISTEN}",
	"models": {"main": {"type": "openai", "base_url": ` + quoted(mock.URL+"/v1") + `, "model": "m", "api_key": "sk-e2e-secret"}},
	"channels": {"tg": {"type": "telegram", "token": ` + quoted(tg.Token()) + `, "api_url": ` + quoted(tg.URL()) + `}},
	"mcp_servers": {"files": {"command": ` + quoted(node(t)) + `, "args": [` + quoted(script) + `, ` + quoted(files) + `]}},
	"tools": {"policy": {"files__read_*": "allow", "files__write_*": "ask"}},
	` + more + `
	"log": {"level": "debug"}
}`
}

// answers waits until the bot has posted n messages to a person, none of which is in
// the making any more: on a slow machine what runs is told where the answer comes.
func answers(t testing.TB, tg *telegram.Server, u *telegram.User, n int) []telegram.Sent {
	t.Helper()
	var sent []telegram.Sent
	eventually(t, answerWithin, fmt.Sprintf("%d answers", n), func() error {
		if sent = tg.Sent(u.ID()); len(sent) < n {
			return fmt.Errorf("there are %d: %+v", len(sent), sent)
		}
		if slices.ContainsFunc(sent, unfinished) {
			return fmt.Errorf("one is in the making: %+v", sent)
		}
		return nil
	})
	if len(sent) != n {
		t.Fatalf("the bot posted %d messages, want %d: %+v", len(sent), n, sent)
	}
	return sent
}

// unfinished reports whether a message shows what runs, or an answer that grows.
func unfinished(m telegram.Sent) bool {
	return slices.Contains(m.Buttons(), "⏹ Stop") || strings.HasSuffix(m.Text, " …")
}

// notes makes a folder with notes.txt in it.
func notes(t testing.TB, content string) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "notes.txt"), []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return dir
}

// seen answers once the model was shown a tool result that contains a text.
func seen(message, inResult, answer string) fixture {
	return fixture{
		"match":    map[string]any{"userMessage": message, "hasToolResult": true, "toolResultContains": inResult},
		"response": map[string]any{"content": answer},
	}
}

// wants answers a message with a call of one tool.
func wants(message, tool string, arguments map[string]any) fixture {
	return calls(message, tool, arguments, "")[0]
}

func open(mode string) string { return `"access": {"mode": "` + mode + `"},` }

func TestAFileIsReadOverTelegram(t *testing.T) {
	t.Parallel()
	files := notes(t, "the password is swordfish-4711\n")
	tg := telegram.New(telegram.Options{})
	t.Cleanup(tg.Close)
	mock := startAimock(t,
		wants("read notes.txt", "files__read_text_file", map[string]any{"path": filepath.Join(files, "notes.txt")}),
		seen("read notes.txt", "swordfish-4711", "It says: the password is swordfish-4711"))
	g := startGateway(t, telegramConfig(t, tg, mock, files, open("open")))
	ann := tg.User(1001, "Ann")
	ann.Say("please read notes.txt")
	got := answers(t, tg, ann, 1)[0]
	if got.Text != "It says: the password is swordfish-4711" {
		t.Errorf("the answer is %q", got.Text)
	}
	g.Term()
	answers(t, tg, ann, 1)
	for _, line := range g.proc.Lines() {
		if strings.Contains(line, "sk-e2e-secret") || strings.Contains(line, tg.Token()) {
			t.Errorf("a secret is in the log: %s", line)
		}
	}
}

func TestAskFirstOverTelegram(t *testing.T) {
	t.Parallel()
	files := notes(t, "")
	target := filepath.Join(files, "new.txt")
	tg := telegram.New(telegram.Options{})
	t.Cleanup(tg.Close)
	write := func(word string) []fixture {
		return []fixture{
			wants(word, "files__write_file", map[string]any{"path": target, "content": word}),
			seen(word, "said no", "Then not."),
			seen(word, "Successfully wrote", "Done."),
		}
	}
	mock := startAimock(t, append(write("alpha"), write("bravo")...)...)
	g := startGateway(t, telegramConfig(t, tg, mock, files, open("open")))
	ann, eve := tg.User(1001, "Ann"), tg.User(1002, "Eve")

	ann.Say("write alpha")
	q := answers(t, tg, ann, 1)[0]
	if !strings.Contains(q.Text, "files__write_file") || !strings.Contains(q.Text, "new.txt") || fmt.Sprint(q.Buttons()) != "[Yes, run it No]" {
		t.Fatalf("the question is %q with %q", q.Text, q.Buttons())
	}
	eve.Say("hello") // so that she has a chat of her own
	g.Restart()
	if err := ann.Press(q.ID, "Yes, run it"); err != nil {
		t.Fatal(err)
	}
	if got := answers(t, tg, ann, 2)[1].Text; got != "Done." {
		t.Errorf("after the yes: %q", got)
	}
	if b, err := os.ReadFile(target); err != nil || string(b) != "alpha" {
		t.Errorf("the file holds %q (%v)", b, err)
	}
	eventually(t, answerWithin, "the buttons are gone", func() error {
		if m := tg.Sent(ann.ID())[0]; len(m.Rows) > 0 {
			return fmt.Errorf("it shows %+v", m)
		}
		return nil
	})

	ann.Say("write bravo")
	q = answers(t, tg, ann, 3)[2]
	if err := ann.Press(q.ID, "No"); err != nil {
		t.Fatal(err)
	}
	if got := answers(t, tg, ann, 4)[3].Text; got != "Then not." {
		t.Errorf("after the no: %q", got)
	}
	if b, _ := os.ReadFile(target); string(b) != "alpha" {
		t.Errorf("the file holds %q: the tool ran after a no", b)
	}
}

func TestAStrangersPressInAGroupIsIgnored(t *testing.T) {
	t.Parallel()
	files := notes(t, "")
	tg := telegram.New(telegram.Options{})
	t.Cleanup(tg.Close)
	mock := startAimock(t,
		wants("write alpha", "files__write_file", map[string]any{"path": filepath.Join(files, "new.txt"), "content": "alpha"}),
		seen("write alpha", "Successfully wrote", "Done."))
	startGateway(t, telegramConfig(t, tg, mock, files, open("open")))
	ann, eve := tg.User(1001, "Ann"), tg.User(1002, "Eve")
	group := tg.Group(-5000, "Kitchen")
	inGroup := func(n int) []telegram.Sent {
		t.Helper()
		var sent []telegram.Sent
		eventually(t, answerWithin, "messages in the group", func() error {
			if sent = tg.Sent(group.ID()); len(sent) < n || slices.ContainsFunc(sent, unfinished) {
				return fmt.Errorf("there are %+v", sent)
			}
			return nil
		})
		return sent
	}
	ann.SayIn(group, "@"+telegram.DefaultUsername+" write alpha")
	q := inGroup(1)[0]
	if err := eve.PressIn(group, q.ID, "Yes, run it"); err != nil {
		t.Fatal(err)
	}
	eventually(t, answerWithin, "the stranger's press is answered, so that her button rests", func() error {
		if answered, pressed := tg.Answered(); answered != pressed {
			return fmt.Errorf("%d of %d", answered, pressed)
		}
		return nil
	})
	if _, err := os.Stat(filepath.Join(files, "new.txt")); err == nil {
		t.Fatal("a stranger's press ran the tool")
	}
	if err := ann.PressIn(group, q.ID, "Yes, run it"); err != nil {
		t.Fatal(err)
	}
	if got := inGroup(2)[1].Text; got != "Done." {
		t.Errorf("after Ann's press: %q", got)
	}
}

func TestAStrangerIsPairedByCode(t *testing.T) {
	t.Parallel()
	tg := telegram.New(telegram.Options{})
	t.Cleanup(tg.Close)
	mock := startAimock(t, says("hello", "Hello yourself."))
	g := startGateway(t, telegramConfig(t, tg, mock, notes(t, ""), open("pairing")))
	eve := tg.User(1002, "Eve")
	for range 3 {
		eve.Say("hello")
	}
	refusal := answers(t, tg, eve, 1)[0].Text
	eventually(t, answerWithin, "all that she said is taken", func() error { // or some of it is answered once she is in
		if n := tg.Pending(); n > 0 {
			return fmt.Errorf("%d updates wait", n)
		}
		return nil
	})
	list, _, _ := g.CLI("pair", "list", "--json")
	var waiting []struct{ Code, Identity, State string }
	if err := json.Unmarshal([]byte(list), &waiting); err != nil || len(waiting) != 1 || waiting[0].Identity != "tg:1002" {
		t.Fatalf("pair list says %s (%v)", list, err)
	}
	code := waiting[0].Code
	if !strings.Contains(refusal, code[:4]+"-"+code[4:]) {
		t.Errorf("the refusal does not show the code %s: %q", code, refusal)
	}
	if n := len(mock.Journal(nil)); n != 0 {
		t.Errorf("a stranger caused %d model calls", n)
	}
	if _, stderr, exit := g.CLI("pair", "approve", "WRONGONE"); exit != 1 || !strings.Contains(stderr, "no such code") {
		t.Errorf("a wrong code: exit %d, %q", exit, stderr)
	}
	if out, stderr, exit := g.CLI("pair", "approve", code); exit != 0 {
		t.Fatalf("pair approve: exit %d, %s%s", exit, out, stderr)
	}
	if got := answers(t, tg, eve, 2)[1].Text; !strings.Contains(got, "You are in") {
		t.Errorf("she is told %q", got)
	}
	eve.Say("hello")
	if got := answers(t, tg, eve, 3)[2].Text; got != "Hello yourself." {
		t.Errorf("once in: %q", got)
	}
}

func TestTheFirstAdminPairsByTheCodeOnStderr(t *testing.T) {
	t.Parallel()
	tg := telegram.New(telegram.Options{})
	t.Cleanup(tg.Close)
	mock := startAimock(t, says("hello", "Hello yourself."))
	g := startGateway(t, telegramConfig(t, tg, mock, notes(t, ""), open("pairing")))
	code := g.WaitLine(`/start ([A-Z0-9]{8})`, answerWithin)[1]
	ann := tg.User(1001, "Ann")
	ann.Say("/start " + code)
	if got := answers(t, tg, ann, 1)[0].Text; !strings.Contains(got, "admin") {
		t.Errorf("the first admin is told %q", got)
	}
	ann.Say("hello")
	answers(t, tg, ann, 2)
	g.Restart()
	for _, line := range g.proc.Lines() {
		if strings.Contains(line, "/start ") {
			t.Errorf("with an admin known a code is shown still: %s", line)
		}
	}
}

// What Telegram refuses for a while arrives later, once, whole and in order.
func TestTelegramsLimitsDelayAnAnswerAndLoseNothing(t *testing.T) {
	t.Parallel()
	tg := telegram.New(telegram.Options{})
	t.Cleanup(tg.Close)
	var long strings.Builder
	for i := range 1200 {
		fmt.Fprintf(&long, "word%04d ", i)
	}
	mock := startAimock(t, says("tell me", strings.TrimSpace(long.String())), says("and then", "The end."))
	g := startGateway(t, telegramConfig(t, tg, mock, notes(t, ""), open("open")))
	ann := tg.User(1001, "Ann")
	tg.Fail("sendMessage", 2, telegram.TooManyRequests(1))
	tg.Fail("getUpdates", 1, telegram.BadGateway)
	ann.Say("tell me")
	answers(t, tg, ann, 3)
	ann.Say("and then")
	sent := answers(t, tg, ann, 4)
	var words []string
	for _, m := range sent[:3] {
		words = append(words, strings.Fields(m.Text)...)
	}
	if got := strings.Join(words, " "); got != strings.TrimSpace(long.String()) {
		t.Errorf("the parts joined are %d words, from %.20q to %.20q", len(words), got, got[max(0, len(got)-20):])
	}
	if sent[3].Text != "The end." {
		t.Errorf("the last answer is %q", sent[3].Text)
	}
	g.Term()
}
