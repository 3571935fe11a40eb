package chaos

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"dragoman/ports"
)

// evidence is all that is known when nothing moves any more.
type evidence struct {
	people  []*person
	sent    map[string][]shown // what each room shows
	posts   []*post
	doubles int    // that the end of a life may make
	kills   []kill // one for each life but the last
	rows    rows
	effects map[string]int
}

// How long before a kill a send may have been answered and yet count as open: the
// mark is a commit, and the platform sees only its own end.
const (
	marking = 100 * time.Millisecond // usually
	// markingBusy is the same on a machine that has much else to do, and markingMost
	// for the odd one. What is open at a kill is bounded all the same.
	markingBusy = time.Second
	markingMost = 5 * time.Second
)

// verdict is what came of it.
type verdict struct {
	messages, answers, stopped, questions int
	lost, outOfOrder, wrong               int
	doubled, leftPreviews, openSends      int
	mostAtOneKill                         int
	givenUp, failed                       int // messages
	effects, again, twice, unasked        int
	tookP50, tookP99, tookMost            int64 // ms, of turns that asked nothing

	faults []string
	places map[string]place // of one of its people, by room
	named  map[string]bool  // words that an answer names where it should
	copies map[string]int   // of what should be there once, by room and identity
	// twofold are the rooms and identities of what is doubled, once for each copy.
	twofold []string
}

func judge(e evidence) verdict {
	v := verdict{places: map[string]place{}, named: map[string]bool{}, copies: map[string]int{}}
	for _, p := range e.people {
		v.places[p.room] = p.place
		v.messages += len(p.words) + p.stops + p.typed
	}
	posted := map[string]bool{}
	for _, p := range e.posts {
		posted[p.id] = true
	}
	refs := map[string]bool{}
	for _, room := range slices.Sorted(maps.Keys(e.sent)) {
		v.judgeRoom(e, room, posted, refs)
	}
	v.judgeNotes(e)
	v.judgeWords(e, refs)
	v.judgeQuestions(e)
	v.judgeDoubles(e)
	v.judgeEffects(e)
	if took := e.rows.took; len(took) > 0 {
		v.tookP50, v.tookP99, v.tookMost = took[len(took)/2], took[len(took)*99/100], took[len(took)-1]
	}
	return v
}

func (v *verdict) fault(format string, args ...any) {
	v.faults = append(v.faults, fmt.Sprintf(format, args...))
}

// few are as many faults as anybody reads.
func few(faults []string) []string {
	const most = 25
	if len(faults) <= most {
		return faults
	}
	return append(slices.Clone(faults[:most]), fmt.Sprintf("and %d more", len(faults)-most))
}

// judgeRoom goes through what a room shows, from the top.
func (v *verdict) judgeRoom(e evidence, room string, posted, refs map[string]bool) {
	latest := map[int]int{} // by slot, the first word of the last answer
	answerOf := map[string]string{}
	for _, m := range e.sent[room] {
		if !posted[m.id] {
			v.fault("room %s shows message %s, which nobody saw being posted", room, m.id)
		}
		kind, words := classify(m.text)
		switch kind {
		case isAnswer:
			v.judgeAnswer(e, room, m, words, latest, answerOf)
			v.copy(room, strings.Join(words, " "))
		case isPreview:
			v.leftPreviews++
		case isFailure:
			refs[words[0]] = true
			v.copy(room, "failure "+words[0])
		case isOther:
			v.fault("room %s shows %q", room, m.text)
		case isWordless:
			if v.places[room].private {
				v.fault("room %s: an answer to nothing", room)
			}
		}
	}
}

