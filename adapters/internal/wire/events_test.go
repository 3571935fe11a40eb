package wire

import (
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
)

func TestEvents(t *testing.T) {
	for _, c := range []struct {
		name, in string
		want     []string
	}{
		{"nothing", "", nil},
		{"one", "data: a\n\n", []string{"a\n"}},
		{"no blank behind the colon", "data:a\n\ndata:  b\n\n", []string{"a\n", " b\n"}},
		{"carriage returns", "data: a\r\n\r\ndata: b\r\n\r\n", []string{"a\n", "b\n"}},
		{"a mark at the start", "\uFEFFdata: a\n\n", []string{"a\n"}},
		{"more lines", "data: {\ndata: }\n\n", []string{"{\n}\n"}},
		{"other fields and comments", ": hello\nevent: message\nid: 7\nretry: 1\nfoo\ndata: a\n\n", []string{"message|a\n"}},
		{"an event without data", "event: ping\n\n\n\ndata: a\n\n", []string{"a\n"}},
		{"names are of one event", "event: x\ndata: a\n\ndata: b\nevent:y\n\ndata: c\n\n", []string{"x|a\n", "y|b\n", "c\n"}},
		{"data without a value", "data\n\ndata:\n\n", []string{"\n", "\n"}},
		{"the end in an event", "data: a\n\ndata: b\n", []string{"a\n"}},
		{"the end in a line", "data: a\n\ndata: {\"b", []string{"a\n"}},
	} {
		for how, r := range map[string]io.Reader{"at once": strings.NewReader(c.in), "by bytes": iotest.OneByteReader(strings.NewReader(c.in))} {
			t.Run(c.name+" "+how, func(t *testing.T) {
				e := NewEvents(r)
				var got []string
				for event, ok := e.Next(); ok; event, ok = e.Next() {
					got = append(got, strings.TrimPrefix(event.Name+"|"+string(event.Data), "|"))
				}
				if !slices.Equal(got, c.want) || e.Err() != nil {
					t.Errorf("%q, %v", got, e.Err())
				}
			})
		}
	}
}

func TestEventsAreBounded(t *testing.T) {
	for name, line := range map[string]string{
		"a line": strings.Repeat("x", 1<<20),
		"lines":  "data: " + strings.Repeat("x", 1<<20) + "\n",
	} {
		r := &endless{begin: "data: ", again: line}
		e := NewEvents(r)
		if event, ok := e.Next(); ok || !errors.Is(e.Err(), errLine) {
			t.Errorf("%s: %d bytes, %v", name, len(event.Data), e.Err())
		}
		if r.taken > maxLine+(4<<20) {
			t.Errorf("%s: %d bytes were taken", name, r.taken)
		}
	}
}

// endless gives a text, and then another again and again.
type endless struct {
	begin, again string
	taken        int
}

func (r *endless) Read(p []byte) (int, error) {
	if r.taken > 4*maxLine {
		return 0, io.EOF
	}
	if r.begin == "" {
		r.begin = r.again
	}
	n := copy(p, r.begin)
	r.begin = r.begin[n:]
	r.taken += n
	return n, nil
}

func TestEventsTellWhatBroke(t *testing.T) {
	broken := errors.New("broken")
	e := NewEvents(io.MultiReader(strings.NewReader("data: a\n\ndata: b\n"), iotest.ErrReader(broken)))
	if event, ok := e.Next(); !ok || string(event.Data) != "a\n" {
		t.Errorf("%q", event.Data)
	}
	if event, ok := e.Next(); ok || !errors.Is(e.Err(), broken) {
		t.Errorf("%q, %v", event.Data, e.Err())
	}
}
