package agent

import (
	"context"
	"fmt"
	"strings"

	"dragoman/ports"
)

const (
	// memoShare is the share of the window that a memo is asked to stay within,
	// memoMost the same in tokens; one twice as long is cut.
	memoShare = 0.12
	memoMost  = 4000
	// worthwhile is the share of the window that must be won for a memo to be made
	// in the middle of other work.
	worthwhile = 0.06
	// wordTokens is how many tokens a word has, on the careful side.
	wordTokens = 1.7
	// overflows is how often a turn makes room for a provider that says that the
	// prompt is too long.
	overflows = 2
)

// fitting is what had to be done, in one activation, for the prompt to fit.
type fitting struct {
	left      int  // so many of the oldest turns are left out of the prompt
	trim      trim // of the running turn
	head      int  // bytes that the memo may have; 0 = all
	failed    bool // no memo could be had: this turn tries no more
	overflows int  // how often the provider said that the prompt is too long
	most      int  // what it may have after that, as we guess; 0 = what the window says
	guess     int  // what the last prompt had
	used      int  // and what it had with its reply, by the provider's word; 0 = not known
}

// makeRoom sees to it that the next prompt fits: turns before the last ones become
// a memo, and where that is not enough, or cannot be had, parts are left out of
// this turn's prompts. The journal keeps everything. Its error is the store's, or
// an end of the turn.
func (t *turn) makeRoom(ctx context.Context) error {
	if t.script != nil {
		if err := t.makeMemosAsRecorded(ctx); err != nil {
			return err
		}
	} else if t.guess() > t.limit() && !t.fit.failed && t.history.mayFold(t.lease.In) {
		n, size := t.foldable()
		if size >= t.ofTokens(int(worthwhile*float64(t.window()))) {
			if err := t.tryFold(ctx, n); err != nil {
				return err
			}
		}
	}
	t.squeeze(t.limit())
	return nil
}

// overflowed makes room after a provider said that the prompt is too long, whatever
// we guessed: by a memo first, then by leaving out all that can be. again is false
// where that was done, or nothing is left to leave out.
func (t *turn) overflowed(ctx context.Context) (again bool, err error) {
	for t.fit.overflows < overflows {
		t.fit.overflows++
		was := t.fit.guess
		if t.fit.overflows == 1 {
			t.fit.most = was * 2 / 3
			if n, _ := t.foldable(); n > 0 && !t.fit.failed && t.script == nil {
				if err := t.tryFold(ctx, n); err != nil {
					return false, err
				}
			}
		} else {
			t.fit.most = was / 3
			t.leaveOut(len(t.past))
		}
		t.squeeze(t.fit.most)
		now := t.guess()
		t.log.Warn("prompt_too_long", "overflow", t.fit.overflows, "guess", was, "now", now)
		if now < was {
			return true, nil
		}
	}
	return false, nil
}

// guess is how many tokens the next prompt has, as we guess.
func (t *turn) guess() int {
	return t.fixed() + guessEntries(t.view())
}

// limit is what a prompt may have, as we guess.
func (t *turn) limit() int {
	limit := t.ofTokens(t.full())
	if t.fit.most > 0 {
		return min(limit, t.fit.most)
	}
	return limit
}

// foldable is how many of the oldest turns a memo may stand for, and their size:
// all but the last ones that leave room beside it for what comes next. The very
// last stays if there is room for it at all.
func (t *turn) foldable() (n, size int) {
	beside := t.fixed() + guessEntries(t.running()) + t.ofTokens(t.memoTokens())
	share, limit := t.ofTokens(int(keptShare*float64(t.window()))), t.limit()
	kept := 0
	for n = len(t.past); n > 0; n-- {
		more := kept + t.past[n-1].size
		last := n == len(t.past) && beside+more <= limit*9/10
		if !last && (more > share || beside+more > limit*6/10) {
			break
		}
		kept = more
	}
	for _, p := range t.past[:n] {
		size += p.size
	}
	return n, size
}

