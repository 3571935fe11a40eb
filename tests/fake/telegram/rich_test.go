package telegram

import (
	"encoding/json"
	"strings"
	"testing"
)

// rich is the rich_message parameter of some Markdown.
func rich(markdown string) string { return string(asJSON(map[string]string{"markdown": markdown})) }

func TestRichMessages(t *testing.T) {
	s := start(t, Options{})
	ann := s.User(7, "Ann")
	ann.Say("hello")
	const text = "# Title\n\nSome *words*\nin two lines\n\n- [x] done\n- open\n  1. inner\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n> said\n> twice\n\n```go\nx := 1\n```\n\n---\n\n$$\nx^2\n$$"
	a := call(t, s, "sendRichMessage", "chat_id", "7", "rich_message", rich(text))
	if sent := s.Sent(7); !a.OK || sent[0].Rich != text || sent[0].Text != "" {
		t.Fatalf("got %+v, Ann sees %+v", a, sent)
	}
	var m struct {
		Rich any `json:"rich_message"`
	}
	if err := json.Unmarshal(a.Result, &m); err != nil {
		t.Fatal(err)
	}
	if out := grammyTypes(t).Differences("rich_message", m.Rich, "RichMessage"); out != nil {
		t.Error(out)
	}
	var kinds []string
	for _, b := range m.Rich.(map[string]any)["blocks"].([]any) {
		kinds = append(kinds, b.(map[string]any)["type"].(string))
	}
	if got := strings.Join(kinds, " "); got != "heading paragraph list table blockquote pre divider mathematical_expression" {
		t.Errorf("the blocks are %s", got)
	}
	edit := func(form ...string) got {
		return call(t, s, "editMessageText", append([]string{"chat_id", "7", "message_id", "2"}, form...)...)
	}
	if a := edit("rich_message", rich(text)); !strings.Contains(a.Description, "message is not modified") {
		t.Errorf("the same again: %+v", a)
	}
	if a := edit("rich_message", rich("other")); !a.OK || s.Sent(7)[0].Rich != "other" {
		t.Errorf("an edit: %+v", a)
	}
	if a := edit("text", "plain"); !a.OK || s.Sent(7)[0].Rich != "" || s.Sent(7)[0].Text != "plain" {
		t.Errorf("an edit into plain text: %+v, %+v", a, s.Sent(7)[0])
	}
	call(t, s, "sendRichMessageDraft", "chat_id", "7", "draft_id", "3", "rich_message", rich("so *far*"))
	if d, ok := ann.Draft(0); !ok || d.Rich != "so *far*" {
		t.Errorf("Ann sees the draft %+v", d)
	}
}

func TestAServerMayBeOlderThanRichMessages(t *testing.T) {
	s := start(t, Options{})
	s.User(7, "Ann").Say("hello")
	call(t, s, "sendMessage", "chat_id", "7", "text", "plain")
	s.ForgetRich()
	if a := call(t, s, "sendRichMessage", "chat_id", "7", "rich_message", rich("x")); a.OK || a.Description != "Not Found: method not found" {
		t.Errorf("a rich message: %+v", a)
	}
	if a := call(t, s, "editMessageText", "chat_id", "7", "message_id", "2", "rich_message", rich("x")); !strings.Contains(a.Description, "message text is empty") {
		t.Errorf("a rich edit: %+v", a)
	}
	if sent := s.Sent(7); len(sent) != 1 || sent[0].Text != "plain" {
		t.Errorf("Ann sees %+v", sent)
	}
}

func TestRichMessagesAreHeldToTheirLimits(t *testing.T) {
	s := start(t, Options{})
	s.User(7, "Ann").Say("hello")
	send := func(text string) got { return call(t, s, "sendRichMessage", "chat_id", "7", "rich_message", text) }
	row := func(n int) string {
		return "|" + strings.Repeat("a|", n) + "\n|" + strings.Repeat("-|", n) + "\n|" + strings.Repeat("b|", n)
	}
	for name, test := range map[string]struct{ text, want string }{
		"longest":          {rich(strings.Repeat("😀", maxRich)), ""},
		"too long":         {rich(strings.Repeat("😀", maxRich+1)), "too long"},
		"most blocks":      {rich(strings.Repeat("a\n\n", maxBlocks)), ""},
		"too many blocks":  {rich(strings.Repeat("a\n\n", maxBlocks+1)), "501 blocks"},
		"too many items":   {rich(strings.Repeat("- a\n", 250)), "501 blocks"},
		"most columns":     {rich(row(maxColumns)), ""},
		"too many columns": {rich(row(maxColumns + 1)), "21 columns"},
		"deepest":          {rich(strings.Repeat(">", maxLevels-1) + "a"), ""},
		"too deep":         {rich(strings.Repeat(">", maxLevels) + "a"), "17 levels"},
		"too many media":   {rich(strings.Repeat("![](https://example.org/a.png)\n", maxMedia+1)), "too many media"},
		"a picture":        {rich("see ![x](https://example.org/a.png)"), "a picture"},
		"no picture":       {rich("see \\![x](https://example.org/a.png), `![y](z)`"), ""},
		"a button":         {rich(`\<tg-button type="callback_data" data="w">T</tg-button>`), "tg-button"},
		"a button in code": {rich("`<tg-button>` and\n```html\n<tg-button>\n```"), ""},
		"looks":            {rich("<b>a <i>b</i></b>, &lt;tg-button>"), ""},
		"an open tag":      {rich("<b>a"), "not closed"},
		"crossed tags":     {rich("<b>a<i>b</b></i>"), "closes nothing"},
		"a loose list":     {rich(strings.Repeat("- a\n\n", 249)), ""},
		"empty":            {rich(" \n"), "empty"},
		"nothing":          {`{}`, "exactly one"},
		"no object":        {`"a"`, "expected an Object"},
		"HTML":             {`{"html":"<b>x</b>"}`, "only markdown"},
		"absent":           {``, "expected an Object"},
	} {
		if a := send(test.text); a.OK != (test.want == "") || !strings.Contains(a.Description, test.want) {
			t.Errorf("%s: %+v", name, a.Description)
		}
	}
	if a := call(t, s, "editMessageText", "chat_id", "7", "message_id", "2", "text", "x", "rich_message", rich("x")); !strings.Contains(a.Description, "a text and a rich message") {
		t.Errorf("both: %+v", a)
	}
}
