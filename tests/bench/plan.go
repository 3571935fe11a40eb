package main

import (
	"fmt"
	"strings"
	"time"
)

// maxChats is how many chats the load can tell apart.
const maxChats = 10_000

// plan is what is measured, how long and how often.
type plan struct {
	chats    []int
	window   time.Duration
	rounds   int
	starts   int
	kills    int // how often the gateway is killed with turns in flight
	inFlight int
	settle   time.Duration // from the first poll until memory is read
	depth    int           // messages of a chat until another one takes its place
	only     string
	noBare   bool
}

// Load is one kind of load.
type Load struct {
	Chats  int           `json:"chats"`
	Tool   bool          `json:"tool,omitempty"`        // the model calls one tool before it answers
	Delay  time.Duration `json:"model_delay,omitempty"` // the model thinks for so long
	Pause  time.Duration `json:"pause,omitempty"`       // a person waits for so long, on the average, before the next message
	Limits bool          `json:"limits,omitempty"`      // one message a second in a chat, 30 in all
}

// Name says it in a few words; it is also how runs are compared.
func (l Load) Name() string {
	words := []string{fmt.Sprintf("%d chats", l.Chats)}
	if l.Chats == 1 {
		words[0] = "1 chat"
	}
	if l.Tool {
		words = append(words, "tool")
	}
	if l.Delay > 0 {
		words = append(words, "model "+l.Delay.String())
	}
	if l.Pause > 0 {
		words = append(words, "pause "+l.Pause.String())
	}
	if l.Limits {
		words = append(words, "limits")
	}
	return strings.Join(words, ", ")
}

// The platform's limits.
const (
	limitPerChat = time.Second
	limitOverall = 30
)

// loads are the rows. With the limits on a chat's answers come a second apart at
// best, so one chat shows nothing that 16 do not.
func (p plan) loads() []Load {
	var all []Load
	for _, tool := range []bool{false, true} {
		for _, n := range p.chats {
			all = append(all, Load{Chats: n, Tool: tool})
		}
	}
	most := p.chats[len(p.chats)-1]
	slow := 200 * time.Millisecond
	all = append(all, Load{Chats: most, Delay: slow}, Load{Chats: most, Delay: slow, Pause: time.Second})
	for _, n := range p.chats {
		if n > 1 && n <= 128 {
			all = append(all, Load{Chats: n, Limits: true})
		}
	}
	var wanted []Load
	for _, l := range all {
		if strings.Contains(l.Name(), p.only) {
			wanted = append(wanted, l)
		}
	}
	return wanted
}

// timing is how long a load warms up and is measured. What takes seconds by its
// nature is given more of them.
func (p plan) timing(l Load) (warm, window time.Duration) {
	warm, window = max(p.window/3, 500*time.Millisecond), p.window
	if l.Limits {
		warm, window = max(warm, 2*limitPerChat), max(2*window, 3*limitPerChat)
	}
	if l.Pause > 0 {
		warm, window = max(warm, l.Pause+l.Pause/2), max(window, 3*l.Pause)
	}
	return warm, window
}
