package agent

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"time"

	"dragoman/core/internal/guard"
	"dragoman/ports"
)

const (
	// historyPage is how many finished turns are read first; each next page is
	// historyGrows times as long.
	historyPage  = 64
	historyGrows = 4
	// historyFull is how many full prompts of turns that no memo stands for are told
	// or summarised at most; of a longer journal, as one that was written without
	// memos, the newest are.
	historyFull = 8
)

// recall is what is known, in a turn, of the conversation before it: the latest
// memo, and the turns since what that stands for. Of two conversations nothing is
// ever in one.
type recall struct {
	past []told // oldest first; nil = not read yet
	memo memoBody
	lost bool // there are turns before these that no memo stands for
	used int  // tokens of the last prompt and its reply; 0 = not known
}

// memoScript makes memos, and takes in files, where a recorded turn did, and tells when
// that began.
type memoScript interface {
	memo(row int) (memoBody, bool)
	files(row int) (inputBody, bool)
	began() time.Time
}

// remember reads the conversation's finished turns, once in an activation.
func (t *turn) remember(ctx context.Context) error {
	if t.past != nil && !t.outdated {
		return nil
	}
	t.outdated, t.fit.left = false, 0
	known, ok := t.history.get(t.lease.In, t.last, t.changed)
	for limit := historyPage; !ok; limit *= historyGrows {
		list, err := guard.Read(ctx, t.leaks, "store_history", func(ctx context.Context) ([]ports.Past, error) {
			return t.store.History(ctx, t.lease, limit)
		})
		if err != nil {
			return &storeFault{err}
		}
		known, ok = t.recollect(list, len(list) < limit)
	}
	t.recall = known
	for _, s := range t.steps { // of an activation before this one
		var b memoBody
		if s.Kind == ports.StepMemo && read(s, &b) == nil && !b.tells(t.gone) {
			t.rest(b)
		}
	}
	return nil
}

// recollect makes of the last finished turns what is known of the conversation;
// ok is false where they do not reach back far enough. all: there are no more.
func (t *turn) recollect(list []ports.Past, all bool) (r recall, ok bool) {
	for i := len(list) - 1; i >= 0 && r.memo.V == 0; i-- {
		r.memo = lastMemo(list[i].Steps, list[i].Gone)
	}
	upto := seqOf(r.memo.Upto)
	reaches := all || r.memo.V > 0 && (upto == 0 || len(list) > 0 && seqOf(list[0].Turn.ID) <= upto)
	left := historyFull * t.full()
	for i := len(list) - 1; i >= 0; i-- {
		if r.memo.V > 0 && seqOf(list[i].Turn.ID) <= upto {
			break
		}
		p := t.toldOf(list[i].Turn.ID, list[i].Inbox, list[i].Steps)
		if left -= p.size; left < 0 {
			t.log.Warn("history_cut", "turns", len(r.past), "why", "no memo stands for the turns before them")
			r.lost, reaches = true, true
			break
		}
		r.past = append(r.past, p)
	}
	slices.Reverse(r.past)
	if r.past == nil {
		r.past = []told{}
	}
	return r, reaches
}

// lastMemo is the last memo of a journal that may still be told; V is 0 if it has
// none. gone is ports.Past.Gone of its turn.
func lastMemo(steps []ports.Step, gone int64) memoBody {
	for i := len(steps) - 1; i >= 0; i-- {
		var b memoBody
		if steps[i].Kind == ports.StepMemo && read(steps[i], &b) == nil && b.V > 0 && !b.tells(gone) {
			return b
		}
	}
	return memoBody{}
}

// tells reports whether a memo may tell of what was deleted after it was made, with
// gone as of its turn: then it stands for nothing any more, and the turns that it
// stood for are told, or summarised anew where there is no room for them.
func (b memoBody) tells(gone int64) bool { return b.Text != "" && gone > 0 && gone <= seqOf(b.Upto) }

// rest lets a memo stand for the turns up to the one that it names.
func (t *turn) rest(b memoBody) {
	upto, n := seqOf(b.Upto), 0
	for n < len(t.past) && seqOf(t.past[n].turn) <= upto {
		n++
	}
	t.recall = recall{past: append([]told{}, t.past[n:]...), memo: b}
	t.fit.left = max(0, t.fit.left-n)
}

// keep remembers the turn, now that it is finished, for the next one.
func (t *turn) keep() {
	takenBack := slices.ContainsFunc(t.taken, func(m ports.Inbox) bool { return m.Undoes > 0 && m.Seq != t.taken[0].Seq })
	if t.past == nil || t.outdated || takenBack { // what a redo was to undo is not undone
		return
	}
	r := t.recall
	r.used = t.fit.used
	r.past = append(slices.Clone(t.past), t.toldOf(t.id, t.taken, t.steps))
	t.history.put(t.lease.In, t.id, t.changed, r)
}

// replied is the row of a reply, and takes in what it tells of its prompt's size.
func (t *turn) replied(r ports.ModelReply) replyBody {
	b := replyBody{V: bodyVersion, Text: r.Text, Calls: r.Calls, State: r.State, Model: r.Model, Stop: r.Stop, At: time.Now().UTC()}
	if r.Usage.Input > 0 {
		b.Usage, b.Guess = &r.Usage, t.fit.guess
		t.scales.learn(measured{r.Model, r.Usage.Input, t.fit.guess})
		t.fit.used = r.Usage.Input + r.Usage.Output
	}
	return b
}

// seqOf is the seq of a turn's first message, by which turns are in order; 0 of no turn.
func seqOf(turn string) int64 {
	seq, _ := strconv.ParseInt(turn[strings.LastIndex(turn, "#")+1:], 10, 64)
	return seq
}
