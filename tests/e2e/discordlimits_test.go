package e2e

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"dragoman/tests/fake/discord"
	"dragoman/tests/fake/model"
)

// shownAt is when texts were first shown in Discord, by what they say.
type shownAt struct {
	mu    sync.Mutex
	times map[string]time.Time
}

func (s *shownAt) shown(_, text string, _ bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.times == nil {
		s.times = map[string]time.Time{}
	}
	if s.times[text].IsZero() {
		s.times[text] = time.Now()
	}
}

func (s *shownAt) when(text string) time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.times[text]
}

// answersInDiscord waits until the bot's messages in a room are exactly these.
func answersInDiscord(t testing.TB, dc *discord.Server, room string, want ...string) {
	t.Helper()
	eventually(t, answerWithin, fmt.Sprintf("%q", want), func() error {
		var got []string
		for _, m := range dc.Sent(room) {
			got = append(got, m.Text)
		}
		if !slices.Equal(got, want) {
			return fmt.Errorf("there is %q", got)
		}
		return nil
	})
}

// Whom Discord tells to wait gets the answer right after that, in order, and it is
// left alone until then.
func TestAnAnswerInDiscordComesRightAfterALimit(t *testing.T) {
	measured(t)
	flood, within, pieces := 6*time.Second, 2*time.Second, 40
	if raceEnabled() { // on a busy machine: the limit begins within the answer, and ends after it
		flood, within, pieces = 15*time.Second, within+slack, 100
	}
	for _, c := range []struct {
		name   string
		global bool
		how    discord.Telling
		coarse time.Duration // how much longer the limit is said to be
	}{
		{"of one route", false, discord.TellAll, 0},
		{"of one route, told in the body alone", false, discord.TellBody, 0},
		{"of the bot", true, discord.TellAll, 0},
		{"of the bot, told in the body alone", true, discord.TellBody, 0},
		{"of a proxy before it", true, discord.TellHeader, time.Second},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var at shownAt
			dc := discord.New(discord.Options{Watch: discord.Watch{Shown: at.shown}})
			onDiscord(t, dc, slow(t, pieces, 100*time.Millisecond), "")
			ann, bob := dc.User("Ann"), dc.User("Bob")
			poem := strings.TrimSpace(strings.Repeat("all work and no play ", 20))
			ann.Say(poem)
			inDiscord(t, dc, ann.DM(), "a preview", func(discord.Sent) bool { return true })
			room := ann.DM()
			if c.global {
				room = ""
			}
			dc.Flood(room, flood, c.how)
			began := time.Now()
			ann.Say("and now?")
			if !c.global {
				bob.Say("hello")
				answersInDiscord(t, dc, bob.DM(), "You said: hello")
				if took := at.when("You said: hello").Sub(began); took > flood {
					t.Errorf("another chat waited %v", took)
				}
			}
			answersInDiscord(t, dc, ann.DM(), "You said: "+poem, "You said: and now?")
			if late := at.when("You said: "+poem).Sub(began) - flood - c.coarse; late < -c.coarse || late > within {
				t.Errorf("the answer came %v after the limit was over", late)
			}
			if n := dc.Refused(room); n < 1 || n > 4 {
				t.Errorf("Discord was asked %d times while it wanted silence", n)
			}
			for _, m := range dc.Sent(ann.DM()) {
				if m.Edits > 20 {
					t.Errorf("%q has %d edits", m.Text, m.Edits)
				}
			}
		})
	}
}

func TestAStormOfRefusalsOfDiscordKeepsTheOrder(t *testing.T) {
	t.Parallel()
	wide := discord.TooManyRequests(1)
	wide.Global = true
	for name, storm := range map[string]discord.Response{"of routes": discord.TooManyRequests(1), "of the bot": wide} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dc := discord.New(discord.Options{})
			onDiscord(t, dc, slow(t, 1, 0), "")
			crowd := newDCCrowd(t, dc)
			crowd.answered()
			dc.Fail(discord.CreateMessage, 30, storm)
			crowd.talk(4 * len(crowd.rooms))
			crowd.answered()
		})
	}
}

// The limit of a route, which Discord tells of with each answer, is kept and not
// run into: ten thousand refusals in ten minutes shut a whole address out.
func TestALongAnswerKeepsTheLimitOfItsRoute(t *testing.T) {
	t.Parallel()
	dc := discord.New(discord.Options{PerRoute: discord.Rate{Limit: 5, Per: 3 * time.Second}})
	var lines []string
	for i := range 900 {
		lines = append(lines, fmt.Sprintf("line number %d is here", i))
	}
	m := model.New(model.Options{Pieces: 20, Pace: 100 * time.Millisecond, Answer: func(model.Request) model.Reply {
		return model.Reply{Text: strings.Join(lines, "\n") + "\n"}
	}})
	t.Cleanup(m.Close)
	onDiscord(t, dc, m, "")
	ann := dc.User("Ann")
	ann.Say("count")
	inDiscord(t, dc, ann.DM(), "the end of the answer", tells("line number 899 is here"))
	var all strings.Builder
	for _, m := range dc.Sent(ann.DM()) {
		all.WriteString(m.Text + "\n")
	}
	at := -1
	for i := range lines {
		next := strings.Index(all.String(), lines[i])
		if next <= at || strings.Count(all.String(), lines[i]+"\n") > 1 {
			t.Fatalf("%q is out of order, lost or doubled", lines[i])
		}
		at = next
	}
	if n := len(dc.Sent(ann.DM())); n < 8 || dc.Invalid() > 0 {
		t.Errorf("%d messages, and %d requests were refused", n, dc.Invalid())
	}
}
