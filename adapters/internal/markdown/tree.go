package markdown

// Block is a Paragraph, Heading, List, Quote, Code, Table or Rule.
type Block interface{ block() }

// Paragraph is running text; a line end in it is meant as one.
type Paragraph struct{ Text []Span }

// Heading of level 1 to 6.
type Heading struct {
	Level int
	Text  []Span
}

// List of items. Loose: blank lines stand between them.
type List struct {
	Ordered bool
	Loose   bool
	Items   []Item
}

// Item of a list. Number is its own, so that it survives a cut of the list;
// Continued says that the item began in an earlier piece and has no marker here.
type Item struct {
	Number    int
	Task      Task
	Continued bool
	Blocks    []Block
}

// Task is the box of an item.
type Task uint8

// The boxes.
const (
	NoTask Task = iota
	TaskOpen
	TaskDone
)

// Quote of blocks.
type Quote struct{ Blocks []Block }

// Code is shown letter by letter. Language is a plain word, or "" if unknown.
// Text does not end with a line end. Math: it is a formula, in LaTeX.
type Code struct {
	Language, Text string
	Math           bool
}

// Table has a header and rows of as many cells.
type Table struct {
	Align []Align
	Head  []Cell
	Rows  [][]Cell
}

// Cell of a table, without line ends.
type Cell []Span

// Align of a table's column.
type Align uint8

// The alignments.
const (
	AlignNone Align = iota
	AlignLeft
	AlignCenter
	AlignRight
)

// Rule separates.
type Rule struct{}

func (Paragraph) block() {}
func (Heading) block()   {}
func (List) block()      {}
func (Quote) block()     {}
func (Code) block()      {}
func (Table) block()     {}
func (Rule) block()      {}

// Span is text of one look. Link is "" or an absolute URL of an allowed scheme,
// escaped.
type Span struct {
	Text  string
	Style Style
	Link  string
}

// Style is a set of looks.
type Style uint8

// The looks.
const (
	Bold Style = 1 << iota
	Italic
	Strike
	Monospace
	Math // with Monospace: a formula
)

// Plain is the text of spans.
func Plain(spans []Span) string {
	if len(spans) == 1 {
		return spans[0].Text
	}
	var out []byte
	for _, s := range spans {
		out = append(out, s.Text...)
	}
	return string(out)
}
