package web

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"dragoman/ports"
)

const (
	firstItems   = 200              // what a new page shows of the past
	pageItems    = 100              // read at once after that
	reread       = 3 * time.Second  // another node may have written
	heartbeat    = 15 * time.Second // shorter than the idle limit of any proxy we know of
	writeTimeout = 10 * time.Second // a reader that is slower is dropped
)

// getStream is the tail of the person's feed as server-sent events (HTML
// standard, section 9.2): "item" for each feed item, with its seq as the
// event's id, then "ready" once, and "draft" and "typing" as they come.
func (c *Channel) getStream(w http.ResponseWriter, r *http.Request) {
	ctx, _, leave, ok := c.enter(r.Context())
	if !ok {
		refuse(w, http.StatusServiceUnavailable, "The gateway is not ready yet.")
		return
	}
	defer leave()
	chat := c.user(ctx, w, r)
	if chat == "" {
		return
	}
	after, err := resumePoint(r)
	if err != nil {
		refuse(w, http.StatusBadRequest, "The place to go on from is not a number.")
		return
	}
	if ahead, err := c.ahead(ctx, chat, after); err != nil || ahead {
		if err != nil {
			c.warn("feed not readable", chat, err)
			refuse(w, http.StatusServiceUnavailable, "The chat cannot be read at the moment.")
			return
		}
		refuse(w, http.StatusGone, "This chat has gone back to an earlier state. Please load the page again.")
		return
	}
	ear, hangUp, ok := c.hub.listen(chat)
	if !ok {
		refuse(w, http.StatusTooManyRequests, "This chat is open in too many windows. Please close one.")
		return
	}
	defer hangUp()

	h := w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("X-Accel-Buffering", "no") // nginx would wait for a full buffer
	w.WriteHeader(http.StatusOK)
	if r.Method == http.MethodHead {
		return
	}
	s := stream{channel: c, chat: chat, after: after, ear: ear, out: w, control: http.NewResponseController(w)}
	if err := s.run(ctx); err != nil && ctx.Err() == nil {
		c.log.Debug("web_stream_ended", "chat", chat, "err", err)
	}
}

// ahead reports whether a reader has seen more than there is: old data was restored.
func (c *Channel) ahead(ctx context.Context, chat string, after int64) (bool, error) {
	if after <= 0 {
		return false, nil
	}
	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	last, err := c.feed.Tail(ctx, chat, -1, 1)
	if err != nil {
		return false, wrap("tail", err)
	}
	return len(last) == 0 || last[0].Seq < after, nil
}

// resumePoint is the seq that the reader has already: by the header after a lost
// connection, by the query for a page that says so; -firstItems for neither.
func resumePoint(r *http.Request) (int64, error) {
	at := r.Header.Get("Last-Event-ID")
	if at == "" {
		at = r.FormValue("after")
	}
	if at == "" || at == "0" {
		return -firstItems, nil
	}
	seq, err := strconv.ParseInt(at, 10, 64)
	if err == nil && seq < 0 {
		err = strconv.ErrRange
	}
	return seq, err
}

// stream is one browser that looks on.
type stream struct {
	channel *Channel
	chat    string
	after   int64
	ear     *listener
	out     http.ResponseWriter
	control *http.ResponseController
}

func (s *stream) run(ctx context.Context) error {
	if err := s.drain(ctx); err != nil {
		return err
	}
	if err := s.write("", "ready", struct{}{}); err != nil {
		return err
	}
	again, beat := time.NewTicker(reread), time.NewTicker(heartbeat)
	defer again.Stop()
	defer beat.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-s.ear.wake:
		case <-again.C:
		case <-beat.C:
			if err := s.raw(": still here\n\n"); err != nil {
				return err
			}
			continue
		}
		if err := s.drain(ctx); err != nil {
			return err
		}
		if err := s.live(); err != nil {
			return err
		}
	}
}

// drain writes what the feed has after s.after.
func (s *stream) drain(ctx context.Context) error {
	for {
		limit := pageItems
		if s.after < 0 {
			limit = firstItems
		}
		read, cancel := context.WithTimeout(ctx, storeTimeout)
		items, err := s.channel.feed.Tail(read, s.chat, s.after, limit)
		cancel()
		if err != nil {
			return wrap("tail", err)
		}
		if len(items) == 0 {
			s.after = max(s.after, 0)
			return nil
		}
		for _, f := range items {
			if err := s.item(f); err != nil {
				return err
			}
		}
		if len(items) < limit {
			return nil
		}
	}
}

func (s *stream) item(f ports.FeedItem) error {
	s.after = f.Seq
	it, err := newItem(s.chat, f)
	if err != nil {
		s.channel.warn("feed item not readable", s.chat, err)
		return nil
	}
	return s.write(strconv.FormatInt(f.Seq, 10), "item", it)
}

// live writes what is shown and not kept. It comes after drain, so that a
// draft stands below the messages before it.
func (s *stream) live() error {
	draft, typing := s.channel.hub.take(s.ear)
	if typing {
		if err := s.write("", "typing", struct{}{}); err != nil {
			return err
		}
	}
	if draft == nil {
		return nil
	}
	return s.write("", "draft", map[string]string{"html": *draft})
}

func (s *stream) write(id, event string, v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return err
	}
	text := fmt.Sprintf("event: %s\ndata: %s\n\n", event, data)
	if id != "" {
		text = "id: " + id + "\n" + text
	}
	return s.raw(text)
}

func (s *stream) raw(text string) error {
	err := s.control.SetWriteDeadline(time.Now().Add(writeTimeout))
	if err != nil && !errors.Is(err, http.ErrNotSupported) {
		return err
	}
	if _, err := s.out.Write([]byte(text)); err != nil {
		return err
	}
	return s.control.Flush()
}
