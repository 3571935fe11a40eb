package telegram

import (
	"encoding/json"
	"strings"
	"testing"

	fake "dragoman/tests/fake/telegram"
)

func TestARichMessageComesInAsItsText(t *testing.T) {
	s, ann := setRich(t)
	if _, err := s.ch.Send(t.Context(), s.rendered("# Prices\n\n| a | b |\n|---|---|\n| 1 | 2 |", false)); err != nil {
		t.Fatal(err)
	}
	s.run()
	ann.Reply(s.server.Sent(7)[0].ID, "why?")
	ann.Post(fake.Post{Rich: "# News\n\n- one\n- two\n\n> said"})
	all := s.await(3) // the first was hello
	if q := all[1].Quote; q == nil || !q.Own || q.Text != "Prices\n\na | b\n1 | 2" {
		t.Errorf("the reply quotes %+v", q)
	}
	if got := all[2].Text; got != "News\n\n- one\n- two\n\nsaid" {
		t.Errorf("the message says %q", got)
	}
}

func TestRichTextIsReadToItsDepth(t *testing.T) {
	for raw, want := range map[string]string{
		`{"blocks":[{"type":"paragraph","text":["a ",{"type":"bold","text":["b",{"type":"mathematical_expression","expression":"x^2"}]}," ",{"type":"custom_emoji","alternative_text":"👍"}]}]}`: "a bx^2 👍",
		`{"blocks":[{"type":"details","summary":"S","blocks":[{"type":"pre","text":"x\ny"}]},{"type":"divider"},{"type":"photo","caption":{"text":"C"}}]}`:                                      "S\nx\ny\n\nC",
		`{"blocks":[{"type":"list","items":[{"label":"1.","blocks":[{"type":"paragraph","text":"a"},{"type":"list","items":[{"label":"","blocks":[{"text":"b"}]}]}]}]}]}`:                       "1. a\n• b",
		`{"blocks":[{"text":7},{"cells":[[{"text":"a"},{}],"x",[]]},{"items":"x","blocks":{}}]}`:                                                                                                "a |",
		`{"blocks":"x"}`: "", `[]`: "", ``: "",
		`{"blocks":[{"text":` + strings.Repeat(`{"text":`, 500) + `"deep"` + strings.Repeat("}", 500) + `}]}`: "",
	} {
		if got := richSaid(json.RawMessage(raw)); got != want {
			t.Errorf("%.80s is %q, want %q", raw, got, want)
		}
	}
}
