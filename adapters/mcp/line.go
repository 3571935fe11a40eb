package mcp

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

var errLineTooLong = errors.New("line too long")

// lineReader reads lines of at most max bytes: no peer decides how much memory
// it gets. A longer line is cut if cut is set, else it is errLineTooLong.
type lineReader struct {
	r   *bufio.Reader
	max int
	cut bool
	buf pieces

	over []byte // what did not fit into buf, valid until the next read
	more bool   // the line goes on behind it
}

func newLineReader(r io.Reader, max int, cut bool) *lineReader {
	return &lineReader{r: bufio.NewReaderSize(r, 32<<10), max: max, cut: cut}
}

// next gives the next line without its end, valid until the next call. Text
// before the end of the stream counts as a line.
func (l *lineReader) next() ([]byte, error) {
	l.buf.reset()
	for {
		part, err := l.r.ReadSlice('\n')
		if err == nil {
			part = bytes.TrimRight(part, "\r\n")
		}
		if room := l.max - l.buf.size; len(part) > room {
			if !l.cut {
				l.over, l.more = part, err != nil
				return nil, errLineTooLong
			}
			part = part[:room]
		}
		l.buf.Write(part)
		switch {
		case err == nil:
			return l.buf.joined(), nil
		case errors.Is(err, bufio.ErrBufferFull):
		case l.buf.size > 0:
			return l.buf.joined(), nil // the error comes again with the next call
		default:
			return nil, err
		}
	}
}

// skim is called after errLineTooLong. It shows the line, piece by piece, keeps
// nothing of it, and leaves the reader behind its end; errLineTooLong: it has
// more than budget bytes.
func (l *lineReader) skim(budget int, see func([]byte)) (length int, err error) {
	l.buf.each(see)
	see(l.over)
	length = l.buf.size + len(l.over)
	l.buf.reset()
	for l.more {
		if length > budget {
			return length, errLineTooLong
		}
		part, err := l.r.ReadSlice('\n')
		see(part)
		length += len(part)
		if l.more = errors.Is(err, bufio.ErrBufferFull); err != nil && !l.more {
			return length, err
		}
	}
	return length, nil
}
