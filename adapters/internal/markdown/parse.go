package markdown

import (
	"regexp"
	"strconv"
	"strings"

	"github.com/yuin/goldmark/ast"
	gfm "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/text"
)

// maxDepth is how deep containers nest in the tree. What is deeper stands in
// the container at that depth, with its markers as text.
const maxDepth = 10

var language = regexp.MustCompile(`^[a-zA-Z0-9+#._-]{1,40}$`)

// Parse reads Markdown as HTML does: HTML is text, a line end is a line break,
// an image is a link to it, a block that is still open is closed. Links go to
// http, https, mailto, tel and tg only; the target of any other is shown in
// brackets. A formula is code; a footnote is text where it stands. Text too large or too deeply nested to be parsed in good time
// becomes one paragraph that shows it as it is.
func Parse(source string) []Block {
	source = strings.ToValidUTF8(source, "\uFFFD")
	if !tame(source) {
		return Literal(source)
	}
	r := reader{[]byte(source)}
	return r.blocks(engine().markdown.Parser().Parse(text.NewReader(r.source)), 0)
}

// Literal is text as it is, without any markup; no block if it is blank.
func Literal(source string) []Block {
	source = strings.TrimSpace(strings.ToValidUTF8(source, "\uFFFD"))
	if source == "" {
		return nil
	}
	return []Block{Paragraph{[]Span{{Text: source}}}}
}

type reader struct{ source []byte }

// blocks are the children of a container.
func (r reader) blocks(parent ast.Node, depth int) []Block {
	var out []Block
	for n := parent.FirstChild(); n != nil; n = n.NextSibling() {
		out = append(out, r.block(n, depth)...)
	}
	return out
}

func (r reader) block(n ast.Node, depth int) []Block {
	switch n := n.(type) {
	case *ast.Paragraph, *ast.TextBlock:
		if spans := r.spans(n); len(spans) > 0 {
			return []Block{Paragraph{spans}}
		}
		return nil
	case *ast.Heading:
		if spans := r.spans(n); len(spans) > 0 {
			return []Block{Heading{n.Level, spans}}
		}
		return nil
	case *ast.ThematicBreak:
		return []Block{Rule{}}
	case *ast.FencedCodeBlock:
		c := Code{Text: r.lines(n)}
		if l := string(n.Language(r.source)); language.MatchString(l) {
			c.Language = l
		}
		if strings.TrimSpace(c.Text) == "" {
			return nil
		}
		return []Block{c}
	case *ast.CodeBlock:
		if _, ok := n.AttributeString(isMath); ok {
			return []Block{Code{Language: "latex", Text: strings.TrimSpace(r.lines(n)), Math: true}}
		}
		return []Block{Code{Text: r.lines(n)}}
	case *ast.Blockquote:
		inner := r.blocks(n, depth+1)
		if depth >= maxDepth {
			return inner
		}
		return []Block{Quote{inner}}
	case *ast.List:
		l := r.list(n, depth)
		if depth >= maxDepth {
			return flatten(l)
		}
		return []Block{l}
	case *gfm.Table:
		return []Block{r.table(n)}
	}
	return r.blocks(n, depth)
}

func (r reader) lines(n ast.Node) string {
	var b strings.Builder
	lines := n.Lines()
	for i := range lines.Len() {
		at := lines.At(i)
		b.Write(at.Value(r.source))
	}
	return strings.TrimRight(b.String(), "\r\n")
}

func (r reader) list(n *ast.List, depth int) List {
	l := List{Ordered: n.IsOrdered(), Loose: !n.IsTight}
	number := n.Start
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		item := Item{Task: taskOf(c), Blocks: r.blocks(c, depth+1)}
		if l.Ordered {
			item.Number = number
			number++
		}
		l.Items = append(l.Items, item)
	}
	return l
}

func taskOf(item ast.Node) Task {
	first := item.FirstChild()
	if first == nil {
		return NoTask
	}
	box, ok := first.FirstChild().(*gfm.TaskCheckBox)
	switch {
	case !ok:
		return NoTask
	case box.IsChecked:
		return TaskDone
	}
	return TaskOpen
}

// flatten writes the markers of a list into its text.
func flatten(l List) []Block {
	var out []Block
	for _, item := range l.Items {
		marker := Span{Text: "• "}
		if l.Ordered {
			marker.Text = strconv.Itoa(item.Number) + ". "
		}
		blocks := item.Blocks
		if len(blocks) == 0 {
			blocks = []Block{Paragraph{}}
		}
		if p, ok := blocks[0].(Paragraph); ok {
			blocks[0] = Paragraph{append([]Span{marker}, p.Text...)}
		} else {
			blocks = append([]Block{Paragraph{[]Span{marker}}}, blocks...)
		}
		out = append(out, blocks...)
	}
	return out
}

func (r reader) table(n *gfm.Table) Table {
	var t Table
	for _, a := range n.Alignments {
		align := map[gfm.Alignment]Align{gfm.AlignLeft: AlignLeft, gfm.AlignCenter: AlignCenter, gfm.AlignRight: AlignRight}[a]
		t.Align = append(t.Align, align)
	}
	for row := n.FirstChild(); row != nil; row = row.NextSibling() {
		var cells []Cell
		for c := row.FirstChild(); c != nil; c = c.NextSibling() {
			cells = append(cells, Cell(r.spans(c)))
		}
		if _, head := row.(*gfm.TableHeader); head {
			t.Head = cells
		} else {
			t.Rows = append(t.Rows, cells)
		}
	}
	return t
}
