package gateway_test

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"unicode"

	"dragoman/ports"
)

// clerk is a model that knows nothing but its prompt. It counts the prompt by rules
// of its own, refuses one that its window has no room for as a provider does,
// refuses calls that are parted from their results, summarises by copying what it
// is told to keep out of what it sees, and answers from what it sees alone.
type clerk struct {
	window, longest int

	mu       sync.Mutex
	faults   []string
	requests []ports.ModelRequest // kept where keep is set
	keep     bool
	largest  int // prompt of a reply since it was last looked at, in tokens
	refused  int
	asked    int                              // for summaries
	dumb     func() (ports.ModelReply, error) // in place of summaries; nil = they are made
	hook     func(r ports.ModelRequest) error // may refuse a prompt
}

var (
	_ ports.ModelPort      = (*clerk)(nil)
	_ ports.ModelDescriber = (*clerk)(nil)
)

func (c *clerk) Facts() ports.ModelFacts {
	return ports.ModelFacts{ContextTokens: c.window, MaxTokens: c.longest}
}

func (c *clerk) Generate(_ context.Context, r ports.ModelRequest, _ func(string)) (ports.ModelReply, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.keep {
		c.requests = append(c.requests, r)
	}
	if fault := parted(r.Entries); fault != "" {
		c.faults = append(c.faults, fault)
		return ports.ModelReply{}, ports.Errorf(ports.KindInvalid, "clerk", "400: %s", fault)
	}
	if c.hook != nil {
		if err := c.hook(r); err != nil {
			return ports.ModelReply{}, err
		}
	}
	n := tokensOf(r)
	room := c.longest
	if r.MaxTokens > 0 {
		room = min(room, r.MaxTokens)
	}
	if n+room > c.window {
		c.refused++
		return ports.ModelReply{}, ports.Errorf(ports.KindTooLarge, "clerk", "maximum context length is %d tokens, you requested %d", c.window, n+room)
	}
	last := r.Entries[len(r.Entries)-1]
	if strings.HasPrefix(last.Text, "[The chat gateway asks this") {
		c.asked++
		if c.dumb != nil {
			return c.dumb()
		}
		if !r.NoCalls {
			c.faults = append(c.faults, "a summary is asked for with calls")
		}
		return c.reply(n, ports.ModelReply{Text: summarise(r.Entries[:len(r.Entries)-1], last.Text)})
	}
	c.largest = max(c.largest, n)
	return c.reply(n, answer(r.Entries))
}

// reply is a reply with what it used.
func (c *clerk) reply(input int, r ports.ModelReply) (ports.ModelReply, error) {
	r.Model, r.Stop = "clerk/1", ports.StopEnd
	if len(r.Calls) > 0 {
		r.Stop = ports.StopCalls
	}
	r.Usage = ports.Tokens{Input: input, Output: countTokens(r.Text) + 20*len(r.Calls)}
	return r, nil
}

// parted says what is wrong with calls and results that do not stand together.
func parted(list []ports.Entry) string {
	var open []string
	for i, e := range list {
		switch {
		case e.Role == ports.RoleTool && (len(open) == 0 || open[0] != e.CallID):
			return fmt.Sprintf("entry %d is a result of %q, which nothing before it wants", i, e.CallID)
		case e.Role == ports.RoleTool:
			open = open[1:]
			continue
		case len(open) > 0:
			return fmt.Sprintf("entry %d (%s) stands between a call and its result", i, e.Role)
		}
		for _, call := range e.Calls {
			if !json.Valid(call.Arguments) {
				return fmt.Sprintf("the arguments of call %q are no JSON", call.ID)
			}
			open = append(open, call.ID)
		}
	}
	if len(open) > 0 {
		return fmt.Sprintf("the call %q has no result", open[0])
	}
	return ""
}

// tokensOf counts a prompt as no estimate of ours does: by words, digits and signs.
func tokensOf(r ports.ModelRequest) int {
	n := countTokens(r.System)
	for _, s := range r.Tools {
		n += 8 + countTokens(s.Name) + countTokens(s.Description) + countTokens(string(s.InputSchema))
	}
	for _, e := range r.Entries {
		n += 3 + countTokens(e.Text)
		for _, call := range e.Calls {
			n += 6 + countTokens(call.Name) + countTokens(string(call.Arguments))
		}
	}
	return n
}

// countTokens has words in pieces of five letters, numbers in pieces of three
// digits, and each sign by itself.
func countTokens(s string) (n int) {
	letters, digits := 0, 0
	end := func() {
		n += (letters+4)/5 + (digits+2)/3
		letters, digits = 0, 0
	}
	for _, r := range s {
		switch {
		case unicode.IsLetter(r):
			if digits > 0 {
				end()
			}
			letters++
		case unicode.IsDigit(r):
			if letters > 0 {
				end()
			}
			digits++
		case unicode.IsSpace(r):
			end()
		default:
			end()
			n++
		}
	}
	end()
	return n
}

