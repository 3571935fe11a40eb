package chaos

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"dragoman/ports"
)

// scene is a small soak that went well: ann asked twice and stopped something, bob
// and eve share a group. Life 1 was killed at second 10, life 2 drained at 20.
type scene struct {
	evidence
	stage
}

// stage is where a scene plays.
type stage struct {
	ann, group ports.Conversation
	doubles    int
}

var stages = map[string]stage{
	"telegram": {ports.Conversation{Channel: "tg", Chat: "10000"}, ports.Conversation{Channel: "tg", Chat: "-1000000", Thread: "7"}, sendsInFlight},
	"discord":  {ports.Conversation{Channel: "dc", Chat: "1300000000000000001"}, ports.Conversation{Channel: "dc", Chat: "1300000000000000002", Thread: "1300000000000000003"}, 0},
}

func at(ms int) time.Time { return time.Unix(1000, 0).Add(time.Duration(ms) * time.Millisecond) }

func newScene(on stage) *scene {
	said := func(verbs ...string) []*word {
		var list []*word
		for i := 0; i < len(verbs); i += 2 {
			list = append(list, &word{verb: verbs[i], text: verbs[i+1]})
		}
		return list
	}
	seat := func(number int, in ports.Conversation, slot int) place {
		return place{number: number, room: in.String(), conv: in.String(), slot: slot, private: in.Thread == ""}
	}
	ann := func(seq int64) string { return ports.TurnID(on.ann, seq) }
	conv := on.ann.String()
	one := func(k string) map[string]int { return map[string]int{k: 1} }
	s := &scene{stage: on, evidence: evidence{
		doubles: on.doubles,
		people: []*person{
			{place: seat(0, on.ann, 0), words: said("plain", "c0p0m1", "write", "c0p0m2", "look", "c0p0m3", "note", "c0p0m4"), stops: 2, yes: one("c0p0m2/0")},
			{place: seat(1, on.group, 0), words: said("plain", "c1p0m1"), ids: map[string]bool{"1": true}},
			{place: seat(1, on.group, 1), words: said("plain", "c1p1m1"), ids: map[string]bool{"2": true}},
		},
		sent:    map[string][]shown{},
		kills:   []kill{{asked: at(10_000), over: at(10_020)}, {asked: at(20_000), over: at(20_500), drained: true}},
		effects: map[string]int{"c0p0m2/0": 1, "c0p0m4/0": 1},
		rows: rows{marked: map[string]bool{}, ofWord: map[string][]string{}, stops: map[string]int{conv: 2}, turns: map[string]turnRow{
			ann(1): {conv: conv, outcome: "answered", lane: true},
			ann(2): {conv: conv, outcome: "answered", lane: true},
			ann(4): {conv: conv, outcome: "stopped", lane: true},
			ann(6): {conv: conv, outcome: "answered", idle: true},
			ann(7): {conv: conv, outcome: "failed", lane: true},
		}},
	}}
	for w, turn := range map[string]string{"c0p0m1": ann(1), "c0p0m2": ann(2), "c0p0m3": ann(4),
		"c0p0m4": ann(7), "c1p0m1": ports.TurnID(on.group, 1), "c1p1m1": ports.TurnID(on.group, 2)} {
		s.rows.ofWord[w] = []string{turn}
	}
	s.show(on.ann, answerTo([]string{"c0p0m1"}), "", 1, 2000)
	s.show(on.ann, "May I run t__write?", "", 1, 9990).question = "q1"
	s.show(on.ann, answerTo([]string{"c0p0m2"}), "", 2, 11_000)
	s.show(on.ann, "Stopped.", "", 2, 12_000)
	s.show(on.ann, "Nothing is running.", "", 2, 13_000)
	s.show(on.ann, "I was interrupted too often.\n\nReference: "+ports.Ref(ann(7)), "", 2, 14_000)
	s.show(on.group, answerTo([]string{"c1p0m1"}), "1", 2, 12_000)
	s.show(on.group, answerTo([]string{"c1p1m1"}), "2", 2, 12_000)
	return s
}

