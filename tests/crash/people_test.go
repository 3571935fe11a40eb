package crash

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"dragoman/core/access"
	"dragoman/tests/fake/telegram"
)

// people are those who write to the bot. What they do depends on what they see,
// so it is the same whether the gateway died meanwhile or not.
type people struct {
	d     drama
	w     *world
	first *telegram.User // begins
	last  *telegram.User // says the last thing

	answered map[string]bool // questions
	ids      map[string]int  // of messages, by what they said at first
	pressed  telegram.Sent   // by an act
	texts    int             // said
	presses  int
	drops    []int // the places of updates that are not accepted: from people who are not let in, say
	again    int   // times that a call was to run again
	yes      int   // times that a call was allowed
	redone   int   // times that a message was to be done again
	acted    int   // acts
	actedAt  time.Time
	quiet    bool // questions are answered no more
	also     bool // what is said meanwhile was said
	then     bool
	next     bool
	givenUp  int       // failures, when the last message was said
	asked    time.Time // when the admin was last asked to let somebody in
}

// waitsFor is how long people wait for a word where none may come.
const waitsFor = 3 * time.Second

const bossID, personID, otherID = 1, 1001, 1002

var shownCode = regexp.MustCompile(`approve ([A-Z2-9]{4}-[A-Z2-9]{4})`)

func newPeople(d drama, w *world) *people {
	p := &people{d: d, w: w, answered: map[string]bool{}, ids: map[string]int{}}
	p.first = w.tg.User(personID, "Ann")
	if p.last = p.first; d.stranger && d.access != access.Pairing {
		p.last = w.tg.User(bossID, "Boss")
	}
	if d.elsewhere {
		p.last = w.tg.User(otherID, "Bob")
	}
	return p
}

func (p *people) open() {
	if p.d.stranger {
		p.drop()
	}
	if len(p.d.files) > 0 {
		p.album(p.d.says, p.d.files)
		return
	}
	p.say(p.first, p.d.says)
	if p.d.old {
		p.texts++
		p.w.tg.Raw("message", fmt.Sprintf(`{"message_id": 900, "date": %d, "chat": {"id": %d, "type": "private"},
			"from": {"id": %d, "first_name": "Ann"}, "text": "go"}`, time.Now().Add(-2*time.Hour).Unix(), personID, personID))
	}
}

func (p *people) say(who *telegram.User, text string) {
	p.texts++
	p.ids[text] = who.Say(text)
}

// act does what there is to do now. It reports whether all was said and answered.
// approve asks the admin to let in who has a code.
func (p *people) act(approve func(code string)) (over bool) {
	sent := p.w.tg.Sent(p.first.ID())
	if !p.also && p.isAt(sent) {
		p.sayAlso()
	}
	acted := p.actNow(sent)
	for _, m := range sent {
		p.answer(m)
	}
	if !p.next {
		p.pair(sent, approve)
		first := acted && p.w.tg.Pending() == 0 && (slices.ContainsFunc(sent, p.ends) || p.d.silent && time.Since(p.actedAt) > waitsFor)
		if first && p.d.then != "" && !p.then {
			p.then = true
			p.say(p.first, p.d.then)
		}
		if p.next = first && (p.d.then == "" || slices.ContainsFunc(sent, p.thenEnds)); p.next {
			p.givenUp = p.failures()
			p.say(p.last, sayNext)
		}
		return false
	}
	return p.failures() > p.givenUp ||
		slices.ContainsFunc(p.w.tg.Sent(p.last.ID()), func(m telegram.Sent) bool { return m.Text == answerNext })
}

// failures are how often the chats say that what killed the process was given up.
func (p *people) failures() int {
	n := 0
	for _, text := range p.chats() {
		if isGivenUp(text) {
			n++
		}
	}
	return n
}

// ends reports whether a message is what is said last to the first one.
func (p *people) ends(m telegram.Sent) bool {
	return isGivenUp(m.Text) || !isPreview(m) && slices.ContainsFunc(p.d.ends, func(how string) bool { return strings.HasPrefix(m.Text, how) })
}

// thenEnds reports whether a message is what is said to the second one.
func (p *people) thenEnds(m telegram.Sent) bool {
	return isGivenUp(m.Text) || strings.HasPrefix(m.Text, p.d.thenEnds)
}

// isAt reports whether the first message is where more is said meanwhile.
func (p *people) isAt(sent []telegram.Sent) bool {
	if p.d.at == preview {
		return slices.ContainsFunc(sent, isPreview)
	}
	return p.d.at != "" && p.w.ran(p.d.at) > 0
}

func (p *people) sayAlso() {
	p.also = true
	p.say(p.first, p.d.meanwhile)
	p.w.also.Store(true)
}

// answer presses a button of a question that was not answered before, or says
// something instead. Who said /stop presses nothing any more.
func (p *people) answer(m telegram.Sent) {
	if len(m.Rows) == 0 || p.also || p.quiet || isPreview(m) || slices.Contains(m.Buttons(), redoButton) {
		return
	}
	how := p.d.approve
	if slices.Contains(m.Buttons(), sayAgain) {
		how = p.d.unknown
	}
	question, _, _ := strings.Cut(*m.Rows[0][0].Data, ":")
	switch {
	case how == "" || p.answered[question]:
		return
	case how == p.d.meanwhile:
		p.sayAlso()
	case !slices.Contains(m.Buttons(), how):
		p.say(p.first, how)
	case p.first.Press(m.ID, how) != nil:
		return // its buttons are gone by now
	default:
		p.presses++
	}
	p.answered[question] = true
	switch how {
	case sayAgain:
		p.again++
	case sayYes:
		p.yes++
	}
}

// pair asks the admin to let in who shows a code, again if the gateway died meanwhile.
func (p *people) pair(sent []telegram.Sent, approve func(string)) {
	if p.d.access != access.Pairing || p.w.tg.Pending() > 0 || time.Since(p.asked) < 200*time.Millisecond {
		return // or what they wrote before is looked at only now, and answered
	}
	for _, m := range sent {
		if code := shownCode.FindStringSubmatch(m.Text); code != nil {
			p.asked = time.Now()
			approve(code[1])
			return
		}
	}
}

// chats are the texts that people see.
func (p *people) chats() []string {
	var list []string
	for _, who := range []*telegram.User{p.first, p.last} {
		for _, m := range p.w.tg.Sent(who.ID()) {
			list = append(list, m.Text)
		}
		if p.first == p.last {
			break
		}
	}
	return list
}

// shelf is where runs have their folders: in memory where the system has such a
// place, for a death of the process loses nothing there that it keeps elsewhere.
var shelf = func() string {
	if info, err := os.Stat("/dev/shm"); err == nil && info.IsDir() {
		return "/dev/shm"
	}
	return filepath.Clean(os.TempDir())
}()
