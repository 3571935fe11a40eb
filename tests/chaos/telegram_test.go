package chaos

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"dragoman/tests/fake/telegram"
)

// oldUpdates is how many updates that were acknowledged may come again.
const oldUpdates = 400

// wire stands before the fake Telegram as a bad network would: an answer takes
// its time, an acknowledgement is lost, an update comes twice or long after. It
// notes each message that was posted, when its sender could know, and shows the
// chats to their people.
type wire struct {
	tg      *telegram.Server
	http    *http.Server
	address string

	mu    sync.Mutex
	rng   *rand.Rand
	quiet bool // no faults any more
	chats map[int64]*chat
	posts []*post
	old   []json.RawMessage
	again int // updates that came again
	lost  int // acknowledgements
	// acked is the first life that acknowledged something: no later one may begin anew.
	acked  int
	faults []string
}

// post is a message that the platform has, in order of arrival.
type post struct {
	life     int // of the gateway that posted it; what is on its way arrives after its end
	chat     int64
	id       int
	question string    // whose prompt it is
	ended    time.Time // when its sender was told; zero: it was cut off
}

// chat is what its people see change.
type chat struct {
	log   []shown
	wakes []chan struct{}
}

// shown is a message as it was posted or edited.
type shown struct {
	id, replyTo int
	text        string
	question    string
	buttons     []string
}

func newWire(rng *rand.Rand) *wire {
	w := &wire{tg: telegram.New(telegram.Options{}), rng: rng, chats: map[int64]*chat{}}
	w.http, w.address = serve(w)
	return w
}

func (w *wire) url() string { return w.address }

func (w *wire) close() {
	w.tg.Close()
	_ = w.http.Close()
}

// calm ends the faults.
func (w *wire) calm() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.quiet = true
}

// nothingWaits is an error while the gateway has not acknowledged all.
func (w *wire) nothingWaits() error {
	if n := w.tg.Pending(); n > 0 {
		return fmt.Errorf("%d updates are not acknowledged", n)
	}
	return nil
}

// watch gives a signal whenever something changes in a chat.
func (w *wire) watch(chatID int64) <-chan struct{} {
	w.mu.Lock()
	defer w.mu.Unlock()
	wake := make(chan struct{}, 1)
	c := w.chat(chatID)
	c.wakes = append(c.wakes, wake)
	return wake
}

// since are the changes of a chat from the nth on.
func (w *wire) since(chatID int64, n int) []shown {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.chat(chatID).log[n:])
}

// chat is one by its id, made if new. w.mu is held.
func (w *wire) chat(id int64) *chat {
	c := w.chats[id]
	if c == nil {
		c = &chat{}
		w.chats[id] = c
	}
	return c
}

// chance is true in so many of a hundred cases, while there are faults.
func (w *wire) chance(percent int) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return !w.quiet && w.rng.IntN(100) < percent
}

// ServeHTTP passes a call on.
func (w *wire) ServeHTTP(out http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the gateway was killed while it wrote
	}
	life, path, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	r.URL.Path = "/" + path
	method := path[strings.LastIndexByte(path, '/')+1:]
	if method == "getUpdates" {
		body = w.poll(body, life)
	}
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	answer := httptest.NewRecorder()
	w.tg.ServeHTTP(answer, r)
	text := answer.Body.Bytes()
	var sent *post
	switch method {
	case "getUpdates":
		text = w.updates(text)
	case "sendMessage":
		sent = w.posted(text, life)
		w.delay(40)
	case "editMessageText", "editMessageReplyMarkup":
		w.shows(text)
		w.delay(20)
	}
	out.Header().Set("Content-Type", "application/json")
	out.WriteHeader(answer.Code)
	_, err = out.Write(text)
	if flushed := http.NewResponseController(out).Flush(); sent == nil || err != nil || flushed != nil {
		return
	}
	w.mu.Lock()
	sent.ended = time.Now()
	w.mu.Unlock()
}

// delay is the way back.
func (w *wire) delay(most int) {
	w.mu.Lock()
	d := time.Duration(w.rng.IntN(most)) * time.Millisecond
	w.mu.Unlock()
	pause(d)
}

