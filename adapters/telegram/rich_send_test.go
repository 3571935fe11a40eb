package telegram

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"dragoman/ports"
	fake "dragoman/tests/fake/telegram"
)

// setRich sets a channel that posts rich messages, and a person who wrote to it.
func setRich(t *testing.T) (*rig, *fake.User) {
	t.Helper()
	s := set(t, fake.Options{})
	cfg := configOf(s.server)
	cfg.Rich = true
	s.ch = s.channel(cfg)
	ann := s.server.User(7, "Ann")
	ann.Say("hello")
	return s, ann
}

// rendered is what a text is sent as, in one message.
func (s *rig) rendered(words string, partial bool) ports.Outgoing {
	s.t.Helper()
	parts, err := s.ch.Render(ports.Content{Text: words, Partial: partial})
	if err != nil || len(parts) != 1 {
		s.t.Fatalf("%d parts, %v", len(parts), err)
	}
	out := text(7, "")
	out.Content = parts[0]
	return out
}

var refusal400 = fake.Response{Code: http.StatusBadRequest, Description: "Bad Request: can't parse rich message: no"}

func TestRichMessagesArriveAsTheyAreRendered(t *testing.T) {
	s, _ := setRich(t)
	samples, _ := filepath.Glob("testdata/render/*.md")
	rich := 0
	for _, sample := range samples {
		source, err := os.ReadFile(sample)
		if err != nil {
			t.Fatal(err)
		}
		parts, err := s.ch.Render(ports.Content{Text: string(source)})
		if err != nil {
			t.Fatal(err)
		}
		for _, part := range parts {
			var want rendered
			if err := json.Unmarshal(part.Body, &want); err != nil {
				t.Fatal(err)
			}
			out := text(7, "")
			out.Content = part
			if _, err := s.ch.Send(t.Context(), out); err != nil {
				t.Fatalf("%s: %v", sample, err)
			}
			all := s.server.Sent(7)
			got := all[len(all)-1]
			if want.Rich != "" {
				rich++
				want.Text = ""
			}
			if got.Rich != want.Rich || got.Text != want.Text {
				t.Errorf("%s: the chat shows %q %q, want %q %q", sample, got.Rich, got.Text, want.Rich, want.Text)
			}
		}
	}
	if rich < 25 || strings.Contains(s.log.String(), "refused") {
		t.Errorf("%d were rich\n%s", rich, s.log)
	}
}

func TestARefusedRichMessageComesAsAText(t *testing.T) {
	const table = "| a | **b** |\n|---|---|\n| 1 | 2 |"
	for name, why := range map[string]fake.Response{
		"refused": refusal400,
		"unknown": {Code: http.StatusNotFound, Description: "Not Found: method not found"},
	} {
		s, _ := setRich(t)
		s.server.Fail("sendRichMessage", 1, why)
		id, err := s.ch.Send(t.Context(), s.rendered(table, false))
		sent := s.server.Sent(7)
		if err != nil || len(sent) != 1 || sent[0].Rich != "" || !strings.Contains(sent[0].Text, "1 | 2") {
			t.Fatalf("%s: the chat shows %+v, %v", name, sent, err)
		}
		// The next one is tried again, and a text becomes rich by an edit.
		if err := s.ch.Edit(t.Context(), id, s.rendered(table+"\n| 3 | 4 |", false)); err != nil || !strings.Contains(s.server.Sent(7)[0].Rich, "| 3 | 4 |") {
			t.Errorf("%s: the chat shows %+v, %v", name, s.server.Sent(7), err)
		}
	}
}

func TestARefusedRichEditComesAsAText(t *testing.T) {
	s, _ := setRich(t)
	first := s.rendered("# One", false)
	id, err := s.ch.Send(t.Context(), first)
	if err != nil || s.server.Sent(7)[0].Rich != "# One" {
		t.Fatalf("the chat shows %+v, %v", s.server.Sent(7), err)
	}
	if err := s.ch.Edit(t.Context(), id, first); err != nil || s.server.Calls("editMessageText") != 1 {
		t.Errorf("the same again: %v after %d calls", err, s.server.Calls("editMessageText"))
	}
	s.server.Fail("editMessageText", 1, refusal400)
	if err := s.ch.Edit(t.Context(), id, s.rendered("# Two", false)); err != nil {
		t.Fatal(err)
	}
	if got := s.server.Sent(7); len(got) != 1 || got[0].Rich != "" || got[0].Text != "Two" || got[0].Entities[0].Type != "bold" {
		t.Errorf("the chat shows %+v", got)
	}
}

