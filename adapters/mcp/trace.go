package mcp

import (
	"bytes"
	"encoding/json"
	"io"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// maxTraced is how long a message may be to be written down; of a longer one
// only its length is.
const maxTraced = 1 << 20

// tracer writes down what a source's connections carry. nil writes nothing. Safe
// for many goroutines.
type tracer struct {
	to       io.Writer
	redact   *strings.Replacer
	log      *slog.Logger
	conns    atomic.Int64
	complain sync.Once
}

func newTracer(to io.Writer, redact *strings.Replacer, log *slog.Logger) *tracer {
	if to == nil {
		return nil
	}
	return &tracer{to: to, redact: redact, log: log}
}

// conn is the tracer of one connection.
func (t *tracer) conn() *wire {
	if t == nil {
		return nil
	}
	return &wire{tracer: t, n: t.conns.Add(1)}
}

// wire writes down what one connection carries. nil writes nothing.
type wire struct {
	*tracer
	n int64
}

// The directions, seen from here.
const (
	outwards = "out"
	inwards  = "in"
)

// traced is one line of a trace: a message, or the head of an HTTP exchange.
type traced struct {
	Time    string            `json:"time"`
	Conn    int64             `json:"conn"` // counts the connections of the source
	Dir     string            `json:"dir"`
	Method  string            `json:"method,omitempty"` // of HTTP
	URL     string            `json:"url,omitempty"`
	Status  int               `json:"status,omitempty"`
	Headers map[string]string `json:"headers,omitempty"`
	Err     string            `json:"err,omitempty"`
	Message json.RawMessage   `json:"message,omitempty"`
	Text    string            `json:"text,omitempty"`  // what is no JSON, cut
	Bytes   int               `json:"bytes,omitempty"` // how long it is, if it is not here as a whole
}

// line writes down one line that went over the wire.
func (w *wire) line(dir string, raw []byte) {
	if w == nil {
		return
	}
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 {
		return
	}
	t := traced{Dir: dir}
	w.fill(&t, raw)
	w.write(t)
}

// omitted writes down that a message of so many bytes was not taken.
func (w *wire) omitted(dir string, bytes int) {
	if w == nil {
		return
	}
	w.write(traced{Dir: dir, Bytes: bytes})
}

// fill gives t the message without its secrets.
func (w *wire) fill(t *traced, raw []byte) {
	if len(raw) > maxTraced {
		t.Bytes = len(raw)
		return
	}
	var ok bool
	if t.Message, ok = cleanJSON(w.redact, raw); ok {
		return
	}
	t.Text = clip(cleanText(w.redact, string(raw)), maxLineText)
	if len(raw) > maxLineText {
		t.Bytes = len(raw)
	}
}

// write complains once of a trace that cannot be written: the server is more important.
func (w *wire) write(t traced) {
	t.Time = time.Now().UTC().Format(time.RFC3339Nano)
	t.Conn = w.n
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(t)
	if err == nil {
		_, err = w.to.Write(b.Bytes())
	}
	if err != nil {
		w.complain.Do(func() { w.log.Warn("mcp_trace_failed", "err", err) })
	}
}
