package crash

import (
	"strings"
	"time"

	"dragoman/core/access"
	"dragoman/ports"
	fakemodel "dragoman/tests/fake/model"
	"dragoman/tests/fake/telegram"
)

// drama is what a person wants and how they behave. Each begins with what they
// say first, and ends with one more message, whose prompt shows what is
// remembered of all before it.
type drama struct {
	name      string
	says      string   // first
	calls     []string // the tools that the model then wants, all at once
	rounds    bool     // it wants them one after the other
	streamed  bool     // the answer takes long enough to be shown in the making
	approve   string   // the answer to an approval: a button's label, or a text; "" = none
	unknown   string   // the same to a question about an unknown outcome
	at        string   // meanwhile is said once this tool runs; shown = once an answer in the making is shown
	meanwhile string   // said while the first message is worked on: "/stop", or something new
	busy      ports.Busy
	then      string   // said before the last message
	thenEnds  string   // how what is said to that begins
	ends      []string // how what is said to the first message begins: without a death the first of them
	expires   time.Duration
	access    access.Mode
	result    int
	stranger  bool        // an unknown person begins
	old       bool        // another message, written long ago, comes with the first
	finds     bool        // the model has to search for its tools
	limit     ports.Money // that a person may spend in a day; 0 = none
	elsewhere bool        // another person says the last message, in a chat of their own
	acts      []act       // what else is done, one after the other
	gone      []string    // words that are in no prompt of the last message, and in no row of what was said
	never     bool        // gone is in no prompt at all
	files     []*telegram.File
	kept      int  // files that are kept in the end
	bare      bool // the platform can do no more than it has to
	silent    bool // what is said to the first message may be nothing, where nobody knows of the message that showed it
}

// The buttons of the questions.
const (
	sayYes   = "Yes, run it"
	sayNo    = "No"
	sayAgain = "Run it again"
	saySkip  = "Skip it"
	sayStop  = "Stop"
)

func dramas() []drama {
	list := []drama{
		{name: "plain"},
		{name: "streamed", streamed: true},
		{name: "tools", calls: []string{"read_a", "pay_c"}, unknown: saySkip},
		{name: "idempotent", calls: []string{"put_b", "read_a"}},
		{name: "again", calls: []string{"pay_c", "pay_d"}, unknown: sayAgain},
		{name: "unknown stops", calls: []string{"pay_c", "read_a"}, unknown: sayStop, ends: []string{answerFirst, textStopped}},
		{name: "yes", calls: []string{"risky_e", "read_a"}, approve: sayYes, unknown: saySkip},
		{name: "no", calls: []string{"risky_e"}, approve: sayNo},
		{name: "stop", calls: []string{"slow_f"}, unknown: saySkip, at: "slow_f", meanwhile: "/stop", ends: []string{textStopped, answerFirst}},
		{name: "stop at a question", calls: []string{"risky_e"}, approve: "/stop", ends: []string{textStopped}},
		{name: "steer", busy: ports.BusySteer, calls: []string{"wait_g"}, at: "wait_g", meanwhile: sayAlso, ends: []string{answerAlso}},
		{name: "interrupt", busy: ports.BusyInterrupt, calls: []string{"stay_h"}, at: "stay_h", meanwhile: sayAlso, ends: []string{answerAlso}},
		{name: "interrupt at a question", busy: ports.BusyInterrupt, calls: []string{"risky_e"}, approve: sayAlso, meanwhile: sayAlso, ends: []string{answerAlso}},
		{name: "interrupt a stream", busy: ports.BusyInterrupt, streamed: true, calls: []string{"read_a"}, at: preview, meanwhile: sayAlso, ends: []string{answerAlso}},
		{name: "collect", busy: ports.BusyCollect, calls: []string{"wait_g"}, at: "wait_g", meanwhile: sayAlso, ends: []string{answerAlso}},
		{name: "find", finds: true, calls: []string{"read_a"}},
		{name: "budget", limit: 85e6, calls: []string{"read_a"}, then: "more?", thenEnds: "The budget for today is used up", elsewhere: true},
		{name: "rather", calls: []string{"risky_e"}, approve: "rather this"},
		{name: "expires", calls: []string{"risky_e"}, expires: 400 * time.Millisecond},
		{name: "much", calls: []string{"read_much"}, result: 200, kept: 1},
		{name: "compact", calls: []string{"read_much"}, then: "/compact", thenEnds: "Compacted: 2"},
		{name: "new", calls: []string{"read_a"}, then: "/new", thenEnds: "New conversation"},
		{name: "command", says: "/help", ends: []string{"Write to me as you would"}},
		{name: "old", says: "/help", old: true, calls: []string{"read_a"}, approve: "Yes, do it"},
		{name: "old, not wanted", says: "/help", old: true, approve: "No, leave it", ends: []string{"I have left"}},
		{name: "paired", access: access.Pairing, stranger: true, says: "hello", ends: []string{"You are in"}},
		{name: "refused", access: access.Allowlist, stranger: true, says: "hello", ends: []string{"I only"}},
	}
	list = append(append(list, changes()...), files()...)
	for i := range list {
		d := &list[i]
		if d.says == "" {
			d.says = "go"
		}
		if d.ends == nil {
			d.ends = []string{answerFirst}
		}
		if d.expires == 0 {
			d.expires = time.Hour
		}
		if d.access == "" {
			d.access = access.Open
		}
		if d.result == 0 {
			d.result = 4096
		}
	}
	return list
}

