package markdown

import (
	"bytes"
	"strings"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
)

// Formulas stand between dollars, $x$ and $$x$$, or as TeX has them, \(x\) and
// \[x\]. They become code: nothing in them is markup, and a chat has no better
// way to show them. What may as well be prose (prices, variables of a shell,
// escaped brackets) is left as it is.

const (
	isMath       = "math" // attribute of nodes of code
	formulaBytes = 2000   // of a formula in a line, for the sake of time
	formulaLines = 60     // of one on lines of its own
)

// formula reads formulas in running text.
type formula struct{}

func (formula) Trigger() []byte { return []byte{'$', '\\'} }

func (formula) Parse(_ ast.Node, block text.Reader, _ parser.Context) ast.Node {
	line, segment := block.PeekLine()
	line = line[:min(len(line), formulaBytes)]
	opener, closer := delimiters(line)
	if opener == "" || opener == "$" && isWordByte(byte(min(block.PrecendingCharacter(), 0x7E))) {
		return nil
	}
	size := bytes.Index(line[len(opener):], []byte(closer))
	if size <= 0 {
		return nil
	}
	content := string(line[len(opener) : len(opener)+size])
	end := len(opener) + size + len(closer)
	if opener == "$" && end < len(line) && (isWordByte(line[end]) || line[end] == '$') || !formal(content, opener) {
		return nil
	}
	left := len(content) - len(strings.TrimLeft(content, " \t"))
	content = strings.TrimSpace(content)
	start := segment.Start + len(opener) + left
	node := ast.NewCodeSpan()
	node.AppendChild(node, ast.NewRawTextSegment(text.NewSegment(start, start+len(content))))
	node.SetAttributeString(isMath, true)
	block.Advance(end)
	return node
}

func delimiters(line []byte) (opener, closer string) {
	for _, d := range [][2]string{{"$$", "$$"}, {"$", "$"}, {`\(`, `\)`}, {`\[`, `\]`}} {
		if bytes.HasPrefix(line, []byte(d[0])) {
			return d[0], d[1]
		}
	}
	return "", ""
}

// formal reports whether what stands between delimiters is a formula.
func formal(content, opener string) bool {
	if content[0] == '$' || strings.TrimSpace(content) == "" || strings.ContainsAny(content, "`") {
		return false
	}
	if opener == "$$" {
		return true
	}
	if opener == "$" && (strings.TrimSpace(content) != content || content[len(content)-1] == '\\') {
		return false
	}
	if !strings.Contains(content, " ") && opener != `\[` {
		return true
	}
	if content[0] >= '0' && content[0] <= '9' { // rather a price
		return strings.ContainsAny(content, `\^_{`)
	}
	return strings.ContainsAny(content, `\^_{}=<>+`)
}

func isWordByte(c byte) bool {
	return c == '_' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

// formulas reads formulas on lines of their own. One that is not closed before
// the next blank line is none.
type formulas struct{}

var formulaKey = parser.NewContextKey()

// openFormula is the one that is being read.
type openFormula struct {
	node   ast.Node
	closer string
	done   bool
}

func (formulas) Trigger() []byte { return []byte{'$', '\\'} }

func (formulas) Open(_ ast.Node, reader text.Reader, pc parser.Context) (ast.Node, parser.State) {
	line, segment := reader.PeekLine()
	at := pc.BlockOffset()
	if at < 0 || at >= len(line) {
		return nil, parser.NoChildren
	}
	opener, closer := delimiters(line[at:])
	if len(closer) != 2 || closer == `\)` {
		return nil, parser.NoChildren
	}
	start := min(segment.Start-segment.Padding+at+len(opener), segment.Stop)
	if !closed(reader.Source()[start:], opener, closer) {
		return nil, parser.NoChildren
	}
	f := &openFormula{node: ast.NewCodeBlock(), closer: closer}
	f.node.SetAttributeString(isMath, true)
	f.take(text.NewSegment(start, segment.Stop), reader.Source())
	pc.Set(formulaKey, f)
	return f.node, parser.NoChildren
}

// closed reports whether what stands behind the opener is a formula to the end
// of a line.
func closed(rest []byte, opener, closer string) bool {
	n := 0
	var content strings.Builder
	for line := range bytes.Lines(rest) {
		words := strings.TrimSpace(string(line[:min(len(line), formulaBytes)]))
		if n > 0 && strings.Trim(words, "> \t") == "" || n > formulaLines {
			return false
		}
		n++
		before, after, ok := strings.Cut(words, closer)
		content.WriteString(before + "\n")
		if ok {
			return after == "" && formal(content.String(), opener)
		}
	}
	return false
}

// take adds a line, without the closer if it ends with it.
func (f *openFormula) take(segment text.Segment, source []byte) {
	line := segment.Value(source)
	if trimmed := bytes.TrimSpace(line); bytes.HasSuffix(trimmed, []byte(f.closer)) {
		f.done = true
		segment.Stop -= len(line) - bytes.LastIndex(line, []byte(f.closer))
	}
	if len(bytes.TrimSpace(segment.Value(source))) > 0 {
		f.node.Lines().Append(segment)
	}
}

func (formulas) Continue(_ ast.Node, reader text.Reader, pc parser.Context) parser.State {
	f := pc.Get(formulaKey).(*openFormula)
	line, segment := reader.PeekLine()
	if f.done || len(bytes.TrimSpace(line)) == 0 {
		return parser.Close
	}
	f.take(segment, reader.Source())
	reader.AdvanceToEOL()
	return parser.Continue | parser.NoChildren
}

func (formulas) Close(ast.Node, text.Reader, parser.Context) {}

func (formulas) CanInterruptParagraph() bool { return true }

func (formulas) CanAcceptIndentedLine() bool { return false }

// references reads link references as CommonMark does, but leaves footnotes
// where they are: CommonMark takes [^1]: word for an address, and hides it.
type references struct{ parser.ParagraphTransformer }

func (t references) Transform(node *ast.Paragraph, reader text.Reader, pc parser.Context) {
	if lines := node.Lines(); lines.Len() > 0 {
		first := lines.At(0)
		if bytes.HasPrefix(bytes.TrimLeft(first.Value(reader.Source()), " "), []byte("[^")) {
			return
		}
	}
	t.ParagraphTransformer.Transform(node, reader, pc)
}
