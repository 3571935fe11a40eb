package outbox

import (
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"dragoman/ports"
)

// fenced is n bytes of code, indented with what stands before its fence.
func fenced(indent, info string, n int) string {
	mark := "```"
	if strings.HasPrefix(info, "~") {
		mark = "~~~"
	}
	return indent + mark + strings.TrimPrefix(info, "~") + "\n" + indent + strings.Repeat("x", n-1) + "\n" + indent + mark + "\n"
}

func TestVeryLongCodeIsTakenOutOfTheText(t *testing.T) {
	for name, test := range map[string]struct {
		text, rest string
		files      []string // name and length
	}{
		"short":               {fenced("", "go", 100), fenced("", "go", 100), nil},
		"long":                {"see\n" + fenced("", "go", 101) + "that", "see\n\n📎 `answer-1.go` (1 line)\n\nthat", []string{"answer-1.go 101"}},
		"two, of one a short": {fenced("", "C++", 101) + "a\n" + fenced("", "go", 9) + fenced("", "~rust x=1", 200), "\n📎 `answer-1.cpp` (1 line)\n\na\n" + fenced("", "go", 9) + "\n📎 `answer-2.rs` (1 line)\n\n", []string{"answer-1.cpp 101", "answer-2.rs 200"}},
		"in an item":          {"- so:\n" + fenced("  ", "", 101), "- so:\n\n  📎 `answer-1.txt` (1 line)\n\n", []string{"answer-1.txt 101"}},
		"of no file's name":   {fenced("", "../exe", 101) + fenced("", "hta", 101), "\n📎 `answer-1.txt` (1 line)\n\n\n📎 `answer-2.txt` (1 line)\n\n", []string{"answer-1.txt 101", "answer-2.txt 101"}},
		"open":                {"```go\n" + strings.Repeat("x", 500), "```go\n" + strings.Repeat("x", 500), nil},
		"a fence in a fence":  {"````md\n" + fenced("", "go", 200) + "````\n", "\n📎 `answer-1.md` (3 lines)\n\n", []string{"answer-1.md 210"}},
		"no fence":            {"``` a`b\n" + strings.Repeat("x", 200) + "\n```\n", "``` a`b\n" + strings.Repeat("x", 200) + "\n```\n", nil},
		"wide characters":     {"```\n" + strings.Repeat("😀", 51) + "\n```", "\n📎 `answer-1.txt` (1 line)\n\n", []string{"answer-1.txt 205"}},
		"indented code":       {"    ```\n" + strings.Repeat("x", 200) + "\n    ```", "    ```\n" + strings.Repeat("x", 200) + "\n    ```", nil},
	} {
		rest, found := takeCode(test.text, 100)
		var files []string
		for _, f := range found {
			files = append(files, fmt.Sprintf("%s %d", f.name, len(f.code)))
		}
		if rest != test.rest || !reflect.DeepEqual(files, test.files) {
			t.Errorf("%s: left is %q with %q, want %q with %q", name, rest, files, test.rest, test.files)
		}
	}
}

func FuzzTakeCode(f *testing.F) {
	f.Add("see\n"+fenced("", "go", 101)+"that", 9)
	f.Add("- a\n"+fenced("  ", "~x", 30)+"\n  ```", 3)
	f.Add("````\n```\n\u2028x\r\n````", 1)
	f.Fuzz(func(t *testing.T, text string, limit int) {
		limit = 1 + max(0, limit)%200
		rest, found := takeCode(text, limit)
		all := rest
		for _, f := range found {
			if prefix(f.code, limit) == len(f.code) || strings.Count(rest, f.says()) == 0 {
				t.Errorf("%q of %q is a file of %q", f, text, rest)
			}
			all += "\n" + f.code
		}
		for line := range strings.Lines(text) {
			if words := strings.TrimSpace(line); !strings.ContainsAny(words, "`~") && !strings.Contains(all, words) {
				t.Errorf("%q is gone of %q: %q, %q", words, text, rest, found)
			}
		}
		if len(found) == 0 && rest != text {
			t.Errorf("%q became %q", text, rest)
		}
	})
}

// long is an answer with code for three messages of the stage.
func long() ports.Content {
	return ports.Content{Text: "Here:\n\n" + fenced("", "go", 300) + "\nEnjoy."}
}

func TestVeryLongCodeFollowsTheTextAsAFile(t *testing.T) {
	m := newMover(t)
	m.traits.MaxText = 100
	m.box.Add("chat", m, 2)
	first, second := m.box.RenderFor("t", m.lease.In, long()), m.box.RenderFor("t", m.lease.In, long())
	if !reflect.DeepEqual(first, second) {
		t.Errorf("it is not the same twice: %+v, %+v", first, second)
	}
	if len(first) != 2 || first[0].File != nil || !strings.Contains(first[0].Text, "Here:") || !strings.Contains(first[0].Text, "`answer-1.go` (1 line)") ||
		!strings.Contains(first[0].Text, "Enjoy.") || strings.Contains(first[0].Text, "xxx") {
		t.Fatalf("it says %+v", first)
	}
	if f := first[1].File; f == nil || f.Name != "answer-1.go" || f.Size != 300 || f.MIME != "text/plain" || !strings.HasPrefix(f.Artifact, "code-") {
		t.Errorf("the file is %+v", f)
	}
	if other := m.box.RenderFor("t", m.lease.In, ports.Content{Text: strings.ReplaceAll(long().Text, "x", "y")}); other[1].File.Artifact == first[1].File.Artifact {
		t.Error("other code is the same file")
	}
	if len(m.did) != 3 || !strings.HasSuffix(m.did[0], "save answer-1.go of 300 bytes") {
		t.Errorf("it did %q", m.did)
	}
}

func TestVeryLongCodeStaysInTheTextWhereItCannotBeAFile(t *testing.T) {
	for name, set := range map[string]func(*mover, *ports.Content){
		"no uploader":            func(m *mover, _ *ports.Content) { m.box.Add("chat", m.stage, 2) },
		"no limit":               func(m *mover, _ *ports.Content) { m.traits.MaxText = 0; m.box.Add("chat", m, 2) },
		"in the making":          func(_ *mover, c *ports.Content) { c.Partial = true },
		"a question":             func(_ *mover, c *ports.Content) { c.Choices = []ports.Choice{{Question: "q", Value: "v"}} },
		"the store takes it not": func(m *mover, _ *ports.Content) { m.save = errors.New("full") },
	} {
		m := newMover(t)
		m.traits.MaxText = 100
		m.box.Add("chat", m, 2)
		c := long()
		set(m, &c)
		all := ""
		for _, p := range m.box.RenderFor("t", m.lease.In, c) {
			all += p.Text
			if p.File != nil {
				t.Errorf("%s: %+v is a file", name, p)
			}
		}
		if n := strings.Count(all, "x"); n != 299 {
			t.Errorf("%s: %d letters of the code are left", name, n)
		}
		if name != "the store takes it not" && len(m.did) > 0 {
			t.Errorf("%s: it did %q", name, m.did)
		}
	}
}
