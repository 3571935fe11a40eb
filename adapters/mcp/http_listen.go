package mcp

import (
	"context"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"time"

	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"
)

const (
	// pulseEvery is how often a server that offers no stream is asked whether it
	// is there: else nobody would see that it is gone before the next call.
	pulseEvery = 30 * time.Second
	// pulsePause is the least time between two such questions.
	pulsePause = time.Second
	// goodStream is how long a stream must have lasted to be worth opening again soon.
	goodStream = 5 * time.Second
	// firstPing keeps the ids of pings apart from those of the session, and
	// within 32 bits.
	firstPing = 2_000_000_000
	// floodWindow is the time that a listening stream's flood is counted in: it
	// may live for weeks, with a comment every few seconds.
	floodWindow = time.Minute
)

// errNoStream is a server that does not offer a stream to listen to.
var errNoStream = errors.New("the server offers no stream")

// live watches over the session once it is initialized.
func (h *streamable) live(life context.Context) {
	select {
	case <-life.Done():
		return
	case <-h.begun:
	}
	h.wg.Go(func() { h.listen(life) })
	h.pulse(life)
}

// pulse asks the server whether it is there, when there is doubt.
func (h *streamable) pulse(life context.Context) {
	every := time.NewTicker(pulseEvery)
	defer every.Stop()
	for {
		select {
		case <-life.Done():
			return
		case <-h.lost:
			return
		case <-h.doubts:
		case <-every.C:
			if h.listening.Load() {
				continue
			}
		}
		h.ping(life)
		if !sleep(life, pulsePause) {
			return
		}
	}
}

// ping ends the connection if the server is not there, has forgotten the session
// or wants another login. One that is too busy to answer in time is left alone:
// it may be working on a call.
func (h *streamable) ping(life context.Context) {
	ctx, cancel := context.WithTimeout(life, h.cfg.Timeout)
	defer cancel()
	var (
		gone  *lostError
		login *unauthorizedError
	)
	switch err := h.sendPing(ctx); {
	case errors.As(err, &gone) && gone.after == 0:
		h.fail(&lostError{reason: gone.reason, cause: gone.cause, session: gone.session})
	case errors.As(err, &login):
		h.fail(login)
	}
}

func (h *streamable) sendPing(ctx context.Context) error {
	id := mcp.NewRequestId(firstPing + h.pingID.Add(1))
	_, err := h.SendRequest(ctx, transport.JSONRPCRequest{JSONRPC: mcp.JSONRPC_VERSION, ID: id, Method: "ping"})
	return err
}

// forgotAll tells a server that forgot the session from a tool that misses a
// session of its own: the first refuses a ping too.
func (h *streamable) forgotAll(ctx context.Context) bool {
	var lost *lostError
	return errors.As(h.sendPing(ctx), &lost) && lost.session
}

// listen keeps the stream open on which the server speaks by itself.
func (h *streamable) listen(life context.Context) {
	at := new(cursor)
	for try, first := 0, true; ; first = false {
		begun := time.Now()
		opened, err := h.hear(life, at, first)
		switch {
		case life.Err() != nil || isClosed(h.lost):
			return
		case errors.Is(err, errNoStream):
			h.log.Debug("mcp_no_stream", "err", err)
			h.answered()
			return
		case opened && time.Since(begun) >= goodStream:
			try = 0
		default:
			try++
		}
		h.answered()
		h.log.Debug("mcp_stream_ended", "err", err)
		h.doubt()
		if !sleep(life, min(at.pause()<<min(try, 5), mostReconnect)) {
			return
		}
	}
}

// answered lets whoever waits for the listening stream go on.
func (h *streamable) answered() {
	if !isClosed(h.heard) {
		close(h.heard)
	}
}

// hear opens the stream and takes what comes until it ends. If it opens later
// than it was waited for, or again, the tools may have changed unheard.
func (h *streamable) hear(life context.Context, at *cursor, first bool) (opened bool, _ error) {
	ctx, cancel := context.WithCancel(life)
	defer cancel()
	late := time.AfterFunc(h.cfg.Timeout, cancel)
	begun := time.Now()
	resp, sent, err := h.do(ctx, http.MethodGet, nil, at.last)
	onTime := late.Stop()
	if err != nil {
		return false, h.broken(err, sent)
	}
	defer resp.Body.Close()
	media, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	switch {
	case resp.StatusCode >= 500 && resp.StatusCode != http.StatusNotImplemented, resp.StatusCode == http.StatusTooManyRequests:
		at.wait = max(at.wait, min(retryAfter(resp.Header.Get("Retry-After"), begun), mostReconnect))
		return false, fmt.Errorf("status %d", resp.StatusCode)
	case resp.StatusCode != http.StatusOK || media != "text/event-stream":
		if resp.StatusCode != http.StatusMethodNotAllowed {
			h.doubt() // it may have forgotten the session
		}
		return false, fmt.Errorf("%w (status %d, %s)", errNoStream, resp.StatusCode, clip(media, 60))
	case !onTime:
		return false, errors.New("it opened too late")
	}
	h.listening.Store(true)
	defer h.listening.Store(false)
	if first && time.Since(begun) < listenHead {
		h.answered()
	} else {
		h.takeNotification(message{Method: "notifications/tools/list_changed"})
	}
	return true, h.attend(ctx, resp, at)
}

// attend takes the events of the listening stream.
func (h *streamable) attend(ctx context.Context, resp *http.Response, at *cursor) error {
	var f flood
	window := time.Now()
	idle := func(line []byte) error {
		if time.Since(window) > floodWindow {
			f, window = flood{}, time.Now()
		}
		f.lines++
		f.bytes += len(line) + 1
		if words := f.over(); words != "" {
			return malformed("%s", words)
		}
		return nil
	}
	x := &exchange{streamable: h} // of no request: no id is 0
	stream := newEvents(resp.Body, h.cfg.MaxMessageBytes, at, idle)
	for {
		data, err := stream.next()
		switch {
		case errors.Is(err, errLineTooLong):
			at.last = "" // it would come again
			h.log.Warn("mcp_event_too_large", "err", x.tooLarge())
			return err
		case err != nil:
			return err
		}
		x.take(ctx, data)
		if err := idle(nil); err != nil {
			return err
		}
	}
}

// sleep reports false if ctx ended before.
func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}
