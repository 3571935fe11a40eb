package e2e

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"sync"
	"testing"

	"dragoman/tests/fake/discord"
	"dragoman/tests/fake/model"
	"dragoman/tests/fake/telegram"
)

// viewer is a model that remembers what it is told and shown. It counts its answers,
// reads an artifact when it is asked to, and calls a tool when it is told to.
type viewer struct {
	mu      sync.Mutex
	said    []string        // the last message of each request
	last    model.Message   // of the last question of a person
	history []model.Message // of the last request
	answers int
}

var (
	toldArtifact = regexp.MustCompile(`kept as artifact "([^"]+)"`)
	toldToCall   = regexp.MustCompile(`call (\S+) (\{.*\})`)
)

func (v *viewer) answer(q model.Request) model.Reply {
	v.mu.Lock()
	defer v.mu.Unlock()
	last := q.Last()
	v.said, v.history = append(v.said, last.Text), q.Messages
	if last.Role == "user" {
		v.last = last
		if m := toldToCall.FindStringSubmatch(last.Text); m != nil {
			return model.Reply{Calls: []model.Call{{Name: m[1], Arguments: m[2]}}}
		}
		if m := toldArtifact.FindStringSubmatch(last.Text); m != nil && strings.HasPrefix(last.Text, "read it") {
			return model.Reply{Calls: []model.Call{{Name: "read_artifact", Arguments: `{"id":` + quoted(m[1]) + `}`}}}
		}
	}
	v.answers++
	return model.Reply{Text: fmt.Sprintf("answer %d", v.answers)}
}

// told is the last message of the last request, and the last question of a person.
func (v *viewer) told() (result string, question model.Message) {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.said[len(v.said)-1], v.last
}

// everything is all that the last request said.
func (v *viewer) everything() string {
	v.mu.Lock()
	defer v.mu.Unlock()
	var all strings.Builder
	for _, m := range v.history {
		all.WriteString(m.Text + "\n")
	}
	return all.String()
}

// posted is what a person sees of the bot: a text, or a file with what is said of it.
type posted struct {
	Text, Kind, Name string
	Data             []byte
}

// filesRig is a person on a platform, and a gateway on it whose model is a viewer.
type filesRig struct {
	t     *testing.T
	g     *gateway
	v     *viewer
	tg    *telegram.Server // one of the two
	dc    *discord.Server
	onTG  *telegram.User
	onDC  *discord.User
	asked int
}

// onBothPlatforms runs a check on each. more is for the config: a member with a
// server, and a comma in front. The model is main's, with these facts of it.
func onBothPlatforms(t *testing.T, facts, more string, check func(*testing.T, *filesRig)) {
	t.Helper()
	for _, platform := range []string{"telegram", "discord"} {
		t.Run(platform, func(t *testing.T) {
			t.Parallel()
			check(t, newFilesRig(t, platform, facts, more))
		})
	}
}

func newFilesRig(t *testing.T, platform, facts, more string) *filesRig {
	t.Helper()
	r := &filesRig{t: t, v: new(viewer)}
	m := model.New(model.Options{Answer: r.v.answer})
	t.Cleanup(m.Close)
	var token, url string
	if platform == "telegram" {
		r.tg = telegram.New(telegram.Options{})
		t.Cleanup(r.tg.Close)
		r.onTG, token, url = r.tg.User(1, "Ann"), r.tg.Token(), r.tg.URL()
	} else {
		r.dc = discord.New(discord.Options{})
		t.Cleanup(r.dc.Close)
		r.onDC, token, url = r.dc.User("Ann"), r.dc.Token(), r.dc.URL()
	}
	r.g = startGateway(t, `{"listen": "${LISTEN}", "models": {"main": {"type": "openai", "base_url": `+quoted(m.URL())+`, "model": "gpt-4o", "api_key": "k"`+facts+`}},
		"channels": {"chat": {"type": `+quoted(platform)+`, "token": `+quoted(token)+`, "api_url": `+quoted(url)+`, "streaming": "off"}},
		"access": {"mode": "open", "rate": ""}, "tools": {"default": "allow"}`+more+`}`)
	if more != "" {
		r.g.WaitLine("mcp_server_connected", readyWithin)
	}
	if r.dc != nil {
		eventually(t, answerWithin, "the bot listens", func() error {
			if r.dc.Gateway().Connected == 0 {
				return fmt.Errorf("nobody is connected")
			}
			return nil
		})
	}
	return r
}