// asksSummary begins what a model is asked for when a conversation is compacted.
const asksSummary = "[The chat gateway asks this"

const textStopped = "Stopped."

// nothingFound begins what a search says that finds nothing, as while its server
// is not there yet after a death.
const nothingFound = "Nothing was found."

// What is said while the first message is worked on, and the answer to it.
const (
	sayAlso    = "and this"
	answerAlso = "and this is done."
)

// reply is what the model says: the calls, then that it is done.
func (d drama) reply(r fakemodel.Request) fakemodel.Reply {
	results := 0
	first, _, _ := strings.Cut(r.Said(), "\n") // what came with it is told behind it
	for _, m := range r.Messages {
		if m.Role == "tool" && !strings.HasPrefix(m.Text, nothingFound) {
			results++
		}
	}
	switch {
	case strings.HasPrefix(r.Said(), asksSummary):
		return fakemodel.Reply{Text: "Much was read."}
	case r.Said() == sayNext:
		return fakemodel.Reply{Text: answerNext}
	case first == sayAlso, first == sayThat:
		return fakemodel.Reply{Text: first + " is done."}
	case d.rounds && results < len(d.calls):
		return fakemodel.Reply{Calls: []fakemodel.Call{{Name: serverName + "__" + d.calls[results], Arguments: `{}`}}}
	case strings.HasSuffix(r.Said(), sayBetter) && (results > 0 || len(d.calls) == 0):
		return fakemodel.Reply{Text: answerBetter}
	case d.finds && results == 0:
		if r.Last().Role == "tool" { // the server is on its way
			<-time.After(300 * time.Millisecond)
		}
		return fakemodel.Reply{Calls: []fakemodel.Call{{Name: "find_tools", Arguments: `{"query":"` + d.calls[0] + `"}`}}}
	case d.finds && results == 1: // found, and to be called
	case results > 0 || len(d.calls) == 0:
		if d.streamed || d.limit > 0 {
			return fakemodel.Reply{Text: answerFirst + strings.Repeat(" It took a while to say.", 8)}
		}
		return fakemodel.Reply{Text: answerFirst}
	}
	var calls []fakemodel.Call
	for _, tool := range d.calls {
		calls = append(calls, fakemodel.Call{Name: serverName + "__" + tool, Arguments: `{}`})
	}
	if d.limit > 0 {
		return fakemodel.Reply{Text: strings.Repeat("Let me see. ", 9), Calls: calls}
	}
	return fakemodel.Reply{Calls: calls}
}
