package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"time"

	"github.com/mark3labs/mcp-go/client/transport"
	"golang.org/x/net/http/httpguts"
)

const (
	// maxResumes is how often in a row an answer's stream is taken up again in vain.
	maxResumes = 3
	// drainFor is how long a stream that has given its answer may take to end,
	// so that its connection can be used again.
	drainFor = 200 * time.Millisecond
)

// exchange is one request on its way, with what the server says meanwhile.
type exchange struct {
	*streamable
	id     int64
	method string
	noise  int // events that are no JSON-RPC
}

// run posts the request and gives its answer: JSON, or the last of a stream of events.
func (x *exchange) run(ctx context.Context, request errand) (*transport.JSONRPCResponse, error) {
	s := x.span(ctx)
	loose := false // the stream is left to drain
	defer func() {
		if !loose {
			s.end()
		}
	}()
	resp, sent, err := x.do(s.ctx, request)
	if err != nil {
		return nil, x.broken(err, sent)
	}
	defer func() {
		if !loose {
			resp.Body.Close()
		}
	}()
	if resp.StatusCode/100 != 2 {
		return nil, x.refusal(resp)
	}
	if x.method == "initialize" {
		if err := x.begin(resp.Header.Get(headerSession)); err != nil {
			return nil, err
		}
	}
	media, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	switch {
	case media == "text/event-stream":
		answer, last, err := x.stream(s.ctx, resp)
		resp = last
		if err == nil {
			loose = true
			x.drain(s, resp.Body)
		}
		return answer, err
	case media == "application/json" || media == "" && resp.StatusCode == http.StatusOK:
		return x.single(s.ctx, resp)
	case resp.StatusCode != http.StatusOK:
		return nil, malformed("the server took %s and gave no answer (%d %s)", x.method, resp.StatusCode, http.StatusText(resp.StatusCode))
	}
	start, _ := io.ReadAll(io.LimitReader(resp.Body, maxRefusal))
	return nil, malformed("%s answers with %s and not with MCP: is the url right? It begins: %q",
		x.origin, clip(media, 60), clip(x.redact.Replace(string(start)), maxSample))
}

