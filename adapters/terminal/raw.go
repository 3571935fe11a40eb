package terminal

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"

	"golang.org/x/term"

	"dragoman/ports"
)

const (
	promptText = "> "
	// pastShown is how many lines of the conversation before a new terminal shows,
	// and pastRows how much of each that was surely read.
	pastShown = 10
	pastRows  = 3
	// queued is how many messages may wait to be taken.
	queued = 64
)

// raw talks with a person at a terminal until they leave, ctx ends or the gateway goes.
func (f *Front) raw(ctx context.Context, t ports.Terminal) error {
	before, err := term.MakeRaw(int(f.In.Fd()))
	if err != nil {
		return fmt.Errorf("cannot use the terminal: %w", err)
	}
	defer term.Restore(int(f.In.Fd()), before)
	s := &screen{out: f.Out, styled: os.Getenv("NO_COLOR") == "", size: func() (int, int) {
		columns, rows, err := term.GetSize(int(f.Out.Fd()))
		if err != nil || columns <= 0 || rows <= 0 {
			return 80, 24
		}
		return columns, rows
	}}
	if term.IsTerminal(int(os.Stderr.Fd())) {
		plain := f.Notes.to(s)
		defer func() { f.Notes.to(plain) }()
	}
	p := &person{terminal: t, screen: s, out: make(chan ports.Saying, queued), happened: make(chan any)}
	s.begin()
	defer s.end()
	talk, leave := context.WithCancel(ctx)
	if f.keys == nil {
		f.keys = make(chan key)
		go readKeys(f.In, f.keys) // it is left behind in its last read: the process has nothing else to do
	}
	defer p.work.Wait()
	defer leave()
	p.work.Go(func() { p.watch(talk) })
	return p.talk(talk, f.keys)
}

// person is the chat of somebody who sits at a terminal. Its state belongs to talk.
type person struct {
	terminal ports.Terminal
	screen   *screen
	work     sync.WaitGroup
	out      chan ports.Saying // to be sent, in order
	happened chan any          // what the goroutines of work tell talk

	ready   bool // the conversation is known
	typed   editor
	open    *ports.Line // the last one of the bot's
	draft   string
	busy    int  // messages that are not settled
	atWork  bool // a turn runs, by what the conversation shows
	pressed bool // Ctrl-C, and nothing since that would forget it
}

// What happened, beside ports.Glimpse and ports.Settlement.
type (
	gone    struct{ err error } // Watch ended
	refused struct {            // nothing came of a message
		what string
		err  error
	}
)

