package wire

import (
	"strings"
	"testing"
)

func sift(pieces ...string) (said []string) {
	t := &Thoughts{}
	for _, p := range pieces {
		said = append(said, t.Sift(p))
	}
	return append(said, t.Rest())
}

func TestAThoughtIsNotSaid(t *testing.T) {
	for _, c := range []struct{ reply, want string }{
		{"", ""},
		{"Hello, wörld.", "Hello, wörld."},
		{" \n Hello", " \n Hello"},
		{"\n", "\n"},
		{"<think>\nHm. 1 < 2 </thi\n</think>\n\nHello", "Hello"},
		{"\n<think>\n\n</think>\n\nHello\n", "Hello\n"},
		{"<think>a</think><think>b</think> Hello", "Hello"},
		{"<think>a</think>", ""},
		{"<think>a", ""},
		{"<thin", "<thin"},
		{"<thinking>a</thinking>", "<thinking>a</thinking>"},
		{"Hello <think>a</think>", "Hello <think>a</think>"},
		{"<think>a</think>Say <think>b</think>", "Say <think>b</think>"},
		{"`<think>` begins it", "`<think>` begins it"},
	} {
		if got := strings.Join(sift(c.reply), ""); got != c.want {
			t.Errorf("%q is said as %q, not %q", c.reply, got, c.want)
		}
		if got := strings.Join(sift(strings.Split(c.reply, "")...), ""); got != c.want {
			t.Errorf("rune by rune %q is said as %q, not %q", c.reply, got, c.want)
		}
		for i := range c.reply {
			if got := strings.Join(sift(c.reply[:i], c.reply[i:]), ""); got != c.want {
				t.Errorf("cut behind %q it is said as %q", c.reply[:i], got)
			}
		}
	}
}

// TestAThoughtKeepsNoMemory: a peer may think, or say nothing, without end.
func TestAThoughtKeepsNoMemory(t *testing.T) {
	for _, c := range []struct{ begin, piece string }{{"<think>", "think "}, {"", " "}, {"<think></think>", " "}} {
		thoughts := &Thoughts{}
		thoughts.Sift(c.begin)
		for range 10_000 {
			if thoughts.Sift(c.piece); len(thoughts.held) > maxBlank {
				t.Fatalf("%q keeps %d bytes", c.piece, len(thoughts.held))
			}
		}
	}
}
