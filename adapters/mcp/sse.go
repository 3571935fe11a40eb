package mcp

import (
	"bytes"
	"io"
	"slices"
	"strconv"
	"time"

	"golang.org/x/net/http/httpguts"
)

const (
	// firstReconnect is how long to wait before a stream is taken up again if
	// the server does not say; the others bound what it says.
	firstReconnect = time.Second
	leastReconnect = 10 * time.Millisecond
	mostReconnect  = 30 * time.Second
	// maxEventID is the longest id of an event that is remembered, in bytes.
	maxEventID = 1 << 10
	// fieldRoom is what a line of an event may have beside its data.
	fieldRoom = 16
	// floodWindow is the time that the flood on a stream which is always open is
	// counted in: it may live for weeks, with a comment every few seconds.
	floodWindow = time.Minute
)

// floodRate bounds how much comes on a stream that is always open.
type floodRate struct {
	flood
	since time.Time
}

// count counts a line. The error says that it is one too many.
func (r *floodRate) count(line []byte) error {
	if time.Since(r.since) > floodWindow {
		*r = floodRate{since: time.Now()}
	}
	return r.flood.count(line)
}

// count is the same for a stream that ends: since the last message.
func (f *flood) count(line []byte) error {
	f.lines++
	f.bytes += len(line) + 1
	if words := f.over(); words != "" {
		return &malformedError{what: words}
	}
	return nil
}

// cursor is how far a stream was read, and how long to wait before it is taken
// up again.
type cursor struct {
	last string
	wait time.Duration
}

func (c *cursor) pause() time.Duration {
	if c.wait == 0 {
		return firstReconnect
	}
	return c.wait
}

// events reads server-sent events (HTML, "9.2 Server-sent events") of at most
// max bytes each.
type events struct {
	lines *lineReader
	max   int
	at    *cursor
	// idle is called for each line outside an event with data; if it
	// returns an error, that is the end.
	idle func(line []byte) error
	// named are the events that count beside those that have no name.
	named []string
	begun bool
	data  pieces

	name string // of the last event
	torn bool   // the last event had no end: the stream had one before
}

func newEvents(r io.Reader, max int, at *cursor, idle func([]byte) error) *events {
	return &events{lines: newLineReader(r, max+fieldRoom, false), max: max, at: at, idle: idle, named: []string{"message"}}
}

// next gives the data of the next message, valid until the next call. io.EOF is
// the end of the stream, errLineTooLong an event beyond the limit.
func (e *events) next() ([]byte, error) {
	name, id, hasID, hasData := "", "", false, false
	e.data.reset()
	for {
		line, err := e.lines.next()
		switch {
		case err == io.EOF && hasData:
			e.name, e.torn = name, true // cut off, or the server forgot the empty line; its id does not count
			return e.data.joined(), nil
		case err != nil:
			return nil, err
		}
		if !e.begun {
			line, e.begun = bytes.TrimPrefix(line, []byte("\xef\xbb\xbf")), true
		}
		if len(line) == 0 {
			if hasID {
				e.at.last = id
			}
			if hasData && (name == "" || slices.Contains(e.named, name)) {
				e.name = name
				return e.data.joined(), nil
			}
			name, hasID, hasData = "", false, false
			e.data.reset()
		}
		field, _, _ := bytes.Cut(line[:min(len(line), fieldRoom)], []byte(":"))
		switch string(field) {
		case "data":
			if hasData {
				e.data.Write([]byte{'\n'})
			}
			hasData = true
			e.data.Write(fieldValue(line))
			if e.data.size > e.max {
				return nil, errLineTooLong
			}
			continue
		case "event":
			name = string(fieldValue(line))
		case "id":
			value := string(fieldValue(line))
			if hasID = len(value) <= maxEventID && httpguts.ValidHeaderFieldValue(value); hasID {
				id = value
			}
		case "retry":
			if ms, err := strconv.ParseUint(string(bytes.TrimSpace(fieldValue(line))), 10, 31); err == nil {
				e.at.wait = min(max(time.Duration(ms)*time.Millisecond, leastReconnect), mostReconnect)
			}
		}
		if err := e.idle(line); err != nil {
			return nil, err
		}
	}
}

// fieldValue is what stands behind the colon, and one space.
func fieldValue(line []byte) []byte {
	_, value, _ := bytes.Cut(line, []byte(":"))
	return bytes.TrimPrefix(value, []byte(" "))
}
