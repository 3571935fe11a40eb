package agent

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode"

	"dragoman/ports"
)

const (
	// longCall is how long a call runs before its person hears of it.
	longCall = 2 * time.Second
	// saidMax is how much is shown of what a tool says of its progress, in characters.
	saidMax = 60
)

// atWork knows the calls that run in a turn, for the person who waits. Safe for many
// goroutines. The zero value is ready.
type atWork struct {
	mu    sync.Mutex
	calls []*running // the oldest first
}

// running is a call that runs.
type running struct {
	work     *atWork
	tool     string
	began    time.Time
	progress ports.Progress
}

// begin notes that a call runs. End it.
func (w *atWork) begin(tool string) *running {
	r := &running{work: w, tool: tool, began: time.Now()}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.calls = append(w.calls, r)
	return r
}

func (r *running) end() {
	r.work.mu.Lock()
	defer r.work.mu.Unlock()
	r.work.calls = slices.DeleteFunc(r.work.calls, func(o *running) bool { return o == r })
}

// tells keeps what the tool says of how far it is.
func (r *running) tells(p ports.Progress) {
	r.work.mu.Lock()
	defer r.work.mu.Unlock()
	r.progress = p
}

// line says in Markdown what has been running for a while: which tool, how long, and
// how far it is where it tells; "" if nothing has.
func (w *atWork) line() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.calls) == 0 || time.Since(w.calls[0].began) < longCall {
		return ""
	}
	r := w.calls[0]
	text := fmt.Sprintf("⏳ `%s` · %s", r.tool, roughly(time.Since(r.began)))
	switch p := r.progress; {
	case p.Total > 0 && p.Done >= 0 && p.Done <= p.Total:
		text += fmt.Sprintf(" · %.0f %%", 100*p.Done/p.Total)
	case p.Done > 0 && p.Done < 1e15:
		text += " · " + strconv.FormatFloat(p.Done, 'f', -1, 64)
	}
	if said := plainly(r.progress.Text); said != "" {
		text += " · `" + said + "`"
	}
	if more := len(w.calls) - 1; more > 0 {
		text += fmt.Sprintf(" · and %d more", more)
	}
	return text
}

// plainly is what a tool says as one short line that can stand in a code span: it is
// a stranger's, and must not look like ours.
func plainly(text string) string {
	text = strings.Map(func(r rune) rune {
		switch {
		case r == '`':
			return '\''
		case unicode.IsSpace(r):
			return ' '
		case !unicode.IsPrint(r):
			return -1
		}
		return r
	}, text)
	text = strings.TrimSpace(text)
	if runes := []rune(text); len(runes) > saidMax {
		text = strings.TrimSpace(string(runes[:saidMax])) + "…"
	}
	return text
}

// roughly is a duration as people say it.
func roughly(d time.Duration) string {
	if d < time.Minute {
		return fmt.Sprintf("%d s", int(d.Seconds()))
	}
	return fmt.Sprintf("%d min", int(d.Minutes()))
}
