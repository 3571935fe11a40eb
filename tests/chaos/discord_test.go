package chaos

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"

	"dragoman/ports"
	"dragoman/tests/fake/discord"
)

// Rooms on Discord: each guild has channels, and a thread in each of them that a
// person opened.
const (
	dcPrivates, dcGuilds, dcChannels = 180, 2, 5
	dcHeartbeat                      = 3 * time.Second
)

// onDiscord is Discord: the API over a network that also loses answers of sends,
// and a gateway that fails in all its ways.
type onDiscord struct {
	*network
	dc   *discord.Server
	down bool // the gateway. It belongs to the storm
	lost int  // answers of sends
}

func newDiscord(rng *rand.Rand) platform {
	d := &onDiscord{dc: discord.New(discord.Options{Heartbeat: dcHeartbeat, IdentifyBudget: 1_000_000, ResumeFor: 20 * time.Second})}
	d.network = newNetwork(rng, d)
	return d
}

func (d *onDiscord) section() string {
	return `"dc": {"type": "discord", "token": ` + strconv.Quote(discord.DefaultToken) + `, "api_url": "` + d.address + `/${LIFE}", "sends_in_flight": ` + strconv.Itoa(sendsInFlight) + `}`
}

// meets: Discord lists the direct chats to no bot. The first message of one is
// known to nobody but the session that hears it.
func (d *onDiscord) meets() bool { return true }

func (d *onDiscord) doubles() int { return 0 }

func (d *onDiscord) close() {
	d.dc.Close()
	_ = d.http.Close()
}

func (d *onDiscord) nothingWaits() error {
	if d.dc.Gateway().Connected == 0 {
		return errors.New("the gateway is not connected")
	}
	return nil
}

func (d *onDiscord) count(f *figures) {
	g := d.dc.Gateway()
	f.Identifies, f.Resumes, f.RefusedResumes, f.LostAnswers = g.Identifies, g.Resumes, g.RefusedResumes, d.lost
}

// trouble breaks the connection to the gateway in one of the ways that there are,
// or takes it away for a while, which a kill may fall into.
func (d *onDiscord) trouble(rng *rand.Rand) {
	if d.down {
		d.dc.GatewayUp(rng.IntN(2) == 0)
		d.down = false
		return
	}
	switch rng.IntN(14) {
	case 0, 1:
		d.dc.GatewayDown()
		d.down = true
	case 2:
		d.dc.CutGateway()
	case 3:
		d.dc.RefuseResumes(1)
		d.dc.CutGateway()
	case 4:
		d.dc.AskReconnect()
	case 5:
		d.dc.AskReconnectFirst(1)
		d.dc.AskReconnect()
	case 6:
		d.dc.Invalidate(true)
	case 7:
		d.dc.Invalidate(false)
	case 8:
		d.dc.LoseAcks(1)
	case 9:
		d.dc.CloseGateway(discord.CloseUnknown, "Unknown error.")
	}
}

func (d *onDiscord) calm() {
	if d.down {
		d.dc.GatewayUp(false)
		d.down = false
	}
	d.dc.RefuseResumes(0)
	d.dc.AskReconnectFirst(0)
	d.dc.LoseAcks(0)
	d.network.calm()
}

// populate makes direct chats, channels of guilds and threads in them.
func (d *onDiscord) populate() []place {
	var list []place
	number := 0
	add := func(slots int, in ports.Conversation, room string, private bool, user func(slot int) *discord.User) {
		in.Channel = "dc"
		for slot := range slots {
			list = append(list, place{seat: dcSeat{d.dc, user(slot), room, private}, number: number, room: room, conv: in.String(), slot: slot, private: private})
		}
		number++
	}
	person := func(i int) *discord.User { return d.dc.User(fmt.Sprintf("P%03d", i)) }
	for i := range dcPrivates {
		u := person(i)
		add(1, ports.Conversation{Chat: u.DM()}, u.DM(), true, func(int) *discord.User { return u })
	}
	for g := range dcGuilds {
		guild := d.dc.Guild(fmt.Sprintf("G%02d", g))
		for c := range dcChannels {
			of := func(slot int) *discord.User { return person((g*dcChannels+c)*groupSize + slot) }
			channel := guild.Channel(fmt.Sprintf("c%d", c))
			thread := of(0).Thread(channel, of(0).SayIn(channel, "let us talk"), "talk")
			add(groupSize, ports.Conversation{Chat: channel}, channel, false, of)
			add(forumSize, ports.Conversation{Chat: channel, Thread: thread}, thread, false, of)
		}
	}
	return list
}

