package mcp

import (
	"bytes"
	"io"
	"mime"
	"net/http"
	"slices"
	"sync"
)

// http writes down what goes through next: a line for each request with its
// message, one for the head of each answer, and one for each message in it.
func (w *wire) http(next http.RoundTripper) http.RoundTripper {
	if w == nil {
		return next
	}
	return &tracedTrips{wire: w, next: next}
}

type tracedTrips struct {
	*wire
	next http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (t *tracedTrips) RoundTrip(req *http.Request) (*http.Response, error) {
	url := t.redact.Replace(cleanText(t.redact, req.URL.Redacted()))
	out := traced{Dir: outwards, Method: req.Method, URL: url, Headers: t.headers(req.Header)}
	if req.GetBody != nil {
		if body, err := req.GetBody(); err == nil {
			raw, _ := io.ReadAll(body)
			body.Close()
			t.fill(&out, raw)
		}
	}
	t.write(out)
	resp, err := t.next.RoundTrip(req)
	if err != nil {
		t.write(traced{Dir: inwards, Method: req.Method, Err: cleanText(t.redact, err.Error())})
		return resp, err
	}
	head := traced{Dir: inwards, Method: req.Method, Status: resp.StatusCode}
	media, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	resp.Body = &tracedBody{ReadCloser: resp.Body, wire: t.wire, head: head, events: media == "text/event-stream"}
	head.Headers = t.headers(resp.Header)
	t.write(head)
	return resp, nil
}

// CloseIdleConnections passes on what http.Client asks its transport for.
func (t *tracedTrips) CloseIdleConnections() {
	if c, ok := t.next.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}

// headers are those of a message. Of a header that is not known to be harmless
// only the name is told.
func (t *tracedTrips) headers(h http.Header) map[string]string {
	harmless := []string{"Accept", "Content-Type", "Content-Length", "Content-Encoding", "Retry-After", "Www-Authenticate", "Allow", "Server",
		headerProtocol, "Mcp-Method", "Mcp-Name", "Last-Event-Id", "User-Agent"}
	out := make(map[string]string, len(h))
	for name, values := range h {
		out[name] = withheld
		if slices.Contains(harmless, name) && len(values) > 0 {
			out[name] = cleanText(t.redact, values[0])
		}
	}
	return out
}

// tracedBody writes down what is read from it: each event of a stream, or the
// whole at its end. It keeps no more than the longest message that is written.
type tracedBody struct {
	io.ReadCloser
	*wire
	head   traced
	events bool

	mu     sync.Mutex   // a body may be closed while it is read
	kept   bytes.Buffer // of the line, or of the body
	data   bytes.Buffer // of the event
	line   int          // how long the line is
	length int          // how long the message is
	over   bool
}

// Read implements io.Reader.
func (b *tracedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.over {
		return n, err
	}
	if b.events {
		b.takeLines(p[:n])
	} else {
		b.keep(&b.kept, p[:n])
	}
	if err != nil {
		b.finish()
	}
	return n, err
}

// Close implements io.Closer.
func (b *tracedBody) Close() error {
	err := b.ReadCloser.Close()
	b.mu.Lock()
	defer b.mu.Unlock()
	b.finish()
	return err
}

func (b *tracedBody) finish() {
	if b.over {
		return
	}
	b.over = true
	b.flush(&b.kept)
}

// takeLines collects the data of events (HTML, "9.2 Server-sent events").
func (b *tracedBody) takeLines(p []byte) {
	for len(p) > 0 {
		line, rest, whole := bytes.Cut(p, []byte("\n"))
		p = rest
		b.line += len(line)
		if room := maxTraced + len("data: ") + 1 - b.kept.Len(); room > 0 {
			b.kept.Write(line[:min(len(line), room)])
		}
		if !whole {
			return
		}
		text := bytes.TrimRight(b.kept.Bytes(), "\r")
		if data, ok := bytes.CutPrefix(text, []byte("data:")); ok {
			b.length += b.line - len(text) // what was not kept of it
			b.keep(&b.data, bytes.TrimPrefix(data, []byte(" ")))
		} else if len(text) == 0 {
			b.flush(&b.data)
		}
		b.kept.Reset()
		b.line = 0
	}
}

func (b *tracedBody) keep(to *bytes.Buffer, p []byte) {
	b.length += len(p)
	if room := maxTraced + 1 - to.Len(); room > 0 {
		to.Write(p[:min(len(p), room)])
	}
}

// flush writes down one message, and begins the next.
func (b *tracedBody) flush(from *bytes.Buffer) {
	raw := bytes.TrimSpace(from.Bytes())
	if len(raw) > 0 {
		line := b.head
		b.fill(&line, raw)
		if len(raw) > maxTraced {
			line.Bytes = b.length
		}
		b.write(line)
	}
	from.Reset()
	b.length = 0
}
