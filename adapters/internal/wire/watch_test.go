package wire

import (
	"context"
	"errors"
	"io"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"dragoman/ports"
)

// slowWire answers with pieces of a stream, each after a pause. It obeys the
// request's context as a transport does.
type slowWire struct {
	before time.Duration // until the headers
	pieces []slowPiece
}

type slowPiece struct {
	after time.Duration
	text  string
}

func (s slowWire) RoundTrip(r *http.Request) (*http.Response, error) {
	if err := pause(r.Context(), s.before); err != nil {
		return nil, err
	}
	return &http.Response{StatusCode: 200, Proto: "HTTP/1.1", Header: http.Header{"Content-Type": {"text/event-stream"}},
		Body: &slowBody{ctx: r.Context(), pieces: s.pieces}, Request: r}, nil
}

type slowBody struct {
	ctx    context.Context
	pieces []slowPiece
}

func (b *slowBody) Read(p []byte) (int, error) {
	if len(b.pieces) == 0 {
		return 0, io.EOF
	}
	next := b.pieces[0]
	b.pieces = b.pieces[1:]
	if err := pause(b.ctx, next.after); err != nil {
		return 0, err
	}
	return copy(p, next.text), nil
}

func (b *slowBody) Close() error { return nil }

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

const (
	word   = "data: word \n\n"
	ending = "event: end\ndata: x\n\n"
	alive  = ": PROCESSING\n\n"
)

// TestClocks has idle_timeout at a minute and timeout at five.
func TestClocks(t *testing.T) {
	const tick = time.Second
	silence, all := time.Minute, 5*time.Minute
	for name, c := range map[string]struct {
		wire   slowWire
		listen time.Duration // how long onText takes
		cause  error         // nil: a reply
		took   time.Duration
	}{
		"patient enough":              {wire: slowWire{silence - tick, []slowPiece{{silence - tick, word}, {silence - tick, ending}}}, took: 3 * (silence - tick)},
		"silent before the answer":    {wire: slowWire{before: time.Hour}, cause: errIdle, took: silence},
		"silent before the first":     {wire: slowWire{0, []slowPiece{{time.Hour, word}}}, cause: errIdle, took: silence},
		"silent midway":               {wire: slowWire{0, []slowPiece{{tick, word}, {time.Hour, ending}}}, cause: errIdle, took: tick + silence},
		"comments are signs of life":  {wire: slowWire{0, []slowPiece{{50 * tick, alive}, {50 * tick, alive}, {50 * tick, word}, {0, ending}}}, took: 150 * tick},
		"a slow listener is not idle": {wire: slowWire{0, []slowPiece{{0, word}, {0, ending}}}, listen: 2 * silence, took: 2 * silence},
		"too long in all": {wire: slowWire{0, []slowPiece{{55 * tick, word}, {55 * tick, word}, {55 * tick, word}, {55 * tick, word},
			{55 * tick, word}, {55 * tick, word}, {0, ending}}}, cause: errTotal, took: all},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				client := testClient(t, "http://model.test/v1", func(o *Options) {
					o.Limits.IdleTimeout, o.Limits.Timeout, o.Transport = silence, all, c.wire
				})
				start := time.Now()
				reply, err := client.Generate(t.Context(), noBody, newWords(func(string) { time.Sleep(c.listen) }))
				if took := time.Since(start); took != c.took {
					t.Errorf("took %s, not %s", took, c.took)
				}
				if c.cause == nil {
					if err != nil || reply.Text != "word" {
						t.Errorf("%q, %v", reply.Text, err)
					}
					return
				}
				if !ports.IsKind(err, ports.KindTimeout) || !errors.Is(err, c.cause) || !errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded) {
					t.Errorf("%s: %v", ports.KindOf(err), err)
				}
			})
		})
	}
}