// dcSeat is a person in a channel of Discord.
type dcSeat struct {
	dc      *discord.Server
	user    *discord.User
	room    string
	private bool
}

func (s dcSeat) say(text string) string {
	if !s.private {
		text = s.dc.Mention() + " " + text
	}
	return s.id(s.user.SayIn(s.room, text))
}

func (s dcSeat) stop() string { return s.say("/stop") }

func (s dcSeat) answer(to, text string) string {
	if s.private {
		return s.say(text)
	}
	return s.id(s.user.Reply(s.room, message(to), text))
}

// press is heard by who is connected, and by nobody later.
func (s dcSeat) press(id, button string) func() bool {
	in, err := s.user.Press(s.room, message(id), button)
	if err != nil {
		return func() bool { return false }
	}
	return in.Failed
}

func (s dcSeat) id(message string) string { return s.room + "/" + message }

// message is a message's id within its channel.
func message(id string) string {
	_, own, _ := strings.Cut(id, "/")
	return own
}

func (d *onDiscord) shows(room string) []shown {
	var list []shown
	for _, m := range d.dc.Sent(room) {
		one := shown{id: room + "/" + m.ID, text: m.Text}
		if m.ReplyTo != "" {
			one.replyTo = room + "/" + m.ReplyTo
		}
		list = append(list, one)
	}
	return list
}

// posting is a request that posts, changing one that edits.
var (
	posting  = regexp.MustCompile(`^/api/v10/channels/\d+/messages$`)
	changing = regexp.MustCompile(`^/api/v10/channels/\d+/messages/\d+$`)
)

// ServeHTTP passes a call on.
func (d *onDiscord) ServeHTTP(out http.ResponseWriter, r *http.Request) {
	c, ok := d.read(r)
	if !ok {
		return
	}
	answer := c.pass(d.dc, r)
	text := answer.Body.Bytes()
	var sent *post
	switch {
	case answer.Code != http.StatusOK:
	case r.Method == http.MethodPost && posting.MatchString(c.path):
		in, m := readDiscord(text)
		sent = d.posted(in, m, c.life)
		if d.loses(m) {
			cutOff(out)
			return
		}
		d.delay(40)
	case r.Method == http.MethodPatch && changing.MatchString(c.path):
		in, m := readDiscord(text)
		d.show(in, m)
		d.delay(20)
	}
	d.reply(out, answer.Code, text, sent)
}

// loses reports whether the answer of a send is lost. Whether a preview was posted
// nobody asks again: it is left behind, which is no fault.
func (d *onDiscord) loses(m shown) bool {
	if kind, _ := classify(m.text); kind == isPreview || !d.chance(3) {
		return false
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.lost++
	return true
}

// cutOff ends a connection without an answer.
func cutOff(out http.ResponseWriter) {
	conn, _, err := http.NewResponseController(out).Hijack()
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	_ = conn.Close()
}

// readDiscord reads a message, and in which room it is.
func readDiscord(text []byte) (in string, m shown) {
	var a struct {
		ID        string
		Channel   string `json:"channel_id"`
		Content   string
		Reference struct {
			ID string `json:"message_id"`
		} `json:"message_reference"`
		Rows []struct {
			Buttons []struct {
				Label string
				Data  string `json:"custom_id"`
			} `json:"components"`
		} `json:"components"`
	}
	if err := json.Unmarshal(text, &a); err != nil {
		panic(err)
	}
	m = shown{id: a.Channel + "/" + a.ID, text: a.Content}
	if a.Reference.ID != "" {
		m.replyTo = a.Channel + "/" + a.Reference.ID
	}
	for _, row := range a.Rows {
		for _, b := range row.Buttons {
			m.button(b.Label, b.Data)
		}
	}
	return a.Channel, m
}
