package crash

import (
	"fmt"
	"slices"
	"strings"

	"dragoman/ports"
	"dragoman/tests/fake/telegram"
)

// firstUpdate is the id of the first update of the fake platform.
const firstUpdate = 700_000_001

// checkDead looks at the rows of a life that just died: what came in and the
// cursor behind it are one commit.
func (p *play) checkDead() {
	cursor, err := p.cursor()
	if err != nil {
		p.fault("the rows of the dead cannot be read: %v", err)
		return
	}
	stored, err := p.rows.count(`SELECT COUNT(*) FROM inbox`)
	taken := cursor - firstUpdate + 1
	if cursor == 0 {
		taken = 0
	}
	if want := taken - p.people.dropped(taken); err != nil || stored != want {
		p.fault("died with a cursor behind %d updates and %d messages stored, want %d (%v)", taken, stored, want, err)
	}
}

func (p *play) cursor() (int, error) {
	return p.rows.count(`SELECT COALESCE((SELECT CAST(cursor AS INTEGER) FROM cursor WHERE channel = '` + channelName + `'), 0)`)
}

// check looks at all that is left when a drama is over.
func (p *play) check() {
	got, err := p.rows.counts(none)
	if err != nil {
		p.fault("the rows cannot be read: %v", err)
	}
	for what, n := range got {
		if n != 0 {
			p.fault("%d %s", n, what)
		}
	}
	said := p.people.texts + p.people.presses
	want := said - p.people.dropped(said)
	if n, err := p.rows.count(`SELECT COUNT(*) FROM inbox`); err != nil || n != want {
		p.fault("%d messages are stored, %d were said to be (%v)", n, want, err)
	}
	if cursor, err := p.cursor(); err != nil || cursor != firstUpdate+said-1 {
		p.fault("the cursor is %d, the last update was %d (%v)", cursor, firstUpdate+said-1, err)
	}
	if p.results, err = p.rows.results(); err != nil {
		p.fault("the results cannot be read: %v", err)
	}
	p.results = slices.DeleteFunc(p.results, func(r result) bool { return strings.HasPrefix(r.text, nothingFound) })
	p.checkEffects()
	p.checkKeys()
	p.checkAsked()
	p.checkPosts()
	p.checkGone()
	p.checkFiles()
	if spent, err := p.rows.count(`SELECT COALESCE(MAX(cost), 0) FROM (SELECT SUM(cost) AS cost FROM usage GROUP BY person)`); err != nil || p.d.limit > 0 && spent > int(p.d.limit) {
		p.fault("a person spent %d of %d (%v)", spent, p.d.limit, err)
	}
}

// checkEffects holds tools that are not to run twice to it, and results to what ran.
func (p *play) checkEffects() {
	for _, tool := range p.d.calls {
		ran := p.world.ran(tool)
		most := 1 + p.people.again
		if p.people.redone > 0 {
			most += p.people.yes // the redo asks, though the admin allows the tool
		}
		if unsafe(tool) && ran > most {
			p.fault("%s ran %d times, and was to run %d times at most", tool, ran, most)
		}
		if ran == 0 && slices.ContainsFunc(p.results, func(r result) bool { return r.tool == tool && r.outcome == string(ports.CallOK) }) {
			p.fault("%s has a result and never ran", tool)
		}
	}
}

// checkKeys holds each call to one key, in all lives.
func (p *play) checkKeys() {
	once := 1 + p.people.redone // a redo is a call of its own
	keys, owners := map[string][]string{}, map[string]string{}
	for _, life := range p.lives {
		for _, l := range life {
			if l.kind != lineFact || l.name != factKey {
				continue
			}
			at := strings.LastIndex(l.rest, " ")
			call, key := l.rest[:at], l.rest[at+1:]
			if was, ok := owners[key]; ok && was != call || key == "" {
				p.fault("the key %q is of %s and of %s", key, was, call)
			}
			if owners[key] == "" {
				keys[call] = append(keys[call], key)
			}
			owners[key] = call
			if len(keys[call]) > once {
				p.fault("%s ran under the keys %q", call, keys[call])
			}
		}
	}
	for _, tool := range p.d.calls {
		if keys := p.world.keysOf(tool); len(keys) > once || slices.Contains(keys, "") {
			p.fault("the server of %s was given the keys %q for one call", tool, keys)
		}
	}
}

// checkAsked holds what was recorded to be asked for once: a request or a call is
// made again only if a life died with it.
func (p *play) checkAsked() {
	begun, again := map[string]int{}, map[string]int{}
	for _, life := range p.lives {
		open := map[string]int{}
		for _, l := range life {
			switch {
			case l.kind != lineFact:
			case l.name == factBegins:
				begun[l.rest]++
				open[l.rest]++
			case l.name == factRecorded:
				open[l.rest]--
			}
		}
		if life[len(life)-1].kind == lineDead {
			for what, n := range open {
				again[what] += max(0, n)
			}
		}
	}
	for what, n := range begun {
		once := 1 + p.people.redone
		if what == reply {
			once, _ = p.rows.count(`SELECT COUNT(*) FROM step WHERE kind IN ('reply', 'memo')`)
			if p.people.also || p.people.acted > 0 {
				once++ // its request may be given up
			}
		}
		if n > once+again[what] {
			p.fault("%s was asked for %d times: %d are recorded, and lives died with %d", what, n, once, again[what])
		}
	}
}

