// Package chaos soaks the real binary: people talk to it in 200 conversations on
// a fake Telegram, and on a fake Discord, with a scripted model and an MCP server
// that outlives it, while it is killed at random moments and started again at once.
//
//	go test ./tests/chaos                                              25 s each, with -short 10 s
//	CHAOS=30m go test -timeout 40m ./tests/chaos -run Soak/telegram -v adds a line to history.jsonl
//	CHAOS_SEED=7 …        the same scripts and plan of kills; the moments are the machine's
//	CHAOS_BUSY=MODE …     what becomes of messages while a turn runs; else the seed says
//	CHAOS_BIN=FILE …      that binary instead of one that is built
//
// Every message carries a word of its own and every answer names the words that
// it answers. So what the platform saw tells exactly what was lost, said twice,
// out of order or said in a wrong chat. A message is lost if neither an answer
// names it nor the turn that its row belongs to ended visibly in another way. The
// tools count their effects by word, so a call that ran twice, or without the yes
// of its person, is found as well.
//
// What may be doubled on Telegram is what was on its way at a kill: at most
// sends_in_flight for each. On Discord nothing may: it knows a send that is made
// again. There the connection to the gateway fails in all its ways as well, beside
// the kills and before them; a press that nobody heard its person repeats. A turn that is given up because processes died too often is counted
// and no fault: the kills are nobody's, and the gateway cannot know that.
package chaos

import (
	"cmp"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"testing"
	"time"
)

const (
	sendsInFlight = 8 // the default

	shortSoak, usualSoak = 10 * time.Second, 25 * time.Second
	// meetWithin is how long the first answers to all may take.
	meetWithin = time.Minute
	// settleWithin is how long after the last kill everything must have its end.
	settleWithin = 2 * time.Minute
)

// soak is one run.
type soak struct {
	seed     uint64
	busy     string // mode of the agent
	length   time.Duration
	commit   string
	name     string // of the platform
	platform platform
	mind     *mind
	tools    *tools
	gateway  *gateway
	rng      *rand.Rand // of the storm

	people []*person
	kills  []kill
	terms  int
	quit   chan struct{} // nobody begins anything new
	done   chan struct{} // nobody reacts any more
}

// kill is the end of a life: from when it was asked for to when it was over.
type kill struct {
	asked, over time.Time
	drained     bool // in good order: nothing is excused
}

func TestSoak(t *testing.T) {
	for name, platform := range map[string]func(*rand.Rand) platform{"telegram": newTelegram, "discord": newDiscord} {
		t.Run(name, func(t *testing.T) { newSoak(t, name, platform).run(t) })
	}
}

func (s *soak) run(t *testing.T) {
	t.Logf("seed %d, %s, %s", s.seed, s.length, s.busy)
	if s.platform.meets() {
		s.meet(t)
	}
	var living sync.WaitGroup // until their last words are settled
	var leaving sync.WaitGroup
	for _, p := range s.people {
		living.Add(1)
		leaving.Go(func() {
			p.live(s.quit, s.done)
			living.Done()
			p.linger(s.done)
		})
	}
	s.storm(t)
	close(s.quit)
	settled := make(chan struct{})
	go func() { living.Wait(); close(settled) }()
	late := time.NewTimer(settleWithin)
	defer late.Stop()
	select {
	case <-settled:
	case <-late.C:
		t.Errorf("not everybody has an answer %s after the last kill", settleWithin)
	}
	s.rest(t)
	use := s.gateway.usage(t)
	s.gateway.term(t)
	close(s.done)
	leaving.Wait()
	for _, p := range s.people {
		if !p.settled() {
			t.Errorf("%v still waits: %s", p.room, p.waits())
		}
	}

	v := judge(s.evidence(t))
	f := s.figures(v, use)
	t.Logf("%s", f)
	for _, fault := range few(v.faults) {
		t.Error(fault)
	}
	s.complain(t, v)
	f.keep(t)
}

// meet has everybody say something, and waits for all answers.
func (s *soak) meet(t *testing.T) {
	t.Helper()
	if err := poll(meetWithin, s.platform.nothingWaits); err != nil {
		t.Fatal(err)
	}
	late := make(chan struct{})
	timer := time.AfterFunc(meetWithin, func() { close(late) })
	defer timer.Stop()
	var meeting sync.WaitGroup
	for _, p := range s.people {
		meeting.Go(func() { p.meet(late) })
	}
	meeting.Wait()
	for _, p := range s.people {
		if !p.settled() {
			t.Fatalf("%s has no answer, and nothing was killed yet", p.words[0].text)
		}
	}
}

