package telegram

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
	"sync"
	"testing"
	"time"

	"dragoman/tests/fake/dts"
)

// grammy is a bot of a library that nobody here wrote (testdata/bot.mjs), which
// knows Telegram and nothing of the fake.
type grammy struct {
	t      *testing.T
	types  dts.Types
	stderr bytes.Buffer
	done   chan struct{}

	mu   sync.Mutex
	told []map[string]any
	news chan struct{}
}

// runGrammy runs the bot until the test ends.
func runGrammy(t *testing.T, s *Server, env ...string) *grammy {
	t.Helper()
	g := &grammy{t: t, types: grammyTypes(t), done: make(chan struct{}), news: make(chan struct{}, 1)}
	installed(t, "grammy")
	cmd := exec.Command(installed(t, ".bin", "node"), "testdata/bot.mjs")
	cmd.Env = append(os.Environ(), append(env, "API="+s.URL(), "TOKEN="+s.Token())...)
	cmd.Stderr = &g.stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go g.listen(bufio.NewScanner(out))
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		<-g.done
		_ = cmd.Wait()
		if t.Failed() {
			t.Logf("the bot said %s", &g.stderr)
		}
	})
	return g
}

func (g *grammy) listen(lines *bufio.Scanner) {
	defer close(g.done)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var one map[string]any
		if json.Unmarshal(lines.Bytes(), &one) != nil {
			continue
		}
		g.mu.Lock()
		g.told = append(g.told, one)
		g.mu.Unlock()
		select {
		case g.news <- struct{}{}:
		default:
		}
	}
}

// await is the first thing the bot told that has a key, and takes it out.
func (g *grammy) await(key string) map[string]any {
	g.t.Helper()
	limit := time.After(2 * time.Minute)
	for {
		if one := g.take(key); one != nil {
			return one
		}
		select {
		case <-g.news:
		case <-g.done:
			if one := g.take(key); one != nil {
				return one
			}
			g.t.Fatalf("the bot ended without %s: %s", key, &g.stderr)
		case <-limit:
			g.t.Fatalf("the bot does not tell of %s; it told %v", key, g.told)
		}
	}
}

func (g *grammy) take(key string) map[string]any {
	g.mu.Lock()
	defer g.mu.Unlock()
	for i, one := range g.told {
		if _, ok := one[key]; ok {
			g.told = slices.Delete(g.told, i, i+1)
			return one
		}
	}
	return nil
}

// has is how many of the things told have a key.
func (g *grammy) has(key string) (n int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, one := range g.told {
		if _, ok := one[key]; ok {
			n++
		}
	}
	return n
}

// check holds all updates and answers that the bot had to the official types.
func (g *grammy) check() (updates, answers int) {
	g.t.Helper()
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, one := range g.told {
		var out []string
		switch {
		case one["update"] != nil:
			updates++
			out = g.types.Differences("update", one["update"], "Update")
		case one["method"] != nil && one["ok"] == true:
			answers++
			name := fmt.Sprint(one["method"])
			_, result, ok := g.types.Method("ApiMethods", name)
			if !ok {
				g.t.Errorf("the types do not know %s", name)
			}
			if name == "sendMediaGroup" { // the types forget that documents and audio have a media_group_id too
				result = "Message[]"
			}
			out = g.types.Differences(name, one["result"], result)
		case one["uncaught"] != nil:
			out = []string{fmt.Sprint(one["uncaught"])}
		}
		for _, line := range out {
			g.t.Error("not as the types say: ", line)
		}
	}
	return updates, answers
}

