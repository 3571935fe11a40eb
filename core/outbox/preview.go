package outbox

import (
	"context"
	"math"
	"strings"
	"time"

	"dragoman/core/internal/guard"
	"dragoman/ports"
)

const (
	// previewAfter spares a message for an answer that is there soon.
	previewAfter = 700 * time.Millisecond
	// settleGrace is how long what is said next waits for a call of its preview
	// that is under way, and lastStore for the store to take its id.
	settleGrace = liveTimeout + time.Second
	lastStore   = 2 * time.Second
	// editsMax bounds the edits of a preview: with the answer's own there are twenty.
	// After the first evenPaced their pause grows by paceGrows, so that they last for
	// ten minutes.
	editsMax, evenPaced, paceGrows = 19, 4, 1.4
	// unfinished ends a preview's text.
	unfinished = " …"
)

// preview is a message that shows the answer in the making. Its id is stored
// before its first edit, so that the answer replaces it also after a crash.
// Used by one goroutine, and after that has ended by another.
type preview struct {
	ports.Preview
	box     *Outbox
	channel *channel
	lease   ports.Lease
	ctx     context.Context // of its calls
	cancel  context.CancelFunc
	stored  bool
	given   bool   // up: no more is shown
	edits   int    // of it so far
	shown   string // the last text
}

// previews reports whether the channel shows previews where it shows no drafts.
func (c *channel) previews() bool { return c.editor != nil && c.traits.EditEvery > 0 }

// draftsIn is what shows drafts in a conversation; nil: nothing does.
func (c *channel) draftsIn(group bool) ports.Drafter {
	if c.traits.Drafts == ports.DraftsNowhere || c.traits.Drafts == ports.DraftsPrivate && group {
		return nil
	}
	return c.drafter
}

// pace is the pause before the next edit. It grows after some: platforms count edits
// as they count messages, and who waits for minutes needs no news each second.
func (p *preview) pace() time.Duration {
	every := p.channel.traits.EditEvery
	if p.Group && p.channel.traits.GroupEditEvery > 0 {
		every = p.channel.traits.GroupEditEvery
	}
	return time.Duration(float64(every) * math.Pow(paceGrows, float64(max(0, p.edits-evenPaced))))
}

// show posts the preview with the text so far, or brings it up to date. It
// reports false where that has to be tried again; an error asks to keep quiet for
// a while.
func (p *preview) show(text string) (done bool, err error) {
	if p.given || p.edits >= editsMax || strings.TrimSpace(text) == "" {
		return true, nil
	}
	part := p.box.Render(p.lease.In, ports.Content{Text: text, Partial: true})[0]
	if p.channel.traits.Choices {
		part.Choices = p.Out.Content.Choices
	}
	if part.Text == p.shown {
		return true, nil
	}
	out := p.Out
	out.Nonce, out.Content = p.ID, part
	switch {
	case p.Posted == "":
		done, err = p.post(out)
	case !p.stored:
		err = p.store(p.ctx) // the text is shown by the next try
	default:
		done, err = true, p.edit(out)
	}
	if err == nil && done {
		p.shown = part.Text
	}
	if err != nil {
		p.box.log.Debug("preview_failed", "channel", p.lease.In.Channel, "chat", p.lease.In.Chat, "delivery", p.ID,
			ports.TurnAttr(ports.TurnOf(p.ID)), "kind", ports.KindOf(err), "err", err)
	}
	return err == nil && done, err
}

// post takes a slot as every send does, for a crash can double it; but it never
// takes the half that is left to answers, and it never overtakes one of its own
// conversation. One whose outcome is not known is not tried again.
func (p *preview) post(out ports.Outgoing) (done bool, err error) {
	if slots := p.channel.inFlight; len(slots) >= cap(slots)/2 || p.box.sends(p.lease.In) {
		return false, nil
	}
	select {
	case p.channel.inFlight <- struct{}{}:
	default:
		return false, nil
	}
	defer func() { <-p.channel.inFlight }()
	id, err := p.call(func(ctx context.Context) (ports.MessageID, error) { return p.channel.port.Send(ctx, out) })
	if err != nil {
		p.given = !mayPass(err) || outcomeUnknown(err)
		return false, err
	}
	p.Posted = id
	return true, p.store(p.ctx)
}

// edit brings the message up to date. An edit whose outcome is not known may
// still reach the chat, so what is said next must not be put into this message.
func (p *preview) edit(out ports.Outgoing) error {
	p.edits++
	_, err := p.call(func(ctx context.Context) (ports.MessageID, error) {
		return p.Posted, p.channel.editor.Edit(ctx, p.Posted, out)
	})
	if err != nil {
		p.given = !mayPass(err) || outcomeUnknown(err)
	}
	if outcomeUnknown(err) {
		p.box.mu.Lock()
		p.box.unsettled[p.ID] = true
		p.box.mu.Unlock()
	}
	return err
}

// outcomeUnknown reports whether a write that failed may have reached the chat, or may yet.
func outcomeUnknown(err error) bool {
	return ports.IsKind(err, ports.KindTimeout) || ports.IsKind(err, ports.KindCancelled) || ports.IsKind(err, ports.KindUnsure)
}

func (p *preview) store(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, liveTimeout)
	defer cancel()
	posted := ports.Receipt{ID: p.Posted}
	_, err := guard.Do(ctx, liveGrace, p.box.leaks, "store_preview", func(ctx context.Context) (struct{}, error) {
		return struct{}{}, p.box.store.Delivered(ctx, p.lease, p.ID, posted)
	})
	p.stored = err == nil
	p.given = ports.IsKind(err, ports.KindFenced)
	return err
}

func (p *preview) call(f func(context.Context) (ports.MessageID, error)) (ports.MessageID, error) {
	ctx, cancel := context.WithTimeout(guard.WithTurn(p.ctx, ports.TurnOf(p.ID)), liveTimeout)
	defer cancel()
	p.channel.pace.wrote(p.lease.In, p.channel.traits)
	return guard.Do(ctx, liveGrace, p.box.leaks, "preview", f)
}

// settle waits for a call that is under way: cut off, it might reach the chat
// after what is said next. Such a call ends by itself in a few seconds; where we
// are leaving it gets no more time than a send. A message whose id the store did
// not take gets a last chance.
func (p *preview) settle(done <-chan struct{}, leaving bool) {
	defer p.cancel()
	grace := settleGrace
	if leaving {
		grace = lastGrace
	}
	if !ended(done, grace, nil) {
		p.cancel()
		<-done
	}
	if p.Posted == "" || p.stored || p.given {
		return
	}
	ctx, cancel := context.WithTimeout(p.box.ctx, lastStore)
	defer cancel()
	if err := p.store(ctx); err != nil {
		p.box.log.Warn("preview_left_behind", "channel", p.lease.In.Channel, "chat", p.lease.In.Chat, "delivery", p.ID,
			ports.TurnAttr(ports.TurnOf(p.ID)), "kind", ports.KindOf(err), "err", err)
	}
}