// poll looks at a poll of a life, whose offset may get lost on its way.
func (w *wire) poll(body []byte, life string) []byte {
	var params map[string]json.RawMessage
	if json.Unmarshal(body, &params) != nil {
		return body // what it is worth is the fake's to say
	}
	number, _ := strconv.Atoi(life)
	loses := w.chance(5)
	w.mu.Lock()
	defer w.mu.Unlock()
	if params["offset"] == nil {
		if w.acked > 0 && number > w.acked {
			w.faults = append(w.faults, "life "+life+" polls from the beginning, though its cursor was stored")
		}
		return body
	}
	if w.acked == 0 {
		w.acked = number
	}
	if !loses {
		return body
	}
	w.lost++
	delete(params, "offset")
	body, err := json.Marshal(params)
	if err != nil {
		panic(err)
	}
	return body
}

// updates lets some of an answer of getUpdates come twice, or behind old ones.
func (w *wire) updates(text []byte) []byte {
	var a struct {
		OK     bool              `json:"ok"`
		Result []json.RawMessage `json:"result"`
	}
	if json.Unmarshal(text, &a) != nil || !a.OK || len(a.Result) == 0 {
		return text
	}
	twice, late, onlyLate := w.chance(5), w.chance(5), w.chance(2)
	acked := w.tg.Offset() // only what is below it may come alone: the highest id acknowledges all before
	w.mu.Lock()
	defer w.mu.Unlock()
	fresh := a.Result
	if twice {
		a.Result = slices.Concat(fresh, fresh)
		w.again += len(fresh)
	}
	old := slices.DeleteFunc(slices.Clone(w.old), func(u json.RawMessage) bool { return idOf(u) >= acked })
	if n := len(old); n > 0 && (late || onlyLate) {
		some := old[w.rng.IntN(n):]
		some = some[:min(len(some), 20)]
		w.again += len(some)
		if a.Result = slices.Concat(some, a.Result); onlyLate {
			a.Result = some // what is fresh comes with the next poll
		}
	}
	w.old = append(w.old, fresh...)
	w.old = w.old[max(0, len(w.old)-oldUpdates):]
	text, err := json.Marshal(a)
	if err != nil {
		panic(err)
	}
	return text
}

// posted notes a message of a life of the gateway.
func (w *wire) posted(text []byte, life string) *post {
	chat, m, ok := w.shows(text)
	if !ok {
		return nil
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	p := &post{chat: chat, id: m.id, question: m.question}
	p.life, _ = strconv.Atoi(life) // 0 is found by whoever looks
	w.posts = append(w.posts, p)
	return p
}

// shows takes a message as it is from now on, and wakes the chat's people.
func (w *wire) shows(text []byte) (chatID int64, m shown, ok bool) {
	var a struct {
		OK     bool
		Result struct {
			ID    int `json:"message_id"`
			Chat  struct{ ID int64 }
			Text  string
			Reply struct {
				ID int `json:"message_id"`
			} `json:"reply_to_message"`
			Markup struct {
				Rows [][]telegram.Button `json:"inline_keyboard"`
			} `json:"reply_markup"`
		}
	}
	if json.Unmarshal(text, &a) != nil || !a.OK {
		return 0, m, false
	}
	m = shown{id: a.Result.ID, replyTo: a.Result.Reply.ID, text: a.Result.Text}
	for _, row := range a.Result.Markup.Rows {
		for _, b := range row {
			m.buttons = append(m.buttons, b.Text)
			if b.Data != nil {
				m.question = questionIn(*b.Data)
			}
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	c := w.chat(a.Result.Chat.ID)
	c.log = append(c.log, m)
	for _, wake := range c.wakes {
		select {
		case wake <- struct{}{}:
		default:
		}
	}
	return a.Result.Chat.ID, m, true
}

// questionIn is what all buttons of one question have in common.
func questionIn(data string) string {
	if at := strings.LastIndexByte(data, ':'); at >= 0 {
		return data[:at]
	}
	return data
}

// idOf is an update's id.
func idOf(update json.RawMessage) int64 {
	var u struct {
		ID int64 `json:"update_id"`
	}
	if err := json.Unmarshal(update, &u); err != nil {
		panic(err)
	}
	return u.ID
}
