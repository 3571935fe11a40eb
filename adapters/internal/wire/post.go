package wire

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"

	"dragoman/ports"
)

// ask makes one reply over one POST.
func (c *Client) ask(ctx context.Context, watch *watch, body func() ([]byte, error), to Reader) (ports.ModelReply, error) {
	res, err := c.post(ctx, watch, body)
	if err != nil {
		return ports.ModelReply{}, err
	}
	defer func() { _ = res.Body.Close() }() // everything that matters was read

	head := &prefix{}
	events := NewEvents(io.TeeReader(res.Body, head))
	taken, err := drain(events, to)
	if err != nil {
		return ports.ModelReply{}, err
	}
	// Whatever broke after the end took nothing from the reply.
	if reply, ended, err := to.Reply(); ended || err != nil {
		return reply, err
	}
	return ports.ModelReply{}, c.unterminated(res, taken, head.Bytes(), events.Err())
}

// drain has the events read, and counts those that are of the wire.
func drain(events *Events, to Reader) (taken int, err error) {
	for e, ok := events.Next(); ok; e, ok = events.Next() {
		if e.Data = bytes.TrimSpace(e.Data); len(e.Data) == 0 {
			continue
		}
		err := to.Read(e)
		if errors.Is(err, io.EOF) {
			return taken, nil
		}
		if err != nil {
			return taken, err
		}
		if taken++; to.Full() {
			return taken, Broken("the reply has no end", errBody)
		}
	}
	return taken, nil
}

// userAgent says who asks. The version is the command's, and not known here.
const userAgent = "dragoman"

// post sends the request; its error is that of the peer's status or of the network.
func (c *Client) post(ctx context.Context, watch *watch, body func() ([]byte, error)) (*http.Response, error) {
	raw, err := body()
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errEncode, err)
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.o.Endpoint.String(), bytes.NewReader(raw))
	if err != nil {
		return nil, err
	}
	maps.Copy(req.Header, c.o.Header)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "text/event-stream")
	req.Header.Set("User-Agent", userAgent)
	res, err := c.client.Do(req)
	if failed := (*url.Error)(nil); errors.As(err, &failed) {
		return nil, c.hide(failed.Err) // the rest is the URL, which may have a key in its query
	} else if err != nil {
		return nil, err
	}
	res.Body = watch.body(res.Body)
	if res.StatusCode >= 300 {
		return nil, statusError(res)
	}
	return res, nil
}

// sameOrigin follows a redirect only if the request stays as it is and where it
// is: the key and the prompt are for the configured server alone, and a POST
// that becomes a GET asks for something else. Of others the answer is the
// redirect itself.
func sameOrigin(req *http.Request, via []*http.Request) error {
	const most = 5
	first := via[0]
	if len(via) > most || req.Method != first.Method || req.URL.Scheme != first.URL.Scheme || req.URL.Host != first.URL.Host {
		return http.ErrUseLastResponse
	}
	return nil
}

// unterminated says what came instead of a whole reply.
func (c *Client) unterminated(res *http.Response, taken int, head []byte, cause error) error {
	if taken > 0 || cause != nil {
		if cause == nil {
			cause = io.ErrUnexpectedEOF
		}
		return Broken("the stream ended without a "+c.o.Mark, cause)
	}
	if p := readProblem(head); p.found() {
		return &ProviderError{Status: res.StatusCode, Problem: p}
	}
	kind := res.Header.Get("Content-Type")
	if kind == "" {
		kind = "nothing"
	}
	return Broken("the answer is not a stream of events", fmt.Errorf("status %d, content type %s", res.StatusCode, c.scrub(kind)))
}

// prefix keeps the first bytes of a body, for the case that it is no stream.
type prefix struct{ bytes.Buffer }

const maxPrefix = 8 << 10

func (p *prefix) Write(b []byte) (int, error) {
	if room := maxPrefix - p.Len(); room > 0 {
		p.Buffer.Write(b[:min(room, len(b))])
	}
	return len(b), nil
}
