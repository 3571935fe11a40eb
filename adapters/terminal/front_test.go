package terminal

import (
	"bufio"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/rivo/uniseg"

	"dragoman/ports"
)

func TestPrintable(t *testing.T) {
	for in, want := range map[string]string{
		"a\tb\nc":             "a\tb\nc",
		"a\r\nb\rc":           "a\nbc",
		"\x1b[2J\x1b]0;x\x07": "[2J]0;x",
		"\u009b31m\x9b":       "31m\uFFFD",
		"\u202egnp\u2066":     "gnp",
		"👩‍💻 می\u200cخواهم":   "👩‍💻 می\u200cخواهم",
	} {
		if got := Printable(in); got != want {
			t.Errorf("%q becomes %q, want %q", in, got, want)
		}
	}
}

func TestLayOut(t *testing.T) {
	for in, want := range map[string]string{
		"":               "",
		"abc":            "abc",
		"abcd":           "abcd",
		"abcde":          "abcd|e",
		"ab\n\ncd":       "ab||cd",
		"abcd\ne":        "abcd|e",
		"a界界b":           "a界|界b",
		"界":              "界",
		"a\tb":           "a   | b",
		"e\u0301e\u0301": "e\u0301e\u0301",
		"👩‍💻👩‍💻👩‍💻":      "👩‍💻👩‍💻|👩‍💻",
	} {
		var texts []string
		for _, r := range layOut(in, 4) {
			if got := uniseg.StringWidth(r.text); got != r.width || got > 4 {
				t.Errorf("%q: row %q is %d wide, said to be %d", in, r.text, got, r.width)
			}
			texts = append(texts, r.text)
		}
		if got := strings.Join(texts, "|"); got != want {
			t.Errorf("%q is laid out as %q, want %q", in, got, want)
		}
	}
}

func TestReadLine(t *testing.T) {
	long := strings.Repeat("x", lineLimit)
	r := bufio.NewReader(strings.NewReader("a\r\n\n \t\n" + long + "\n" + long + "y\n" + long + long + "\nend"))
	for i, want := range []inputLine{{text: "a"}, {}, {}, {text: long}, {tooLong: true}, {tooLong: true}, {text: "end"}} {
		got, end := readLine(r)
		if got != want || end != (i == 6) {
			t.Errorf("line %d: %d bytes, too long %v, end %v, %v", i, len(got.text), got.tooLong, end, got.err)
		}
	}
}

func TestSaying(t *testing.T) {
	open := &ports.Line{Seq: 7, Choices: []ports.Choice{{Value: "yes", Label: "Yes, run it"}, {Value: "no", Label: "No"}}}
	for text, want := range map[string]string{"1": "yes", "2)": "no", " Yes ": "yes", "yes, run it.": "yes", "3": "", "no idea": "", "": ""} {
		s := saying(open, text)
		if got := s.Choice; want == "" && got != nil || want != "" && (got == nil || got.Value != want || s.Line != 7) {
			t.Errorf("%q is the choice %+v, want %q", text, got, want)
		}
		if s := saying(nil, text); s.Choice != nil || s.Text != text {
			t.Errorf("without a question %q is %+v", text, s)
		}
	}
}

// typing gives what is in the editor after keys; "|" is the cursor.
func typing(t *testing.T, e *editor, keys string) string {
	t.Helper()
	r := bufio.NewReader(strings.NewReader(keys))
	for {
		k, err := readKey(r)
		if err != nil {
			return e.text[:e.cursor] + "|" + e.text[e.cursor:]
		}
		e.do(k)
	}
}

func TestTheEditor(t *testing.T) {
	for keys, want := range map[string]string{
		"abc":                                       "abc|",
		"abc\x7f\x08":                               "a|",
		"abc\x1b[D\x1b[Dx":                          "ax|bc",
		"abc\x01x\x05y":                             "xabcy|",
		"abc\x1b[H\x1b[3~\x1b[3~":                   "|c",
		"abc\x1bOD\x0b":                             "ab|",
		"abc def  \x17x":                            "abc x|",
		"abc\x1b[D\x15":                             "|c",
		"界e\u0301👩‍💻\x1b[D\x1b[D\x7f":               "|e\u0301👩‍💻",
		"界e\u0301👩‍💻\x7f\x7f":                       "界|",
		"a\x1b[1;5Cb\x1b[99999999999999~\x1b":       "ab|",
		"a\x00\x1fb\xff\x9b":                        "ab|",
		"a\x1b[200~b\rc\r\nd\x03\x1b[31m\x1b[201~e": "ab\nc\nd[31me|",
		"\x7f\x1b[D\x1b[C\x1b[3~\x17\x0b\x15":       "|",
		"\x1b[A\x1b[B":                              "|",
	} {
		if got := typing(t, new(editor), keys); got != want {
			t.Errorf("%q gives %q, want %q", keys, got, want)
		}
	}
}

func TestTheEditorRemembers(t *testing.T) {
	e := new(editor)
	for _, text := range []string{"one", " ", "two", "two"} {
		typing(t, e, text)
		if got := e.take(); got != text || e.text != "" {
			t.Errorf("took %q, left %q", got, e.text)
		}
	}
	for _, step := range []struct{ keys, want string }{
		{"half", "half|"}, {"\x1b[A", "two|"}, {"\x1b[A", "one|"}, {"\x1b[A", "one|"}, {"\x1b[B\x1b[B", "half|"}, {"\x1b[B", "half|"},
	} {
		if got := typing(t, e, step.keys); got != step.want {
			t.Errorf("%q gives %q, want %q", step.keys, got, step.want)
		}
	}
}

// A key is read to its end whatever comes, and the editor's cursor stands between
// characters, in text that is fit to be shown.
// TestKeysOfAnyKind types nonsense. It is no fuzz target: this package links the
// store, which takes minutes to instrument.
func TestKeysOfAnyKind(t *testing.T) {
	pieces := []string{"a", "é", "e\u0301", "世", "👩‍💻", "\u200d", "\x00", "\xff", " ", "\r", "\n", "\t", "\x01", "\x03", "\x05", "\x0b", "\x15", "\x17", "\x7f",
		"\x1b", "\x1b[", "\x1b[A", "\x1b[B", "\x1b[C", "\x1b[D", "\x1b[H", "\x1b[F", "\x1b[3~", "\x1b[200~", "\x1b[201~", "\x1b[1;5D", "\x1bO", "\x1b]0;x\x07", "9;", "~"}
	for seed := range uint64(2000) {
		random := rand.New(rand.NewPCG(seed, 0))
		var keys strings.Builder
		for range 1 + random.IntN(40) {
			keys.WriteString(pieces[random.IntN(len(pieces))])
		}
		e := new(editor)
		r := bufio.NewReader(strings.NewReader(keys.String()))
		for {
			k, err := readKey(r)
			if err != nil {
				break
			}
			e.do(k)
			if e.cursor < 0 || e.cursor > len(e.text) || Printable(e.text) != e.text {
				t.Fatalf("%q: after %v: %q, cursor %d", keys.String(), k, e.text, e.cursor)
			}
			layOut(promptText+e.text, 7)
			layOut(promptText+e.text[:e.cursor], 7)
		}
	}
}
