package telegram

import (
	"reflect"
	"strings"
	"testing"
	"unicode/utf16"
	"unicode/utf8"

	"dragoman/ports"
)

func TestKeyboardRows(t *testing.T) {
	choices := func(labels ...string) (out []ports.Choice) {
		for _, l := range labels {
			out = append(out, ports.Choice{Question: "q", Field: "f", Value: "v", Label: l})
		}
		return out
	}
	other := append(choices("Yes"), ports.Choice{Question: "q", Field: "cancel", Value: "v", Label: "Cancel"})
	for name, test := range map[string]struct {
		choices []ports.Choice
		want    [][]string
	}{
		"short":       {choices("Yes", "No"), [][]string{{"Yes", "No"}}},
		"many":        {choices("1", "2", "3", "4"), [][]string{{"1", "2", "3"}, {"4"}}},
		"long":        {choices("Yes", "Always, in this conversation", "No"), [][]string{{"Yes"}, {"Always, in this conversation"}, {"No"}}},
		"no label":    {choices(""), [][]string{{"v"}}},
		"other field": {other, [][]string{{"Yes"}, {"Cancel"}}},
	} {
		t.Run(name, func(t *testing.T) {
			k, err := keyboardOf(test.choices)
			if err != nil {
				t.Fatal(err)
			}
			var got [][]string
			for _, row := range k.Rows {
				var labels []string
				for _, b := range row {
					labels = append(labels, b.Text)
				}
				got = append(got, labels)
			}
			if !reflect.DeepEqual(got, test.want) {
				t.Errorf("rows %q, want %q", got, test.want)
			}
		})
	}
}

func TestKeyboardRefuses(t *testing.T) {
	for name, c := range map[string]ports.Choice{
		"too long": {Question: "q", Field: "f", Value: strings.Repeat("v", 61)},
		"colon":    {Question: "q", Field: "f", Value: "a:b"},
	} {
		if _, err := keyboardOf([]ports.Choice{c}); !ports.IsKind(err, ports.KindInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if k, err := keyboardOf(nil); k != nil || err != nil {
		t.Errorf("no choices gave %v, %v", k, err)
	}
}

func TestIDs(t *testing.T) {
	chat, message, err := splitID(messageID(-1001234567890, 17))
	if chat != -1001234567890 || message != 17 || err != nil {
		t.Errorf("got %d, %d, %v", chat, message, err)
	}
	for _, id := range []ports.MessageID{"", "5", "a/b", "1/", "/1", "1/2/3"} {
		if _, _, err := splitID(id); !ports.IsKind(err, ports.KindInvalid) {
			t.Errorf("%q: %v", id, err)
		}
	}
	if r := replyTo(target{Chat: 1}, "2/3"); r != nil {
		t.Errorf("a reply to another chat's message: %+v", r)
	}
}

func TestForeignConversation(t *testing.T) {
	for _, in := range []ports.Conversation{{}, {Chat: "x"}, {Chat: "1", Thread: "x"}} {
		if _, err := targetOf(in); !ports.IsKind(err, ports.KindInvalid) {
			t.Errorf("%v: %v", in, err)
		}
	}
}

func FuzzCut(f *testing.F) {
	f.Add("a😀b", 2)
	f.Add("\xff日", 1)
	f.Fuzz(func(t *testing.T, s string, n int) {
		n = max(0, n%50)
		got := cut(s, n)
		size := len(utf16.Encode([]rune(got)))
		whole := strings.ToValidUTF8(s, "\uFFFD")
		switch {
		case !utf8.ValidString(got) || !strings.HasPrefix(whole, got):
			t.Errorf("cut(%q, %d) = %q", s, n, got)
		case size > n:
			t.Errorf("cut(%q, %d) has %d units", s, n, size)
		case got != whole && size < n-1:
			t.Errorf("cut(%q, %d) has only %d units", s, n, size)
		}
	})
}

func TestTheGeneralTopicIsNamedByActionsOnly(t *testing.T) {
	to, err := targetOf(ports.Conversation{Chat: "-100", Thread: generalThread})
	if err != nil || to.Thread != 1 || to.posting().Thread != 0 {
		t.Errorf("actions go to %+v, messages to %+v (%v)", to, to.posting(), err)
	}
	if other := (target{Chat: -100, Thread: 11}); other.posting() != other {
		t.Errorf("messages to %+v go to %+v", other, other.posting())
	}
}
