package openai

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"

	sdk "github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/packages/ssestream"

	"dragoman/ports"
)

// chat makes one reply over POST chat/completions. The stream is read here and
// not by the SDK's own iterator, which takes a clean end without a terminator,
// a JSON body and an HTML page for success, and `"error":null` for a failure.
func (m *Model) chat(ctx context.Context, watch *watch, r ports.ModelRequest, onText func(string)) (ports.ModelReply, error) {
	res, err := m.post(ctx, watch, m.chatParams(r))
	if err != nil {
		return ports.ModelReply{}, err
	}
	defer func() { _ = res.Body.Close() }() // everything that matters was read

	head := &prefix{}
	res.Body = teeBody{Reader: io.TeeReader(res.Body, head), Closer: res.Body}
	events := ssestream.NewDecoder(res)
	reply := newReply(m.name, onText)
	for events.Next() {
		data := bytes.TrimSpace(events.Event().Data)
		if bytes.Equal(data, []byte("[DONE]")) {
			break
		}
		if err := m.frame(reply, data); err != nil {
			return ports.ModelReply{}, err
		}
	}
	if reply.finish != "" {
		return reply.done() // whatever broke after the end took nothing from the reply
	}
	return ports.ModelReply{}, m.unterminated(res, reply, head.Bytes(), events.Err())
}

// post sends the request; its error is that of the peer's status or of the network.
func (m *Model) post(ctx context.Context, watch *watch, params any) (*http.Response, error) {
	var res *http.Response
	guard := func(req *http.Request, next option.MiddlewareNext) (*http.Response, error) {
		res, err := next(req)
		if err == nil {
			res.Body = watch.body(res.Body)
		}
		return res, err
	}
	err := m.client.Post(ctx, "chat/completions", params, &res,
		option.WithJSONSet("stream", true), option.WithHeader("Accept", "text/event-stream"), option.WithMiddleware(guard))
	switch {
	case res != nil && res.StatusCode >= 400 && ctx.Err() == nil:
		return nil, m.statusError(res) // the SDK has read the body into memory
	case err != nil:
		return nil, err
	}
	return res, nil
}

// frame takes one event of the stream.
func (m *Model) frame(reply *reply, data []byte) error {
	if len(data) == 0 {
		return nil
	}
	var probe struct {
		Error json.RawMessage `json:"error"`
	}
	if err := json.Unmarshal(data, &probe); err != nil {
		return &protocolError{what: "a frame of the stream is not a JSON object", err: err}
	}
	if len(probe.Error) > 0 && string(probe.Error) != "null" {
		return m.frameError(data)
	}
	var chunk sdk.ChatCompletionChunk
	if err := json.Unmarshal(data, &chunk); err != nil {
		return &protocolError{what: "a frame of the stream is not a chunk", err: err}
	}
	reply.add(chunk)
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

type teeBody struct {
	io.Reader
	io.Closer
}
