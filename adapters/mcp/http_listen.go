package mcp

import (
	"context"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"time"
)

// goodStream is how long a stream must have lasted to be worth opening again soon.
const goodStream = 5 * time.Second

// errNoStream is a server that does not offer a stream to listen to.
var errNoStream = errors.New("the server offers no stream")

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
	resp, sent, err := h.do(ctx, h.taking(at.last))
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
	h.listening.Add(1)
	defer h.listening.Add(-1)
	if first && time.Since(begun) < listenHead {
		h.answered()
	} else {
		h.takeNotification(message{Method: "notifications/tools/list_changed"})
	}
	return true, h.attend(ctx, resp, at)
}

// attend takes the events of the listening stream.
func (h *streamable) attend(ctx context.Context, resp *http.Response, at *cursor) error {
	var pace floodRate
	x := &exchange{streamable: h} // of no request: no id is 0
	stream := newEvents(resp.Body, h.cfg.MaxMessageBytes, at, pace.count)
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
		if err := pace.count(nil); err != nil {
			return err
		}
	}
}