// tell hands something to talk.
func (p *person) tell(ctx context.Context, what any) error {
	select {
	case p.happened <- what:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// watch follows the conversation and, once it knows its name, sends into it.
func (p *person) watch(ctx context.Context) {
	err := p.terminal.Watch(ctx, pastShown, func(g ports.Glimpse) error {
		if g.Chat != "" {
			p.work.Go(func() { p.send(ctx, g.Chat) })
		}
		return p.tell(ctx, g)
	})
	_ = p.tell(ctx, gone{err}) // or nobody listens any more
}

// send hands messages in, one after another, and waits beside that for what they come to.
func (p *person) send(ctx context.Context, chat string) {
	for {
		var s ports.Saying
		select {
		case s = <-p.out:
		case <-ctx.Done():
			return
		}
		said, err := p.terminal.Say(ctx, chat, s)
		if err != nil {
			_ = p.tell(ctx, refused{"Not taken", err}) // or nobody listens any more
			continue
		}
		p.work.Go(func() {
			got, err := p.terminal.Settled(ctx, chat, said)
			if err != nil {
				_ = p.tell(ctx, refused{"What became of a message is not known", err}) // or nobody listens any more
				return
			}
			_ = p.tell(ctx, got) // or nobody listens any more
		})
	}
}

// talk goes on until the person leaves. Everything that is drawn is drawn here.
func (p *person) talk(ctx context.Context, keys <-chan key) error {
	p.note("Ctrl-C stops, Ctrl-D leaves, /help says more.")
	for {
		p.draw()
		select {
		case <-ctx.Done():
			return nil
		case k, more := <-keys:
			if !more || p.key(k) {
				return nil
			}
		case what := <-p.happened:
			switch what := what.(type) {
			case ports.Glimpse:
				p.glimpse(what)
			case ports.Settlement:
				p.settled(what)
			case refused:
				p.busy--
				if !errors.Is(what.err, ports.ErrGone) { // that is told by its own end
					p.note(what.what + ": " + Printable(words(what.err)))
				}
			case gone:
				return p.lost(ctx, what.err)
			}
		}
	}
}

// lost words the end of the gateway.
func (p *person) lost(ctx context.Context, err error) error {
	switch {
	case ctx.Err() != nil:
		return nil
	case !p.ready:
		return NotBegun{err}
	case errors.Is(err, ports.ErrGone):
		return errors.New("the gateway went away: what it had taken it goes on with when it runs again")
	}
	return err
}

// words is an error without the name of the operation.
func words(err error) string {
	var e *ports.Error
	if errors.As(err, &e) && e.Err != nil {
		return words(e.Err)
	}
	return err.Error()
}

// key does what a key asks. It reports true when the person leaves.
func (p *person) key(k key) (leave bool) {
	pressed := p.pressed
	p.pressed = false
	switch {
	case k.name == keyInterrupt:
		return p.interrupt(pressed)
	case k.name == keyLeave && p.typed.text == "":
		return true
	case k.name == keyLeave:
		p.typed.do(key{name: keyDelete})
	case k.name == keyRedraw:
		p.screen.clear()
	case k.name == keyEnter:
		p.enter()
	default:
		p.typed.do(k)
	}
	return false
}

// interrupt stops what runs, else takes away what is typed, else asks for a second one.
func (p *person) interrupt(again bool) (leave bool) {
	switch {
	case again:
		return true
	case p.busy > 0 || p.atWork:
		p.pressed = true
		p.say(saying(nil, "/stop"))
	case p.typed.text != "":
		p.typed.text, p.typed.cursor = "", 0
	default:
		p.pressed = true
		p.note("Ctrl-C again leaves.")
	}
	return false
}

// enter sends what is typed, once the conversation is known.
func (p *person) enter() {
	text := p.typed.take()
	if strings.TrimSpace(text) != "" {
		p.say(saying(p.open, text))
	}
}

func (p *person) say(s ports.Saying) {
	select {
	case p.out <- s:
		p.busy++
	default:
		p.note("These are too many messages at once. Please wait a moment.")
	}
}

// glimpse shows what the conversation shows.
func (p *person) glimpse(g ports.Glimpse) {
	switch {
	case g.Chat != "":
		p.ready = true
		p.past(g.Past)
	case g.Line != nil:
		p.line(*g.Line, false)
	case g.Draft != nil:
		p.draft, p.atWork = Printable(*g.Draft), true
	case g.Typing:
		p.atWork = true
	}
}

// past shows the end of the conversation before: short but for what came after
// the person's last message, which nobody may have read.
func (p *person) past(lines []ports.Line) {
	unread := len(lines)
	for unread > 0 && !lines[unread-1].Own {
		unread--
	}
	for i, l := range lines {
		p.line(l, i < unread)
		if l.Own {
			p.typed.remember(Printable(l.Text))
		}
	}
	if len(lines) > 0 {
		p.note("(" + lines[len(lines)-1].At.Local().Format("Mon 2 Jan 15:04") + ")")
	}
}

// line prints a message, one that is known only in part.
func (p *person) line(l ports.Line, known bool) {
	text := strings.TrimRight(Printable(l.Text), "\n")
	if known {
		text = shortened(text)
	}
	if l.Own {
		p.open = nil
		p.screen.print(seqBold, promptText+strings.ReplaceAll(text, "\n", "\n  "))
		return
	}
	p.draft, p.atWork, p.open = "", false, &l
	if len(l.Choices) > 0 {
		text += "\n\n" + listed(l.Choices)
	}
	p.screen.print("", text+"\n")
}

func shortened(text string) string {
	lines := strings.Split(text, "\n")
	if len(lines) <= pastRows {
		return text
	}
	return strings.Join(lines[:pastRows], "\n") + " …"
}

// settled notes that a message came to something; the lines of it come by themselves.
func (p *person) settled(got ports.Settlement) {
	p.busy--
	if p.busy == 0 {
		p.draft, p.atWork, p.pressed = "", false, false
	}
	if got.State == ports.SettledDropped {
		p.note("That question is no longer open.")
	}
}

func (p *person) note(text string) { p.screen.print(seqDim, text) }

func (p *person) draw() {
	live := p.draft
	if live == "" && (p.busy > 0 || p.atWork) {
		live = "…"
	}
	p.screen.show(block{live: live, prompt: promptText, input: p.typed.text, cursor: p.typed.cursor})
}
