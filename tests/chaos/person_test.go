package chaos

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"time"
)

// pressAfter is when a person is told at the latest that a press did nothing.
const pressAfter = 3*time.Second + 100*time.Millisecond

// person goes through scripts in one conversation. Its fields belong to its
// goroutine until the soak is over.
type person struct {
	place
	wire *network
	rng  *rand.Rand
	wake <-chan struct{}
	read int // changes of the room

	words   []*word
	ids     map[string]bool // of the messages that were said
	stops   int             // said, all in all
	halts   int             // stop buttons that were pressed
	open    *prompt
	acted   map[string]bool // questions, by id
	pressed *press

	alone   bool           // one message is all that can be at work
	waiting int            // stops without a note yet
	yes     map[string]int // by key
	again   map[string]int
	typed   int  // answers that were typed
	late    bool // one was typed after the last word
}

// word is a message that must have an end.
type word struct {
	text    string
	verb    string
	settled bool // as far as the person can tell
	named   bool // by an answer: nothing that was said before is at work any more
}

// prompt is a question that waits for this person.
type prompt struct {
	shown
	due time.Time
}

// press is the last one of a button, until its person knows what became of it.
type press struct {
	message, button string
	stops           bool // it is a turn's stop button
	failed          func() bool
	due             time.Time // when that is known
}

func newPerson(s *soak, p place) *person {
	wire := s.platform.wire()
	return &person{place: p, wire: wire, rng: s.random("person", p.number*10+p.slot), wake: wire.watch(p.room),
		ids: map[string]bool{}, acted: map[string]bool{}, yes: map[string]int{}, again: map[string]int{}}
}

// meet says one thing, and waits for the answer to it, or for done.
func (p *person) meet(done <-chan struct{}) {
	p.ask("plain")
	for !p.settled() && p.react(done) {
	}
}

// live goes through one script after the other until quit, and the last to its
// end, or to done.
func (p *person) live(quit, done <-chan struct{}) {
	for {
		timer := time.NewTimer(time.Duration(p.rng.IntN(8000)) * time.Millisecond)
		select {
		case <-timer.C:
		case <-quit:
			timer.Stop()
			return
		}
		p.episode()
		for !p.settled() {
			if !p.react(done) {
				return
			}
		}
	}
}

// linger reacts until done.
func (p *person) linger(done <-chan struct{}) {
	for p.react(done) {
	}
}

// episode says something, or several things.
func (p *person) episode() {
	verbs := []string{"plain", "plain", "plain", "stream", "look", "note", "note", "write", "write", "many"}
	verb := func() string { return verbs[p.rng.IntN(len(verbs))] }
	switch n := p.rng.IntN(100); {
	case n < 75:
		before := len(p.words)
		p.ask(verb())
		p.alone = before == 0 && p.stops == 0 || before > 0 && p.words[before-1].named
	case n < 85: // people write in bursts
		for range 2 + p.rng.IntN(3) {
			p.ask(verb())
			pause(time.Duration(p.rng.IntN(60)) * time.Millisecond)
		}
	default:
		p.ask(verb())
		pause(time.Duration(p.rng.IntN(500)) * time.Millisecond)
		p.sayStop()
	}
}

func (p *person) ask(verb string) {
	w := &word{text: fmt.Sprintf("c%dp%dm%d", p.number, p.slot, len(p.words)+1), verb: verb}
	p.words = append(p.words, w)
	p.alone, p.late = false, false
	p.ids[p.say(verb+" "+w.text)] = true
}

func (p *person) sayStop() {
	p.stops++
	p.waiting++
	p.alone = false
	p.ids[p.seat.stop()] = true
}

// settled reports whether nothing is expected any more.
func (p *person) settled() bool {
	return p.waiting <= 0 && p.open == nil && !slices.ContainsFunc(p.words, func(w *word) bool { return !w.settled })
}

// waits says what is expected.
func (p *person) waits() string {
	var words []string
	for _, w := range p.words {
		if !w.settled {
			words = append(words, w.verb+" "+w.text)
		}
	}
	return fmt.Sprintf("for %d stops and %d words %v, at the question %+v, after the press %+v, %d changes read", p.waiting, len(words), words, p.open, p.pressed, p.read)
}

// react waits for something to do, and does it. It reports false when done is closed.
func (p *person) react(done <-chan struct{}) bool {
	var decides, knows <-chan time.Time
	if p.open != nil {
		timer := time.NewTimer(time.Until(p.open.due))
		defer timer.Stop()
		decides = timer.C
	}
	if p.pressed != nil {
		timer := time.NewTimer(time.Until(p.pressed.due))
		defer timer.Stop()
		knows = timer.C
	}
	select {
	case <-p.wake:
		p.look()
	case <-decides:
		p.decide()
	case <-knows:
		p.pressAgain()
	case <-done:
		return false
	}
	return true
}

