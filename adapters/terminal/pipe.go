package terminal

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"sync"
	"syscall"

	"dragoman/ports"
)

// lineLimit is the longest line that is a message, in bytes, its end not counted.
const lineLimit = 1 << 20

// pipe is a chat whose lines come from a program, or go to one. A message is sent
// when the one before it is answered, so that each line has an answer of its own
// and the answers stand in the order of the lines.
type pipe struct {
	terminal ports.Terminal
	out      io.Writer // answers alone
	notes    io.Writer

	chat   string
	asked  bool        // a question is open
	open   *ports.Line // the line that asks it
	busy   bool        // the line is not answered yet
	number int         // of the line
	sent   int         // how many lines were messages
	failed int         // how many of them came to nothing
}

// inputLine is a line of stdin. Of one that is too long there is no text.
type inputLine struct {
	text    string
	tooLong bool
	err     error
}

// run sends what in has and returns when all is answered. The read that is under
// way when ctx ends is left behind: the process has nothing else to do.
func (p *pipe) run(ctx context.Context, in io.Reader) error {
	broken := make(chan os.Signal, 1) // a reader that leaves is an error of a write, not our death
	signal.Notify(broken, syscall.SIGPIPE)
	defer signal.Stop(broken)
	talk, leave := context.WithCancelCause(ctx)
	var work sync.WaitGroup
	defer work.Wait()
	defer leave(nil)
	found := make(chan string, 1)
	work.Go(func() {
		err := p.terminal.Watch(talk, 0, func(g ports.Glimpse) error {
			if g.Chat != "" {
				found <- g.Chat
			}
			return nil
		})
		leave(err)
	})
	select {
	case p.chat = <-found:
	case <-talk.Done():
		return p.ended(ctx, talk)
	}
	lines := make(chan inputLine)
	go readLines(talk, in, lines)
	for {
		select {
		case <-talk.Done():
			return p.ended(ctx, talk)
		case l, more := <-lines:
			if !more {
				return p.result()
			}
			if err := p.line(talk, l); err != nil {
				if talk.Err() != nil {
					return p.ended(ctx, talk)
				}
				return err
			}
		}
	}
}

// ended words an end before all was answered.
func (p *pipe) ended(ctx, talk context.Context) error {
	if cause := context.Cause(talk); ctx.Err() == nil && !errors.Is(cause, context.Canceled) {
		return p.gone(cause)
	}
	if !p.busy && p.failed == 0 && !p.asked {
		return nil
	}
	return fmt.Errorf("interrupted %s", p.at())
}

// gone words an error that may be the end of the gateway.
func (p *pipe) gone(err error) error {
	if p.chat == "" {
		return NotBegun{err}
	}
	if errors.Is(err, ports.ErrGone) {
		return fmt.Errorf("the gateway went away %s: what it had taken it goes on with when it runs again", p.at())
	}
	return err
}

// at says how far the chat is.
func (p *pipe) at() string {
	if p.busy {
		return fmt.Sprintf("while line %d was worked on", p.number)
	}
	return fmt.Sprintf("after line %d", p.number)
}

// result is how the whole went.
func (p *pipe) result() error {
	switch {
	case p.asked && p.failed > 0:
		return fmt.Errorf("%d of %d messages failed, and a question stays open: see above", p.failed, p.sent)
	case p.asked:
		return errors.New("a question stays open, see above: answer it with the next line, or in \"dragoman chat\"")
	case p.failed > 0:
		return fmt.Errorf("%d of %d messages failed: see above", p.failed, p.sent)
	}
	return nil
}

// line sends a line and prints what it came to. Its error ends the chat.
func (p *pipe) line(ctx context.Context, l inputLine) error {
	if l.err != nil {
		return fmt.Errorf("cannot read line %d: %w", p.number+1, l.err)
	}
	p.number++
	if l.text == "" && !l.tooLong {
		return nil
	}
	p.sent++
	if l.tooLong {
		p.fail("it is longer than %d bytes, and was not sent", lineLimit)
		return nil
	}
	p.busy = true
	said, err := p.terminal.Say(ctx, p.chat, saying(p.open, l.text))
	switch {
	case ports.IsKind(err, ports.KindInvalid), ports.IsKind(err, ports.KindTooLarge):
		p.fail("it was not sent: %v", err)
		return nil
	case err != nil:
		return p.gone(fmt.Errorf("line %d was not taken: %w", p.number, err))
	}
	got, err := p.terminal.Settled(ctx, p.chat, said)
	if err != nil {
		return p.gone(fmt.Errorf("what became of line %d is not known: %w", p.number, err))
	}
	p.busy = false
	return p.settle(got)
}

// settle prints what a message came to: answers on stdout, all else beside it.
func (p *pipe) settle(got ports.Settlement) error {
	p.asked, p.open = got.State == ports.SettledAsked, nil
	texts := make([]string, len(got.Lines))
	for i, l := range got.Lines {
		texts[i] = Printable(l.Text)
		if p.asked && len(l.Choices) > 0 {
			p.open = &l
		}
	}
	all := strings.Join(texts, "\n\n")
	switch {
	case p.open != nil:
		fmt.Fprintf(p.notes, "Line %d: a question back:\n%s\n%s\n", p.number, Printable(p.open.Text), listed(p.open.Choices))
	case p.asked:
		fmt.Fprintf(p.notes, "Line %d waits for the answer to a question:\n%s\n", p.number, Printable(got.Asked.Text))
	case got.State == ports.SettledAnswered && all != "":
		if _, err := fmt.Fprintln(p.out, all); err != nil {
			return fmt.Errorf("cannot write the answer to line %d: %w", p.number, err)
		}
	case got.State == ports.SettledAnswered:
		p.fail("its answer could not be delivered")
	case got.State == ports.SettledDropped:
		p.fail("the question that it answers is no longer open")
	case got.State == ports.SettledStopped, got.State == ports.SettledSuperseded:
		fmt.Fprintf(p.notes, "Line %d: %s\n", p.number, all)
	default:
		p.fail("%s", all)
	}
	return nil
}

func (p *pipe) fail(format string, args ...any) {
	p.failed++
	fmt.Fprintf(p.notes, "Line %d failed: %s\n", p.number, fmt.Sprintf(format, args...))
}

// readLines gives each line of in, the last one also without its end, and closes lines.
func readLines(ctx context.Context, in io.Reader, lines chan<- inputLine) {
	defer close(lines)
	for r := bufio.NewReaderSize(in, 64<<10); ; {
		l, end := readLine(r)
		if end && l == (inputLine{}) {
			return
		}
		select {
		case lines <- l:
		case <-ctx.Done():
			return
		}
		if end {
			return
		}
	}
}

// readLine reads one line. What is beyond the limit is read and forgotten.
func readLine(r *bufio.Reader) (l inputLine, end bool) {
	var text []byte
	for {
		piece, err := r.ReadSlice('\n')
		if !l.tooLong {
			text = append(text, piece...)
			l.tooLong = len(text) > lineLimit+len("\r\n")
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		if err != nil && err != io.EOF {
			l.err = err
		}
		l.text = strings.TrimSuffix(strings.TrimSuffix(string(text), "\n"), "\r")
		if l.tooLong = l.tooLong || len(l.text) > lineLimit; l.tooLong || strings.TrimSpace(l.text) == "" {
			l.text = ""
		}
		return l, err != nil
	}
}
