package chaos

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"dragoman/ports"
	"dragoman/tests/fake/telegram"
)

// Rooms on Telegram. A forum is two: its general topic, and one more. What may
// come again are updates that were acknowledged.
const (
	tgPrivates, tgTopics, tgGroups, tgForums = 175, 5, 10, 5
	groupSize, forumSize                     = 3, 2
	oldUpdates                               = 400
	// general is a forum's first topic. Its messages carry no id of it.
	general = 1
)

// onTelegram is Telegram, polled over a network that also loses acknowledgements
// and lets updates come twice, or long after.
type onTelegram struct {
	*network
	tg  *telegram.Server
	old []json.RawMessage
	// again are updates that came again, lost acknowledgements.
	again, lost int
	// acked is the first life that acknowledged something: no later one may begin anew.
	acked int
}

func newTelegram(rng *rand.Rand) platform {
	t := &onTelegram{tg: telegram.New(telegram.Options{Topics: true})}
	t.network = newNetwork(rng, t)
	return t
}

func (t *onTelegram) section() string {
	return `"tg": {"type": "telegram", "token": ` + strconv.Quote(telegram.DefaultToken) + `, "api_url": "` + t.address + `/${LIFE}", "sends_in_flight": ` + strconv.Itoa(sendsInFlight) + `}`
}

func (t *onTelegram) meets() bool { return false }

func (t *onTelegram) doubles() int { return sendsInFlight }

func (t *onTelegram) trouble(*rand.Rand) {}

func (t *onTelegram) close() {
	t.tg.Close()
	_ = t.http.Close()
}

// nothingWaits is an error while the gateway has not acknowledged all.
func (t *onTelegram) nothingWaits() error {
	if n := t.tg.Pending(); n > 0 {
		return fmt.Errorf("%d updates are not acknowledged", n)
	}
	return nil
}

func (t *onTelegram) count(f *figures) {
	t.mu.Lock()
	defer t.mu.Unlock()
	f.Redelivered, f.LostAcks = t.again, t.lost
}

// populate makes chats of two, topics in some of them, groups and forums.
func (t *onTelegram) populate() []place {
	var list []place
	number := 0
	add := func(slots int, chat int64, thread int, seat func(slot int) tgSeat) {
		for slot := range slots {
			p := place{seat: seat(slot), number: number, room: tgRoom(chat, thread), slot: slot, private: chat > 0}
			in := ports.Conversation{Channel: "tg", Chat: strconv.FormatInt(chat, 10)}
			if thread != 0 {
				in.Thread = strconv.Itoa(thread)
			}
			p.conv = in.String()
			list = append(list, p)
		}
		number++
	}
	person := func(i int) *telegram.User { return t.tg.User(int64(10_000+i), fmt.Sprintf("P%03d", i)) }
	for i := range tgPrivates {
		u := person(i)
		add(1, u.ID(), 0, func(int) tgSeat { return tgSeat{user: u, chat: u.ID()} })
	}
	for i := range tgTopics {
		u := person(i)
		topic := u.NewTopic("T")
		add(1, u.ID(), topic, func(int) tgSeat { return tgSeat{user: u, chat: u.ID(), topic: topic} })
	}
	for g := range tgGroups + tgForums {
		id := int64(-1_000_000 - g)
		group := t.tg.Group(id, fmt.Sprintf("G%02d", g))
		if g < tgGroups {
			add(groupSize, id, 0, func(slot int) tgSeat { return tgSeat{user: person(g*groupSize + slot), group: group, chat: id} })
			continue
		}
		topic := group.Topic()
		for _, thread := range []int{general, topic} {
			add(forumSize, id, thread, func(slot int) tgSeat {
				return tgSeat{user: person(g*groupSize + slot), group: group, chat: id, topic: thread}
			})
		}
	}
	return list
}

// tgRoom is a chat, or a topic of one.
func tgRoom(chat int64, thread int) string {
	room := strconv.FormatInt(chat, 10)
	if thread != 0 {
		room += "#" + strconv.Itoa(thread)
	}
	return room
}

// tgSeat is a person in a chat of Telegram.
type tgSeat struct {
	user  *telegram.User
	chat  int64
	group *telegram.Group // nil: in private
	topic int             // 0: none
}

func (t tgSeat) say(text string) string {
	if t.group != nil {
		text = "@" + telegram.DefaultUsername + " " + text
	}
	return t.post("", text)
}

func (t tgSeat) stop() string {
	if t.group != nil {
		return t.post("", "/stop@"+telegram.DefaultUsername)
	}
	return t.post("", "/stop")
}

func (t tgSeat) answer(to, text string) string {
	if t.group == nil {
		to = ""
	}
	return t.post(to, text)
}

func (t tgSeat) post(to, text string) string {
	id := t.user.Post(telegram.Post{Group: t.group, Topic: t.topic, ReplyTo: tgNumber(to), Text: text})
	return tgID(t.chat, id)
}

// press is kept by Telegram until somebody listens: it never fails.
func (t tgSeat) press(message, button string) func() bool {
	if t.group != nil {
		_ = t.user.PressIn(t.group, tgNumber(message), button)
	} else {
		_ = t.user.Press(tgNumber(message), button)
	}
	return func() bool { return false }
}

