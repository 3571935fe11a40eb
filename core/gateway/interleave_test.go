package gateway_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"dragoman/core/access"
	"dragoman/core/agent"
	"dragoman/ports"
)

// jumble is two people in a group who do one thing after the other at random,
// while models fail and the gateway stops, or dies at one of its writes.
type jumble struct {
	*world
	rng    *rand.Rand
	f      *failing
	broken atomic.Int64 // so many of the next requests fail
	event  int
	said   []string // events of what was said
	words  []string
	deaths int
}

// TestWhateverTheOrderNothingIsLostOrDoneTwice plays many random orders of what
// people and faults do to one conversation. JUMBLES=n plays so many, and
// JUMBLE=seed one alone.
func TestWhateverTheOrderNothingIsLostOrDoneTwice(t *testing.T) {
	from, n := 0, 24
	if testing.Short() {
		n = 6
	}
	if text := os.Getenv("JUMBLES"); text != "" {
		n, _ = strconv.Atoi(text)
	}
	if text := os.Getenv("JUMBLE"); text != "" {
		from, _ = strconv.Atoi(text)
		n = 1
	}
	for seed := from; seed < from+n; seed++ {
		t.Run(strconv.Itoa(seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { newJumble(t, uint64(seed)).play() })
		})
	}
}

func newJumble(t *testing.T, seed uint64) *jumble {
	j := &jumble{world: newWorld(t), rng: rand.New(rand.NewPCG(seed, 1))}
	j.opt.Access.People = map[string]access.Listed{"ann": {Identities: []string{"chat:ann"}, Role: ports.RoleAdmin}}
	j.opt.Ask.Expires = 3 * time.Minute
	mode := one(j.rng, ports.BusyQueue, ports.BusySteer, ports.BusyInterrupt, ports.BusyCollect)
	j.agent = func(a *agent.Config) { a.Busy, a.MaxSteps = mode, 40 }
	j.model.reply = j.reply
	j.model.dwell = func(ctx context.Context) { idle(ctx, 300*time.Millisecond) }
	j.tools.onCall = func(ctx context.Context, _ string) { idle(ctx, 700*time.Millisecond) }
	return j
}

func one[T any](rng *rand.Rand, of ...T) T { return of[rng.IntN(len(of))] }

// idle lets time pass, until ctx ends.
func idle(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}

func (j *jumble) play() {
	j.begin(0)
	for range 30 {
		j.step()
		<-time.After(time.Duration(j.rng.IntN(900)) * time.Millisecond)
	}
	j.raise()
	for range 30 { // whatever is asked has expired then
		<-time.After(time.Minute)
		j.raise()
	}
	if <-time.After(time.Second); !j.over() {
		j.t.Fatalf("it never comes to an end; the chat shows %q\n%s", j.chat.texts(), j.rows())
	}
	j.judge()
	j.end()
}

// begin starts the gateway; the at-th write of its turns kills it, 0 = none.
func (j *jumble) begin(at int) {
	j.f = j.startFailing(at, one(j.rng, killBefore, killAfter))
}

// raise starts the gateway anew where it has died.
func (j *jumble) raise() {
	select {
	case <-j.f.died:
		j.deaths++
		j.bury(j.f)
		j.begin(0)
	default:
	}
}

// step is one thing that happens.
func (j *jumble) step() {
	j.raise()
	who := one(j.rng, "ann", "bob")
	switch n := j.rng.IntN(100); {
	case n < 50:
		word := fmt.Sprintf("w%d", len(j.words))
		j.words = append(j.words, word)
		j.say(inGroup(who, one(j.rng, "plain", "plain", "read_a", "write_a", "ask_a", "write_a+read_a", "ask_a+ask_b", "slow", "fails")+" "+word))
	case n < 57:
		j.say(inGroup(who, "/stop"))
	case n < 60:
		j.say(inGroup(who, "/new"))
	case n < 63:
		j.say(inGroup(who, "/compact"))
	case n < 73:
		j.say(inGroup("ann", "/busy "+one(j.rng, "queue", "steer", "interrupt", "collect", "default")))
	case n < 88:
		j.press(who)
	case n < 92:
		j.broken.Add(int64(1 + j.rng.IntN(4)))
	case n < 94:
		<-time.After(time.Duration(j.rng.IntN(90)) * time.Second)
	case n < 96:
		j.end()
		j.begin(0)
	case j.deaths < 3: // more than that may be given up
		j.end()
		j.begin(1 + j.rng.IntN(12))
	}
}

