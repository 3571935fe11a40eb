package chaos

import (
	"bytes"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"io"
	"net"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"dragoman/tests/fake/model"
)

// saying is what a person writes: what to do, and the word that is only this message's.
var saying = regexp.MustCompile(`\b(plain|stream|look|note|write|many) (c(\d+)p\d+m\d+)\b`)

// plans are the calls that a message asks for, all in one reply of the model.
var plans = map[string][]string{
	"look":  {"look"},
	"note":  {"note"},
	"write": {"write"},
	"many":  {"look", "note", "look", "write"},
}

// mind is the model. What a person asks decides what it says: it has no state, so
// that it says the same whenever it is asked the same.
type mind struct {
	fast, slow *model.Server // a text in one write, and one that grows for a while
	http       *http.Server
	address    string

	mu     sync.Mutex
	faults []string
	odd    map[string]int // results of tools that are none of theirs
}

func newMind() *mind {
	m := &mind{odd: map[string]int{}}
	m.fast = model.New(model.Options{Answer: m.answer})
	m.slow = model.New(model.Options{Answer: m.answer, Pieces: 12, Pace: 130 * time.Millisecond})
	m.http, m.address = serve(m)
	return m
}

func (m *mind) url() string { return m.address + "/v1" }

func (m *mind) close() {
	_ = m.http.Close()
	m.fast.Close()
	m.slow.Close()
}

// ServeHTTP gives a request to the server whose pace the last message asks for.
func (m *mind) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the gateway was killed while it asked
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	all := saying.FindAllSubmatch(body, -1)
	if len(all) > 0 && string(all[len(all)-1][1]) == "stream" {
		m.slow.ServeHTTP(w, r)
		return
	}
	m.fast.ServeHTTP(w, r)
}

// task is one message of the turn that is to be answered.
type task struct{ verb, word string }

// answer calls the tools that the turn's messages ask for, one reply for each
// message, and then names them all.
func (m *mind) answer(r model.Request) model.Reply {
	m.check(r)
	turn := current(r.Messages)
	var tasks []task
	rounds := 0
	for _, msg := range turn {
		switch {
		case msg.Role == "user":
			for _, s := range saying.FindAllStringSubmatch(msg.Text, -1) {
				tasks = append(tasks, task{s[1], s[2]})
			}
		case len(msg.Calls) > 0:
			rounds++
		}
	}
	var words []string
	for _, k := range tasks {
		words = append(words, k.word)
		if plans[k.verb] == nil {
			continue
		}
		if rounds == 0 {
			m.think(k.word, 150)
			return model.Reply{Calls: calls(k)}
		}
		rounds--
	}
	if len(words) == 0 {
		return model.Reply{Text: "Answer to nothing. Done."}
	}
	m.think(words[0], 250)
	return model.Reply{Text: answerTo(words)}
}

func answerTo(words []string) string {
	return "Answer to " + strings.Join(words, " ") + ".\n\n" + strings.Repeat("Of this much can be said, and it takes a while to say it. ", 6) + "Done."
}

func calls(k task) []model.Call {
	var list []model.Call
	for n, name := range plans[k.verb] {
		list = append(list, model.Call{Name: "t__" + name, Arguments: fmt.Sprintf(`{"word":%q,"n":%d}`, k.word, n)})
	}
	return list
}

// current are the messages since the last answer.
func current(all []model.Message) []model.Message {
	for i := len(all) - 1; i >= 0; i-- {
		if all[i].Role == "assistant" && len(all[i].Calls) == 0 {
			return all[i+1:]
		}
	}
	return all
}

// check looks at what the model is told: words of one conversation alone, and
// results that tools gave or that the gateway words.
func (m *mind) check(r model.Request) {
	chat := ""
	for _, msg := range r.Messages {
		for _, s := range saying.FindAllStringSubmatch(msg.Text, -1) {
			if chat == "" {
				chat = s[3]
			}
			if s[3] != chat {
				m.fault("the model is told of chat %s in a turn of chat %s", s[3], chat)
			}
		}
		if msg.Role == "tool" && !strings.HasPrefix(msg.Text, "did ") {
			m.mu.Lock()
			m.odd[msg.Text]++
			m.mu.Unlock()
		}
	}
}

func (m *mind) fault(format string, args ...any) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.faults = append(m.faults, fmt.Sprintf(format, args...))
}

// think takes a while that belongs to the word, shorter ones more often.
func (m *mind) think(word string, most uint64) {
	h := hash(word)
	pause(time.Duration((h%most)*(h/1000%100)/100) * time.Millisecond)
}

func hash(s string) uint64 {
	h := fnv.New64a()
	h.Write([]byte(s))
	return h.Sum64()
}

// serve answers HTTP on a free port of this machine.
func serve(h http.Handler) (s *http.Server, url string) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	s = &http.Server{Handler: h, ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = s.Serve(l) }()
	return s, "http://" + l.Addr().String()
}

// key names the effect of one call.
func key(word string, n int) string { return word + "/" + strconv.Itoa(n) }

// keyIn is the key in a call's arguments as a question shows them, "" if there is none.
func keyIn(text string) string {
	var args struct {
		Word string
		N    int
	}
	from, to := strings.Index(text, "{"), strings.Index(text, "}")
	if from < 0 || to < from || json.Unmarshal([]byte(text[from:to+1]), &args) != nil || args.Word == "" {
		return ""
	}
	return key(args.Word, args.N)
}