// begin takes the session that the answer to initialize brings.
func (x *exchange) begin(session string) error {
	if len(session) > maxSessionID || !httpguts.ValidHeaderFieldValue(session) {
		return malformed("the server's session id cannot be sent back (%d bytes)", len(session))
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.session = session
	return nil
}

// single reads an answer in JSON: a message, or a batch of them.
func (x *exchange) single(ctx context.Context, resp *http.Response) (*transport.JSONRPCResponse, error) {
	max := int64(x.cfg.MaxMessageBytes)
	if resp.ContentLength > max {
		return nil, x.tooLarge()
	}
	var read pieces
	n, err := io.Copy(&read, io.LimitReader(resp.Body, max+1))
	if n > max {
		return nil, x.tooLarge()
	}
	body := read.joined()
	switch {
	case err != nil && !json.Valid(body):
		return nil, x.broken(err, true)
	}
	if answer := x.take(ctx, body); answer != nil {
		return answer, nil
	}
	if endsWithConnection(resp) && !json.Valid(body) {
		return nil, x.broken(io.ErrUnexpectedEOF, true)
	}
	start := string(body[:min(len(body), maxRefusal)])
	return nil, malformed("the server answers %s with what is no answer to it: %q", x.method, clip(x.redact.Replace(start), maxSample))
}

// endsWithConnection reports whether a body that was cut off looks like a whole one.
func endsWithConnection(resp *http.Response) bool {
	return resp.ProtoMajor == 1 && resp.ContentLength < 0 && len(resp.TransferEncoding) == 0
}

func (h *httpLink) tooLarge() error {
	return &tooLargeError{what: fmt.Sprintf("the server sent a message of more than %d bytes (max_message_bytes)", h.cfg.MaxMessageBytes)}
}

// stream reads events until the answer comes. A stream that ends before is taken
// up again where it was, if its events have ids (MCP 2025-11-25 basic/transports,
// "Resumability and Redelivery"); not in the modern era. last is the response that was read in the end.
func (x *exchange) stream(ctx context.Context, resp *http.Response) (_ *transport.JSONRPCResponse, last *http.Response, _ error) {
	at := new(cursor)
	for tries := 0; ; {
		before := at.last
		answer, err := x.follow(ctx, resp.Body, at)
		if answer != nil || !isBreak(err) {
			return answer, resp, err
		}
		if x.modern.Load() {
			at.last = ""
		}
		if at.last != before {
			tries = 0
		}
		if !errors.Is(err, io.EOF) {
			x.doubt()
		}
		for next := (*http.Response)(nil); next == nil; tries++ {
			switch {
			case ctx.Err() != nil:
				return nil, resp, x.broken(ctx.Err(), true)
			case at.last == "" && x.noise > 0 && errors.Is(err, io.EOF):
				return nil, resp, malformed("the stream ended without an answer to %s; %d events of it were no JSON-RPC", x.method, x.noise)
			case at.last == "" || tries >= maxResumes:
				return nil, resp, &lostError{reason: x.origin + " ended the stream before the answer", cause: err, sent: true}
			}
			next = x.resume(ctx, at)
			if next != nil {
				resp.Body.Close()
				resp = next
			}
		}
	}
}

// isBreak reports whether a stream was cut off, as against understood and wrong.
func isBreak(err error) bool {
	var (
		malformed *malformedError
		large     *tooLargeError
	)
	return err != nil && !errors.As(err, &malformed) && !errors.As(err, &large)
}

// follow reads one stream. An error that isBreak does not know ends the exchange.
func (x *exchange) follow(ctx context.Context, body io.Reader, at *cursor) (*transport.JSONRPCResponse, error) {
	var (
		pace floodRate // of a stream that is always open
		idle flood     // since the last message of another
	)
	count := idle.count
	if x.method == methodListen {
		count = pace.count
		x.listening.Add(1)
		defer x.listening.Add(-1)
	}
	stream := newEvents(body, x.cfg.MaxMessageBytes, at, count)
	for {
		data, err := stream.next()
		switch {
		case errors.Is(err, errLineTooLong):
			return nil, x.tooLarge()
		case err != nil:
			return nil, err
		case stream.torn && !json.Valid(data):
			return nil, io.ErrUnexpectedEOF
		}
		before := x.noise
		if answer := x.take(ctx, data); answer != nil {
			return answer, nil
		}
		if x.method != methodListen && x.noise == before && len(bytes.TrimSpace(data)) > 0 {
			idle = flood{}
			continue
		}
		if err := count(data); err != nil {
			return nil, err
		}
	}
}

// resume waits as long as the server wants and asks for the rest of the stream;
// nil if it does not get it.
func (x *exchange) resume(ctx context.Context, at *cursor) *http.Response {
	if !sleep(ctx, at.pause()) {
		return nil
	}
	resp, _, err := x.do(ctx, x.taking(at.last))
	if err != nil {
		x.doubt()
		return nil
	}
	media, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	if resp.StatusCode == http.StatusOK && media == "text/event-stream" {
		return resp
	}
	resp.Body.Close()
	return nil
}

// take handles what came: it gives the answer if that is in it.
func (x *exchange) take(ctx context.Context, raw []byte) *transport.JSONRPCResponse {
	raw = bytes.TrimSpace(raw)
	switch {
	case len(raw) == 0: // an event for its id alone
		return nil
	case raw[0] != '[' || !json.Valid(raw):
		return x.takeOne(ctx, raw)
	}
	var answer *transport.JSONRPCResponse
	_ = eachItem(raw, func(one json.RawMessage) bool { // a batch of revision 2025-03-26
		answer = x.takeOne(ctx, one)
		return answer == nil
	})
	return answer
}

func (x *exchange) takeOne(ctx context.Context, raw []byte) *transport.JSONRPCResponse {
	var m message
	if raw[0] != '{' || json.Unmarshal(raw, &m) != nil {
		x.noise++
		return nil
	}
	id, ok := m.number()
	switch {
	case m.Method != "" && m.hasID() && x.modern.Load():
		x.noise++ // servers may not ask any more, and there is no way to answer
		x.log.Debug("mcp_request_dropped", "err", "the server may not ask in this revision")
	case m.Method != "" && m.hasID():
		x.takeRequest(withOrigin(ctx, x.id), m)
	case m.Method != "":
		x.takeNotification(m)
	case ok && id == x.id, !m.hasID() && !isNull(m.Error): // a server that could not read the id answers null
		return m.answer(x.id)
	default:
		x.noise++
		x.log.Debug("mcp_answer_unexpected")
	}
	return nil
}

// drain lets a stream that has given its answer come to its end.
func (x *exchange) drain(s *span, body io.ReadCloser) {
	s.outlive()
	x.wg.Go(func() {
		defer s.end()
		defer body.Close()
		late := time.AfterFunc(drainFor, s.cancel)
		defer late.Stop()
		discard(body)
	})
}
