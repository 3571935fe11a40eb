package outbox

import (
	"context"
	"io"

	"dragoman/core/internal/guard"
	"dragoman/core/internal/label"
	"dragoman/ports"
)

// filePage is how much of an artifact is in memory at once for each upload.
const filePage = 256 << 10

// upload posts a file. Of one that the platform does not take, or that is gone, the
// person learns that it was there, and why they do not get it; code of an answer they
// get as text.
func (o *Outbox) upload(ctx context.Context, c *channel, d ports.Delivery) (ports.MessageID, error) {
	f := d.Out.Content.File
	if c.uploader == nil {
		return c.port.Send(ctx, d.Out)
	}
	var refused error
	if _, is := o.spelling(d.ID); !is {
		id, err := c.uploader.Upload(ctx, d.Out, func(ctx context.Context) (io.ReadCloser, error) {
			return o.open(ctx, d.Out.In, f.Artifact)
		})
		if err == nil || mayPass(err) {
			return id, err
		}
		o.log.Warn("file_not_posted", "channel", d.Out.In.Channel, "chat", d.Out.In.Chat, "delivery", d.ID, ports.TurnAttr(ports.TurnOf(d.ID)),
			"mime", f.MIME, "size", f.Size, "kind", ports.KindOf(err), "err", err)
		refused = err
	}
	if isCode(*f) {
		if id, err := o.spell(ctx, c, d); err == nil || mayPass(err) {
			return id, err
		}
	}
	why := textNotPosted
	if ports.IsKind(refused, ports.KindTooLarge) {
		why = textTooLarge
	}
	d.Out.Content = o.RenderFor(ports.TurnOf(d.ID), d.Out.In, ports.Content{Text: label.Markdown(*f) + why})[0]
	return c.port.Send(ctx, d.Out)
}

// What the person reads of a file that they do not get, behind what it is.
const (
	textTooLarge  = " is too large to be posted here."
	textNotPosted = " could not be posted here."
)

// open reads an artifact from its beginning.
func (o *Outbox) open(ctx context.Context, in ports.Conversation, id string) (io.ReadCloser, error) {
	r := &reader{ctx: ctx, outbox: o, in: in, id: id}
	if err := r.fill(); err != nil {
		return nil, err
	}
	return r, nil
}

// reader reads an artifact in pages, so that no upload has a whole file in memory.
// Not safe for many goroutines.
type reader struct {
	ctx    context.Context // of the upload
	outbox *Outbox
	in     ports.Conversation
	id     string
	page   []byte // read, and not given yet
	offset int64  // of what comes after page
	size   int64
}

func (r *reader) fill() error {
	a, err := guard.Read(r.ctx, r.outbox.leaks, "store_read", func(ctx context.Context) (ports.Artifact, error) {
		return r.outbox.store.Read(ctx, r.in, r.id, r.offset, filePage)
	})
	if err != nil {
		return err
	}
	if len(a.Data) == 0 && r.offset < a.Size {
		return ports.Errorf(ports.KindInternal, "read artifact", "the store gave nothing at byte %d of %d", r.offset, a.Size)
	}
	r.page, r.size = a.Data, a.Size
	r.offset += int64(len(a.Data))
	return nil
}

// Read gives what is left of the page, or the next one.
func (r *reader) Read(into []byte) (int, error) {
	if len(r.page) == 0 {
		if r.offset >= r.size {
			return 0, io.EOF
		}
		if err := r.fill(); err != nil {
			return 0, err
		}
	}
	n := copy(into, r.page)
	r.page = r.page[n:]
	return n, nil
}

// Close lets go of the page.
func (r *reader) Close() error {
	r.page = nil
	r.offset = r.size
	return nil
}