// look reads what is new in the chat.
func (p *person) look() {
	list := p.wire.since(p.room, p.read)
	p.read += len(list)
	for _, m := range list {
		if p.open != nil && p.open.id == m.id && m.question == "" {
			p.open = nil // its buttons are gone
		}
		if p.pressed != nil && p.pressed.message == m.id && m.question == "" && m.stops == "" {
			p.pressed = nil
		}
		if p.private || p.ids[m.replyTo] || m.replyTo == "" {
			p.see(m)
		}
	}
}

// see takes in one message. What a note is about is guessed: the judge knows.
func (p *person) see(m shown) {
	switch kind, words := classify(m.text); kind {
	case isAnswer:
		for _, w := range p.words {
			w.named = w.named || slices.Contains(words, w.text)
			w.settled = w.settled || w.named
		}
	case isStopped, isFailure:
		if kind == isStopped {
			p.waiting--
		}
		for _, w := range p.words {
			w.settled = true
		}
	case isInterrupted: // what was said last is still to be answered
		words := p.words
		if !p.late {
			words = words[:max(0, len(words)-1)]
		}
		for _, w := range words {
			w.settled = true
		}
	case isIdle, isNotYours:
		p.waiting--
	case isPreview:
		if m.stops != "" && p.rng.IntN(100) < 8 { // which may be too late, and is no message then
			p.halt(m.id, m.stops)
		}
	case isQuestion:
		if m.question != "" && !p.acted[m.question] {
			p.open = &prompt{m, time.Now().Add(time.Duration(p.rng.IntN(700)) * time.Millisecond)}
		}
	}
	p.waiting = max(p.waiting, 0)
}

// decide answers the open question, or does something else instead.
func (p *person) decide() {
	q := p.open
	p.open = nil
	p.acted[q.question] = true
	unknown := slices.Contains(q.buttons, "Run it again")
	yes, no, count := "Yes, run it", "No", p.yes
	if unknown {
		yes, no, count = "Run it again", "Skip it", p.again
	}
	k := keyIn(q.text)
	switch n := p.rng.IntN(100); {
	case n < 50:
		count[k]++
		p.choose(q.id, yes)
	case n < 55: // twice
		count[k]++
		p.choose(q.id, yes)
		p.choose(q.id, yes)
	// What is typed when the question is settled already is a message like any other.
	case n < 63 && p.alone:
		count[k]++
		p.typeIn(q.id, strings.ToLower(yes)+".")
	case n < 70 && p.alone:
		p.typeIn(q.id, no)
	case n < 82:
		p.choose(q.id, no)
	case n < 92: // something else
		p.ask("plain")
	case n < 96 && unknown:
		p.choose(q.id, "Stop")
	default:
		p.sayStop()
	}
}

// typeIn types an answer out. In a group it is a message like any other also as long
// as the gateway does not know yet that its question is there: it may interrupt.
func (p *person) typeIn(id, answer string) {
	p.typed++
	p.late = true
	p.ids[p.answer(id, answer)] = true
}

// choose presses a button, which may come too late: then it does nothing.
func (p *person) choose(id, button string) {
	p.pressed = &press{message: id, button: button, failed: p.press(id, button), due: time.Now().Add(pressAfter)}
}

// pressAgain is what a person does who is told that a press did nothing.
func (p *person) pressAgain() {
	last := p.pressed
	p.pressed = nil
	switch {
	case !last.failed():
	case last.stops:
		p.halt(last.message, last.button)
	default:
		p.choose(last.message, last.button)
	}
}

// halt presses the stop button of a turn.
func (p *person) halt(id, button string) {
	p.halts++
	p.choose(id, button)
	p.pressed.stops = true
}

// kind is what a message of the bot is.
type kind int

const (
	isOther kind = iota
	isAnswer
	isWordless // an answer to no word
	isPreview  // of an answer in the making
	isQuestion
	isStopped
	isIdle
	isNotYours
	isFailure
	isInterrupted
)

var (
	answerText  = regexp.MustCompile(`^Answer to (c\d+p\d+m\d+(?: c\d+p\d+m\d+)*)\.\n[\s\S]*Done\.$`)
	failureText = regexp.MustCompile(`(?s)^[A-Z].*\n\nReference: ([a-z2-7]{6})$`)
)

// classify says what a message is; for an answer with the words that it names,
// for a failure with its reference.
func classify(text string) (kind, []string) {
	if m := answerText.FindStringSubmatch(text); m != nil {
		return isAnswer, strings.Fields(m[1])
	}
	if m := failureText.FindStringSubmatch(text); m != nil {
		return isFailure, m[1:]
	}
	switch {
	case strings.HasPrefix(text, "May I run "), strings.HasPrefix(text, "I was interrupted while "):
		return isQuestion, nil
	case text == "Stopped.":
		return isStopped, nil
	case text == "Interrupted: I go on with your next message.":
		return isInterrupted, nil
	case text == "Nothing is running.":
		return isIdle, nil
	case strings.HasPrefix(text, "Only the person whose question"):
		return isNotYours, nil
	case strings.HasSuffix(text, " …"), strings.Contains(text, "⏳ `"):
		return isPreview, nil
	case text == "Answer to nothing. Done.":
		return isWordless, nil
	}
	return isOther, nil
}
