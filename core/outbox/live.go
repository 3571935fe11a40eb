package outbox

import (
	"cmp"
	"context"
	"errors"
	"strings"
	"sync"
	"time"

	"dragoman/core/internal/guard"
	"dragoman/ports"
)

const (
	// typingAfter spares a call for an answer that is there at once.
	typingAfter = 300 * time.Millisecond
	typingEvery = 4 * time.Second
	draftEvery  = 50 * time.Millisecond
	liveTimeout = 5 * time.Second
	// workEvery is how often it is looked whether what runs has changed.
	workEvery = 2 * time.Second
	shownMax  = 64 << 10 // bytes
	// liveGrace is how long the end of a turn waits for a call that does not heed
	// its context.
	liveGrace = 500 * time.Millisecond
)

// Live shows a turn at work: typing at first, then the text so far and what runs,
// as a draft or as a preview, where the channel has one. All of it is best effort
// and never delays the turn.
type Live struct {
	box     *Outbox
	in      ports.Conversation
	channel *channel
	drafter ports.Drafter // nil: no drafts are shown here
	preview *preview      // nil: no previews are shown here
	group   bool          // others are in the conversation

	ctx     context.Context // of what is worthless once the turn is over: typing, drafts
	cancel  context.CancelFunc
	closing chan struct{}
	once    sync.Once
	done    chan struct{}
	text    chan string // the newest text, latest wins
	working chan func() string

	quietUntil time.Time // the platform asked for silence
	last       time.Time // when text was shown
}

// Live begins to show that the conversation's turn is at work. p is the preview
// that may be posted, or that was before a restart. Close it.
func (o *Outbox) Live(ctx context.Context, l ports.Lease, p ports.Preview) *Live {
	v := &Live{box: o, in: l.In, channel: o.channels[l.In.Channel],
		closing: make(chan struct{}), done: make(chan struct{}), text: make(chan string, 1), working: make(chan func() string, 1)}
	v.ctx, v.cancel = context.WithCancel(ctx)
	c := v.channel
	if c == nil {
		close(v.done)
		return v
	}
	v.group = p.Group
	if p.Posted == "" {
		v.drafter = c.draftsIn(p.Group)
	}
	if p.Posted != "" || v.drafter == nil && c.previews() {
		v.preview = &preview{Preview: p, box: o, channel: c, lease: l, stored: p.Posted != ""}
		v.preview.ctx, v.preview.cancel = context.WithCancel(o.ctx)
	}
	if c.typer == nil && v.drafter == nil && v.preview == nil {
		close(v.done)
		return v
	}
	go v.run()
	return v
}

// Text shows the text so far. It never blocks. For one goroutine.
func (v *Live) Text(soFar string) {
	select {
	case <-v.text:
	default:
	}
	select {
	case v.text <- soFar:
	default:
	}
}

// Working has line called from now on: what it says is shown behind the text, and
// again as it changes, "" being nothing. Call it once.
func (v *Live) Working(line func() string) {
	select {
	case v.working <- line:
	default:
	}
}

// Close ends the show: nothing of it reaches the chat afterwards. It returns the
// id of the preview that what is said next must replace, "" if there is none.
func (v *Live) Close() string {
	v.once.Do(func() {
		// A turn whose time is over says so; one that was cut off is leaving.
		leaving := errors.Is(v.ctx.Err(), context.Canceled)
		close(v.closing)
		v.cancel()
		if v.preview != nil {
			v.preview.settle(v.done, leaving)
		}
		<-v.done
	})
	if v.preview == nil || !v.preview.stored {
		return ""
	}
	return v.preview.ID
}