func tgID(chat int64, message int) string {
	return strconv.FormatInt(chat, 10) + "/" + strconv.Itoa(message)
}

// tgNumber is a message's within its chat; 0 of "".
func tgNumber(id string) int {
	_, number, _ := strings.Cut(id, "/")
	n, _ := strconv.Atoi(number)
	return n
}

func (t *onTelegram) shows(room string) []shown {
	chatID, thread, topical := strings.Cut(room, "#")
	chat, err := strconv.ParseInt(chatID, 10, 64)
	if err != nil {
		panic(err)
	}
	if !topical || thread == strconv.Itoa(general) {
		thread = "0"
	}
	var list []shown
	for _, m := range t.tg.Sent(chat) {
		if strconv.Itoa(m.Thread) != thread || m.ID == m.Thread { // the latter tells that the topic was made
			continue
		}
		one := shown{id: tgID(chat, m.ID), text: m.Text}
		if m.ReplyTo != 0 {
			one.replyTo = tgID(chat, m.ReplyTo)
		}
		list = append(list, one)
	}
	return list
}

// ServeHTTP passes a call on.
func (t *onTelegram) ServeHTTP(out http.ResponseWriter, r *http.Request) {
	c, ok := t.read(r)
	if !ok {
		return
	}
	method := c.path[strings.LastIndexByte(c.path, '/')+1:]
	if method == "getUpdates" {
		c.body = t.poll(c)
	}
	answer := c.pass(t.tg, r)
	text := answer.Body.Bytes()
	var sent *post
	switch method {
	case "getUpdates":
		text = t.updates(text)
	case "sendMessage":
		if in, m, ok := readTelegram(text); ok {
			sent = t.posted(in, m, c.life)
		}
		t.delay(40)
	case "editMessageText", "editMessageReplyMarkup":
		if in, m, ok := readTelegram(text); ok {
			t.show(in, m)
		}
		t.delay(20)
	}
	t.reply(out, answer.Code, text, sent)
}

// poll looks at a poll of a life, whose offset may get lost on its way.
func (t *onTelegram) poll(c call) []byte {
	var params map[string]json.RawMessage
	if json.Unmarshal(c.body, &params) != nil {
		return c.body // what it is worth is the fake's to say
	}
	loses := t.chance(5)
	t.mu.Lock()
	defer t.mu.Unlock()
	if params["offset"] == nil {
		if t.acked > 0 && c.life > t.acked {
			t.faults = append(t.faults, fmt.Sprintf("life %d polls from the beginning, though its cursor was stored", c.life))
		}
		return c.body
	}
	if t.acked == 0 {
		t.acked = c.life
	}
	if !loses {
		return c.body
	}
	t.lost++
	delete(params, "offset")
	body, err := json.Marshal(params)
	if err != nil {
		panic(err)
	}
	return body
}

// updates lets some of an answer of getUpdates come twice, or behind old ones.
func (t *onTelegram) updates(text []byte) []byte {
	var a struct {
		OK     bool              `json:"ok"`
		Result []json.RawMessage `json:"result"`
	}
	if json.Unmarshal(text, &a) != nil || !a.OK || len(a.Result) == 0 {
		return text
	}
	twice, late, onlyLate := t.chance(5), t.chance(5), t.chance(2)
	acked := t.tg.Offset() // only what is below it may come alone: the highest id acknowledges all before
	t.mu.Lock()
	defer t.mu.Unlock()
	fresh := a.Result
	if twice {
		a.Result = slices.Concat(fresh, fresh)
		t.again += len(fresh)
	}
	old := slices.DeleteFunc(slices.Clone(t.old), func(u json.RawMessage) bool { return idOf(u) >= acked })
	if n := len(old); n > 0 && (late || onlyLate) {
		some := old[t.rng.IntN(n):]
		some = some[:min(len(some), 20)]
		t.again += len(some)
		if a.Result = slices.Concat(some, a.Result); onlyLate {
			a.Result = some // what is fresh comes with the next poll
		}
	}
	t.old = append(t.old, fresh...)
	t.old = t.old[max(0, len(t.old)-oldUpdates):]
	text, err := json.Marshal(a)
	if err != nil {
		panic(err)
	}
	return text
}

// readTelegram reads an answer that has a message, and in which room that is.
func readTelegram(text []byte) (in string, m shown, ok bool) {
	var a struct {
		OK     bool
		Result struct {
			ID      int  `json:"message_id"`
			Thread  int  `json:"message_thread_id"`
			IsTopic bool `json:"is_topic_message"`
			Chat    struct {
				ID    int64
				Forum bool `json:"is_forum"`
			}
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
		return "", m, false
	}
	r := a.Result
	m = shown{id: tgID(r.Chat.ID, r.ID), text: r.Text}
	if r.Reply.ID != 0 {
		m.replyTo = tgID(r.Chat.ID, r.Reply.ID)
	}
	for _, row := range r.Markup.Rows {
		for _, b := range row {
			if b.Data != nil {
				m.button(b.Text, *b.Data)
			}
		}
	}
	thread := 0
	switch {
	case r.IsTopic:
		thread = r.Thread
	case r.Chat.Forum:
		thread = general
	}
	return tgRoom(r.Chat.ID, thread), m, true
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
