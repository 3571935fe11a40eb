package modeltest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"dragoman/ports"
)

// flaw is a way in which the model in memory is broken.
type flaw string

const (
	dropsLastWord     flaw = "drops the last word"
	deltasDiffer      flaw = "deltas differ"
	oneDelta          flaw = "one delta"
	needsListener     flaw = "needs a listener"
	ownGoroutine      flaw = "calls onText from a goroutine"
	talksOn           flaw = "talks on after it returned"
	forgetsUsage      flaw = "forgets usage"
	hidesLength       flaw = "hides the length stop"
	nameless          flaw = "has no name"
	mixesUp           flaw = "mixes replies up"
	changesArguments  flaw = "changes arguments"
	reversesCalls     flaw = "reverses calls"
	dropsTextOfCalls  flaw = "drops text beside calls"
	emptyIDs          flaw = "leaves ids empty"
	sameIDs           flaw = "leaves ids alike"
	rawArguments      flaw = "leaves arguments raw"
	nullArguments     flaw = "leaves arguments null"
	takesTornStream   flaw = "takes a torn stream"
	takesUnmarked     flaw = "takes an unmarked end"
	takesEmpty        flaw = "takes an empty stream"
	skipsBadFrame     flaw = "skips a bad frame"
	callsAllTemporary flaw = "calls all temporary"
	callsAllInvalid   flaw = "calls all invalid"
	takesPage         flaw = "takes a page"
	takesJSON         flaw = "takes a JSON body"
	forgetsWait       flaw = "forgets the wait"
	keepsHalf         flaw = "returns a reply beside an error"
	noCause           flaw = "gives no cause"
	plainErrors       flaw = "gives plain errors"
	retries           flaw = "retries"
	quotesSecret      flaw = "quotes the secret"
	ignoresCancel     flaw = "ignores a context that ended"
	cancelIsTemporary flaw = "calls cancelling temporary"
	deadlineIsCancel  flaw = "calls a deadline cancelling"
	leavesGoroutines  flaw = "leaves goroutines"
	refusesTools      flaw = "refuses tool entries"
	sortsTools        flaw = "sorts tools"
	countsRequests    flaw = "counts requests on the wire"
	editsRequest      flaw = "edits the request"
	dropsState        flaw = "drops state"
	leaksState        flaw = "leaks state"
	swallowsLimit     flaw = "swallows a rate limit"
	copiesCause       flaw = "copies the cause"
	callsAnyway       flaw = "calls although it must not"
	hidesTools        flaw = "hides tools when it must not call"
	tellsNobody       flaw = "does not tell that it must not call"
	cacheBeside       flaw = "counts the cache beside the input"
	blamesFirst       flaw = "blames the first tool"
	blamesNone        flaw = "blames no tool"
	blamesAlways      flaw = "blames a tool for any bad request"
)

const memorySecret = "s3cret-in-memory"

// memory is a model and its peer in one.
type memory struct {
	flaw flaw
	end  chan struct{} // closed when the test is over

	mu    sync.Mutex
	act   Act
	seen  Seen
	total int
	turn  int // how many requests are under way
}

func (m *memory) harness() Harness {
	return Harness{Model: m, Secret: memorySecret, Script: m.script, Seen: m.got}
}

func (m *memory) script(_ context.Context, a Act) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.act, m.seen = a, Seen{}
	return nil
}

func (m *memory) got(context.Context) (Seen, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.seen, nil
}

var memoryFaults = map[Do]ports.Kind{
	Filtered: ports.KindRefused, Cut: ports.KindProtocol, Unmarked: ports.KindProtocol, Empty: ports.KindProtocol, BadFrame: ports.KindProtocol,
	ErrorFrame: ports.KindTemporary, LimitFrame: ports.KindRateLimited, RateLimit: ports.KindRateLimited, ServerError: ports.KindTemporary,
	Overloaded: ports.KindTemporary, Unauthorized: ports.KindUnauthorized, NotFound: ports.KindNotFound, Invalid: ports.KindInvalid, BadTool: ports.KindInvalid,
	TooLarge: ports.KindTooLarge, HTML: ports.KindProtocol, HTMLError: ports.KindTemporary, JSON: ports.KindProtocol,
}