// press presses a button of one of the prompts, which may be over or another's.
func (j *jumble) press(who string) {
	j.chat.mu.Lock()
	var asked []post
	for _, p := range j.chat.posts {
		if len(p.out.Content.Choices) > 0 {
			asked = append(asked, p)
		}
	}
	j.chat.mu.Unlock()
	if len(asked) == 0 {
		return
	}
	p := asked[max(0, len(asked)-1-j.rng.IntN(3))]
	if j.rng.IntN(3) == 0 {
		j.say(replying(who, one(j.rng, "yes", "no", "rather not"), p))
		return
	}
	m := p.pressed(who, p.out.Content.Choices[j.rng.IntN(len(p.out.Content.Choices))].Value)
	m.Private = false
	j.deliver(m)
}

func (j *jumble) say(m ports.Message) { j.said = append(j.said, j.deliver(m)) }

// deliver delivers a message until it was received, and sometimes once more.
func (j *jumble) deliver(m ports.Message) string {
	j.event++
	m.Event = strconv.Itoa(j.event)
	m.ID, m.Addressed = ports.MessageID("in-"+m.Event), true
	for again := j.rng.IntN(5) == 0; ; {
		j.chat.mu.Lock()
		in := j.chat.in
		j.chat.mu.Unlock()
		err := in.Receive(j.t.Context(), ports.Batch{Messages: []ports.Message{m}, Cursor: m.Event})
		if err == nil && !again {
			return m.Event
		}
		again = again && err != nil
		j.raise()
		<-time.After(10 * time.Millisecond)
	}
}

var wordSaid = regexp.MustCompile(`\b([a-z_+]+) (w\d+)\b`)

// reply is the model: it calls the tools that the newest message is about, and
// then names the words of all that it was told since its last answer.
func (j *jumble) reply(ctx context.Context, r ports.ModelRequest) (ports.ModelReply, error) {
	if idle(ctx, 200*time.Millisecond); j.broken.Add(-1) >= 0 {
		return ports.ModelReply{}, ports.Errorf(ports.KindTemporary, "model", "busy")
	}
	j.broken.CompareAndSwap(j.broken.Load(), max(0, j.broken.Load()))
	var words []string
	tools, answered := "", false
	for _, e := range r.Entries {
		switch {
		case e.Role == ports.RoleAssistant && len(e.Calls) == 0:
			words, tools = nil, ""
		case e.Role == ports.RoleTool:
			answered = true
		case e.Role == ports.RoleUser:
			for _, m := range wordSaid.FindAllStringSubmatch(e.Text, -1) {
				tools, answered = m[1], false
				words = append(words, m[2])
			}
		}
	}
	if r.NoCalls || tools == "" || tools == "plain" || answered {
		return says("named: " + strings.Join(words, " ") + ".")
	}
	got := ports.ModelReply{Text: "Let me see.", Model: "m", Stop: ports.StopCalls}
	for i, name := range strings.Split(tools, "+") {
		got.Calls = append(got.Calls, ports.Call{ID: fmt.Sprintf("c%d-%d", len(r.Entries), i), Name: "srv__" + name, Arguments: json.RawMessage(`{"n":0}`)})
	}
	return got, nil
}

