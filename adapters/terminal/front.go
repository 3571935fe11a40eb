package terminal

import (
	"context"
	"io"
	"os"
	"sync"

	"golang.org/x/term"

	"dragoman/ports"
)

// Front is the person's end of a terminal: a screen where somebody sits at both
// ends, else a pipe, in which each line is a message and Out gets the answers alone.
type Front struct {
	In, Out *os.File
	Notes   *Notes

	keys chan key // what is typed in raw mode, once that began
}

// NotBegun is the error of a talk that could not begin: nothing was sent.
type NotBegun struct{ error }

// Unwrap gives the cause.
func (e NotBegun) Unwrap() error { return e.error }

// Talk talks until the person or In ends it, or ctx does. An error is in words
// for the person; a message that failed and a question that stays open are errors
// of a pipe. It may be called again after NotBegun.
func (f *Front) Talk(ctx context.Context, t ports.Terminal) error {
	if term.IsTerminal(int(f.In.Fd())) && term.IsTerminal(int(f.Out.Fd())) && os.Getenv("TERM") != "dumb" {
		return f.raw(ctx, t)
	}
	p := &pipe{terminal: t, out: f.Out, notes: f.Notes}
	return p.run(ctx, f.In)
}

// Notes is where notices and the log go: to stderr, or above the prompt while a
// screen is drawn. Safe for many goroutines.
type Notes struct {
	mu sync.Mutex
	w  io.Writer
}

// NewNotes makes Notes that go to w.
func NewNotes(w io.Writer) *Notes { return &Notes{w: w} }

// Write implements io.Writer.
func (n *Notes) Write(b []byte) (int, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.w.Write(b)
}

// to sends what follows to w, and gives what it went to before.
func (n *Notes) to(w io.Writer) (before io.Writer) {
	n.mu.Lock()
	defer n.mu.Unlock()
	before, n.w = n.w, w
	return before
}
