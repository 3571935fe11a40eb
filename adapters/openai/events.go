package openai

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

// maxLine bounds one line of a stream, and the data of one event.
const maxLine = 16 << 20

var errLine = errors.New("a frame of the stream is larger than any can be")

// events reads server-sent events, of which this wire uses the data alone.
//
// Source: https://html.spec.whatwg.org/multipage/server-sent-events.html, 9.2.5
// and 9.2.6. A carriage return alone ends no line here: nobody sends one.
type events struct {
	lines *bufio.Scanner
	begun bool
	data  []byte
	err   error
}

func newEvents(r io.Reader) *events {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, maxLine)
	return &events{lines: lines}
}

// next gives the data of the next event that has any, valid until the next
// call. False is the end, and err says whether it was one; what no empty line
// closed is left out, as the source wants it.
func (e *events) next() ([]byte, bool) {
	e.data = e.data[:0]
	for e.lines.Scan() {
		line := e.lines.Bytes()
		if !e.begun {
			e.begun, line = true, bytes.TrimPrefix(line, []byte("\uFEFF"))
		}
		if len(line) == 0 {
			if len(e.data) > 0 {
				return e.data, true
			}
			continue
		}
		name, value, _ := bytes.Cut(line, []byte(":"))
		if string(name) != "data" {
			continue
		}
		if len(e.data)+len(value) > maxLine {
			e.err = errLine
			return nil, false
		}
		e.data = append(append(e.data, bytes.TrimPrefix(value, []byte(" "))...), '\n')
	}
	if e.err = e.lines.Err(); errors.Is(e.err, bufio.ErrTooLong) {
		e.err = errLine
	}
	return nil, false
}
