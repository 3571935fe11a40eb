package chaos

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"dragoman/ports"
	"dragoman/tests/fake/telegram"
)

// scene is a small soak that went well: ann asked twice and stopped something, bob
// and eve share a group. Life 1 was killed at second 10, life 2 drained at 20.
type scene struct{ evidence }

const annChat, groupChat = int64(10_000), int64(-1_000_000)

func at(ms int) time.Time { return time.Unix(1000, 0).Add(time.Duration(ms) * time.Millisecond) }

func conv(chat string) string { return ports.Conversation{Channel: "tg", Chat: chat}.String() }

func turnID(chat string, seq int64) string {
	return ports.TurnID(ports.Conversation{Channel: "tg", Chat: chat}, seq)
}

func newScene() *scene {
	said := func(verbs ...string) []*word {
		var list []*word
		for i := 0; i < len(verbs); i += 2 {
			list = append(list, &word{verb: verbs[i], text: verbs[i+1]})
		}
		return list
	}
	one := func(k string) map[string]int { return map[string]int{k: 1} }
	s := &scene{evidence{
		people: []*person{
			{place: place{number: 0, id: annChat}, words: said("plain", "c0p0m1", "write", "c0p0m2", "look", "c0p0m3", "note", "c0p0m4"), stops: 2, yes: one("c0p0m2/0")},
			{place: place{number: 1, id: groupChat}, words: said("plain", "c1p0m1"), ids: map[int]bool{1: true}},
			{place: place{number: 1, id: groupChat, slot: 1}, words: said("plain", "c1p1m1"), ids: map[int]bool{2: true}},
		},
		sent:    map[int64][]telegram.Sent{},
		kills:   []kill{{asked: at(10_000), over: at(10_020)}, {asked: at(20_000), over: at(20_500), drained: true}},
		effects: map[string]int{"c0p0m2/0": 1, "c0p0m4/0": 1},
		rows: rows{marked: map[string]bool{}, ofWord: map[string][]string{}, stops: map[string]int{conv("10000"): 2}, turns: map[string]turnRow{
			turnID("10000", 1): {conv: conv("10000"), outcome: "answered", lane: true},
			turnID("10000", 2): {conv: conv("10000"), outcome: "answered", lane: true},
			turnID("10000", 4): {conv: conv("10000"), outcome: "stopped", lane: true},
			turnID("10000", 6): {conv: conv("10000"), outcome: "answered", idle: true},
			turnID("10000", 7): {conv: conv("10000"), outcome: "failed", lane: true},
		}},
	}}
	for w, turn := range map[string]string{"c0p0m1": turnID("10000", 1), "c0p0m2": turnID("10000", 2), "c0p0m3": turnID("10000", 4),
		"c0p0m4": turnID("10000", 7), "c1p0m1": turnID("-1000000", 1), "c1p1m1": turnID("-1000000", 2)} {
		s.rows.ofWord[w] = []string{turn}
	}
	s.show(annChat, answerTo([]string{"c0p0m1"}), 0, 1, 2000)
	s.show(annChat, "May I run t__write?", 0, 1, 9990).question = "q1"
	s.show(annChat, answerTo([]string{"c0p0m2"}), 0, 2, 11_000)
	s.show(annChat, "Stopped.", 0, 2, 12_000)
	s.show(annChat, "Nothing is running.", 0, 2, 13_000)
	s.show(annChat, "I was interrupted too often.\n\nReference: "+ports.Ref(turnID("10000", 7)), 0, 2, 14_000)
	s.show(groupChat, answerTo([]string{"c1p0m1"}), 1, 2, 12_000)
	s.show(groupChat, answerTo([]string{"c1p1m1"}), 2, 2, 12_000)
	return s
}

// show adds a message that a life posted, and whose send was answered then and marked.
func (s *scene) show(chat int64, text string, replyTo, life, ms int) *post {
	m := telegram.Sent{ID: len(s.posts) + 100, Chat: chat, Text: text, ReplyTo: replyTo}
	s.sent[chat] = append(s.sent[chat], m)
	s.posts = append(s.posts, &post{life: life, chat: chat, id: m.ID, ended: at(ms)})
	s.rows.marked[fmt.Sprintf("%d/%d", chat, m.ID)] = true
	return s.posts[len(s.posts)-1]
}

// twice adds a message of which a life posted the first copy, which was answered
// then and not marked.
func (s *scene) twice(chat int64, text, question string, replyTo, life, ms int) {
	p := s.show(chat, text, replyTo, life, ms)
	p.question = question
	delete(s.rows.marked, fmt.Sprintf("%d/%d", chat, p.id))
}

// hide takes the nth message of a chat away.
func (s *scene) hide(chat int64, n int) {
	s.sent[chat] = append(s.sent[chat][:n:n], s.sent[chat][n+1:]...)
}

func TestTheJudgeFindsNothingWhereAllIsWell(t *testing.T) {
	v := judge(newScene().evidence)
	if len(v.faults) > 0 {
		t.Errorf("faults: %q", v.faults)
	}
	if v.messages != 8 || v.answers != 4 || v.stopped != 1 || v.questions != 1 || v.givenUp != 1 || v.effects != 2 || v.openSends != 1 {
		t.Errorf("counted %+v", v)
	}
}

