package e2e

import (
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"
	"unsafe"

	"github.com/rivo/uniseg"
	"golang.org/x/sys/unix"
)

// screen is a terminal as a person sees it: what it shows, and what scrolled out
// at the top. It knows the control sequences that the chat writes, and takes any
// other for a fault.
type screen struct {
	columns int
	rows    int
	lines   [][]string // cells; the second cell of a wide character is ""
	top     int        // the first line that is in sight
	row     int        // of the cursor, in lines
	col     int
	full    bool // the last column was written: the next character begins a new row
	fault   string
}

// play shows what a program wrote so far, of which the last thing may be a part.
func play(columns, rows int, written string) *screen {
	s := &screen{columns: columns, rows: rows, lines: [][]string{nil}}
	for rest := written; rest != ""; {
		if strings.HasPrefix(rest, "\x1b[") {
			if !strings.ContainsFunc(rest[2:], isFinal) {
				break
			}
			rest = s.sequence(rest[2:])
			continue
		}
		cluster, more, width, _ := uniseg.FirstGraphemeClusterInString(rest, -1)
		if more == "" && (cluster == "\x1b" || !utf8.ValidString(cluster)) {
			break
		}
		rest = more
		s.put(cluster, width)
	}
	return s
}

// isFinal reports whether a control sequence ends with r (ECMA-48, 5.4).
func isFinal(r rune) bool { return r >= 0x40 && r <= 0x7e }

// transcript keeps all that a program writes to its terminal.
type transcript struct {
	columns, rows int
	mu            sync.Mutex
	written       strings.Builder
}

// Write takes the output of a program.
func (t *transcript) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.written.Write(b)
}

func (t *transcript) screen() *screen {
	t.mu.Lock()
	written := t.written.String()
	t.mu.Unlock()
	return play(t.columns, t.rows, written)
}

func (s *screen) put(c string, width int) {
	switch c {
	case "\r\n":
		s.col, s.full = 0, false
		s.feed()
		return
	case "\r":
		s.col, s.full = 0, false
		return
	case "\n":
		s.full = false
		s.feed()
		return
	}
	if c[0] < 0x20 || c[0] == 0x7f || strings.ContainsAny(c, "\u202e\u009b") {
		s.fault = fmt.Sprintf("the terminal got %q", c)
		return
	}
	if width == 0 {
		return
	}
	if s.full || s.col+width > s.columns {
		s.col, s.full = 0, false
		s.feed()
	}
	line := s.lines[s.row]
	for len(line) < s.col+width {
		line = append(line, " ")
	}
	line[s.col] = c
	for i := 1; i < width; i++ {
		line[s.col+i] = ""
	}
	s.lines[s.row] = line
	if s.col += width; s.col == s.columns {
		s.col, s.full = s.columns-1, true
	}
}

// feed goes a row down, and scrolls at the last one.
func (s *screen) feed() {
	if s.row++; s.row == len(s.lines) {
		s.lines = append(s.lines, nil)
	}
	s.top = max(s.top, s.row-s.rows+1)
}

// sequence does what stands behind "ESC [".
func (s *screen) sequence(rest string) string {
	end := strings.IndexFunc(rest, isFinal)
	arg, final := rest[:end], rest[end:end+1]
	n := 1
	if _, err := fmt.Sscanf(arg, "%d", &n); err != nil {
		n = 1
	}
	switch arg, known := strings.TrimLeft(arg, "0123456789"), "ACJHmhl"; {
	case !strings.Contains(known, final) || strings.Trim(arg, "?0123456789") != "":
		s.fault = "the terminal got ESC [" + rest[:end+1]
	case final == "A":
		s.row, s.full = max(s.top, s.row-n), false
	case final == "C":
		s.col, s.full = min(s.columns-1, s.col+n), false
	case final == "H":
		s.row, s.col, s.full = s.top, 0, false
	case final == "J" && rest[:end] == "2":
		s.lines = append(s.lines[:s.top], make([][]string, s.row-s.top+1)...)
	case final == "J":
		s.lines = s.lines[:s.row+1]
		s.lines[s.row] = s.lines[s.row][:min(s.col, len(s.lines[s.row]))]
	}
	return rest[end+1:]
}

// text is all that was written and not taken away, a line for each row.
func (s *screen) text() string {
	rows := make([]string, len(s.lines))
	for i, l := range s.lines {
		rows[i] = strings.TrimRight(strings.Join(l, ""), " ")
	}
	return strings.Join(rows, "\n")
}

// cursor is where it stands, counted from the last row, and its column.
func (s *screen) cursor() (up, col int) { return len(s.lines) - 1 - s.row, s.col }

// pseudoTerminal opens a pair: what a program writes to its side, keyboard reads.
// See pts(4).
func pseudoTerminal(t testing.TB, columns, rows int) (keyboard, side *os.File) {
	t.Helper()
	keyboard, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { keyboard.Close() })
	raw, err := keyboard.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	var n, unlock int32
	var bad error
	if err := raw.Control(func(fd uintptr) {
		for request, arg := range map[uintptr]unsafe.Pointer{unix.TIOCSPTLCK: unsafe.Pointer(&unlock), unix.TIOCGPTN: unsafe.Pointer(&n)} {
			if _, _, errno := unix.Syscall(unix.SYS_IOCTL, fd, request, uintptr(arg)); errno != 0 {
				bad = errno
			}
		}
		if err := unix.IoctlSetWinsize(int(fd), unix.TIOCSWINSZ, &unix.Winsize{Col: uint16(columns), Row: uint16(rows)}); err != nil {
			bad = err
		}
	}); err != nil || bad != nil {
		t.Fatal(err, bad)
	}
	side, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { side.Close() })
	return keyboard, side
}

// resize changes the size of a terminal, as a person who pulls at its window does.
func resize(t testing.TB, side *os.File, columns, rows int) {
	t.Helper()
	if err := unix.IoctlSetWinsize(int(side.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Col: uint16(columns), Row: uint16(rows)}); err != nil {
		t.Fatal(err)
	}
}