// judge holds what is left to what was said.
func (j *jumble) judge() {
	t := j.t
	events := j.column(`SELECT event FROM inbox`)
	for _, e := range j.said {
		if n := len(slices.DeleteFunc(slices.Clone(events), func(have string) bool { return have != e })); n != 1 {
			t.Errorf("message %s is stored %d times", e, n)
		}
	}
	for what, q := range map[string]string{
		"messages that joined a turn that has them not": `SELECT COUNT(*) FROM step s, json_each(s.body, '$.seq') m JOIN turn t ON t.id = s.turn
			WHERE s.kind = 'input' AND NOT EXISTS (SELECT 1 FROM inbox WHERE conv = t.conv AND seq = m.value AND turn = t.id)`,
		"messages that joined twice":               `SELECT COUNT(*) - COUNT(DISTINCT m.value) FROM step s, json_each(s.body, '$.seq') m WHERE s.kind = 'input'`,
		"turns of two people":                      `SELECT COUNT(*) FROM turn t WHERE (SELECT COUNT(DISTINCT person) FROM inbox WHERE turn = t.id) <> 1`,
		"turns that nothing later came instead of": `SELECT COUNT(*) FROM turn t WHERE outcome = 'superseded' AND NOT EXISTS (SELECT 1 FROM inbox WHERE conv = t.conv AND person = t.person AND turn <> t.id AND seq > t.seq)`,
		"turns that failed by a fault of ours":     `SELECT COUNT(*) FROM step WHERE kind = 'final' AND body ->> '$.kind' = 'internal'`,
		"stops that stopped another's turn":        `SELECT COUNT(*) FROM turn t WHERE outcome = 'stopped' AND NOT EXISTS (SELECT 1 FROM inbox WHERE turn = t.id AND person = t.person)`,
		"calls that began anew and nobody wanted it": `SELECT COUNT(*) FROM (SELECT COUNT(*) AS starts, (SELECT COUNT(*) FROM audit WHERE what = 'tool_run_again' AND detail ->> '$.call' = s.body ->> '$.key') AS again
			FROM step s WHERE kind = 'start' AND body ->> '$.class' = 'unsafe' GROUP BY body ->> '$.key') WHERE starts > 1 + again`,
	} {
		if n := j.count(q); n != 0 {
			t.Errorf("%d %s", n, what)
		}
	}
	j.judgeEffects()
	j.judgeAnswers()
	for _, r := range j.model.asked() {
		checkCallsAnswered(t, r)
	}
	j.sound(len(events))
}

// judgeEffects holds the tools' runs to the rows that say that they began.
func (j *jumble) judgeEffects() {
	starts, ran := map[string]int{}, map[string]int{}
	for _, key := range j.column(`SELECT body ->> '$.key' FROM step WHERE kind = 'start'`) {
		starts[key]++
	}
	j.tools.mu.Lock()
	defer j.tools.mu.Unlock()
	for i, key := range j.tools.keys {
		if ran[key]++; ran[key] > starts[key] && !strings.HasPrefix(j.tools.order[i], "read_") {
			j.t.Errorf("%s of %s ran %d times, and began %d times", j.tools.order[i], key, ran[key], starts[key])
		}
	}
}

// judgeAnswers looks whether each answer names the words of its turn.
func (j *jumble) judgeAnswers() {
	for _, line := range j.column(`SELECT t.id || '|' || COALESCE((SELECT body ->> '$.text' FROM step WHERE turn = t.id AND kind = 'reply' ORDER BY idx DESC LIMIT 1), '') || '|' ||
		(SELECT group_concat(body ->> '$.text', ' ') FROM inbox WHERE turn = t.id) FROM turn t WHERE outcome = 'answered' AND lane = 1`) {
		part := strings.SplitN(line, "|", 3)
		for _, m := range wordSaid.FindAllStringSubmatch(part[2], -1) {
			if !regexp.MustCompile(`\b` + m[2] + `\b`).MatchString(part[1]) {
				j.t.Errorf("turn %s has %s, and its answer is %q", part[0], m[2], part[1])
			}
		}
	}
}