func (m *memory) Generate(ctx context.Context, r ports.ModelRequest, onText func(string)) (ports.ModelReply, error) {
	if ctx.Err() != nil && m.flaw != ignoresCancel {
		return ports.ModelReply{}, m.ended(ctx)
	}
	act, alone := m.receive(r)
	defer m.leave()
	if m.flaw == mixesUp {
		<-time.After(100 * time.Millisecond) // long enough for others to come
	}
	if m.flaw == refusesTools && len(r.Entries) > 1 {
		return ports.ModelReply{}, ports.Errorf(ports.KindInvalid, "memory", "tool entries")
	}
	forgives := map[Do]flaw{RateLimit: swallowsLimit, Cut: takesTornStream, Unmarked: takesUnmarked, Empty: takesEmpty, BadFrame: skipsBadFrame, HTML: takesPage, JSON: takesJSON}
	if kind, bad := memoryFaults[act.Do]; bad && (forgives[act.Do] == "" || forgives[act.Do] != m.flaw) {
		return m.fail(kind, act, r.Tools)
	}
	if r.NoCalls && m.flaw != callsAnyway {
		act.Calls = nil
	}
	m.say(act, alone, onText)
	if act.Do == Hang || act.Do == HangMid {
		if m.flaw == leavesGoroutines {
			go func() { <-m.end }()
		}
		<-ctx.Done()
		return ports.ModelReply{}, m.ended(ctx)
	}
	return m.reply(act, alone), nil
}

// receive is the peer's side of a request. alone tells that no other is under way.
func (m *memory) receive(r ports.ModelRequest) (Act, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.turn++
	m.total++
	m.seen.Requests++
	if m.flaw == retries && memoryFaults[m.act.Do] == ports.KindTemporary {
		m.seen.Requests++
	}
	if m.flaw == editsRequest && len(r.Tools) > 0 {
		r.Tools[0].Description = "edited"
	}
	m.seen.Tools = nil
	if r.NoCalls && m.flaw == hidesTools {
		r.Tools = nil
	}
	for _, t := range r.Tools {
		m.seen.Tools = append(m.seen.Tools, t.Name)
	}
	if m.flaw == sortsTools {
		slices.Reverse(m.seen.Tools)
	}
	body := fmt.Sprintf("%s %s", r.System, show(r.Tools))
	if m.flaw != tellsNobody {
		body += fmt.Sprint(r.NoCalls)
	}
	for _, e := range r.Entries {
		if e.Model != m.name() && m.flaw != leaksState || m.flaw == dropsState {
			e.State = nil
			e.Calls = slices.Clone(e.Calls)
			for i := range e.Calls {
				e.Calls[i].State = nil
			}
		}
		body += show(e)
	}
	if m.flaw == countsRequests {
		body += fmt.Sprint(m.total)
	}
	m.seen.Body = []byte(body)
	return m.act, m.turn == 1
}

func (m *memory) leave() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.turn--
}

func (m *memory) name() string {
	if m.flaw == nameless {
		return ""
	}
	return "memory"
}

func (m *memory) say(act Act, alone bool, onText func(string)) {
	text := act.Text
	if m.flaw == mixesUp && !alone {
		text += "?"
	}
	if onText == nil {
		if m.flaw != needsListener {
			return
		}
		onText = func(string) {}
	}
	if m.flaw == oneDelta {
		onText(text)
		return
	}
	for _, word := range strings.SplitAfter(text, " ") {
		switch {
		case word == "":
		case m.flaw == ownGoroutine:
			done := make(chan struct{})
			go func() { defer close(done); onText(word) }()
			<-done
		case m.flaw == deltasDiffer:
			onText(strings.ToUpper(word))
		default:
			onText(word)
		}
	}
	if m.flaw == talksOn {
		go func() {
			<-time.After(time.Millisecond)
			onText("late")
		}()
	}
}

