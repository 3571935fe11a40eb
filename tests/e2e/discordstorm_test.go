package e2e

import (
	"cmp"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"dragoman/tests/fake/discord"
	"dragoman/tests/fake/model"
)

// onDiscord is a gateway between a fake Discord and a model, open to all, with more
// keys of the channel. It listens.
func onDiscord(t testing.TB, dc *discord.Server, m *model.Server, more string) *gateway {
	t.Helper()
	t.Cleanup(dc.Close)
	g := startGateway(t, `{
	"listen": "${LISTEN}",
	"models": {"main": {"type": "openai", "base_url": `+quoted(m.URL())+`, "model": "m"}},
	"channels": {"dc": {"type": "discord", "token": `+quoted(dc.Token())+`, "api_url": `+quoted(dc.URL())+more+`}},
	"access": {"mode": "open", "groups": "all", "rate": ""},
	"log": {"level": "debug"}
}`)
	listens(t, dc)
	return g
}

// listens waits until the bot is connected.
func listens(t testing.TB, dc *discord.Server) {
	t.Helper()
	eventually(t, answerWithin, "the bot listens", func() error {
		if dc.Gateway().Connected == 0 {
			return fmt.Errorf("nobody is connected")
		}
		return nil
	})
}

// dcCrowd talks in private chats, in channels and in threads: each room counts its
// messages, and who speaks changes in those that are not private.
type dcCrowd struct {
	t     testing.TB
	dc    *discord.Server
	rooms []*dcRoom
	turn  int
}

type dcRoom struct {
	id     string
	people []*discord.User
	said   int
}

// newDCCrowd has everybody say one thing, so that Discord has told of every room.
func newDCCrowd(t testing.TB, dc *discord.Server) *dcCrowd {
	t.Helper()
	c := &dcCrowd{t: t, dc: dc}
	var people []*discord.User
	for i := range 16 {
		u := dc.User(fmt.Sprint("person", i))
		people = append(people, u)
		c.rooms = append(c.rooms, &dcRoom{id: u.DM(), people: people[i:]})
	}
	for i := range 6 {
		c.rooms = append(c.rooms, &dcRoom{id: dc.Guild(fmt.Sprint("guild", i%2)).Channel(fmt.Sprint("channel", i)), people: people[2*i : 2*i+2]})
	}
	c.threads(6)
	c.talk(len(c.rooms))
	return c
}

// threads opens so many, in all channels in turn.
func (c *dcCrowd) threads(n int) {
	for i := range n {
		in := c.rooms[16+i%6]
		from := c.say(in)
		c.rooms = append(c.rooms, &dcRoom{id: in.people[0].Thread(in.id, from, "talk"), people: in.people})
	}
}

// talk has n more messages said, in all rooms in turn.
func (c *dcCrowd) talk(n int) {
	for range n {
		c.say(c.rooms[c.turn%len(c.rooms)])
		c.turn++
	}
}

func (c *dcCrowd) say(r *dcRoom) string {
	r.said++
	who := r.people[0]
	if len(r.people) == 2 {
		who = r.people[r.said%2]
	}
	return who.SayIn(r.id, fmt.Sprintf("number <%d>", r.said))
}

var numbered = regexp.MustCompile(`number <(\d+)>`)

// answered waits until everything is, and checks that each is once, and in order.
func (c *dcCrowd) answered() {
	c.t.Helper()
	for _, r := range c.rooms {
		var got []string
		eventually(c.t, answerWithin, "all is answered", func() error {
			got = nil
			for _, m := range c.dc.Sent(r.id) {
				for _, n := range numbered.FindAllStringSubmatch(m.Text, -1) {
					got = append(got, n[1])
				}
			}
			if !slices.Contains(got, fmt.Sprint(r.said)) {
				return fmt.Errorf("room %s of %d messages has answers to %v", r.id, r.said, got)
			}
			return nil
		})
		var want []string
		for n := range r.said {
			want = append(want, fmt.Sprint(n+1))
		}
		if !slices.Equal(got, want) {
			c.t.Errorf("room %s has answers to %v of %d:\n%s", r.id, got, r.said, c.dc.Transcript(r.id))
		}
	}
}