func (v *Live) run() {
	defer close(v.done)
	typing := time.NewTimer(typingAfter)
	defer typing.Stop()
	looks := time.NewTicker(workEvery)
	defer looks.Stop()
	var (
		text, line string
		working    = func() string { return "" }
		due        <-chan time.Time // when they may be shown
	)
	for {
		select {
		case <-v.closing:
			return
		case <-v.ctx.Done():
			return
		case <-typing.C:
			next := typingEvery
			if v.types() && !v.show(func(ctx context.Context) error { return v.channel.typer.Typing(ctx, v.in) }) {
				next = min(typingEvery, max(typingAfter, v.wait()))
			}
			typing.Reset(next)
			continue
		case working = <-v.working:
			continue
		case <-looks.C:
			now := working()
			if now == line && !v.fades() {
				continue
			}
			line = now
		case text = <-v.text:
			line = ""
		case <-due:
			due = nil
			if v.tell(text, line) {
				continue
			}
		}
		if due == nil && v.shows() {
			due = time.After(v.pause())
		}
	}
}

// shows reports whether text is shown: the preview of an earlier life is at least replaced.
func (v *Live) shows() bool { return v.drafter != nil || v.preview != nil && v.channel.previews() }

// types reports whether typing is shown: where a group's writes are counted, the
// preview is sign enough, and typing would take its place.
func (v *Live) types() bool {
	counted := v.group && v.channel.traits.GroupMinute > 0
	return v.channel.typer != nil && !(counted && v.preview != nil && v.preview.Posted != "")
}

// fades reports whether the draft is soon gone unless it is shown again.
func (v *Live) fades() bool {
	life := v.channel.traits.DraftLife
	return v.drafter != nil && life > 0 && !v.last.IsZero() && time.Since(v.last) >= life*2/3
}

// pause is how long a new text waits for its turn.
func (v *Live) pause() time.Duration {
	next := v.last.Add(max(draftEvery, cmp.Or(v.channel.traits.DraftEvery, v.channel.traits.EditEvery)))
	if v.drafter == nil {
		next = v.last.Add(v.preview.pace())
		if v.last.IsZero() {
			next = time.Now().Add(previewAfter)
		}
	}
	if v.quietUntil.After(next) {
		next = v.quietUntil
	}
	return max(0, time.Until(next), v.wait())
}

// wait is how long nothing may be shown here.
func (v *Live) wait() time.Duration {
	return max(v.channel.gate.wait(v.in), v.channel.pace.wait(v.in, v.group, v.channel.traits))
}

// tell shows the text so far, or the beginning of one that nobody can read as
// fast as it grows, and the line of what runs. It reports false where that has to
// be tried again.
func (v *Live) tell(text, line string) (done bool) {
	if v.wait() > 0 { // something was written meanwhile: nothing was shown, and no pause of ours begins
		return false
	}
	if len(text) > shownMax {
		text = strings.ToValidUTF8(text[:shownMax], "")
	}
	defer func() { v.last = time.Now() }()
	switch {
	case line != "":
		text = strings.TrimSpace(text + "\n\n" + line)
	case v.drafter == nil && strings.TrimSpace(text) != "":
		text += unfinished
	}
	if v.drafter != nil {
		return strings.TrimSpace(text) == "" || v.show(func(ctx context.Context) error { return v.drafter.Draft(ctx, v.in, text) })
	}
	done, err := v.preview.show(text)
	if err != nil {
		v.hush(err)
	}
	return done || v.preview.given
}

// show makes a call that is cut off when the turn is over. It reports false where
// nothing may be shown now.
func (v *Live) show(call func(context.Context) error) bool {
	if time.Now().Before(v.quietUntil) || v.wait() > 0 {
		return false
	}
	v.channel.pace.wrote(v.in, v.channel.traits)
	ctx, cancel := context.WithTimeout(v.ctx, liveTimeout)
	defer cancel()
	_, err := guard.Do(ctx, liveGrace, v.box.leaks, "show", func(ctx context.Context) (struct{}, error) { return struct{}{}, call(ctx) })
	if err != nil {
		v.hush(err)
	}
	return true
}

// hush keeps quiet for a while after a refusal, and all writers as long as the
// platform asked.
func (v *Live) hush(err error) {
	v.channel.gate.heed(v.in, err)
	v.quietUntil = time.Now().Add(time.Second)
}