// show adds a message that a life posted, and whose send was answered then and marked.
func (s *scene) show(in ports.Conversation, text, replyTo string, life, ms int) *post {
	room := in.String()
	m := shown{id: fmt.Sprint(room, "/", len(s.posts)+100), text: text, replyTo: replyTo}
	s.sent[room] = append(s.sent[room], m)
	s.posts = append(s.posts, &post{life: life, room: room, id: m.id, ended: at(ms)})
	s.rows.marked[m.id] = true
	return s.posts[len(s.posts)-1]
}

// twice adds a message of which a life posted the first copy, which was answered
// then and not marked.
func (s *scene) twice(in ports.Conversation, text, question, replyTo string, life, ms int) {
	p := s.show(in, text, replyTo, life, ms)
	p.question = question
	delete(s.rows.marked, p.id)
}

// hide takes the nth message of a room away.
func (s *scene) hide(in ports.Conversation, n int) {
	room := in.String()
	s.sent[room] = append(s.sent[room][:n:n], s.sent[room][n+1:]...)
}

// anns are the messages that ann sees, groups those of the group.
func (s *scene) anns() []shown   { return s.sent[s.ann.String()] }
func (s *scene) groups() []shown { return s.sent[s.group.String()] }

func TestTheJudgeFindsNothingWhereAllIsWell(t *testing.T) {
	for name, on := range stages {
		v := judge(newScene(on).evidence)
		if len(v.faults) > 0 {
			t.Errorf("%s: faults: %q", name, v.faults)
		}
		if v.messages != 8 || v.answers != 4 || v.stopped != 1 || v.questions != 1 || v.givenUp != 1 || v.effects != 2 || v.openSends != 1 {
			t.Errorf("%s: counted %+v", name, v)
		}
	}
}

func TestTheJudgeTakesWhatWasOnItsWayAtAKill(t *testing.T) {
	s := newScene(stages["telegram"])
	s.twice(s.ann, "May I run t__write?", "q1", "", 1, 9980)
	s.twice(s.ann, "Answer to c0p0 …", "", "", 1, 9980)
	v := judge(s.evidence)
	if len(v.faults) > 0 || v.doubled != 1 || v.leftPreviews != 1 || v.mostAtOneKill != 2 || v.questions != 1 {
		t.Errorf("doubled %d, at most %d at one kill; faults %q", v.doubled, v.mostAtOneKill, v.faults)
	}
}

func TestTheJudgeTakesAPreviewAndNoDoubleWherePlatformsKnowASendAgain(t *testing.T) {
	s := newScene(stages["discord"])
	s.twice(s.ann, "Answer to c0p0 …", "", "", 1, 9980)
	if v := judge(s.evidence); len(v.faults) > 0 || v.leftPreviews != 1 {
		t.Errorf("%d previews are left behind; faults %q", v.leftPreviews, v.faults)
	}
	for what, double := range map[string]func(*scene){
		"a question": func(s *scene) { s.twice(s.ann, "May I run t__write?", "q1", "", 1, 9980) },
		"an answer":  func(s *scene) { s.twice(s.ann, answerTo([]string{"c0p0m1"}), "", "", 1, 9980) },
		"a note":     func(s *scene) { s.twice(s.ann, "Stopped.", "", "", 1, 9980) },
	} {
		s := newScene(stages["discord"])
		double(s)
		if v := judge(s.evidence); !strings.Contains(strings.Join(v.faults, "\n"), "1 messages were doubled, and none may be") {
			t.Errorf("%s twice: faults %q", what, v.faults)
		}
	}
}

