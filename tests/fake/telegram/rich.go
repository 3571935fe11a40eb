package telegram

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// Limits of rich messages, https://core.telegram.org/bots/api#inputrichmessage.
const (
	maxRich    = 32768 // characters
	maxBlocks  = 500   // nested ones, items and rows included
	maxLevels  = 16
	maxMedia   = 50
	maxColumns = 20
)

// richMessage is https://core.telegram.org/bots/api#richmessage. Its blocks are
// read roughly: what is marked within a line stays as it was written.
type richMessage struct {
	Blocks []block `json:"blocks"`
	RTL    bool    `json:"is_rtl,omitempty"`
	source string
}

// block is a RichBlock; the field that its type has is set.
type block struct {
	Type       string   `json:"type"`
	Text       *string  `json:"text,omitempty"`
	Size       int      `json:"size,omitempty"`
	Language   string   `json:"language,omitempty"`
	Expression string   `json:"expression,omitempty"`
	Blocks     []block  `json:"blocks,omitempty"`
	Items      []item   `json:"items,omitempty"`
	Cells      [][]cell `json:"cells,omitempty"`
}

type item struct {
	Label    string  `json:"label"`
	Blocks   []block `json:"blocks"`
	Checkbox bool    `json:"has_checkbox,omitempty"`
	Checked  bool    `json:"is_checked,omitempty"`
}

type cell struct {
	Text   string `json:"text"`
	Header bool   `json:"is_header,omitempty"`
	Align  string `json:"align"`
	Valign string `json:"valign"`
}

// markdown is what the bot sent.
func (m *richMessage) markdown() string {
	if m == nil {
		return ""
	}
	return m.source
}

// ForgetRich makes the server one that is older than rich messages: it has no methods
// for them, and passes over the parameter.
func (s *Server) ForgetRich() { s.poor.Store(true) }

func (s *Server) sendRichMessage(ctx context.Context, p params) reply {
	if !p.has("rich_message") {
		return badRequest("parameter rich_message is required")
	}
	return s.sendMessage(ctx, p)
}

func (s *Server) sendRichMessageDraft(ctx context.Context, p params) reply {
	if !p.has("rich_message") {
		return badRequest("parameter rich_message is required")
	}
	return s.sendMessageDraft(ctx, p)
}

// richContent reads rich_message and holds it to Telegram's limits.
func richContent(text string) (*richMessage, *reply) {
	no := func(what string, args ...any) (*richMessage, *reply) {
		a := badRequest("can't parse rich message: " + fmt.Sprintf(what, args...))
		return nil, &a
	}
	var in struct {
		Markdown, HTML *string
		Blocks, Media  json.RawMessage
		RTL            bool `json:"is_rtl"`
	}
	if err := json.Unmarshal([]byte(text), &in); err != nil {
		return no("expected an Object")
	}
	switch {
	case in.HTML != nil || in.Blocks != nil || in.Media != nil:
		return no("fake telegram: only markdown is read")
	case in.Markdown == nil:
		return no("exactly one of html, markdown and blocks must be used")
	case !utf8.ValidString(*in.Markdown):
		return no("strings must be encoded in UTF-8")
	case strings.TrimSpace(*in.Markdown) == "":
		return no("message is empty")
	case utf8.RuneCountInString(*in.Markdown) > maxRich:
		return no("message is too long")
	case strings.Count(code.ReplaceAllString(*in.Markdown, ""), "![") > maxMedia:
		return no("too many media")
	}
	if why := misuse(*in.Markdown); why != "" {
		return no("fake telegram: %s", why)
	}
	r := &richReader{}
	m := &richMessage{Blocks: r.blocks(strings.Split(*in.Markdown, "\n"), 1), RTL: in.RTL, source: *in.Markdown}
	switch {
	case r.count > maxBlocks:
		return no("%d blocks, only %d are allowed", r.count, maxBlocks)
	case r.level > maxLevels:
		return no("%d levels, only %d are allowed", r.level, maxLevels)
	case r.columns > maxColumns:
		return no("%d columns, only %d are allowed", r.columns, maxColumns)
	}
	return m, nil
}

var (
	code    = regexp.MustCompile("(?ms)^[ >0-9.)*+-]*(`{3,})[^`\n]*\n.*?^[ >]*`{3,} *$|`+[^`\n]+`+")
	escape  = regexp.MustCompile(`\\[!-/:-@\[-` + "`" + `{-~]`)
	tag     = regexp.MustCompile(`<(/?)([a-zA-Z][a-zA-Z0-9-]*)([^>]*)>`)
	textTag = []string{"b", "strong", "i", "em", "u", "ins", "s", "strike", "del", "code", "mark", "sub", "sup", "tg-spoiler", "tg-math"}
)

// misuse is what a bot that writes down what a model says must not send: HTML that no
// text asks for (a button, say, which a backslash does not undo), tags that are not
// closed, and pictures, which Telegram would fetch.
func misuse(markdown string) string {
	bare := code.ReplaceAllString(markdown, "")
	if strings.Contains(escape.ReplaceAllString(bare, ""), "![") {
		return "a picture"
	}
	var open []string
	for _, t := range tag.FindAllStringSubmatch(bare, -1) {
		switch last := len(open) - 1; {
		case !slices.Contains(textTag, t[2]) || t[3] != "":
			return "the tag " + t[0]
		case t[1] == "":
			open = append(open, t[2])
		case last < 0 || open[last] != t[2]:
			return t[0] + " closes nothing"
		default:
			open = open[:last]
		}
	}
	if len(open) > 0 {
		return "<" + open[0] + "> is not closed"
	}
	return ""
}