func (t *turn) memoTokens() int { return min(int(memoShare*float64(t.window())), memoMost) }

// tryFold makes a memo. That none can be had is no error: the turn goes on without.
func (t *turn) tryFold(ctx context.Context, n int) error {
	err := t.fold(ctx, n)
	if err == nil || t.ended(ctx, err) {
		return err
	}
	t.fit.failed = true
	t.history.notFolded(t.lease.In)
	t.log.Warn("compaction_failed", "kind", ports.KindOf(err), "err", err)
	return nil
}

// fold makes a memo of the n oldest turns, in as many requests as it takes: each
// reads the memo before it, and is recorded at once.
func (t *turn) fold(ctx context.Context, n int) error {
	share := 1.0
	for n > 0 {
		k := t.piece(n, share)
		body, err := t.summary(ctx, k, share)
		if ports.IsKind(err, ports.KindTooLarge) && share > 0.2 {
			share /= 2
			continue
		}
		if err != nil {
			return err
		}
		if err := t.memorize(ctx, body); err != nil {
			return err
		}
		n -= k
	}
	return nil
}

// memorize records a memo. A death before that has it made again.
func (t *turn) memorize(ctx context.Context, b memoBody) error {
	t.add(ports.StepMemo, -1, b)
	if err := t.record(ctx); err != nil {
		return &storeFault{err}
	}
	turns := len(t.past)
	t.rest(b)
	t.log.Info("conversation_compacted", "turns", turns-len(t.past), "messages", b.Messages, "bytes", len(b.Text), "model", b.Model)
	return nil
}

// pieceRoom is what the history in a request for a memo may have, as we guess.
func (t *turn) pieceRoom(share float64) int {
	fixed := t.fixed() + guessText(t.summaryAsk()) + guessEntries(t.summaryHead())
	room := t.ofTokens(t.room()) * 19 / 20
	if t.fit.most > 0 { // the provider's window is smaller than we were told
		room = min(room, t.fit.most)
	}
	return max(int(share*float64(room-fixed)), 1)
}

// piece is how many of the n oldest turns one request has room for; it is one at least.
func (t *turn) piece(n int, share float64) int {
	room := t.pieceRoom(share)
	for k := range n {
		if room -= t.past[k].size; room < 0 {
			return max(k, 1)
		}
	}
	return n
}

// summary asks for a memo of the k oldest turns. The request begins as the
// prompts of the conversation do, so that its provider knows most of it.
func (t *turn) summary(ctx context.Context, k int, share float64) (memoBody, error) {
	list := t.summaryHead()
	cold, messages, size := t.coldTurns(), 0, guessEntries(list)
	for i, p := range t.past[:k] {
		told := p.told(i < cold)
		if k == 1 {
			told = trimTo(told, trim{}, t.pieceRoom(share)).of(told)
		}
		list = append(list, told...)
		messages += p.messages
		size += p.size
	}
	list = append(list, ports.Entry{Role: ports.RoleUser, Text: t.summaryAsk()})
	reply, err := t.request(ctx, func(m Model) ports.ModelRequest {
		r := t.base(m)
		r.Entries, r.NoCalls = inWords(list), true
		return r
	}, false)
	if err != nil {
		return memoBody{}, err
	}
	text := strings.TrimSpace(reply.Text)
	if most := t.memoMost(); len(text) > most {
		text = middleOut(text, most*2/3, most/3, func(left int) string { return fmt.Sprintf("[%d bytes are left out here.]", left) })
	}
	switch {
	case text == "":
		return memoBody{}, ports.Errorf(ports.KindProtocol, "summary", "the summary is empty")
	case guessText(text) >= size:
		return memoBody{}, errLongerSummary
	}
	return memoBody{V: bodyVersion, Upto: t.past[k-1].turn, Text: text, Model: reply.Model, Messages: messages}, nil
}