// outage is how long Discord's gateway is away: DISCORD_OUTAGE=60s is for once in a while.
func outage(t testing.TB) time.Duration {
	t.Helper()
	d, err := time.ParseDuration(cmp.Or(os.Getenv("DISCORD_OUTAGE"), "3s"))
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// during does something again and again for d.
func during(d time.Duration, times int, do func()) {
	tick := time.NewTicker(d / time.Duration(times))
	defer tick.Stop()
	for range times {
		do()
		<-tick.C
	}
}

// What is said while Discord's gateway is away is answered once it is back, once and
// in order, whether it still knows the session or not.
func TestNothingIsLostWhileDiscordsGatewayIsAway(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		knows bool // the session
		first func(*discord.Server)
		want  func(before, after discord.GatewayStats) bool
	}{
		{"and the session goes on", true, nil, func(a, b discord.GatewayStats) bool {
			return b.Resumes > a.Resumes && b.Identifies == a.Identifies
		}},
		{"and the session is gone", false, nil, func(a, b discord.GatewayStats) bool { return b.Identifies > a.Identifies }},
		{"and it refuses to go on", true, func(dc *discord.Server) { dc.RefuseResumes(1) }, func(a, b discord.GatewayStats) bool {
			return b.RefusedResumes > a.RefusedResumes && b.Identifies > a.Identifies
		}},
		{"and it first asks to connect anew, again and again", true, func(dc *discord.Server) { dc.AskReconnectFirst(3) }, func(a, b discord.GatewayStats) bool {
			return b.Resumes >= a.Resumes+4
		}},
		{"and then new sessions begin with that too", false, func(dc *discord.Server) { dc.AskReconnectFirst(2) }, func(a, b discord.GatewayStats) bool {
			return b.Identifies > a.Identifies
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			dc := discord.New(discord.Options{Overall: discord.Rate{Limit: 50, Per: time.Second}})
			onDiscord(t, dc, slow(t, 1, 0), "")
			crowd := newDCCrowd(t, dc)
			crowd.answered()
			before := dc.Gateway()
			dc.GatewayDown()
			crowd.talk(100)
			crowd.threads(3) // which nobody has heard of
			during(outage(t), 391, func() { crowd.talk(1) })
			crowd.talk(500 - 100 - 3 - 391)
			if c.first != nil {
				c.first(dc)
			}
			dc.GatewayUp(c.knows)
			crowd.answered()
			crowd.talk(len(crowd.rooms))
			crowd.answered()
			if after := dc.Gateway(); !c.want(before, after) {
				t.Errorf("it did not come back that way: %+v, then %+v", before, after)
			}
		})
	}
}

// A connection that is open, and on which nothing comes, is given up.
func TestADeadConnectionToDiscordIsReplaced(t *testing.T) {
	t.Parallel()
	for name, dies := range map[string]func(*discord.Server){
		"nothing comes any more":          (*discord.Server).Zombify,
		"heartbeats are not acknowledged": func(dc *discord.Server) { dc.LoseAcks(1) },
		"the session is invalid":          func(dc *discord.Server) { dc.Invalidate(false) },
		"it is invalid, and can go on":    func(dc *discord.Server) { dc.Invalidate(true) },
		"its number is wrong":             func(dc *discord.Server) { dc.CloseGateway(discord.CloseBadSeq, "Invalid seq.") },
		"it timed out":                    func(dc *discord.Server) { dc.CloseGateway(discord.CloseTimedOut, "Session timed out.") },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dc := discord.New(discord.Options{Heartbeat: 2 * time.Second})
			onDiscord(t, dc, slow(t, 1, 0), "")
			crowd := newDCCrowd(t, dc)
			crowd.answered()
			before := dc.Gateway().Connects
			dies(dc)
			during(2*time.Second, 100, func() { crowd.talk(1) })
			eventually(t, answerWithin, "another connection", func() error {
				if dc.Gateway().Connects == before {
					return fmt.Errorf("there is none")
				}
				return nil
			})
			crowd.talk(len(crowd.rooms))
			crowd.answered()
		})
	}
}