func TestTheJudgeFindsEachFault(t *testing.T) {
	for name, c := range map[string]struct {
		breaks func(*scene)
		want   string
	}{
		"an answer is missing":     {func(s *scene) { s.hide(s.ann, 0) }, "c0p0m1 (plain) is lost"},
		"a message has no row":     {func(s *scene) { delete(s.rows.ofWord, "c0p0m3") }, "c0p0m3 (look) is lost"},
		"a message has two rows":   {func(s *scene) { s.rows.ofWord["c0p0m1"] = []string{"a", "b"} }, "in the inbox 2 times"},
		"a stop is missing":        {func(s *scene) { s.rows.stops[s.ann.String()] = 1 }, "2 stops were said and 0 pressed, 1 are in the inbox"},
		"a stop that nobody said":  {func(s *scene) { s.rows.stops[s.ann.String()] = 3 }, "2 stops were said and 0 pressed, 3 are in the inbox"},
		"a stop's note is missing": {func(s *scene) { s.hide(s.ann, 3) }, "1 turns ended with note"},
		"an idle note is missing":  {func(s *scene) { s.hide(s.ann, 4) }, "1 turns ended with note"},
		"a failure is missing":     {func(s *scene) { s.hide(s.ann, 5) }, "c0p0m4 (note) is lost"},
		"a failure of no turn":     {func(s *scene) { s.show(s.ann, "It broke.\n\nReference: aaaaaa", "", 2, 15_000) }, "of no turn that failed"},
		"a turn failed otherwise": {func(s *scene) {
			s.anns()[5].text = strings.Replace(s.anns()[5].text, "I was interrupted", "It broke", 1)
		}, "a turn failed"},
		"something else is said":      {func(s *scene) { s.show(s.ann, "panic: runtime error", "", 2, 15_000) }, "shows \"panic"},
		"an answer to nothing":        {func(s *scene) { s.show(s.ann, "Answer to nothing. Done.", "", 2, 15_000) }, "an answer to nothing"},
		"an answer in a wrong chat":   {func(s *scene) { s.show(s.group, answerTo([]string{"c0p0m1"}), "1", 2, 15_000) }, "an answer to another"},
		"an answer of two people":     {func(s *scene) { s.groups()[1].text = answerTo([]string{"c1p0m1", "c1p1m1"}) }, "an answer to another"},
		"an answer points at another": {func(s *scene) { s.groups()[1].replyTo = "1" }, "which is another person's"},
		"a word in two answers":       {func(s *scene) { s.anns()[2].text = answerTo([]string{"c0p0m1", "c0p0m2"}) }, "is answered by two answers"},
		"answers change places":       {func(s *scene) { l := s.anns(); l[0].text, l[2].text = l[2].text, l[0].text }, "stands below that to a later message"},
		"words change places":         {func(s *scene) { s.anns()[0].text = answerTo([]string{"c0p0m2", "c0p0m1"}) }, "names words out of order"},
		"doubled long before a kill":  {func(s *scene) { s.twice(s.ann, answerTo([]string{"c0p0m1"}), "", "", 1, 2000) }, "was not on its way when life 1"},
		"doubled by a drain":          {func(s *scene) { s.twice(s.group, answerTo([]string{"c1p1m1"}), "", "2", 2, 20_400) }, "was not on its way when life 2"},
		"a note doubled by a drain":   {func(s *scene) { s.twice(s.ann, "Stopped.", "", "", 2, 20_400) }, "was not on its way when life 2"},
		"doubled and marked":          {func(s *scene) { s.show(s.ann, "Stopped.", "", 2, 15_000) }, "1 messages were doubled and 0 previews left behind, and 0 were not marked"},
		"too many at one kill": {func(s *scene) {
			for i := range 9 {
				q := "many" + strings.Repeat("x", i)
				s.twice(s.ann, "May I run t__write?", q, "", 1, 9990)
				s.show(s.ann, "May I run t__write?", "", 2, 10_500).question = q
			}
		}, "the end of life 1 doubled 9 messages"},
		"a preview left behind":       {func(s *scene) { s.twice(s.ann, "Answer to c0p0 …", "", "", 2, 15_000) }, "was not on its way when life 2"},
		"an effect happened twice":    {func(s *scene) { s.effects["c0p0m4/0"] = 2 }, "had its effect 2 times"},
		"an effect without a yes":     {func(s *scene) { s.people[0].yes = nil }, "ran without a yes"},
		"an effect nobody asked for":  {func(s *scene) { s.effects["c0p0m3/0"] = 1; s.effects["c0p0m1/0"] = 1 }, "that nobody asked for: c0p0m1/0"},
		"a message nobody saw posted": {func(s *scene) { s.posts = s.posts[:len(s.posts)-1] }, "which nobody saw being posted"},
	} {
		for platform, on := range stages {
			t.Run(name+"/"+platform, func(t *testing.T) {
				s := newScene(on)
				c.breaks(s)
				faults := strings.Join(judge(s.evidence).faults, "\n")
				if !strings.Contains(faults, c.want) {
					t.Errorf("it finds %q, want %q", faults, c.want)
				}
			})
		}
	}
}