func TestTheJudgeTakesWhatWasOnItsWayAtAKill(t *testing.T) {
	s := newScene()
	s.twice(annChat, "May I run t__write?", "q1", 0, 1, 9980)
	s.twice(annChat, "Answer to c0p0 …", "", 0, 1, 9980)
	v := judge(s.evidence)
	if len(v.faults) > 0 || v.doubled != 1 || v.leftPreviews != 1 || v.mostAtOneKill != 2 || v.questions != 1 {
		t.Errorf("doubled %d, at most %d at one kill; faults %q", v.doubled, v.mostAtOneKill, v.faults)
	}
}

func TestTheJudgeFindsEachFault(t *testing.T) {
	for name, c := range map[string]struct {
		breaks func(*scene)
		want   string
	}{
		"an answer is missing":     {func(s *scene) { s.hide(annChat, 0) }, "c0p0m1 (plain) is lost"},
		"a message has no row":     {func(s *scene) { delete(s.rows.ofWord, "c0p0m3") }, "c0p0m3 (look) is lost"},
		"a message has two rows":   {func(s *scene) { s.rows.ofWord["c0p0m1"] = []string{"a", "b"} }, "in the inbox 2 times"},
		"a stop is missing":        {func(s *scene) { s.rows.stops[conv("10000")] = 1 }, "2 stops were said, 1 are in the inbox"},
		"a stop's note is missing": {func(s *scene) { s.hide(annChat, 3) }, "1 turns ended with note"},
		"an idle note is missing":  {func(s *scene) { s.hide(annChat, 4) }, "1 turns ended with note"},
		"a failure is missing":     {func(s *scene) { s.hide(annChat, 5) }, "c0p0m4 (note) is lost"},
		"a failure of no turn":     {func(s *scene) { s.show(annChat, "It broke.\n\nReference: aaaaaa", 0, 2, 15_000) }, "of no turn that failed"},
		"a turn failed otherwise": {func(s *scene) {
			s.sent[annChat][5].Text = strings.Replace(s.sent[annChat][5].Text, "I was interrupted", "It broke", 1)
		}, "a turn failed"},
		"something else is said":      {func(s *scene) { s.show(annChat, "panic: runtime error", 0, 2, 15_000) }, "shows \"panic"},
		"an answer to nothing":        {func(s *scene) { s.show(annChat, "Answer to nothing. Done.", 0, 2, 15_000) }, "an answer to nothing"},
		"an answer in a wrong chat":   {func(s *scene) { s.show(groupChat, answerTo([]string{"c0p0m1"}), 1, 2, 15_000) }, "an answer to another"},
		"an answer of two people":     {func(s *scene) { s.sent[groupChat][1].Text = answerTo([]string{"c1p0m1", "c1p1m1"}) }, "an answer to another"},
		"an answer points at another": {func(s *scene) { s.sent[groupChat][1].ReplyTo = 1 }, "which is another person's"},
		"a word in two answers":       {func(s *scene) { s.sent[annChat][2].Text = answerTo([]string{"c0p0m1", "c0p0m2"}) }, "is answered by two answers"},
		"answers change places":       {func(s *scene) { l := s.sent[annChat]; l[0].Text, l[2].Text = l[2].Text, l[0].Text }, "stands below that to a later message"},
		"words change places":         {func(s *scene) { s.sent[annChat][0].Text = answerTo([]string{"c0p0m2", "c0p0m1"}) }, "names words out of order"},
		"doubled long before a kill":  {func(s *scene) { s.twice(annChat, answerTo([]string{"c0p0m1"}), "", 0, 1, 2000) }, "was not on its way when life 1"},
		"doubled by a drain":          {func(s *scene) { s.twice(groupChat, answerTo([]string{"c1p1m1"}), "", 2, 2, 20_400) }, "was not on its way when life 2"},
		"a note doubled by a drain":   {func(s *scene) { s.twice(annChat, "Stopped.", "", 0, 2, 20_400) }, "was not on its way when life 2"},
		"doubled and marked":          {func(s *scene) { s.show(annChat, "Stopped.", 0, 2, 15_000) }, "1 messages were doubled and 0 previews left behind, and 0 were not marked"},
		"too many at one kill": {func(s *scene) {
			for i := range 9 {
				q := "many" + strings.Repeat("x", i)
				s.twice(annChat, "May I run t__write?", q, 0, 1, 9990)
				s.show(annChat, "May I run t__write?", 0, 2, 10_500).question = q
			}
		}, "the end of life 1 doubled 9 messages"},
		"a preview left behind":       {func(s *scene) { s.twice(annChat, "Answer to c0p0 …", "", 0, 2, 15_000) }, "was not on its way when life 2"},
		"an effect happened twice":    {func(s *scene) { s.effects["c0p0m4/0"] = 2 }, "had its effect 2 times"},
		"an effect without a yes":     {func(s *scene) { s.people[0].yes = nil }, "ran without a yes"},
		"an effect nobody asked for":  {func(s *scene) { s.effects["c0p0m3/0"] = 1; s.effects["c0p0m1/0"] = 1 }, "that nobody asked for: c0p0m1/0"},
		"a message nobody saw posted": {func(s *scene) { s.posts = s.posts[:len(s.posts)-1] }, "which nobody saw being posted"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene()
			c.breaks(s)
			faults := strings.Join(judge(s.evidence).faults, "\n")
			if !strings.Contains(faults, c.want) {
				t.Errorf("it finds %q, want %q", faults, c.want)
			}
		})
	}
}