func TestGrammyTalksToTheFake(t *testing.T) {
	s := start(t, Options{Topics: true})
	g := runGrammy(t, s)
	g.await("me")
	ann := s.User(7, "Ann")

	ann.Say("/start")
	sent := shown(t, s, 7, 1)[0]
	if err := ann.Press(sent.ID, "Yes"); err != nil {
		t.Fatal(err)
	}
	g.refusal("message is not modified", 400)
	g.refusal("query is too old", 400)
	if m := s.Sent(7)[0]; m.Text != "It is done." || m.ReplyTo != 1 || m.Quote != "start" || brief(m.Entities) != "[{bold 6 4}]" || s.Toast() != "as you wish" {
		t.Errorf("after the press Ann sees %+v", m)
	}
	ann.Post(Post{File: Photo(100, 50), Text: "a photo"})
	ann.Post(Post{File: Voice(2)})
	ann.Post(Post{File: Document("x.txt", "text/plain", []byte("0123456789"))})
	if m := shown(t, s, 7, 4)[3]; m.File == nil || string(m.File.Data) != "0123456789" || m.Text != "10 bytes" || m.File.Name != "back.bin" {
		t.Errorf("a document came back as %+v", m)
	}
	ann.Say("/album")
	if m := shown(t, s, 7, 6); m[4].Album == "" || m[4].Album != m[5].Album || m[4].Text != "first" || string(m[5].File.Data) != "two" {
		t.Errorf("the album is %+v", m[4:])
	}
	ann.Say("/menu")
	g.await("menu")
	if !strings.Contains(string(ann.Menu()), "begin") {
		t.Errorf("Ann's menu is %s", ann.Menu())
	}
	ann.Edit(ann.Say("/draft"), "changed")
	g.await("drafted")
	if d, ok := ann.Draft(0); !ok || d.Text != "so far" || d.Changes != 3 || s.Typing(7) != 1 {
		t.Errorf("Ann sees the draft %+v, %t", d, ok)
	}
	until(t, "a reaction to the edit", func() bool { return strings.Contains(s.Transcript(7), "👀") })
	ann.React(sent.ID, "🔥")
	if m := shown(t, s, 7, 7)[6]; m.Text != "liked: 🔥" {
		t.Errorf("after the reaction: %+v", m)
	}
	g.await("refused")
	g.inTopics(s, ann)
	if updates, answers := g.check(); updates < 10 || answers < 20 {
		t.Errorf("only %d updates and %d answers were looked at", updates, answers)
	}
}

// inTopics has Ann talk in a topic of the private chat and of a group.
func (g *grammy) inTopics(s *Server, ann *User) {
	g.t.Helper()
	topic := ann.NewTopic("Cooking")
	ann.Post(Post{Topic: topic, Text: "/topic"})
	if m := shown(g.t, s, 7, 8)[7]; m.Thread != topic || m.Text != "in here" {
		g.t.Errorf("in a private topic: %+v", m)
	}
	team := s.Group(-100, "Team")
	ann.SayInTopic(team, team.Topic(), "/topic")
	if m := shown(g.t, s, -100, 2); m[1].Thread != m[0].ID {
		g.t.Errorf("in a group's topic: %+v", m)
	}
	ann.SayIn(team.Migrate(-200), "/topic")
	shown(g.t, s, -200, 1)
}