func (m *memory) reply(act Act, alone bool) ports.ModelReply {
	out := ports.ModelReply{Text: act.Text, Model: m.name(), Stop: ports.StopEnd, Usage: act.Usage}
	if act.State != "" {
		out.State, _ = json.Marshal(act.State)
	}
	switch {
	case m.flaw == needsListener, m.flaw == dropsTextOfCalls && len(act.Calls) > 0:
		out.Text = ""
	case m.flaw == dropsLastWord:
		out.Text = out.Text[:strings.LastIndex(out.Text, " ")+1]
	case m.flaw == mixesUp && !alone:
		out.Text += "?"
	case m.flaw == forgetsUsage:
		out.Usage = ports.Tokens{}
	case m.flaw == cacheBeside:
		out.Usage.Input -= out.Usage.CachedInput + out.Usage.CacheWrite
	}
	if act.Do == Length && m.flaw != hidesLength {
		out.Stop = ports.StopLength
	}
	for i, c := range act.Calls {
		out.Calls = append(out.Calls, m.call(act.Do, i, c))
		out.Stop = ports.StopCalls
	}
	if m.flaw == reversesCalls {
		slices.Reverse(out.Calls)
	}
	return out
}

func (m *memory) call(do Do, i int, c ports.Call) ports.Call {
	switch {
	case do == MissingIDs && m.flaw == emptyIDs:
		c.ID = ""
	case do == DoubledIDs && m.flaw == sameIDs:
		c.ID = "same"
	case do == BadArguments && i == 0 && m.flaw == rawArguments:
		c.Arguments = json.RawMessage(`{"path`)
	case do == BadArguments && i == 0:
		c.Arguments = json.RawMessage(`"{\"path"`)
	case do == NoArguments && m.flaw == nullArguments:
		c.Arguments = nil
	case do == NoArguments:
		c.Arguments = json.RawMessage(`{}`)
	case m.flaw == changesArguments:
		c.Arguments = json.RawMessage(`{"text":"changed"}`)
	}
	return c
}

// blame is what a refused request names as its cause.
func (m *memory) blame(act Act, tools []ports.ToolSpec, cause error) error {
	switch {
	case m.flaw == blamesAlways && len(tools) > 0, act.Do == BadTool && m.flaw == blamesFirst:
		return &ports.RefusedTool{Name: tools[0].Name, Err: cause}
	case act.Do == BadTool && m.flaw != blamesNone:
		return &ports.RefusedTool{Name: act.Tool, Err: cause}
	}
	return cause
}

func (m *memory) fail(kind ports.Kind, act Act, tools []ports.ToolSpec) (ports.ModelReply, error) {
	var reply ports.ModelReply
	cause := m.blame(act, tools, errors.New("the peer said no"))
	switch m.flaw {
	case callsAllTemporary:
		kind = ports.KindTemporary
	case callsAllInvalid:
		kind = ports.KindInvalid
	case keepsHalf:
		reply = m.reply(act, true)
	case noCause:
		cause = nil
	case quotesSecret:
		cause = errors.New("bad key " + memorySecret)
	case plainErrors:
		return reply, cause
	}
	err := &ports.Error{Kind: kind, Op: "memory", RetryAfter: act.Wait, Err: cause}
	if m.flaw == forgetsWait {
		err.RetryAfter = 0
	}
	return reply, err
}

func (m *memory) ended(ctx context.Context) error {
	kind := ports.KindOf(ctx.Err())
	switch {
	case m.flaw == cancelIsTemporary:
		kind = ports.KindTemporary
	case m.flaw == deadlineIsCancel:
		kind = ports.KindCancelled
	case m.flaw == copiesCause:
		return &ports.Error{Kind: kind, Op: "memory", Err: errors.New(ctx.Err().Error())}
	}
	return &ports.Error{Kind: kind, Op: "memory", Err: ctx.Err()}
}
