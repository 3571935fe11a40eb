package e2e

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"dragoman/tests/fake/model"
	"dragoman/tests/fake/telegram"
)

const (
	stormPieces = 40
	stormPace   = 100 * time.Millisecond
	// stormWait is how long an answer may take once Telegram takes it again;
	// stormSlack is for a machine that does other things too.
	stormWait, stormSlack = 2 * time.Second, 8 * time.Second
	// stormCross is how long a call may have been on its way already as another was
	// refused; stormStrays may have been for longer, as the machine had other things to do.
	stormCross, stormStrays = 500 * time.Millisecond, 2
)

// stormLog is what came when, by the marks ("#p3-7") that questions and answers have.
type stormLog struct {
	mu    sync.Mutex
	asked map[string]chan struct{} // closed when the model is asked
	ready map[string]time.Time     // when it will have said all
	words map[string]string        // what that is
	shown map[int64][]arrival      // by chat, in order
}

// arrival is an answer that can be read to its end.
type arrival struct {
	mark string
	at   time.Time
}

var marked = regexp.MustCompile(`#p\d+-\d+`)

func newStormLog() *stormLog {
	return &stormLog{asked: map[string]chan struct{}{}, ready: map[string]time.Time{}, words: map[string]string{}, shown: map[int64][]arrival{}}
}

// heard is closed once the model is asked about a mark.
func (s *stormLog) heard(mark string) chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.asked[mark] == nil {
		s.asked[mark] = make(chan struct{})
	}
	return s.asked[mark]
}

// answer is long every third time, so that it comes in two messages.
func (s *stormLog) answer(r model.Request) model.Reply {
	mark := marked.FindString(r.Said())
	lines := 12
	if strings.HasSuffix(mark, "3") || strings.HasSuffix(mark, "6") || strings.HasSuffix(mark, "9") {
		lines = 200
	}
	var b strings.Builder
	for i := range lines {
		fmt.Fprintf(&b, "line %d of the answer to %s\n\n", i, mark[1:])
	}
	text := b.String() + "end " + mark
	heard := s.heard(mark)
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, again := s.words[mark]; !again {
		close(heard)
	}
	s.words[mark], s.ready[mark] = text, time.Now().Add((stormPieces+3)*stormPace) // and frames without text
	return model.Reply{Text: text}
}

// show hears of each text in a chat.
func (s *stormLog) show(chat int64, text string, _ bool) {
	if _, mark, ok := strings.Cut(text, "end #"); ok && marked.FindString("#"+mark) == "#"+mark {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.shown[chat] = append(s.shown[chat], arrival{"#" + mark, time.Now()})
	}
}

// late is how much later than it could an answer came at worst: it could once the
// model had said it, and no refusal before it bade to wait.
func (s *stormLog) late(refusals []telegram.Refusal) (worst time.Duration, of string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, list := range s.shown {
		for _, a := range list {
			could := s.ready[a.mark]
			for _, r := range refusals {
				if r.At.Before(a.at) && r.Until.After(could) {
					could = r.Until
				}
			}
			if late := a.at.Sub(could); late > worst {
				worst, of = late, a.mark
			}
		}
	}
	return worst, of
}

// talker writes in one conversation.
type talker struct {
	name  string
	say   func(string)
	chat  int64
	topic int
}

// talks has somebody write one message after the other, each once the one before
// reached the model, until the storm is over, and once more. It returns the marks.
func (s *stormLog) talks(t *testing.T, w talker, until time.Time) (marks []string) {
	for i := 0; ; i++ {
		mark := fmt.Sprintf("#%s-%d", w.name, i)
		last := time.Now().After(until)
		w.say("tell me of " + mark)
		marks = append(marks, mark)
		late := time.NewTimer(answerWithin)
		select {
		case <-s.heard(mark):
			late.Stop()
		case <-late.C:
			t.Errorf("%s never reached the model", mark)
			return marks
		}
		if last {
			return marks
		}
	}
}

