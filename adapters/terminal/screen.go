package terminal

import (
	"fmt"
	"io"
	"strings"
	"sync"
)

// The control sequences that we write (ECMA-48, and xterm's bracketed paste).
const (
	seqUp        = "\x1b[%dA"
	seqRight     = "\x1b[%dC"
	seqClear     = "\x1b[J"
	seqDim       = "\x1b[2m"
	seqBold      = "\x1b[1m"
	seqPlain     = "\x1b[0m"
	seqHide      = "\x1b[?25l"
	seqShow      = "\x1b[?25h"
	seqPasteOn   = "\x1b[?2004h"
	seqPasteOff  = "\x1b[?2004l"
	seqClearAll  = "\x1b[H\x1b[2J"
	leastColumns = 8
	leastRows    = 4
	liveBytes    = 16 << 10 // more of an answer in the making than any screen shows
)

// block is what the screen shows at its end and draws anew at each change: the
// answer in the making, or its last rows, and below it the message being typed.
type block struct {
	live   string
	prompt string
	input  string
	cursor int // byte offset in input
}

// screen is a terminal in raw mode: text that stays, and a block below it. It
// leaves the last column free, where terminals differ on what comes next. Safe
// for many goroutines.
type screen struct {
	out    io.Writer
	size   func() (columns, rows int)
	styled bool

	mu    sync.Mutex
	block block
	drawn []row // above the cursor, as the terminal shows them
	col   int   // of the cursor
}

// begin draws the empty block.
func (s *screen) begin() { s.draw(seqPasteOn, s.block) }

// end takes the block away.
func (s *screen) end() { s.draw(seqPasteOff, block{}) }

// show replaces the block.
func (s *screen) show(b block) { s.draw("", b) }

// clear empties the screen but for the block.
func (s *screen) clear() {
	s.mu.Lock()
	s.drawn, s.col = nil, 0
	s.mu.Unlock()
	s.draw(seqClearAll, s.block)
}

// print writes lines that stay. text must be printable.
func (s *screen) print(style, text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.redraw(s.style(style, strings.ReplaceAll(text, "\n", "\r\n"))+"\r\n", s.block)
}

// Write prints lines of the log.
func (s *screen) Write(b []byte) (int, error) {
	s.print("", strings.TrimRight(string(b), "\n"))
	return len(b), nil
}

func (s *screen) draw(before string, b block) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.redraw(before, b)
}

// redraw writes what stays in the block's place, and the new block below it, in
// one write.
func (s *screen) redraw(stays string, b block) {
	var out strings.Builder
	out.WriteString(seqHide)
	if up := s.above(); up > 0 {
		fmt.Fprintf(&out, seqUp, up)
	}
	out.WriteString("\r" + seqClear + stays)
	s.block = b
	s.lay(&out, b)
	out.WriteString(seqShow)
	_, _ = io.WriteString(s.out, out.String()) // a terminal that is gone ends the reading
}

// above is how many rows the cursor is below the block's first one. A terminal
// that became narrower since has broken them.
func (s *screen) above() int {
	columns, _ := s.size()
	up := s.col / max(1, columns)
	for _, r := range s.drawn {
		up += max(1, (r.width+columns-1)/max(1, columns))
	}
	return up
}

// lay writes the block's rows and puts the cursor into its place.
func (s *screen) lay(out *strings.Builder, b block) {
	columns, height := s.size()
	columns, height = max(columns-1, leastColumns), max(height, leastRows)
	typed := layOut(b.prompt+b.input, columns)
	until := layOut(b.prompt+b.input[:b.cursor], columns)
	at, col := len(until)-1, until[len(until)-1].width
	if from := max(0, min(at-height/2, len(typed)-height+1)); from > 0 || len(typed) >= height { // too much for the screen: the part around the cursor
		typed, at = typed[from:min(len(typed), from+height-1)], at-from
	}
	var live []row
	if room := height - len(typed) - 1; b.live != "" && room > 0 {
		tail := b.live[max(0, len(b.live)-liveBytes):]
		live = layOut(strings.ToValidUTF8(tail, ""), columns)
		live = live[max(0, len(live)-room):]
	}
	for _, r := range live {
		out.WriteString(s.style(seqDim, r.text) + "\r\n")
	}
	for i, r := range typed {
		if i > 0 {
			out.WriteString("\r\n")
		}
		out.WriteString(r.text)
	}
	if down := len(typed) - 1 - at; down > 0 {
		fmt.Fprintf(out, seqUp, down)
	}
	out.WriteByte('\r')
	if col > 0 {
		fmt.Fprintf(out, seqRight, col)
	}
	s.drawn, s.col = append(live, typed[:at]...), col
}

func (s *screen) style(style, text string) string {
	if !s.styled || style == "" || text == "" {
		return text
	}
	return style + text + seqPlain
}
