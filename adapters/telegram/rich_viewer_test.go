package telegram

import (
	"bytes"
	"slices"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	east "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/parser"
	source "github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"

	"dragoman/adapters/internal/markdown"
)

// richSeen is a character of a rich message as a person sees it.
type richSeen struct {
	r     rune
	style markdown.Style
}

// richView reads a rich message as its documentation says that Telegram does: GFM with
// HTML, formulas between dollars, ==marks== and ||spoilers||. It is kept apart from the
// renderer: it knows nothing of what was meant. odd is what no message of ours may have.
func richView(written string) (seen []richSeen, odd []string) {
	md := goldmark.New(goldmark.WithExtensions(extension.Strikethrough, extension.Table, extension.TaskList), goldmark.WithParserOptions(
		parser.WithInlineParsers(util.Prioritized(pair("$"), 90), util.Prioritized(pair("=="), 91), util.Prioritized(pair("||"), 92))))
	src := []byte(written)
	v := richViewer{source: src}
	v.node(md.Parser().Parse(source.NewReader(src)), 0)
	return v.seen, v.odd
}

// pair is a marker that takes its text from one to the next in a paragraph.
type pair string

func (p pair) Trigger() []byte { return []byte{p[0]} }

func (p pair) Parse(_ ast.Node, block source.Reader, _ parser.Context) ast.Node {
	line, segment := block.PeekLine()
	if !bytes.HasPrefix(line, []byte(p)) {
		return nil
	}
	n := bytes.Index(line[len(p):], []byte(p))
	if n <= 0 {
		return nil
	}
	node := ast.NewCodeSpan()
	start := segment.Start + len(p)
	node.AppendChild(node, ast.NewRawTextSegment(source.NewSegment(start, start+n)))
	node.SetAttributeString("pair", string(p))
	block.Advance(n + 2*len(p))
	return node
}

type richViewer struct {
	source []byte
	style  markdown.Style
	seen   []richSeen
	odd    []string
}

func (v *richViewer) put(s string, style markdown.Style) {
	for _, r := range s {
		if markdown.Visible(string(r)) {
			v.seen = append(v.seen, richSeen{r, v.style | style})
		}
	}
}

var richTags = map[string]markdown.Style{"b": markdown.Bold, "i": markdown.Italic, "s": markdown.Strike}

func (v *richViewer) node(n ast.Node, style markdown.Style) {
	switch n := n.(type) {
	case *ast.Text:
		if raw := string(n.Segment.Value(v.source)); n.IsRaw() {
			v.put(raw, style)
		} else {
			v.put(string(util.ResolveEntityNames(util.ResolveNumericReferences(util.UnescapePunctuations([]byte(raw))))), style)
		}
	case *ast.String:
		v.put(string(n.Value), style)
	case *ast.CodeSpan:
		style |= markdown.Monospace
		if kind, ok := n.AttributeString("pair"); ok {
			if style |= markdown.Math; kind != "$" {
				v.odd = append(v.odd, kind.(string))
			}
		}
	case *ast.RawHTML:
		tag := ""
		for i := range n.Segments.Len() {
			s := n.Segments.At(i)
			tag += string(s.Value(v.source))
		}
		look, ok := richTags[strings.Trim(tag, "</>")]
		switch {
		case !ok:
			v.odd = append(v.odd, tag)
		case tag[1] == '/':
			v.style &^= look
		default:
			v.style |= look
		}
	case *ast.HTMLBlock, *ast.Image, *ast.Emphasis, *east.Strikethrough, *ast.AutoLink:
		v.odd = append(v.odd, n.Kind().String())
	case *ast.FencedCodeBlock, *ast.CodeBlock:
		if n.Kind() == ast.KindCodeBlock {
			v.odd = append(v.odd, "indented code")
		}
		for i := range n.Lines().Len() {
			line := n.Lines().At(i)
			v.put(string(line.Value(v.source)), markdown.Monospace)
		}
	}
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		v.node(c, style)
	}
}

// stylesOf counts the characters of running text by their looks.
func stylesOf(seen []richSeen) map[richSeen]int {
	counts := map[richSeen]int{}
	for _, s := range seen {
		if s.style != 0 {
			counts[s]++
		}
	}
	return counts
}

// looksMeant are the looks of blocks as they are meant to be shown in a rich message.
func looksMeant(blocks []markdown.Block) []richSeen {
	v := richViewer{}
	spans := func(list []markdown.Span) {
		for _, s := range list {
			v.put(richClean(s.Text), s.Style)
		}
	}
	var walk func([]markdown.Block)
	walk = func(blocks []markdown.Block) {
		for _, b := range blocks {
			switch b := b.(type) {
			case markdown.Paragraph:
				spans(b.Text)
			case markdown.Heading:
				spans(b.Text)
			case markdown.Quote:
				walk(b.Blocks)
			case markdown.Code:
				v.put(richClean(b.Text), markdown.Monospace)
			case markdown.List:
				for _, item := range b.Items {
					walk(item.Blocks)
				}
			case markdown.Table:
				for _, row := range slices.Concat([][]markdown.Cell{b.Head}, b.Rows) {
					for _, c := range row {
						spans(c)
					}
				}
			}
		}
	}
	walk(blocks)
	return v.seen
}
