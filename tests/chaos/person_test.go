package chaos

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"time"

	"dragoman/tests/fake/telegram"
)

// place is a conversation as one person is in it.
type place struct {
	number int   // of the conversation
	id     int64 // of the chat
	slot   int   // of the person in it
	group  *telegram.Group
}

// person goes through scripts in one conversation. Its fields belong to its
// goroutine until the soak is over.
type person struct {
	place
	wire *wire
	user *telegram.User
	rng  *rand.Rand
	wake <-chan struct{}
	read int // changes of the chat

	words []*word
	ids   map[int]bool // of the messages that were said
	stops int          // said, all in all
	open  *prompt
	acted map[string]bool // questions, by id

	alone   bool           // one message is all that can be at work
	waiting int            // stops without a note yet
	yes     map[string]int // by key
	again   map[string]int
	typed   int // answers that were typed
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

func newPerson(s *soak, p place, u *telegram.User) *person {
	return &person{place: p, wire: s.wire, user: u, rng: s.random("person", p.number*10+p.slot), wake: s.wire.watch(p.id),
		ids: map[int]bool{}, acted: map[string]bool{}, yes: map[string]int{}, again: map[string]int{}}
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
		p.stop()
	}
}

func (p *person) ask(verb string) {
	w := &word{text: fmt.Sprintf("c%dp%dm%d", p.number, p.slot, len(p.words)+1), verb: verb}
	p.words = append(p.words, w)
	p.alone = false
	p.say(verb + " " + w.text)
}

func (p *person) stop() {
	p.stops++
	p.waiting++
	p.alone = false
	if p.group != nil {
		p.ids[p.user.SayIn(p.group, "/stop@"+telegram.DefaultUsername)] = true
		return
	}
	p.say("/stop")
}

func (p *person) say(text string) {
	if p.group != nil {
		p.ids[p.user.SayIn(p.group, "@"+telegram.DefaultUsername+" "+text)] = true
		return
	}
	p.ids[p.user.Say(text)] = true
}

// settled reports whether nothing is expected any more.
func (p *person) settled() bool {
	return p.waiting <= 0 && p.open == nil && !slices.ContainsFunc(p.words, func(w *word) bool { return !w.settled })
}

// react waits for something to do, and does it. It reports false when done is closed.
func (p *person) react(done <-chan struct{}) bool {
	var due <-chan time.Time
	if p.open != nil {
		timer := time.NewTimer(time.Until(p.open.due))
		defer timer.Stop()
		due = timer.C
	}
	select {
	case <-p.wake:
		p.look()
	case <-due:
		p.decide()
	case <-done:
		return false
	}
	return true
}

// look reads what is new in the chat.
func (p *person) look() {
	list := p.wire.since(p.id, p.read)
	p.read += len(list)
	for _, m := range list {
		if p.open != nil && p.open.id == m.id && m.question == "" {
			p.open = nil // its buttons are gone
		}
		if p.group == nil || p.ids[m.replyTo] || m.replyTo == 0 {
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
	case isInterrupted: // the last word is still to be answered
		for _, w := range p.words[:max(0, len(p.words)-1)] {
			w.settled = true
		}
	case isIdle, isNotYours:
		p.waiting--
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
		p.press(q.id, yes)
	case n < 55: // twice
		count[k]++
		p.press(q.id, yes)
		p.press(q.id, yes)
	// What is typed when the question is settled already is a message like any other.
	case n < 63 && p.alone:
		count[k]++
		p.typed++
		p.answer(q.id, strings.ToLower(yes)+".")
	case n < 70 && p.alone:
		p.typed++
		p.answer(q.id, no)
	case n < 82:
		p.press(q.id, no)
	case n < 92: // something else
		p.ask("plain")
	case n < 96 && unknown:
		p.press(q.id, "Stop")
	default:
		p.stop()
	}
}

// press may come too late: then it does nothing.
func (p *person) press(id int, button string) {
	if p.group != nil {
		_ = p.user.PressIn(p.group, id, button)
		return
	}
	_ = p.user.Press(id, button)
}

// answer types one out.
func (p *person) answer(to int, text string) {
	if p.group != nil {
		p.ids[p.user.ReplyIn(p.group, to, text)] = true
		return
	}
	p.user.Say(text)
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
