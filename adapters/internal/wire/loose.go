package wire

import (
	"bytes"
	"encoding/json"
	"iter"
	"strconv"
	"unicode/utf8"
)

// LooseText is a string, or a number as its digits; anything else is "".
type LooseText string

// UnmarshalJSON never fails: an error must not hide behind its own odd form.
func (t *LooseText) UnmarshalJSON(raw []byte) error {
	*t = LooseText(Plain(raw))
	return nil
}

// LooseInt is a whole number, also one in a string or with a fraction of 0.
type LooseInt int

// UnmarshalJSON never fails; what is no number is 0.
func (n *LooseInt) UnmarshalJSON(raw []byte) error {
	*n = LooseInt(Whole(raw))
	return nil
}

// Plain is the text of one valid JSON value: a string without its quotes, a
// number as it is written, "" for the others.
func Plain(raw []byte) string {
	switch raw[0] {
	case '{', '[', 't', 'f', 'n':
		return ""
	case '"':
		inside := raw[1 : len(raw)-1]
		if bytes.IndexByte(inside, '\\') < 0 && utf8.Valid(inside) {
			return string(inside)
		}
		var s string
		_ = json.Unmarshal(raw, &s) // it is a valid string
		return s
	}
	return string(raw)
}

// Whole is the number that one valid JSON value stands for, 0 if none.
func Whole(raw []byte) int {
	digits := bytes.Trim(raw, `"`)
	if n, err := strconv.ParseInt(string(digits), 10, 0); err == nil {
		return int(n)
	}
	const most = 1 << 53
	if f, err := strconv.ParseFloat(string(digits), 64); err == nil && -most < f && f < most {
		return int(f)
	}
	return 0
}

const blanks = " \t\r\n"

// Members walks the names and values of one valid JSON object, at its top level
// and in their order. Of anything else there are none. Both are parts of raw.
func Members(raw []byte) iter.Seq2[[]byte, []byte] {
	return func(yield func(name, value []byte) bool) {
		rest := bytes.TrimLeft(raw, blanks)
		if len(rest) == 0 || rest[0] != '{' {
			return
		}
		rest = bytes.TrimLeft(rest[1:], blanks)
		for len(rest) > 0 && rest[0] == '"' {
			end := valueEnd(rest)
			name := rest[1 : end-1]
			if bytes.IndexByte(name, '\\') >= 0 {
				name = []byte(Plain(rest[:end]))
			}
			rest = bytes.TrimLeft(rest[end:], blanks+":")
			end = valueEnd(rest)
			if !yield(name, rest[:end]) {
				return
			}
			rest = bytes.TrimLeft(rest[end:], blanks+",")
		}
	}
}

// valueEnd is where the valid JSON value ends with which raw begins.
func valueEnd(raw []byte) int {
	depth, quoted := 0, false
	for i := 0; i < len(raw); i++ {
		switch c := raw[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			if quoted = !quoted; !quoted && depth == 0 {
				return i + 1
			}
		case quoted:
		case c == '{', c == '[':
			depth++
		case c == '}', c == ']':
			if depth--; depth < 0 {
				return i
			} else if depth == 0 {
				return i + 1
			}
		case depth == 0 && (c == ',' || c == ' ' || c == '\t' || c == '\r' || c == '\n'):
			return i
		}
	}
	return len(raw)
}