func TestGrammySeesRefusals(t *testing.T) {
	s := start(t, Options{})
	g := runGrammy(t, s)
	g.await("me")
	ann := s.User(7, "Ann")
	ann.Say("/bad")
	for _, want := range []string{"message is too long", "can't parse entities", "message to be replied not found", "message thread not found", "chat not found", "invalid file_id"} {
		g.refusal(want, 400)
	}
	s.Flood(7, 5*time.Minute)
	ann.Say("/again")
	flood := g.refusal("Too Many Requests: retry after ", 429)
	p, _ := flood["parameters"].(map[string]any)
	if left, _ := p["retry_after"].(float64); left < 240 || left > 300 || !strings.HasSuffix(fmt.Sprint(flood["refused"]), fmt.Sprint(" ", left)) {
		t.Errorf("a flood came as %v", flood)
	}
	s.Flood(7, 0)
	ann.Say("/again")
	if one := g.await("refused"); one["refused"] != nil {
		t.Errorf("after the flood: %v", one)
	}
	team := s.PlainGroup(-5, "Team")
	s.Raw("message", `{"message_id":1,"date":1,"chat":{"id":-5,"type":"group","title":"Team"},"from":{"id":7,"is_bot":false,"first_name":"Ann"},"text":"/again","entities":[{"type":"bot_command","offset":0,"length":6}]}`)
	g.await("refused")
	team.Migrate(-100)
	s.Raw("message", `{"message_id":2,"date":1,"chat":{"id":-5,"type":"group","title":"Team"},"from":{"id":7,"is_bot":false,"first_name":"Ann"},"text":"/again","entities":[{"type":"bot_command","offset":0,"length":6}]}`)
	if p, _ := g.refusal("upgraded to a supergroup", 400)["parameters"].(map[string]any); p["migrate_to_chat_id"] != -100.0 {
		t.Errorf("a migration came with %v", p)
	}
	s.Hang("sendMessage", 1)
	ann.Say("/again")
	until(t, "a call hangs", func() bool { return s.Open("sendMessage") == 1 })
	ann.Block()
	g.check()
}

func TestGrammyStopsWhenAnotherPolls(t *testing.T) {
	s := start(t, Options{})
	g := runGrammy(t, s)
	g.await("me")
	until(t, "the bot polls", func() bool { return s.Open("getUpdates") == 1 })
	call(t, s, "getUpdates")
	if one := g.await("stopped"); one["code"] != 409.0 || !strings.Contains(fmt.Sprint(one["stopped"]), "terminated by other getUpdates") {
		t.Errorf("the bot stopped with %v", one)
	}
}

func TestGrammyByWebhook(t *testing.T) {
	s := start(t, Options{WebhookPause: time.Millisecond})
	ann := s.User(7, "Ann")
	ann.Say("early")
	g := runGrammy(t, s, "MODE=webhook", "SECRET=s3cret")
	info, _ := g.await("info")["info"].(map[string]any)
	if out := g.types.Differences("getWebhookInfo", info, "WebhookInfo"); out != nil {
		t.Error(out)
	}
	ann.Say("late")
	m := shown(t, s, 7, 2)
	if m[0].Text != "you said early" || m[1].Text != "you said late" {
		t.Errorf("Ann sees %+v", m)
	}
	until(t, "all acknowledged", func() bool { return s.Pending() == 0 })
	if d := s.Deliveries(); len(d) != 2 || d[1].Status != 200 {
		t.Errorf("deliveries: %+v", d)
	}
	until(t, "the bot told of both", func() bool { return g.has("update") >= 2 })
	if updates, _ := g.check(); updates != 2 {
		t.Errorf("the bot had %d updates", updates)
	}
}

// refusal waits for the next call that was refused.
func (g *grammy) refusal(want string, code int) map[string]any {
	g.t.Helper()
	one := g.await("refused")
	if !strings.Contains(fmt.Sprint(one["refused"]), want) || one["code"] != float64(code) {
		g.t.Errorf("refused with %v, want %d %s", one, code, want)
	}
	return one
}

// shown waits until a chat shows n messages of the bot.
func shown(t *testing.T, s *Server, chat int64, n int) []Sent {
	t.Helper()
	for deadline := time.Now().Add(2 * time.Minute); len(s.Sent(chat)) < n; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("the chat shows %d messages, want %d:\n%s", len(s.Sent(chat)), n, s.Transcript(chat))
		}
	}
	return s.Sent(chat)
}

// installed is the path of something that npm ci installed under tests/. Where it
// is missing the test is skipped, in CI it fails.
func installed(t *testing.T, elem ...string) string {
	t.Helper()
	path, err := filepath.Abs(filepath.Join(append([]string{"../../node_modules"}, elem...)...))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatalf("%v: tests/run installs it", err)
		}
		t.Skipf("LEFT OUT: %v: tests/run installs it", err)
	}
	return path
}