func TestWhatIsNoFaultOfTheFormIsNotTriedInAnother(t *testing.T) {
	for name, fault := range map[string]func(*fake.Server){
		"a lost answer": func(s *fake.Server) { s.Cut("sendRichMessage", 1) },
		"a flood":       func(s *fake.Server) { s.Fail("sendRichMessage", 1, fake.TooManyRequests(3)) },
		"a fault":       func(s *fake.Server) { s.Fail("sendRichMessage", 1, fake.ServerError) },
		"no chat":       func(s *fake.Server) { s.Fail("sendRichMessage", 1, fake.ChatNotFound) },
		"blocked":       func(s *fake.Server) { s.Fail("sendRichMessage", 1, fake.Blocked) },
	} {
		s, _ := setRich(t)
		fault(s.server)
		_, err := s.ch.Send(t.Context(), s.rendered("# One", false))
		want := map[string]ports.Kind{"a lost answer": ports.KindUnsure, "a flood": ports.KindRateLimited, "a fault": ports.KindTemporary, "no chat": ports.KindNotFound, "blocked": ports.KindForbidden}[name]
		if !ports.IsKind(err, want) || s.server.Calls("sendMessage") != 0 || len(s.server.Sent(7)) > 1 {
			t.Errorf("%s: %v, the chat shows %+v", name, err, s.server.Sent(7))
		}
	}
}

func TestARichDraftIsShownAndFallsBack(t *testing.T) {
	s, ann := setRich(t)
	in := ports.Conversation{Chat: "7"}
	if err := s.ch.Draft(t.Context(), in, "# One\n\nsome **wor"); err != nil {
		t.Fatal(err)
	}
	if d, _ := ann.Draft(0); d.Rich != "# One\n\nsome <b>wor</b>" || !d.CanStop {
		t.Errorf("Ann sees %+v", d)
	}
	s.server.Fail("sendRichMessageDraft", 1, refusal400)
	if err := s.ch.Draft(t.Context(), in, "# One\n\nsome **words"); err != nil {
		t.Fatal(err)
	}
	if d, _ := ann.Draft(0); d.Rich != "" || d.Text != "One\nsome words" {
		t.Errorf("Ann sees %+v", d)
	}
}

func TestRichMessagesAreForWhatTextsDoNotShow(t *testing.T) {
	s, _ := setRich(t)
	for words, rich := range map[string]bool{
		"plain **bold** `code` [link](https://example.org)\n\n> quote\n\n- a\n- b\n\n```go\nx\n```": false,
		"# heading":                     true,
		"|a|\n|-|":                      true,
		"so $x^2$":                      true,
		"$$\nx\n$$":                     true,
		"- [ ] a":                       true,
		"- a\n  - b":                    true,
		"a\n\n---\n\nb":                 true,
		"> # heading":                   true,
		strings.Repeat("> ", 9) + "# a": true,
		strings.Repeat("- ", 9) + "# a": false, // deeper than Telegram takes
		"|" + strings.Repeat("a|", 20) + "\n|" + strings.Repeat("-|", 20): true,
		"|" + strings.Repeat("a|", 21) + "\n|" + strings.Repeat("-|", 21): false,
	} {
		var body rendered
		if err := json.Unmarshal(s.rendered(words, false).Content.Body, &body); err != nil || (body.Rich != "") != rich || body.Text == "" {
			t.Errorf("%q is %+v, %v", words, body, err)
		}
	}
	without := set(t, fake.Options{})
	if out := without.rendered("# heading", false); strings.Contains(string(out.Content.Body), "rich") {
		t.Errorf("nobody asked for it: %s", out.Content.Body)
	}
}