// judgeAnswer looks at whether an answer is where it belongs, and in its order.
func (v *verdict) judgeAnswer(e evidence, room string, m shown, words []string, latest map[int]int, answerOf map[string]string) {
	v.answers++
	list := strings.Join(words, " ")
	chat, slot, first := split(words[0])
	last := 0
	for _, w := range words {
		c, s, n := split(w)
		if c != v.places[room].number || s != slot {
			v.wrong++
			v.fault("room %s: an answer to another: %s", room, list)
			return
		}
		if n <= last {
			v.outOfOrder++
			v.fault("room %s: the answer names words out of order: %s", room, list)
		}
		last = n
		if was, ok := answerOf[w]; ok && was != list {
			v.wrong++
			v.fault("room %s: %s is answered by two answers: %s, and %s", room, w, was, list)
		}
		answerOf[w] = list
		v.named[w] = true
	}
	if first < latest[slot] {
		v.outOfOrder++
		v.fault("room %s: the answer to %s stands below that to a later message", room, list)
	}
	latest[slot] = max(latest[slot], first)
	if v.places[room].private {
		return
	}
	if p := personOf(e, chat, slot); p == nil || !p.ids[m.replyTo] {
		v.wrong++
		v.fault("room %s: the answer to %s points at message %s, which is another person's", room, list, m.replyTo)
	}
}

func personOf(e evidence, number, slot int) *person {
	for _, p := range e.people {
		if p.number == number && p.slot == slot {
			return p
		}
	}
	return nil
}

// split takes a word apart.
func split(word string) (chat, slot, n int) {
	if _, err := fmt.Sscanf(word, "c%dp%dm%d", &chat, &slot, &n); err != nil {
		return -1, -1, -1
	}
	return chat, slot, n
}

// copy counts something that should be there once.
func (v *verdict) copy(room, identity string) {
	k := room + ": " + identity
	if v.copies[k]++; v.copies[k] > 1 {
		v.doubled++
		v.twofold = append(v.twofold, k)
	}
}

// judgeWords looks for the end of each message.
func (v *verdict) judgeWords(e evidence, refs map[string]bool) {
	for _, p := range e.people {
		for _, w := range p.words {
			turns := e.rows.ofWord[w.text]
			if len(turns) > 1 {
				v.fault("%s is in the inbox %d times", w.text, len(turns))
			}
			if v.named[w.text] {
				continue
			}
			turn := turnRow{}
			if len(turns) > 0 {
				turn = e.rows.turns[turns[0]]
			}
			switch {
			case turn.outcome == string(ports.OutcomeStopped), turn.outcome == string(ports.OutcomeSuperseded): // its note is looked for by judgeNotes
			case turn.outcome == string(ports.OutcomeFailed) && refs[ports.Ref(turns[0])]:
			default:
				v.lost++
				v.fault("%s (%s) is lost: turn %v, outcome %q", w.text, w.verb, turns, turn.outcome)
			}
		}
	}
}

// judgeNotes looks at what names no word: each turn that ended so has its note.
func (v *verdict) judgeNotes(e evidence) {
	want := map[string]map[kind]int{}
	failedTurns := map[string]bool{}
	for id, t := range e.rows.turns {
		if want[t.conv] == nil {
			want[t.conv] = map[kind]int{}
		}
		switch {
		case t.outcome == string(ports.OutcomeStopped):
			want[t.conv][isStopped]++
		case t.outcome == string(ports.OutcomeSuperseded):
			want[t.conv][isInterrupted]++
		case t.outcome == string(ports.OutcomeFailed):
			failedTurns[ports.Ref(id)] = true
		case t.idle:
			want[t.conv][isIdle]++
		case !t.lane:
			want[t.conv][isNotYours]++
		}
	}
	stops, halts := map[string]int{}, map[string]int{}
	for _, p := range e.people {
		stops[p.room] += p.stops
		halts[p.room] += p.halts
	}
	for room, list := range e.sent {
		conv := v.places[room].conv
		if n := e.rows.stops[conv]; n < stops[room] || n > stops[room]+halts[room] {
			v.lost += max(0, stops[room]-n)
			v.fault("room %s: %d stops were said and %d pressed, %d are in the inbox", room, stops[room], halts[room], n)
		}
		got := map[kind]int{}
		for _, m := range list {
			k, words := classify(m.text)
			if k == isFailure {
				v.judgeFailure(m.text, words[0], failedTurns)
			}
			got[k]++
		}
		for _, k := range []kind{isStopped, isIdle, isNotYours, isInterrupted} {
			if extra := got[k] - want[conv][k]; extra >= 0 {
				v.doubled += extra
				v.twofold = append(v.twofold, slices.Repeat([]string{fmt.Sprintf("%s: note %d", room, k)}, extra)...)
				continue
			}
			v.lost += want[conv][k] - got[k]
			v.fault("room %s: %d turns ended with note %d, and the room shows %d", room, want[conv][k], k, got[k])
		}
		v.stopped += got[isStopped]
	}
}