// facts are the sentences that matter, each with the words of the instruction that
// have it kept.
var facts = []struct {
	told, asks string // %d is its number, the answer is the rest of the sentence
	wanted     string
}{
	{"locker number %d has the code ", "What is the code of locker number %d?", "an id"},
	{"the plan of project Tern%d is at ", "Where is the plan of project Tern%d?", "a URL"},
	{"we decided that the ship of week %d is the ", "Which ship did we decide on for week %d?", "what was decided"},
	{"I promise to water plant %d on ", "When did you promise to water plant %d?", "what you promised"},
	{"order %d has the tracking id ", "What is the tracking id of order %d?", "what tools found"},
}

var (
	wordsAtMost = regexp.MustCompile(`at most (\d+) words`)
	anyFact     = func() (list []*regexp.Regexp) {
		for _, f := range facts {
			list = append(list, regexp.MustCompile(strings.Replace(regexp.QuoteMeta(f.told), "%d", `\d+`, 1)+`\S+?\.(?:\s|$)`))
		}
		return list
	}()
	numbers = regexp.MustCompile(`\d+`)
)

// summarise copies what it is told to keep, each once, the newest first if there
// is no room for all.
func summarise(list []ports.Entry, ask string) string {
	var kept []string
	words, most := 0, 0
	if m := wordsAtMost.FindStringSubmatch(ask); m != nil {
		most, _ = strconv.Atoi(m[1])
	}
	seen := map[string]bool{}
	for i := len(list) - 1; i >= 0; i-- {
		e := list[i]
		if strings.HasPrefix(e.Text, "[A summary of this conversation") && !strings.Contains(ask, "take over everything in it") {
			continue
		}
		for k, f := range anyFact {
			if !strings.Contains(ask, facts[k].wanted) {
				continue
			}
			for _, s := range f.FindAllString(e.Text, -1) {
				s = strings.TrimSpace(s)
				n := len(strings.Fields(s))
				if seen[s] || words+n > most {
					continue
				}
				seen[s] = true
				words += n
				kept = append(kept, s)
			}
		}
	}
	return "What is known: " + strings.Join(kept, "\n")
}

// answer does what the person asks for last.
func answer(list []ports.Entry) ports.ModelReply {
	at := len(list) - 1
	for at > 0 && list[at].Role != ports.RoleUser {
		at--
	}
	said, n := list[at].Text, numbers.FindString(list[at].Text)
	for _, f := range facts {
		if said == strings.Replace(f.asks, "%d", n, 1) {
			return ports.ModelReply{Text: recallFact(list, strings.Replace(f.told, "%d", n, 1))}
		}
	}
	switch {
	case strings.HasPrefix(said, "Promise"):
		_, when, _ := strings.Cut(said, " on ")
		return ports.ModelReply{Text: "Gladly: I promise to water plant " + n + " on " + when}
	case strings.HasPrefix(said, "Survey"):
		done := 0
		for _, e := range list[at:] {
			if e.Role == ports.RoleTool {
				done++
			}
		}
		if fmt.Sprint(done) == n {
			return ports.ModelReply{Text: "Surveyed: " + n}
		}
		return ports.ModelReply{Calls: []ports.Call{{ID: fmt.Sprint("s", done), Name: "shop__look", Arguments: json.RawMessage(fmt.Sprintf(`{"order":%d}`, 20000+done))}}}
	case strings.HasPrefix(said, "Look up") && at == len(list)-1:
		arguments := json.RawMessage(`{"order":` + n + `}`)
		return ports.ModelReply{Text: "Let me see.", Calls: []ports.Call{{ID: "a" + n, Name: "shop__look", Arguments: arguments}, {ID: "b" + n, Name: "shop__note", Arguments: arguments}}}
	case strings.HasPrefix(said, "Look up"):
		_, id, _ := strings.Cut(list[len(list)-2].Text, `"tracking":"`)
		id, _, _ = strings.Cut(id, `"`)
		return ports.ModelReply{Text: "Found: order " + n + " has the tracking id " + id + "."}
	}
	return ports.ModelReply{Text: "I see. " + strings.Repeat("Thank you for telling me. ", len(said)%5)}
}

// recallFact is the end of a sentence that is anywhere in the prompt.
func recallFact(list []ports.Entry, told string) string {
	for i := len(list) - 1; i >= 0; i-- {
		if _, rest, ok := strings.Cut(list[i].Text, told); ok {
			rest, _, _ = strings.Cut(rest+" ", " ")
			rest, _, _ = strings.Cut(rest, "\n")
			return "It is " + strings.TrimSuffix(rest, ".") + "."
		}
	}
	return "I do not know."
}