// everythingServer is a member for the config: the reference server from npm, as ref.
func everythingServer(t testing.TB) string {
	t.Helper()
	script := nodePackage(t, "@modelcontextprotocol", "server-everything", "dist", "index.js")
	return `, "mcp_servers": {"ref": {"command": ` + quoted(node(t)) + `, "args": [` + quoted(script) + `], "timeout": "1m"}}`
}

// standInServer is a member for the config: this test binary as a server, as own.
func standInServer(variable string) string {
	return `, "mcp_servers": {"own": {"command": ` + quoted(os.Args[0]) + `, "env": {` + quoted(variable) + `: "1"}, "timeout": "1m"}}`
}

// send posts files of the person with a text, together, and gives the id of the
// message, or of the first; on Discord a file without a name gets one.
func (r *filesRig) send(text string, files ...*telegram.File) string {
	switch {
	case r.dc != nil:
		p := discord.Post{Text: text}
		for _, f := range files {
			data := f.Data
			if int64(len(data)) < f.Size {
				data = make([]byte, f.Size)
			}
			name := f.Name
			if name == "" {
				name = f.Kind + ".bin"
			}
			p.Files = append(p.Files, discord.File{Name: name, Type: f.MIME, Content: data})
		}
		return r.onDC.Post(r.onDC.DM(), p)
	case len(files) > 1:
		return fmt.Sprint(r.onTG.Album(telegram.Post{Text: text}, files...)[0])
	case len(files) == 1:
		return fmt.Sprint(r.onTG.Post(telegram.Post{Text: text, File: files[0]}))
	}
	return fmt.Sprint(r.onTG.Say(text))
}

// shows is what the bot has posted.
func (r *filesRig) shows() []posted {
	var list []posted
	if r.tg != nil {
		for _, m := range r.tg.Sent(r.onTG.ID()) {
			p := posted{Text: m.Text}
			if m.File != nil {
				p.Kind, p.Name, p.Data = m.File.Kind, m.File.Name, m.File.Data
			}
			list = append(list, p)
		}
		return list
	}
	for _, m := range r.dc.Sent(r.onDC.DM()) {
		p := posted{Text: m.Text}
		for _, f := range m.Files {
			p.Kind, p.Name, p.Data = f.Type, f.Name, f.Content
		}
		list = append(list, p)
	}
	return list
}

// ask sends, and waits for the answer. It gives what the model was told in the
// question.
func (r *filesRig) ask(text string, files ...*telegram.File) model.Message {
	r.t.Helper()
	r.send(text, files...)
	return r.answered()
}

// answered waits for the answer to what was sent.
func (r *filesRig) answered() model.Message {
	r.t.Helper()
	r.asked++
	want := fmt.Sprintf("answer %d", r.asked)
	eventually(r.t, answerWithin, want, func() error {
		for _, p := range r.shows() {
			if strings.Contains(p.Text, want) {
				return nil
			}
		}
		return fmt.Errorf("the chat shows %.2000v", r.shows())
	})
	_, question := r.v.told()
	return question
}

// behind waits for so many messages behind the last answer, and gives them.
func (r *filesRig) behind(n int) []posted {
	r.t.Helper()
	answer := fmt.Sprintf("answer %d", r.asked)
	var list []posted
	eventually(r.t, answerWithin, fmt.Sprintf("%d messages behind %s", n, answer), func() error {
		list = r.shows()
		for i, p := range list {
			if strings.Contains(p.Text, answer) {
				list = list[i+1:]
				break
			}
		}
		if len(list) != n {
			return fmt.Errorf("there are %d: %.1000v", len(list), list)
		}
		return nil
	})
	return list
}