// The histories that are read after a start fail as anything may.
func TestAHistoryOfDiscordIsReadHoweverItFails(t *testing.T) {
	t.Parallel()
	global := discord.TooManyRequests(1)
	global.Global = true
	bare := discord.Response{Status: 429, Body: "error code: 1015"}
	for name, fails := range map[string]func(*discord.Server){
		"with one call too many":     func(dc *discord.Server) { dc.Fail(discord.ListMessages, 12, discord.TooManyRequests(1)) },
		"with too many calls in all": func(dc *discord.Server) { dc.Fail(discord.ListMessages, 12, global) },
		"with a 429 and no more":     func(dc *discord.Server) { dc.Fail(discord.ListMessages, 12, bare) },
		"with a 502":                 func(dc *discord.Server) { dc.Fail(discord.ListMessages, 12, discord.BadGateway) },
		"with a 503":                 func(dc *discord.Server) { dc.Fail(discord.ListMessages, 12, discord.Overloaded) },
		"by cut connections":         func(dc *discord.Server) { dc.Cut(discord.ListMessages, 12) },
		"for longer than is waited":  func(dc *discord.Server) { dc.Fail(discord.ListMessages, -1, discord.Overloaded) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dc := discord.New(discord.Options{})
			g := onDiscord(t, dc, slow(t, 1, 0), "")
			crowd := newDCCrowd(t, dc)
			crowd.answered()
			eventually(t, answerWithin, "the gateway knows that all came", func() error { return nothingPending(g.Dir) })
			g.Kill()
			crowd.talk(200)
			fails(dc)
			g.Start()
			g.WaitReady()
			listens(t, dc)
			crowd.talk(60) // which must not overtake what the histories have
			if strings.HasPrefix(name, "for longer") {
				g.WaitLine("discord_history_owed", answerWithin)
				crowd.talk(60)
				dc.Mend(discord.ListMessages)
			}
			crowd.answered()
		})
	}
}

// A room that the bot may not see any more holds up nothing.
func TestARoomThatTheBotIsShutOutOfHoldsUpNothing(t *testing.T) {
	t.Parallel()
	dc := discord.New(discord.Options{})
	g := onDiscord(t, dc, slow(t, 1, 0), "")
	crowd := newDCCrowd(t, dc)
	crowd.answered()
	dc.GatewayDown()
	crowd.talk(200)
	closed := crowd.rooms[16]
	dc.Deny(closed.id, discord.ViewChannel)
	crowd.rooms = slices.DeleteFunc(crowd.rooms, func(r *dcRoom) bool { return r == closed || r.id == crowd.rooms[22].id })
	dc.GatewayUp(false)
	crowd.answered()
	crowd.talk(len(crowd.rooms))
	crowd.answered()
	g.WaitLine("discord_history_closed", answerWithin)
}

// A session that ends while histories are read leaves nothing unread.
func TestANewSessionInTheMiddleOfAHistory(t *testing.T) {
	t.Parallel()
	dc := discord.New(discord.Options{})
	onDiscord(t, dc, slow(t, 1, 0), "")
	crowd := newDCCrowd(t, dc)
	crowd.answered()
	dc.Delay(discord.ListMessages, 2*time.Second) // four rooms at once: they must still be read when it is looked
	dc.GatewayDown()
	crowd.talk(150)
	dc.GatewayUp(false)
	for range 2 {
		reads := dc.Calls(discord.ListMessages)
		eventually(t, answerWithin, "a history is read", func() error {
			if dc.Calls(discord.ListMessages) < reads+3 || dc.Open(discord.ListMessages) == 0 {
				return fmt.Errorf("none is")
			}
			return nil
		})
		dc.Invalidate(false)
		crowd.talk(50)
	}
	dc.Mend(discord.ListMessages)
	crowd.answered()
	crowd.talk(len(crowd.rooms))
	crowd.answered()
}
