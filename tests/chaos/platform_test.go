package chaos

import (
	"bytes"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"dragoman/ports"
)

// conversations is how many there are on each platform.
const conversations = 200

// platform is where people talk to the gateway: a strict fake that outlives it,
// behind a bad network.
type platform interface {
	// section is the channel in the config. ${LIFE} in its address tells lives apart.
	section() string
	// populate makes the people, each in each room where they talk. It is called once.
	populate() []place
	// meets reports whether all must have been heard once before anything is killed.
	meets() bool
	// trouble breaks what is between the platform and the gateway, or mends it.
	trouble(rng *rand.Rand)
	// calm ends the trouble, and the faults of the network.
	calm()
	// nothingWaits is an error while the gateway has not taken all that waits for it.
	nothingWaits() error
	// shows is what the bot posted in a room and is still there, from the top.
	shows(room string) []shown
	// doubles is how many messages the end of a life may double.
	doubles() int
	// count adds what the platform alone knows of the run.
	count(f *figures)
	wire() *network
	close()
}

// place is a conversation as one person is in it.
type place struct {
	seat
	number  int    // of the conversation
	room    string // as the platform's people know it
	conv    string // as the gateway knows it
	slot    int    // of the person in it
	private bool
}

// seat is what a person can do in a room. Ids of messages are those of the
// gateway: they say where a message is, too.
type seat interface {
	say(text string) (id string) // to the bot
	stop() (id string)
	answer(to, text string) (id string) // types the answer to a question
	// press presses a button, which may be too late. failed reports whether the
	// person was told that it did nothing.
	press(message, button string) (failed func() bool)
}

// network stands before a platform as a bad one would: an answer takes its time,
// or is lost. It notes each message that was posted, when its sender could know,
// and shows the rooms to their people.
type network struct {
	http    *http.Server
	address string

	mu     sync.Mutex
	rng    *rand.Rand
	quiet  bool // no faults any more
	rooms  map[string]*room
	posts  []*post
	byID   map[string]*post
	faults []string
}

// post is a message that the platform has, in order of arrival.
type post struct {
	life     int // of the gateway that posted it; what is on its way arrives after its end
	room, id string
	question string    // whose prompt it is
	ended    time.Time // when its sender was told; zero: it was cut off
}

// room is what its people see change.
type room struct {
	log   []shown
	wakes []chan struct{}
}

// shown is a message as it was posted or edited.
type shown struct {
	id, replyTo string
	text        string
	question    string
	buttons     []string
	stops       string // the button that ends the turn at work
}

// button takes in one of a message's.
func (m *shown) button(label, data string) {
	m.buttons = append(m.buttons, label)
	if strings.HasPrefix(data, ports.StopQuestion+":") {
		m.stops = label
		return
	}
	m.question = questionIn(data)
}

// call is one that the gateway makes of the platform.
type call struct {
	life int
	path string
	body []byte
}

func newNetwork(rng *rand.Rand, h http.Handler) *network {
	n := &network{rng: rng, rooms: map[string]*room{}, byID: map[string]*post{}}
	n.http, n.address = serve(h)
	return n
}

func (n *network) wire() *network { return n }

// read takes a request in; false if it came to no end.
func (n *network) read(r *http.Request) (c call, ok bool) {
	var err error
	if c.body, err = io.ReadAll(r.Body); err != nil {
		return c, false // the gateway was killed while it wrote
	}
	life, path, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	c.life, _ = strconv.Atoi(life) // 0 is found by whoever looks
	c.path = "/" + path
	return c, true
}

// pass hands a call to the fake, whose answer waits to be written.
func (c call) pass(to http.Handler, r *http.Request) *httptest.ResponseRecorder {
	r.URL.Path, r.URL.RawPath = c.path, ""
	r.Body, r.ContentLength = io.NopCloser(bytes.NewReader(c.body)), int64(len(c.body))
	answer := httptest.NewRecorder()
	to.ServeHTTP(answer, r)
	return answer
}

// reply writes an answer, and notes that its caller knows of what it posted.
func (n *network) reply(out http.ResponseWriter, status int, text []byte, sent *post) {
	out.Header().Set("Content-Type", "application/json")
	out.WriteHeader(status)
	_, err := out.Write(text)
	if flushed := http.NewResponseController(out).Flush(); sent == nil || err != nil || flushed != nil {
		return
	}
	n.mu.Lock()
	sent.ended = time.Now()
	n.mu.Unlock()
}

// watch gives a signal whenever something changes in a room.
func (n *network) watch(id string) <-chan struct{} {
	n.mu.Lock()
	defer n.mu.Unlock()
	wake := make(chan struct{}, 1)
	r := n.room(id)
	r.wakes = append(r.wakes, wake)
	return wake
}

// since are the changes of a room from the one with this number on.
func (n *network) since(id string, from int) []shown {
	n.mu.Lock()
	defer n.mu.Unlock()
	return slices.Clone(n.room(id).log[from:])
}

// room is one by its id, made if new. n.mu is held.
func (n *network) room(id string) *room {
	r := n.rooms[id]
	if r == nil {
		r = &room{}
		n.rooms[id] = r
	}
	return r
}

// chance is true in so many of a hundred cases, while there are faults.
func (n *network) chance(percent int) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	return !n.quiet && n.rng.IntN(100) < percent
}

// delay is the way back.
func (n *network) delay(most int) {
	n.mu.Lock()
	d := time.Duration(n.rng.IntN(most)) * time.Millisecond
	n.mu.Unlock()
	pause(d)
}

// calm ends the faults.
func (n *network) calm() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.quiet = true
}

// posted notes a message of a life of the gateway. One that is there already is
// that: the platform knew it, and posted nothing.
func (n *network) posted(in string, m shown, life int) *post {
	n.mu.Lock()
	p := n.byID[m.id]
	if p == nil {
		p = &post{life: life, room: in, id: m.id, question: m.question}
		n.posts = append(n.posts, p)
		n.byID[m.id] = p
	}
	n.mu.Unlock()
	n.show(in, m)
	return p
}

// show takes a message as it is from now on, and wakes the room's people.
func (n *network) show(in string, m shown) {
	n.mu.Lock()
	defer n.mu.Unlock()
	r := n.room(in)
	r.log = append(r.log, m)
	for _, wake := range r.wakes {
		select {
		case wake <- struct{}{}:
		default:
		}
	}
}

// questionIn is what all buttons of one question have in common.
func questionIn(data string) string {
	if at := strings.LastIndexByte(data, ':'); at >= 0 {
		return data[:at]
	}
	return data
}
