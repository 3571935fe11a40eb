package linechat

import (
	"bufio"
	"bytes"
	"errors"
	"strings"
)

// maxSaid is the longest message of a person, in bytes.
const maxSaid = 64 << 10

// said is a message as a person typed it.
type said struct {
	text string
	long bool // beyond maxSaid: text is worthless
}

// readSaid reads one message: a line, and those that follow while one ends with \.
// A line that is cut off before its end was not said.
func readSaid(in *bufio.Reader) (said, error) {
	var m said
	var text []byte
	for {
		line, long, err := readLine(in)
		if err != nil {
			return said{}, err
		}
		line, more := bytes.CutSuffix(line, []byte(`\`))
		m.long = m.long || long || len(text)+len(line) > maxSaid
		if !m.long {
			text = append(text, line...)
		}
		if !more {
			m.text = clean(string(text))
			return m, nil
		}
		if !m.long {
			text = append(text, '\n')
		}
	}
}

// readLine reads to the line's end. Of a long line it keeps the end alone.
func readLine(in *bufio.Reader) (line []byte, long bool, err error) {
	for {
		part, err := in.ReadSlice('\n')
		if len(line) > maxSaid {
			line, long = line[:0], true
		}
		line = append(line, part...)
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		return bytes.TrimSuffix(bytes.TrimSuffix(line, []byte("\n")), []byte("\r")), long, err
	}
}

// clean makes text of any bytes: what is none, and NUL, which not every store
// takes, shows as U+FFFD.
func clean(s string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "\uFFFD")
}
