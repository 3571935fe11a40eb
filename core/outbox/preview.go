package outbox

import (
	"context"
	"strings"
	"time"

	"dragoman/core/internal/guard"
	"dragoman/ports"
)

const (
	// previewAfter spares a message for an answer that is there soon.
	previewAfter = 700 * time.Millisecond
	// settleGrace is how long what is said next waits for a call of its preview
	// that is under way: cut off, that call might reach the chat after it.
	settleGrace = 2 * time.Second
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
	shown   string // the last text
}

// previews reports whether the channel shows previews.
func (c *channel) previews() bool {
	return c.editor != nil && c.drafter == nil && c.traits.EditEvery > 0
}

// pace is the pause between two edits.
func (p *preview) pace() time.Duration {
	if p.Group && p.channel.traits.GroupEditEvery > 0 {
		return p.channel.traits.GroupEditEvery
	}
	return p.channel.traits.EditEvery
}

// show posts the preview with the text so far, or brings it up to date. An error
// asks to keep quiet for a while.
func (p *preview) show(text string) error {
	if p.given || strings.TrimSpace(text) == "" {
		return nil
	}
	part := p.box.RenderFor(ports.TurnOf(p.ID), p.lease.In, ports.Content{Text: text + unfinished})[0]
	if part.Text == p.shown {
		return nil
	}
	out := p.Out
	out.Nonce, out.Content = p.ID, part
	var err error
	switch {
	case p.Posted == "":
		err = p.post(out)
	case !p.stored:
		err = p.store()
	default:
		_, err = p.call(func(ctx context.Context) (ports.MessageID, error) {
			return p.Posted, p.channel.editor.Edit(ctx, p.Posted, out)
		})
		p.given = ports.IsKind(err, ports.KindNotFound)
	}
	if err == nil {
		p.shown = part.Text
		return nil
	}
	p.box.log.Debug("preview_failed", "channel", p.lease.In.Channel, "chat", p.lease.In.Chat, "delivery", p.ID,
		ports.TurnAttr(ports.TurnOf(p.ID)), "kind", ports.KindOf(err), "err", err)
	return err
}

// post takes a slot as every send does, for a crash can double it; but it never
// takes the half that is left to answers. One whose outcome is not known is not
// tried again.
func (p *preview) post(out ports.Outgoing) error {
	if slots := p.channel.inFlight; len(slots) >= (cap(slots)+1)/2 {
		return nil
	}
	select {
	case p.channel.inFlight <- struct{}{}:
	default:
		return nil
	}
	defer func() { <-p.channel.inFlight }()
	id, err := p.call(func(ctx context.Context) (ports.MessageID, error) { return p.channel.port.Send(ctx, out) })
	if err != nil {
		p.given = !ports.IsKind(err, ports.KindRateLimited)
		return err
	}
	p.Posted = id
	return p.store()
}

func (p *preview) store() error {
	ctx, cancel := context.WithTimeout(p.ctx, markTimeout)
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
	return guard.Do(ctx, liveGrace, p.box.leaks, "preview", f)
}

// settle waits a moment for a call that is under way, then gives it up, and
// with it the message: nobody knows what it will show. A message whose id the
// store did not take gets a last chance.
func (p *preview) settle(done <-chan struct{}) {
	defer p.cancel()
	timer := time.NewTimer(settleGrace)
	defer timer.Stop()
	select {
	case <-done:
	case <-timer.C:
		p.cancel()
		<-done
		p.box.mu.Lock()
		p.box.unsettled[p.ID] = true
		p.box.mu.Unlock()
		return
	}
	if p.Posted != "" && !p.stored && !p.given {
		if err := p.store(); err != nil {
			p.box.log.Warn("preview_left_behind", "channel", p.lease.In.Channel, "chat", p.lease.In.Chat, "delivery", p.ID,
				ports.TurnAttr(ports.TurnOf(p.ID)), "kind", ports.KindOf(err), "err", err)
		}
	}
}