// Sends, edits, drafts and typing are refused at random, each for one to three
// seconds: nothing is lost, doubled or out of order, nothing waits for longer than
// Telegram wants, and Telegram is left alone until then.
func TestAnswersComeThroughAStormInTime(t *testing.T) {
	for _, c := range []struct {
		name, streaming string
		talkers         int
		percent         int // the fewer talk, the less often all are bidden to wait
	}{
		{"edit", "edit", 7, 20},
		{"edit alone", "edit", 1, 45},
		{"draft", "draft", 7, 20},
		{"off", "off", 7, 35},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := newStormLog()
			tg := telegram.New(telegram.Options{Topics: true, Watch: telegram.Watch{Shown: s.show}})
			m := model.New(model.Options{Pieces: stormPieces, Pace: stormPace, Answer: s.answer})
			t.Cleanup(m.Close)
			onTelegram(t, tg, m, `, "streaming": `+quoted(c.streaming))
			talkers := stormTalkers(tg)[:c.talkers]

			const lasts = 20 * time.Second
			over := time.Now().Add(lasts)
			tg.Begin(telegram.Storm{For: lasts, Percent: c.percent, Least: 1, Most: 3})
			marks := make([][]string, len(talkers))
			var talking sync.WaitGroup
			for i, w := range talkers {
				talking.Go(func() { marks[i] = s.talks(t, w, over) })
			}
			talking.Wait()
			n, edits := 0, 0
			for i, w := range talkers {
				n += len(marks[i])
				edits = max(edits, s.whole(t, tg, w, marks[i]))
			}
			refusals := tg.Refusals(0)
			late, of := s.late(refusals)
			t.Logf("%d answers through %d refusals: the latest (%s) came %v after it could, the most edits were %d", n, len(refusals), of, late.Round(time.Millisecond), edits)
			if len(refusals) < 2 {
				t.Errorf("that is no storm")
			}
			if late > stormWait+stormSlack {
				t.Errorf("%s came %v later than it could", of, late)
			}
			if edits > 20 {
				t.Errorf("an answer took %d edits", edits)
			}
			last, methods := map[int64]time.Time{}, map[string]int{}
			var strays []telegram.Refusal
			for _, r := range refusals {
				methods[r.Method]++
				if r.Early && r.At.Sub(last[r.Chat]) > stormCross {
					strays = append(strays, r)
				}
				last[r.Chat] = r.At
			}
			if len(strays) > stormStrays {
				t.Errorf("these did not wait: %+v", strays)
			}
			t.Logf("refused were %v", methods)
		})
	}
}

// stormTalkers are people in private, in a topic of their own, in a group, and in
// two topics of another.
func stormTalkers(tg *telegram.Server) []talker {
	var list []talker
	add := func(chat int64, topic int, say func(string)) {
		list = append(list, talker{fmt.Sprint("p", len(list)), say, chat, topic})
	}
	for i := range 3 {
		u := tg.User(int64(1001+i), "Ann")
		add(u.ID(), 0, func(text string) { u.Say(text) })
	}
	own, eve := tg.User(1010, "Bob"), tg.User(1011, "Eve")
	mine := own.NewTopic("mine")
	add(own.ID(), mine, func(text string) { own.Post(telegram.Post{Topic: mine, Text: text}) })
	team, forum := tg.Group(-1001, "Team"), tg.Group(-1002, "Forum")
	add(team.ID(), 0, func(text string) { eve.SayIn(team, text) })
	for range 2 {
		topic := forum.Topic()
		add(forum.ID(), topic, func(text string) { eve.SayInTopic(forum, topic, text) })
	}
	return list
}

// whole waits until a conversation shows all its answers, each once, whole and in
// order, and returns the most edits that one of its messages had.
func (s *stormLog) whole(t *testing.T, tg *telegram.Server, w talker, marks []string) (edits int) {
	t.Helper()
	var want []string
	s.mu.Lock()
	for _, mark := range marks {
		want = append(want, strings.Fields(s.words[mark])...)
	}
	s.mu.Unlock()
	eventually(t, answerWithin, "all answers of "+w.name, func() error {
		var got []string
		edits = 0
		for _, m := range tg.Sent(w.chat) {
			if m.Thread == w.topic || m.Chat == -1001 { // in a group, replies are a thread
				got = append(got, strings.Fields(m.Text)...)
				edits = max(edits, m.Edits)
			}
		}
		if !slices.Equal(got, want) {
			at := 0
			for at < min(len(got), len(want)) && got[at] == want[at] {
				at++
			}
			return fmt.Errorf("%d words, want %d; they part at %d: %.80q, want %.80q", len(got), len(want), at, strings.Join(got[at:], " "), strings.Join(want[at:], " "))
		}
		return nil
	})
	return edits
}