// summaryHead is head in a request for a memo: what is left out of prompts is
// summarised all the same, and a memo that was made for a larger window is cut.
func (t *turn) summaryHead() []ports.Entry {
	was := t.fit
	defer func() { t.fit = was }()
	t.fit.left, t.fit.head = 0, 0
	if most := t.memoMost(); len(t.memo.Text) > most {
		t.fit.head = most
	}
	return t.head()
}

// memoMost is how long a memo may be at most, in bytes.
func (t *turn) memoMost() int { return int(2 * proseBytes * float64(t.memoTokens())) }

// errLongerSummary is a summary that is no gain.
var errLongerSummary = ports.Errorf(ports.KindProtocol, "summary", "the summary is longer than what it stands for")

// summaryMark begins what a model is told to write a memo: no person writes so.
const summaryMark = "[The chat gateway asks this, and not the person.]"

// summaryAsk is what a model is told to write a memo.
func (t *turn) summaryAsk() string {
	return fmt.Sprintf(summaryMark+` Write down what has to be remembered of this conversation. What you write takes the place of everything above it, so whatever you leave out is forgotten.

Keep, word for word where it is a name, a number, a date, an id, a file name or a URL:
- who the people are, and what they said of themselves and of what they like
- what was decided, and why
- what tools found or changed, as far as it still matters
- what you were asked to do and have not done, and what you promised
- questions that are still open

If a summary stands at the beginning, take over everything in it that still holds. Leave out greetings and what is settled. Write in the language of the conversation, in plain short lines, at most %d words. Answer nobody and call no tool: what you write now is the summary alone.`,
		int(float64(t.memoTokens())/wordTokens))
}

// squeeze leaves out of this turn's prompts what is beyond most tokens, as we
// guess: the past beyond the share of the last turns, then old results of the
// running turn, then the rest of the past, then the middle of what is long. A
// little more than needed goes, so that it is not some more at each step.
func (t *turn) squeeze(most int) {
	over := func() bool { return t.guess() > most }
	if !over() {
		return
	}
	goal := most * 2 / 3
	t.leaveOutTo(goal, t.ofTokens(int(keptShare*float64(t.window()))))
	if over() {
		t.fit.trim = hideTo(entries(t.taken, t.steps), t.fit.trim, t.runningRoom(goal))
	}
	if over() {
		t.leaveOutTo(goal, 0)
	}
	if over() {
		t.fit.trim = trimTo(entries(t.taken, t.steps), t.fit.trim, t.runningRoom(goal))
	}
	if over() && t.memo.Text != "" {
		t.fit.head = max(clipLeast, goal/4)
	}
}

// runningRoom is what of so many tokens is there for the running turn.
func (t *turn) runningRoom(of int) int { return of - (t.guess() - guessEntries(t.running())) }

// leaveOutTo leaves out the oldest turns until the prompt has at most so many
// tokens, or the turns that are told have at most so many.
func (t *turn) leaveOutTo(most, keep int) {
	n, told, over := t.fit.left, 0, t.guess()-most
	for _, p := range t.past[n:] {
		told += p.size
	}
	for n < len(t.past) && told > keep && over > 0 {
		told, over = told-t.past[n].size, over-t.past[n].size
		n++
	}
	t.leaveOut(n)
}

// leaveOut leaves the n oldest turns out of this turn's prompts.
func (t *turn) leaveOut(n int) {
	if n <= t.fit.left {
		return
	}
	t.fit.left = n
	t.log.Warn("history_cut", "turns", n, "kept", len(t.past)-n)
}

// makeMemosAsRecorded makes the memos that a recorded turn made at this row: what
// made it do so then is not all in the rows.
func (t *turn) makeMemosAsRecorded(ctx context.Context) error {
	for {
		was, ok := t.script.memo(len(t.steps))
		n := 0
		for ok && n < len(t.past) && seqOf(t.past[n].turn) <= seqOf(was.Upto) {
			n++
		}
		if n == 0 {
			return nil
		}
		body, err := t.summary(ctx, n, 1)
		if err != nil {
			return err
		}
		if err := t.memorize(ctx, body); err != nil {
			return err
		}
	}
}
