package markdown

import (
	"html"
	"regexp"
	"strings"

	"github.com/yuin/goldmark/ast"
	gfm "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/util"
)

var (
	linkable  = regexp.MustCompile(`(?i)^(https?://|tg://|mailto:|tel:).`)
	reference = regexp.MustCompile(`^&(?:#[xX][0-9a-fA-F]{1,6}|#[0-9]{1,7}|[a-zA-Z][a-zA-Z0-9]*);`)
)

// spans is the text of a block's inline nodes.
func (r reader) spans(n ast.Node) []Span {
	var out spanner
	r.inline(n, Span{}, &out)
	return out.trimmed()
}

// inline appends the text below a node, each piece with the look of at.
func (r reader) inline(parent ast.Node, at Span, out *spanner) {
	for n := parent.FirstChild(); n != nil; n = n.NextSibling() {
		look := at
		switch n := n.(type) {
		case *ast.Text:
			out.add(r.words(n), at)
			if n.SoftLineBreak() || n.HardLineBreak() {
				out.add("\n", at)
			}
		case *ast.String:
			out.add(string(n.Value), at)
		case *ast.CodeSpan:
			look.Style |= Monospace
			if _, ok := n.AttributeString(isMath); ok {
				look.Style |= Math
			}
			out.add(r.codeSpan(n), look)
		case *ast.Emphasis:
			look.Style |= Italic
			if n.Level == 2 {
				look.Style = at.Style | Bold
			}
			r.inline(n, look, out)
		case *gfm.Strikethrough:
			look.Style |= Strike
			r.inline(n, look, out)
		case *ast.Link:
			r.link(n, n.Destination, at, out)
		case *ast.Image:
			r.link(n, n.Destination, at, out)
		case *ast.AutoLink:
			r.autoLink(n, at, out)
		default:
			r.inline(n, at, out)
		}
	}
}

// link appends a link or an image. Links do not nest: the outer one counts.
func (r reader) link(n ast.Node, destination []byte, at Span, out *spanner) {
	target := string(util.URLEscape(destination, true))
	look := at
	ok := linkable.MatchString(target)
	if look.Link == "" && ok {
		look.Link = target
	}
	from := out.size
	r.inline(n, look, out)
	shown := unescape(string(destination))
	switch {
	case out.size == from && shown != "":
		out.add(shown, look)
	case !ok && shown != "" && shown[0] != '#' && out.text(from) != shown:
		out.add(" ("+shown+")", at)
	}
}

func (r reader) autoLink(n *ast.AutoLink, at Span, out *spanner) {
	target := string(n.URL(r.source))
	if n.AutoLinkType == ast.AutoLinkEmail && !strings.HasPrefix(strings.ToLower(target), "mailto:") {
		target = "mailto:" + target
	}
	if target = string(util.URLEscape([]byte(target), false)); at.Link == "" && linkable.MatchString(target) {
		at.Link = target
	}
	out.add(string(n.Label(r.source)), at)
}

// words is what a text node says.
func (r reader) words(n *ast.Text) string {
	raw := string(n.Segment.Value(r.source))
	if n.IsRaw() {
		return raw
	}
	return unescape(raw)
}

func (r reader) codeSpan(n *ast.CodeSpan) string {
	var b strings.Builder
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		switch c := c.(type) {
		case *ast.Text:
			b.Write(c.Segment.Value(r.source))
		case *ast.String:
			b.Write(c.Value)
		}
	}
	return strings.NewReplacer("\r\n", " ", "\n", " ").Replace(b.String())
}

// unescape resolves backslashes and character references
// (https://spec.commonmark.org/0.31.2/#backslash-escapes and #entity-and-numeric-character-references).
func unescape(s string) string {
	if !strings.ContainsAny(s, `\&`) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] == '\\' && i+1 < len(s) && util.IsPunct(s[i+1]):
			i++
			b.WriteByte(s[i])
			continue
		case s[i] == '&':
			if at := reference.FindString(s[i:min(len(s), i+40)]); at != "" && known(at) {
				b.WriteString(html.UnescapeString(at))
				i += len(at) - 1
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}

func known(ref string) bool {
	if ref[1] == '#' {
		return true
	}
	_, ok := util.LookUpHTML5EntityByName(ref[1 : len(ref)-1])
	return ok
}

// spanner collects spans and joins equal looks.
type spanner struct {
	spans []Span
	last  []byte // text of the last of spans
	size  int    // bytes of text
}

func (o *spanner) add(text string, look Span) {
	if text == "" {
		return
	}
	o.size += len(text)
	if n := len(o.spans); n == 0 || o.spans[n-1].Style != look.Style || o.spans[n-1].Link != look.Link {
		o.settle()
		o.spans, o.last = append(o.spans, look), nil
	}
	o.last = append(o.last, text...)
}

// settle gives the last span its text.
func (o *spanner) settle() {
	if n := len(o.spans); n > 0 {
		o.spans[n-1].Text = string(o.last)
	}
}

// text is what was added since size was from.
func (o *spanner) text(from int) string {
	o.settle()
	return Plain(o.spans)[from:]
}

// trimmed is all, without white space around it.
func (o *spanner) trimmed() []Span {
	o.settle()
	return trimRight(trimLeft(o.spans))
}

func trimLeft(spans []Span) []Span {
	for len(spans) > 0 {
		text := strings.TrimLeft(spans[0].Text, " \t\r\n")
		if text == spans[0].Text {
			break
		}
		if text != "" {
			first := spans[0]
			first.Text = text
			return append([]Span{first}, spans[1:]...)
		}
		spans = spans[1:]
	}
	return spans
}

func trimRight(spans []Span) []Span {
	for n := len(spans); n > 0; n = len(spans) {
		text := strings.TrimRight(spans[n-1].Text, " \t\r\n")
		if text == spans[n-1].Text {
			break
		}
		if text != "" {
			last := spans[n-1]
			last.Text = text
			return append(spans[:n-1:n-1], last)
		}
		spans = spans[:n-1]
	}
	return spans
}
