package wire

import (
	"context"
	"errors"
	"io"
	"time"
)

// The two ways in which a request runs out of time by our own clocks.
var (
	errTotal = errors.New("the request took longer than its timeout")
	errIdle  = errors.New("the provider was silent for longer than idle_timeout")
)

// maxBody bounds what one answer may bring, so that a broken peer cannot fill
// the memory. It is far beyond any real reply.
const maxBody = 64 << 20

var errBody = errors.New("the answer is larger than any reply can be")

// watch ends a request whose peer falls silent. It looks at bytes, not at
// chunks: the comments that some providers send while they queue are signs of
// life. It runs only while a read waits, so a slow onText is not the provider's
// silence.
type watch struct {
	idle   time.Duration
	timer  *time.Timer
	cancel context.CancelCauseFunc
}

// watchSilence starts the clock for the silence before the first byte.
func watchSilence(ctx context.Context, idle time.Duration) (context.Context, *watch) {
	ctx, cancel := context.WithCancelCause(ctx)
	w := &watch{idle: idle, cancel: cancel}
	w.timer = time.AfterFunc(idle, func() { cancel(errIdle) })
	return ctx, w
}

// stop ends the clock and frees the context. Nothing may be read afterwards.
func (w *watch) stop() {
	w.timer.Stop()
	w.cancel(nil)
}

// body puts an answer's body under the clock and the size limit.
func (w *watch) body(rc io.ReadCloser) io.ReadCloser {
	return &watchedBody{ReadCloser: rc, watch: w, left: maxBody}
}

type watchedBody struct {
	io.ReadCloser
	watch *watch
	left  int64
}

func (b *watchedBody) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, errBody
	}
	p = p[:min(int64(len(p)), b.left)]
	b.watch.timer.Reset(b.watch.idle)
	n, err := b.ReadCloser.Read(p)
	b.watch.timer.Stop()
	b.left -= int64(n)
	return n, err
}