// checkPosts compares what the rows say was posted with what the chats show: no
// row without its message, and no message without its row but those that a death
// caught on their way.
func (p *play) checkPosts() {
	rows, err := p.rows.postings()
	if err != nil {
		p.fault("the deliveries cannot be read: %v", err)
	}
	shows := map[string]posting{}
	for _, r := range rows {
		shows[r.as] = r // what was posted last, in place of what was before
	}
	extra := 0
	for _, m := range p.posts() {
		want, ok := shows[postedAs(m)]
		if !ok {
			extra++
			continue
		}
		if !want.preview && m.Text != strings.TrimSpace(want.text) {
			p.fault("a message shows %q, and was to show %q", m.Text, want.text)
		}
		delete(shows, postedAs(m))
		if line, _, _ := strings.Cut(m.Text, "\n"); !strings.HasPrefix(line, "I was interrupted while") {
			p.visible = append(p.visible, line)
		}
	}
	for as, lost := range shows {
		p.fault("%q is marked as posted as %q, which is nowhere", lost.text, as)
	}
	if flying := p.flying(); extra > flying {
		p.fault("%d messages are doubled or left behind, %d were on their way at a death", extra, flying)
	}
}

// flying is how many sends were on their way when a life died: begun, and not marked.
func (p *play) flying() int {
	n := 0
	for _, life := range p.lives {
		open := map[string]bool{}
		for _, l := range life {
			if l.kind == lineFact && l.name == factSends {
				open[l.rest] = true
			}
			if l.kind == lineFact && l.name == factMarked {
				delete(open, l.rest)
			}
		}
		if life[len(life)-1].kind == lineDead {
			n += len(open)
		}
	}
	return n
}

func postedAs(m telegram.Sent) string { return fmt.Sprintf("%d/%d", m.Chat, m.ID) }

// posts are the bot's messages, chat by chat.
func (p *play) posts() []telegram.Sent {
	list := p.world.tg.Sent(personID)
	return append(append(list, p.world.tg.Sent(bossID)...), p.world.tg.Sent(otherID)...)
}

// remembered are the prompts of the last message: what the model was told of all
// that was before.
func (p *play) remembered() [][]line {
	return slices.DeleteFunc(p.world.prompts(), func(told []line) bool {
		last := told[len(told)-1]
		return last.who != "user" || last.says != sayNext
	})
}

// suspicious is how many deaths the work of a conversation may cost: one more ends it.
const suspicious = 2

func isGivenUp(text string) bool { return strings.HasPrefix(text, "I was interrupted too often") }

// compare holds a play to the one without a death: the model remembers the same,
// but for what a death may add.
func (p *play) compare(calm *play) {
	if len(p.faults) > 0 || len(calm.faults) > 0 {
		return
	}
	want, all := calm.remembered()[0], p.remembered()
	if len(p.died()) > suspicious && slices.ContainsFunc(p.visible, isGivenUp) {
		return
	}
	if len(all) == 0 {
		p.fault("the model was never asked about the last message")
	}
	for _, got := range all {
		got = withoutSearches(got)
		if len(got) != len(want) {
			p.fault("the model remembers %d messages, without a death %d:\n%v\n%v", len(got), len(want), got, want)
			continue
		}
		call := -1
		for i := range got {
			if got[i].who == "tool" {
				call++
			}
			if got[i] != want[i] && !p.mayDiffer(want[i], got[i], call) {
				p.fault("the model remembers %q, without a death %q", got[i], want[i])
			}
		}
	}
	p.compareChats(calm)
}

// withoutSearches leaves out the searches that found nothing.
func withoutSearches(told []line) (list []line) {
	for _, l := range told {
		if l.who == "tool" && strings.HasPrefix(l.says, nothingFound) {
			list = list[:len(list)-1] // its call
			continue
		}
		list = append(list, l)
	}
	return list
}

// mayDiffer reports whether a death can have made the one of the other: the
// outcome of a call that was cut off is unknown, as its row says, and its person
// may end the turn for that. call is that of a tool's line.
func (p *play) mayDiffer(want, got line, call int) bool {
	if want.who != got.who || len(p.died()) == 0 {
		return false
	}
	switch want.who {
	case "tool":
		row := p.results[call]
		cutOff := row.outcome == string(ports.CallInterrupted) && unsafe(row.tool)
		stopped := row.outcome == string(ports.CallCancelled) && (slices.Contains(p.d.ends, textStopped) || p.d.busy == ports.BusyInterrupt)
		return (cutOff || stopped) && strings.HasSuffix(got.says, row.text) // the adapter says before it that the call failed
	case "assistant":
		return slices.Contains(p.d.ends, got.says) && slices.Contains(p.d.ends, want.says)
	}
	return false
}

// compareChats holds what people see to what they see without a death, but for
// questions about an unknown outcome.
func (p *play) compareChats(calm *play) {
	got, want := slices.Clone(p.visible), slices.Clone(calm.visible)
	if p.d.silent {
		said := func(line string) bool { return slices.Contains(p.d.ends, line) }
		got, want = slices.DeleteFunc(got, said), slices.DeleteFunc(want, said)
	}
	same := len(got) == len(want)
	for i := 0; same && i < len(got); i++ {
		same = got[i] == want[i] || slices.Contains(p.d.ends, got[i]) && slices.Contains(p.d.ends, want[i])
	}
	if !same {
		p.fault("the chats show %q, without a death %q", got, want)
	}
}