// richReader counts what it reads.
type richReader struct{ count, level, columns int }

var (
	heading  = regexp.MustCompile(`^(#{1,6}) +(.*)$`)
	divider  = regexp.MustCompile(`^ {0,3}([-*_] *){3,}$`)
	bullet   = regexp.MustCompile(`^( *)([-*+]|\d{1,9}[.)]) +(\[[ xX]\] +)?(.*)$`)
	tableRow = regexp.MustCompile(`^ *\|?( *:?-+:? *\|)+( *:?-+:? *)?$`)
)

func (r *richReader) blocks(lines []string, level int) []block {
	r.level = max(r.level, level)
	var all []block
	for len(lines) > 0 {
		if strings.TrimSpace(lines[0]) == "" {
			lines = lines[1:]
			continue
		}
		b, n := r.block(lines, level)
		r.count++
		all = append(all, b)
		lines = lines[n:]
	}
	return all
}

// block reads the one that begins in the first line, and says how many lines it has.
func (r *richReader) block(lines []string, level int) (block, int) {
	first := lines[0]
	span := func(in func(string) bool) int {
		if n := slices.IndexFunc(lines[1:], func(l string) bool { return !in(l) }); n >= 0 {
			return n + 1
		}
		return len(lines)
	}
	switch found := heading.FindStringSubmatch(first); {
	case found != nil:
		return block{Type: "heading", Text: &found[2], Size: len(found[1])}, 1
	case strings.HasPrefix(first, "```"), strings.TrimSpace(first) == "$$":
		fence := first[:len(first)-len(strings.TrimLeft(first, "`$"))]
		n := span(func(l string) bool { return !strings.HasPrefix(l, fence) })
		text := strings.Join(lines[1:n], "\n")
		if n < len(lines) {
			n++
		}
		if fence == "$$" || strings.TrimSpace(strings.TrimLeft(first, "`")) == "math" {
			return block{Type: "mathematical_expression", Expression: text}, n
		}
		return block{Type: "pre", Text: &text, Language: strings.TrimSpace(first[len(fence):])}, n
	case divider.MatchString(first):
		return block{Type: "divider"}, 1
	case strings.HasPrefix(first, ">"):
		n := span(func(l string) bool { return strings.HasPrefix(l, ">") })
		var inner []string
		for _, l := range lines[:n] {
			inner = append(inner, strings.TrimPrefix(l[1:], " "))
		}
		return block{Type: "blockquote", Blocks: r.blocks(inner, level+1)}, n
	case len(lines) > 1 && strings.Contains(first, "|") && tableRow.MatchString(lines[1]):
		n := span(func(l string) bool { return strings.Contains(l, "|") })
		return r.table(lines[:n]), n
	case bullet.MatchString(first):
		n := 1 // a blank line ends it unless it goes on behind that
		for i := 1; i < len(lines); i++ {
			if l := lines[i]; bullet.MatchString(l) || strings.HasPrefix(l, "  ") {
				n = i + 1
			} else if strings.TrimSpace(l) != "" {
				break
			}
		}
		return r.list(lines[:n], level), n
	}
	n := span(func(l string) bool {
		return strings.TrimSpace(l) != "" && !heading.MatchString(l) && !strings.HasPrefix(l, "```") && !strings.HasPrefix(l, ">")
	})
	text := strings.Join(lines[:n], "\n")
	return block{Type: "paragraph", Text: &text}, n
}

func (r *richReader) table(lines []string) block {
	b := block{Type: "table"}
	for i, l := range slices.Delete(slices.Clone(lines), 1, 2) {
		var row []cell
		for _, text := range strings.Split(strings.Trim(strings.TrimSpace(l), "|"), "|") {
			row = append(row, cell{Text: strings.TrimSpace(text), Header: i == 0, Align: "left", Valign: "top"})
		}
		r.columns = max(r.columns, len(row))
		r.count++
		b.Cells = append(b.Cells, row)
	}
	return b
}

// list reads items; what is indented further than the first belongs to the item above it.
func (r *richReader) list(lines []string, level int) block {
	b := block{Type: "list"}
	indent := len(bullet.FindStringSubmatch(lines[0])[1])
	for len(lines) > 0 {
		found := bullet.FindStringSubmatch(lines[0])
		n := 1
		var inner []string
		for ; n < len(lines); n++ {
			if f := bullet.FindStringSubmatch(lines[n]); f != nil && len(f[1]) <= indent {
				break
			}
			inner = append(inner, lines[n][min(2, len(lines[n])):])
		}
		r.count++
		b.Items = append(b.Items, item{
			Label: found[2], Checkbox: found[3] != "", Checked: strings.ContainsAny(found[3], "xX"),
			Blocks: r.blocks(append([]string{found[4]}, inner...), level+1),
		})
		lines = lines[n:]
	}
	return b
}
