package wire

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

// maxLine bounds one line of a stream, and the data of one event.
const maxLine = 16 << 20

var errLine = errors.New("a frame of the stream is larger than any can be")

// Event is one server-sent event. Name is "" for one without.
type Event struct {
	Name string
	Data []byte
}

// Events reads server-sent events. Ids and retry times are of no use in an
// answer to a POST.
//
// Source: https://html.spec.whatwg.org/multipage/server-sent-events.html, 9.2.5
// and 9.2.6. A carriage return alone ends no line here: nobody sends one.
type Events struct {
	lines *bufio.Scanner
	begun bool
	name  []byte
	data  []byte
	err   error
}

// NewEvents reads the events of a stream.
func NewEvents(r io.Reader) *Events {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, maxLine)
	return &Events{lines: lines}
}

// Next gives the next event that has data, valid until the next call. False is
// the end, and Err says whether it was one; what no empty line closed is left
// out, as the source wants it.
func (e *Events) Next() (Event, bool) {
	e.name, e.data = e.name[:0], e.data[:0]
	for e.lines.Scan() {
		line := e.lines.Bytes()
		if !e.begun {
			e.begun, line = true, bytes.TrimPrefix(line, []byte("\uFEFF"))
		}
		if len(line) == 0 {
			if len(e.data) > 0 {
				return Event{Name: string(e.name), Data: e.data}, true
			}
			e.name = e.name[:0]
			continue
		}
		if err := e.field(line); err != nil {
			e.err = err
			return Event{}, false
		}
	}
	if e.err = e.lines.Err(); errors.Is(e.err, bufio.ErrTooLong) {
		e.err = errLine
	}
	return Event{}, false
}

// Err is what broke the stream; nil at a clean end.
func (e *Events) Err() error { return e.err }

func (e *Events) field(line []byte) error {
	name, value, _ := bytes.Cut(line, []byte(":"))
	value = bytes.TrimPrefix(value, []byte(" "))
	switch string(name) {
	case "event":
		e.name = append(e.name[:0], value...)
	case "data":
		if len(e.data)+len(value) >= maxLine {
			return errLine
		}
		e.data = append(append(e.data, value...), '\n')
	}
	return nil
}