// judgeFailure counts the failures that people were told of.
func (v *verdict) judgeFailure(text, ref string, turns map[string]bool) {
	if !turns[ref] {
		v.fault("the reference %s is of no turn that failed", ref)
	}
	if strings.Contains(text, "interrupted") {
		v.givenUp++
		return
	}
	v.failed++
	v.fault("a turn failed: %q", text)
}

// judgeQuestions looks for prompts that were posted twice.
func (v *verdict) judgeQuestions(e evidence) {
	seen := map[string]bool{}
	for _, p := range e.posts {
		if p.question == "" {
			continue
		}
		if !seen[p.question] {
			seen[p.question] = true
			v.questions++
		}
		v.copy(p.room, "question "+p.question)
	}
}

// open reports whether the send was open when its life was killed, or had been
// answered at most so long before.
func (p *post) open(kills []kill, marking time.Duration) bool {
	if p.life < 1 || p.life > len(kills) { // the last life drained
		return false
	}
	k := kills[p.life-1]
	return !k.drained && (p.ended.IsZero() || p.ended.After(k.asked.Add(-marking)))
}

// judgeDoubles holds what is there more than once to the kills. What the gateway
// did not mark as sent it sent again: by its rows these are as many as are doubled
// in the rooms. Where the platform knows a message that is sent again, nothing may
// be doubled; but a preview may be left behind also there.
func (v *verdict) judgeDoubles(e evidence) {
	unmarked, busy := 0, 0
	at := map[int]int{} // by life
	for _, p := range e.posts {
		if p.open(e.kills, marking) {
			v.openSends++
		}
		if p.open(e.kills, markingBusy) {
			busy++
		}
		if e.rows.marked[p.id] {
			continue
		}
		unmarked++
		if !p.open(e.kills, markingMost) {
			v.fault("message %s of room %s was not marked as sent, and was not on its way when life %d was killed", p.id, p.room, p.life)
			continue
		}
		at[p.life]++
		v.mostAtOneKill = max(v.mostAtOneKill, at[p.life])
	}
	for life, n := range at {
		if n > sendsInFlight {
			v.fault("the end of life %d doubled %d messages, more than %d", life, n, sendsInFlight)
		}
	}
	if unmarked != v.doubled+v.leftPreviews {
		v.fault("%d messages were doubled and %d previews left behind, and %d were not marked as sent: %q", v.doubled, v.leftPreviews, unmarked, few(v.twofold))
	}
	if e.doubles == 0 && v.doubled > 0 {
		v.fault("%d messages were doubled, and none may be: %q", v.doubled, few(v.twofold))
	}
	if v.doubled > busy {
		v.fault("%d messages were doubled, and %d sends were open at the kills", v.doubled, busy)
	}
}

// judgeEffects holds what the tools did to what people said to it.
func (v *verdict) judgeEffects(e evidence) {
	verbs, yes, again := map[string]string{}, map[string]int{}, map[string]int{}
	for _, p := range e.people {
		for _, w := range p.words {
			verbs[w.text] = w.verb
		}
		maps.Copy(yes, p.yes)
		maps.Copy(again, p.again)
	}
	for k, n := range e.effects {
		v.effects += n
		v.again += n - 1
		word, index, _ := strings.Cut(k, "/")
		plan := plans[verbs[word]]
		i, err := strconv.Atoi(index)
		switch {
		case err != nil || i < 0 || i >= len(plan):
			v.fault("an effect that nobody asked for: %s", k)
		case n > 1+again[k]:
			v.twice++
			v.fault("%s had its effect %d times, and its person said %d times to run it again", k, n, again[k])
		case plan[i] == "write" && yes[k] == 0:
			v.unasked++
			v.fault("%s ran without a yes", k)
		}
	}
}
