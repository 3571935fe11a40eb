package openai

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"

	"dragoman/ports"
)

// chat makes one reply over POST chat/completions.
func (m *Model) chat(ctx context.Context, watch *watch, r ports.ModelRequest, onText func(string)) (ports.ModelReply, error) {
	res, err := m.post(ctx, watch, r)
	if err != nil {
		return ports.ModelReply{}, err
	}
	defer func() { _ = res.Body.Close() }() // everything that matters was read

	head := &prefix{}
	events := newEvents(io.TeeReader(res.Body, head))
	reply := newReply(m.name, onText)
	for data, ok := events.next(); ok; data, ok = events.next() {
		if data = bytes.TrimSpace(data); string(data) == "[DONE]" {
			break
		}
		if err := m.frame(reply, data); err != nil {
			return ports.ModelReply{}, err
		}
	}
	if reply.finish != "" {
		return reply.done() // whatever broke after the end took nothing from the reply
	}
	return ports.ModelReply{}, m.unterminated(res, reply, head.Bytes(), events.err)
}

// userAgent says who asks. The version is the command's, and not known here.
const userAgent = "dragoman"

// post sends the request; its error is that of the peer's status or of the network.
func (m *Model) post(ctx context.Context, watch *watch, r ports.ModelRequest) (*http.Response, error) {
	body, err := m.body(r)
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, m.endpoint, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "text/event-stream")
	req.Header.Set("User-Agent", userAgent)
	if key := m.cfg.APIKey.Reveal(); key != "" {
		req.Header.Set("Authorization", "Bearer "+key)
	}
	res, err := m.client.Do(req)
	if failed := (*url.Error)(nil); errors.As(err, &failed) {
		return nil, m.hide(failed.Err) // the rest is the URL, which may have a key in its query
	} else if err != nil {
		return nil, err
	}
	res.Body = watch.body(res.Body)
	if res.StatusCode >= 300 {
		return nil, m.statusError(res)
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

// frame takes one event of the stream.
func (m *Model) frame(reply *reply, data []byte) error {
	if len(data) == 0 {
		return nil
	}
	c, err := readChunk(data)
	if err != nil {
		return &protocolError{what: "a frame of the stream is not a JSON object", err: err}
	}
	if len(c.Error) > 0 && string(c.Error) != "null" {
		return m.frameError(data)
	}
	reply.add(c)
	if reply.full() {
		return &protocolError{what: "the reply has no end", err: errBody}
	}
	return nil
}

// unterminated says what came instead of a whole reply.
func (m *Model) unterminated(res *http.Response, reply *reply, head []byte, cause error) error {
	if reply.chunks > 0 || cause != nil {
		if cause == nil {
			cause = io.ErrUnexpectedEOF
		}
		return &protocolError{what: "the stream ended without a finish_reason", err: cause}
	}
	if p := readProblem(head); p.found() {
		return m.provider(res.StatusCode, nil, p)
	}
	kind := res.Header.Get("Content-Type")
	if kind == "" {
		kind = "nothing"
	}
	return &protocolError{
		what: "the answer is not a stream of chunks",
		err:  fmt.Errorf("status %d, content type %s", res.StatusCode, m.scrub(kind)),
	}
}

// protocolError is a peer that did not keep to the wire.
type protocolError struct {
	what string
	err  error
}

func (e *protocolError) Error() string { return e.what + ": " + e.err.Error() }
func (e *protocolError) Unwrap() error { return e.err }

// prefix keeps the first bytes of a body, for the case that it is no stream.
type prefix struct{ bytes.Buffer }

const maxPrefix = 8 << 10

func (p *prefix) Write(b []byte) (int, error) {
	if room := maxPrefix - p.Len(); room > 0 {
		p.Buffer.Write(b[:min(room, len(b))])
	}
	return len(b), nil
}
