package toolbox

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"unicode"
)

// blobMin is how long a string of structured content has to be, in bytes, to be
// looked at as base64.
const blobMin = 1024

// compact is a JSON text without the spaces, and with what note says of its data
// for each long base64 string. ok is false for what is not JSON.
func compact(raw string, note func(data []byte) string) (short string, ok bool) {
	var b bytes.Buffer
	if json.Compact(&b, []byte(raw)) != nil {
		return "", false
	}
	rest := b.String()
	if len(rest) < blobMin {
		return rest, true
	}
	var out strings.Builder
	for {
		open := strings.IndexByte(rest, '"')
		if open < 0 {
			out.WriteString(rest)
			return out.String(), true
		}
		end := open + stringEnd(rest[open:])
		out.WriteString(rest[:open])
		literal := rest[open:end]
		if data, is := blob(literal); is {
			literal = quote(note(data))
		}
		out.WriteString(literal)
		rest = rest[end:]
	}
}

// stringEnd is the length of the JSON string at the beginning of a valid text.
func stringEnd(s string) int {
	for i := 1; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(s)
}

func quote(s string) string {
	raw, err := json.Marshal(s)
	if err != nil {
		return `""`
	}
	return string(raw)
}

// blob is the data that a long JSON string holds as base64, in either alphabet
// or as a data URI (RFC 4648, RFC 2397).
func blob(literal string) ([]byte, bool) {
	if len(literal) < blobMin {
		return nil, false
	}
	var s string
	if json.Unmarshal([]byte(literal), &s) != nil {
		return nil, false
	}
	if head, body, ok := strings.Cut(s, ";base64,"); ok && strings.HasPrefix(head, "data:") {
		s = body
	}
	if !looksEncoded(s) {
		return nil, false
	}
	s = strings.TrimRight(strings.TrimSpace(s), "=")
	for _, alphabet := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
		if data, err := alphabet.DecodeString(s); err == nil {
			return data, true
		}
	}
	return nil, false
}

// looksEncoded tells base64 from digits in hex or the letters of a genome: it
// has letters of both cases and digits.
func looksEncoded(s string) bool {
	var lower, upper, digit bool
	for _, r := range s {
		lower, upper, digit = lower || unicode.IsLower(r), upper || unicode.IsUpper(r), digit || unicode.IsDigit(r)
		if lower && upper && digit {
			return true
		}
	}
	return false
}

// said is a text of a result.
type said struct {
	text string
	bare string // the text as compact JSON; "" if it is none
	tree any    // decoded; nil if it is none, or too large
}

// double reports whether structured content says nothing but what the texts say:
// it is one of them, or what a lone member of it holds is, or its items are the
// texts one by one. same marks the texts that are the same JSON. Servers should
// give both (MCP server/tools, "Structured Content"), and a model is to read it once.
func double(structured string, texts []string) (same []bool, ok bool) {
	same = make([]bool, len(texts))
	mark := func(data []byte) string { return fmt.Sprintf("%d bytes %x", len(data), sum(data)) }
	whole, valid := compact(structured, mark)
	if !valid || len(texts) == 0 {
		return same, false
	}
	list, room := make([]said, len(texts)), valueMax
	for i, text := range texts {
		list[i] = said{text: text}
		list[i].bare, _ = compact(text, mark)
		if list[i].bare == whole {
			same[i] = true
			return same, true
		}
		if room -= len(list[i].bare); room >= 0 {
			list[i].tree = decodeTree(list[i].bare)
		}
	}
	if len(whole) > valueMax {
		return same, false
	}
	v := decodeTree(whole)
	if marks(v, list, same) {
		return same, true
	}
	if object, is := v.(map[string]any); is && len(object) == 1 {
		for _, only := range object {
			return same, marks(only, list, same)
		}
	}
	return same, false
}

// marks marks the text that says v, or all of them if they say its items.
func marks(v any, list []said, same []bool) bool {
	for i, s := range list {
		if is, asJSON := s.says(v); is {
			same[i] = asJSON
			return true
		}
	}
	items, ok := v.([]any)
	if !ok || len(items) != len(list) {
		return false
	}
	found := make([]bool, len(list))
	for i, s := range list {
		is, asJSON := s.says(items[i])
		if !is {
			return false
		}
		found[i] = asJSON
	}
	copy(same, found)
	return true
}

// says reports whether the text is v, and whether as JSON: a string is said
// plainly too.
func (s said) says(v any) (is, asJSON bool) {
	if plain, ok := v.(string); ok && strings.TrimSpace(plain) == strings.TrimSpace(s.text) {
		return true, false
	}
	is = s.tree != nil && equalJSON(v, s.tree)
	return is, is
}

func decodeTree(raw string) any {
	d := json.NewDecoder(strings.NewReader(raw))
	d.UseNumber()
	var v any
	if d.Decode(&v) != nil {
		return nil
	}
	return v
}

// equalJSON compares decoded values; the order of members does not count.
func equalJSON(a, b any) bool {
	switch a := a.(type) {
	case map[string]any:
		b, ok := b.(map[string]any)
		if !ok || len(a) != len(b) {
			return false
		}
		for k, v := range a {
			w, ok := b[k]
			if !ok || !equalJSON(v, w) {
				return false
			}
		}
		return true
	case []any:
		b, ok := b.([]any)
		if !ok || len(a) != len(b) {
			return false
		}
		for i := range a {
			if !equalJSON(a[i], b[i]) {
				return false
			}
		}
		return true
	case json.Number:
		b, ok := b.(json.Number)
		return ok && equalNumbers(string(a), string(b))
	}
	return a == b
}

// equalNumbers takes 1, 1.0 and 1e0 for the same, and two long integers only if
// each digit is.
func equalNumbers(a, b string) bool {
	if a == b {
		return true
	}
	const exact = 1 << 53 // beyond it a float64 does not tell integers apart
	x, err := strconv.ParseFloat(a, 64)
	if err != nil {
		return false
	}
	y, err := strconv.ParseFloat(b, 64)
	return err == nil && x == y && x < exact && x > -exact
}