// workingServer is an MCP server whose tool takes as many seconds as $SECONDS
// says, and tells of each.
const workingServer = `
field() { printf '%s' "$line" | sed -n 's/.*"'"$1"'":"*\([^",}]*\).*/\1/p'; }
answer() { printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$1" "$2"; }
while IFS= read -r line; do
	id=$(field id)
	case $line in
	*'"method":"initialize"'*) answer "$id" '{"protocolVersion":"'"$(field protocolVersion)"'","capabilities":{"tools":{}},"serverInfo":{"name":"working","version":"1"}}' ;;
	*'"method":"tools/list"'*) answer "$id" '{"tools":[{"name":"work","inputSchema":{"type":"object"}}]}' ;;
	*'"method":"ping"'*) answer "$id" '{}' ;;
	*'"method":"tools/call"'*)
		token=$(field progressToken) began=$(date +%s) i=0
		while [ $i -lt "$SECONDS_OF_WORK" ]; do
			sleep 1
			i=$(($(date +%s) - began))
			printf '{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":%s,"progress":%s,"total":%s,"message":"step %s"}}\n' "$token" $i "$SECONDS_OF_WORK" $i
		done
		answer "$id" '{"content":[{"type":"text","text":"it is done"}]}' ;;
	esac
done
`

// longAnswer is how long an answer takes to be made; E2E_LONG_ANSWER=11m spends all
// edits that there are.
func longAnswer(t *testing.T) time.Duration {
	text := os.Getenv("E2E_LONG_ANSWER")
	if text == "" {
		return 40 * time.Second
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// An answer that is made for long, and one that waits for a tool, are edited
// twenty times at most.
func TestALongAnswerIsEditedTwentyTimesAtMost(t *testing.T) {
	t.Parallel()
	const pieces = 180
	long := longAnswer(t)
	var mu sync.Mutex
	shown := map[int64][]string{}
	tg := telegram.New(telegram.Options{PerChat: 900 * time.Millisecond, Watch: telegram.Watch{Shown: func(chat int64, text string, _ bool) {
		mu.Lock()
		defer mu.Unlock()
		shown[chat] = append(shown[chat], text)
	}}})
	t.Cleanup(tg.Close)
	poem := strings.TrimSpace(strings.Repeat("all work and no play ", pieces))
	m := model.New(model.Options{Pieces: pieces, Pace: long / pieces, Answer: func(r model.Request) model.Reply {
		switch {
		case r.Last().Role == "tool":
			return model.Reply{Text: "Done."}
		case strings.Contains(r.Said(), "work"):
			return model.Reply{Text: "See.", Calls: []model.Call{{Name: "srv__work", Arguments: "{}"}}}
		}
		return model.Reply{Text: poem}
	}})
	t.Cleanup(m.Close)
	startGateway(t, `{
	"listen": "${LISTEN}",
	"models": {"main": {"type": "openai", "base_url": `+quoted(m.URL())+`, "model": "m", "timeout": "1h"}},
	"agents": {"main": {"models": ["main"], "turn_timeout": "1h"}},
	"channels": {"tg": {"type": "telegram", "token": `+quoted(tg.Token())+`, "api_url": `+quoted(tg.URL())+`}},
	"mcp_servers": {"srv": {"command": "/bin/sh", "args": ["-c", `+quoted(workingServer)+`], "call_timeout": "1h",
		"env": {"SECONDS_OF_WORK": "`+fmt.Sprint(int(long.Seconds()))+`"}}},
	"tools": {"default": "allow"},
	"access": {"mode": "open", "rate": ""}
}`).WaitLine("mcp_server_connected", readyWithin)
	ann, bob := tg.User(1001, "Ann"), tg.User(1002, "Bob")
	began := time.Now()
	ann.Say("a poem")
	bob.Say("do the work")
	for u, last := range map[*telegram.User]string{ann: poem, bob: "Done."} {
		eventually(t, 2*long+answerWithin, "the answer", func() error {
			if sent := tg.Sent(u.ID()); len(sent) != 1 || sent[0].Text != last {
				return fmt.Errorf("there is %+v", sent)
			}
			return nil
		})
		if n := tg.Sent(u.ID())[0].Edits; n > 20 || n < 5 {
			t.Errorf("%q was edited %d times", last[:4], n)
		}
	}
	mu.Lock()
	defer mu.Unlock()
	t.Logf("in %v: %d edits of the long text, %d of the status line, %d refusals", time.Since(began).Round(time.Second),
		len(shown[ann.ID()])-1, len(shown[bob.ID()])-1, len(tg.Refusals(0)))
	if !slices.ContainsFunc(shown[bob.ID()], func(text string) bool {
		return strings.Contains(text, "⏳ srv__work · ") && strings.Contains(text, " %")
	}) {
		t.Errorf("what runs was not told: %q", shown[bob.ID()])
	}
}
