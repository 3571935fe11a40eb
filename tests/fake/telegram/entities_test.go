package telegram

import (
	"fmt"
	"strings"
	"testing"
)

// brief is type, offset and length of each.
func brief(es []Entity) string {
	words := make([]string, len(es))
	for i, e := range es {
		words[i] = fmt.Sprintf("{%s %d %d}", e.Type, e.Offset, e.Length)
	}
	return "[" + strings.Join(words, " ") + "]"
}

func TestFormatting(t *testing.T) {
	many := strings.TrimSuffix(strings.Repeat(`{"type":"bold","offset":0,"length":1},`, maxEntities+1), ",")
	for name, test := range map[string]struct{ text, entities, want string }{
		"none":                {"abc", ``, "[]"},
		"an empty list":       {"abc", `[]`, "[]"},
		"all of it":           {"abc", `[{"type":"bold","offset":0,"length":3}]`, "[{bold 0 3}]"},
		"units, not bytes":    {"😀b", `[{"type":"italic","offset":2,"length":1}]`, "[{italic 2 1}]"},
		"nested":              {"abcd", `[{"type":"bold","offset":0,"length":4},{"type":"italic","offset":1,"length":2}]`, "[{bold 0 4} {italic 1 2}]"},
		"side by side":        {"ab", `[{"type":"pre","offset":0,"length":1},{"type":"code","offset":1,"length":1}]`, "[{pre 0 1} {code 1 1}]"},
		"code in a quote":     {"ab", `[{"type":"blockquote","offset":0,"length":2},{"type":"code","offset":1,"length":1}]`, "[{blockquote 0 2} {code 1 1}]"},
		"a link":              {"a", `[{"type":"text_link","offset":0,"length":1,"url":"https://example.org/?a=1"}]`, "[{text_link 0 1}]"},
		"a link to a person":  {"a", `[{"type":"text_link","offset":0,"length":1,"url":"tg://user?id=1"}]`, "[{text_link 0 1}]"},
		"a language":          {"a", `[{"type":"pre","offset":0,"length":1,"language":"go"}]`, "[{pre 0 1}]"},
		"moved by trimming":   {" \n ab ", `[{"type":"bold","offset":3,"length":2}]`, "[{bold 0 2}]"},
		"cut by trimming":     {" a ", `[{"type":"bold","offset":0,"length":3}]`, "[{bold 0 1}]"},
		"nothing by trimming": {"a ", `[{"type":"bold","offset":1,"length":1}]`, "[]"},

		"no list":              {"abc", `{}`, "expected an Array"},
		"no JSON":              {"abc", `[`, "expected an Array"},
		"an unknown type":      {"abc", `[{"type":"big","offset":0,"length":1}]`, "unsupported entity type"},
		"before the text":      {"abc", `[{"type":"bold","offset":-1,"length":2}]`, "outside of the text"},
		"beyond the text":      {"abc", `[{"type":"bold","offset":2,"length":2}]`, "outside of the text"},
		"far beyond":           {"abc", `[{"type":"bold","offset":2,"length":9223372036854775807}]`, "outside of the text"},
		"no length":            {"abc", `[{"type":"bold","offset":2,"length":0}]`, "outside of the text"},
		"begins in a pair":     {"😀b", `[{"type":"bold","offset":1,"length":2}]`, "surrogate pair"},
		"ends in a pair":       {"b😀", `[{"type":"bold","offset":0,"length":2}]`, "surrogate pair"},
		"a link to nowhere":    {"a", `[{"type":"text_link","offset":0,"length":1}]`, "no usable URL"},
		"a link to a script":   {"a", `[{"type":"text_link","offset":0,"length":1,"url":"javascript:x"}]`, "no usable URL"},
		"a link without host":  {"a", `[{"type":"text_link","offset":0,"length":1,"url":"https:///x"}]`, "no usable URL"},
		"a mail link":          {"a", `[{"type":"text_link","offset":0,"length":1,"url":"mailto:a@example.org"}]`, "no usable URL"},
		"bold with a URL":      {"a", `[{"type":"bold","offset":0,"length":1,"url":"https://example.org"}]`, "with a URL"},
		"code with a language": {"a", `[{"type":"code","offset":0,"length":1,"language":"go"}]`, "with a language"},
		"overlap":              {"abc", `[{"type":"bold","offset":0,"length":2},{"type":"italic","offset":1,"length":2}]`, "overlap without nesting"},
		"a quote in a quote":   {"ab", `[{"type":"blockquote","offset":0,"length":2},{"type":"blockquote","offset":1,"length":1}]`, "a quote in a quote"},
		"bold in pre":          {"ab", `[{"type":"pre","offset":0,"length":2},{"type":"bold","offset":1,"length":1}]`, "bold in pre"},
		"code in bold":         {"ab", `[{"type":"bold","offset":0,"length":2},{"type":"code","offset":1,"length":1}]`, "code in bold"},
		"too many":             {"abc", "[" + many + "]", "only 100 would be kept"},
	} {
		t.Run(name, func(t *testing.T) {
			es, no := formatting(test.entities, test.text)
			if no == nil {
				_, es = trimmed(test.text, es)
				if got := brief(es); got != test.want {
					t.Errorf("got %s, want %s", got, test.want)
				}
			} else if no.Code != 400 || !strings.Contains(no.Description, "can't parse entities") || !strings.Contains(no.Description, test.want) {
				t.Errorf("refused with %+v, want %s", no, test.want)
			}
		})
	}
}

func TestFormattingIsKept(t *testing.T) {
	s := start(t, Options{})
	s.User(7, "Ann").Say("hello")
	const bold, italic = `[{"type":"bold","offset":1,"length":1}]`, `[{"type":"italic","offset":0,"length":1}]`
	if a := call(t, s, "sendMessage", "chat_id", "7", "text", " a /b", "entities", bold); !a.OK ||
		!strings.Contains(string(a.Result), `"entities":[{"type":"bold","offset":0,"length":1},{"type":"bot_command","offset":2,"length":2}]`) {
		t.Errorf("sendMessage answered %+v", a)
	}
	if got := brief(s.Sent(7)[0].Entities); got != "[{bold 0 1}]" {
		t.Errorf("the chat shows %s", got)
	}
	edit := func(entities string) got {
		return call(t, s, "editMessageText", "chat_id", "7", "message_id", "2", "text", "a /b", "entities", entities)
	}
	if a := edit(`[{"type":"bold","offset":0,"length":1}]`); !strings.Contains(a.Description, "message is not modified") {
		t.Errorf("the same again: %+v", a)
	}
	if a := edit(italic); !a.OK {
		t.Errorf("other formatting alone: %+v", a)
	}
	if got := brief(s.Sent(7)[0].Entities); got != "[{italic 0 1}]" {
		t.Errorf("after the edit the chat shows %s", got)
	}
	call(t, s, "editMessageText", "chat_id", "7", "message_id", "2", "text", "a /b")
	if got := brief(s.Sent(7)[0].Entities); got != "[]" {
		t.Errorf("without formatting the chat shows %s", got)
	}
}