// newSoak makes the world and starts the gateway in it.
func newSoak(t *testing.T, name string, platform func(*rand.Rand) platform) *soak {
	t.Helper()
	s := &soak{name: name, seed: uint64(time.Now().UnixNano() % 1e9), length: usualSoak, commit: commit(), quit: make(chan struct{}), done: make(chan struct{})}
	if text := os.Getenv("CHAOS_SEED"); text != "" {
		n, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			t.Fatal("CHAOS_SEED: ", err)
		}
		s.seed = n
	}
	if testing.Short() {
		s.length = shortSoak
	}
	if text := os.Getenv("CHAOS"); text != "" {
		d, err := time.ParseDuration(text)
		if err != nil {
			t.Fatal("CHAOS: ", err)
		}
		s.length = d
	}
	modes := []string{"queue", "steer", "interrupt", "collect"}
	s.busy = cmp.Or(os.Getenv("CHAOS_BUSY"), modes[s.random("busy", 0).IntN(len(modes))])
	s.rng = s.random("storm", 0)
	s.platform = platform(s.random("wire", 0))
	t.Cleanup(s.platform.close)
	s.mind = newMind()
	t.Cleanup(s.mind.close)
	s.tools = newTools()
	t.Cleanup(s.tools.close)
	convs := map[string]bool{}
	for _, p := range s.platform.populate() {
		s.people = append(s.people, newPerson(s, p))
		convs[p.conv] = true
	}
	if len(convs) != conversations {
		t.Fatalf("there are %d conversations, and not %d", len(convs), conversations)
	}
	s.gateway = newGateway(t, s.config())
	s.gateway.start(t)
	return s
}

// random is a source of its own for each part, so that none disturbs another.
func (s *soak) random(part string, i int) *rand.Rand {
	return rand.New(rand.NewPCG(s.seed, hash(part)+uint64(i)))
}

// config is that of a public bot with three tools: one that reads, one that
// changes things and may, one that changes things and must ask.
func (s *soak) config() string {
	return `{
	"listen": "${LISTEN:-}",
	"models": {"main": {"type": "openai", "base_url": ` + strconv.Quote(s.mind.url()) + `, "model": "m", "api_key": "sk-chaos", "context_tokens": 4000, "max_concurrency": 1024}},
	"agents": {"main": {"models": ["main"], "busy": "` + s.busy + `"}},
	"channels": {` + s.platform.section() + `},
	"access": {"mode": "open", "rate": "", "groups": "mention"},
	"mcp_servers": {"t": {"url": ` + strconv.Quote(s.tools.url()) + `, "trusted": true}},
	"tools": {"policy": {"t__look": "allow", "t__note": "allow", "t__write": "ask"}},
	"ask": {"group_wait": "5s"},
	"limits": {"drain_timeout": "5s"},
	"log": {"format": "json", "level": "warn"}
}`
}

// storm ends the gateway again and again, and leaves one that is let live.
func (s *soak) storm(t *testing.T) {
	over := time.Now().Add(s.length)
	for time.Now().Before(over) {
		up := s.uptime()
		before := time.Duration(s.rng.Int64N(int64(up) + 1))
		pause(before)
		s.platform.trouble(s.rng)
		pause(up - before)
		s.gateway.alive(t)
		switch n := s.rng.IntN(100); {
		case n < 80:
			s.kill(t)
		case n < 88: // again before it is quite there
			for range 2 + s.rng.IntN(4) {
				s.kill(t)
				s.gateway.start(t)
				pause(time.Duration(s.rng.IntN(250)) * time.Millisecond)
			}
			s.kill(t)
		case n < 95:
			s.terms++
			asked := time.Now()
			drained := s.gateway.term(t)
			s.kills = append(s.kills, kill{asked, time.Now(), drained})
		default: // the second one means now
			s.terms++
			asked := time.Now()
			s.gateway.signal(syscall.SIGTERM)
			pause(time.Duration(s.rng.IntN(300)) * time.Millisecond)
			s.gateway.signal(syscall.SIGTERM)
			s.gateway.wait(t)
			s.kills = append(s.kills, kill{asked: asked, over: time.Now()})
		}
		s.gateway.start(t)
	}
	// The last life serves HTTP, to be measured.
	s.kill(t)
	s.platform.calm()
	s.gateway.listen(t)
	s.gateway.start(t)
}

func (s *soak) kill(t *testing.T) {
	asked := time.Now()
	s.gateway.kill(t)
	s.kills = append(s.kills, kill{asked: asked, over: time.Now()})
}

// uptime is how long a life lasts: some are over before they are ready.
func (s *soak) uptime() time.Duration {
	ms := func(from, to int) time.Duration { return time.Duration(from+s.rng.IntN(to-from)) * time.Millisecond }
	switch n := s.rng.IntN(100); {
	case n < 12:
		return ms(0, 200)
	case n < 70:
		return ms(200, 2500)
	default:
		return ms(2500, 5000)
	}
}

// rest waits until nothing is left to do.
func (s *soak) rest(t *testing.T) {
	db := filepath.Join(s.gateway.dir, "dragoman-data", "dragoman.db")
	if err := poll(settleWithin, func() error {
		return cmp.Or(s.platform.nothingWaits(), nothingPending(db))
	}); err != nil {
		t.Error(err)
	}
}

// pause waits for d.
func pause(d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	<-timer.C
}

// poll waits until check returns nil, and returns its last error.
func poll(within time.Duration, check func() error) error {
	late := time.Now().Add(within)
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		err := check()
		if err == nil || time.Now().After(late) {
			return err
		}
		<-tick.C
	}
}
