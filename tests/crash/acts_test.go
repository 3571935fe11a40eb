package crash

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"dragoman/ports"
	"dragoman/tests/fake/telegram"
)

// act is something that a person does once something is so. One act follows the
// other, each behind what was done before it: all of that is stored by then.
type act struct {
	at    string // a tool runs; preview: an answer in the making is shown; a message that begins so is; "": at once
	does  string // "": nothing but to see it
	what  string // the text, or the button
	of    string // what the message said at first that is changed
	files []*telegram.File
}

// What acts do.
const (
	says         = "says"
	sends        = "sends"
	edits        = "edits"
	deletes      = "deletes"
	forgets      = "forgets"
	presses      = "presses"
	pressesAgain = "presses again" // the button that was pressed last, as who has not seen that it is gone
)

// The buttons of an offer, and of an answer in the making.
const (
	redoButton = "Redo"
	stopButton = "⏹ Stop"
)

// sayGone is what the platform says in place of a deletion, which Telegram never
// tells of: the recorded channel hands it on as one.
const sayGone = "[this message is deleted]"

// actNow does the next act if it is time. It reports whether all were done, or
// what they are about was given up.
func (p *people) actNow(sent []telegram.Sent) (done bool) {
	for p.acted < len(p.d.acts) && p.failures() == 0 {
		a := p.d.acts[p.acted]
		if p.w.tg.Pending() > 0 || !p.isNow(a.at, sent) || !p.do(a, sent) {
			return false
		}
		p.acted, p.actedAt = p.acted+1, time.Now()
		if p.acted == len(p.d.acts) || p.d.acts[p.acted].at != "" {
			p.w.also.Store(true)
		}
	}
	return true
}

// isNow reports whether what an act waits for is so. A tool that was cut off
// before it began has its person asked.
func (p *people) isNow(at string, sent []telegram.Sent) bool {
	asked := slices.ContainsFunc(sent, func(m telegram.Sent) bool { return slices.Contains(m.Buttons(), sayAgain) })
	switch {
	case at == "" || p.w.ran(at) > 0:
		return true
	case at == preview:
		return asked || slices.ContainsFunc(sent, isPreview)
	case at == "slow_f" && asked:
		return true
	}
	return slices.ContainsFunc(sent, func(m telegram.Sent) bool { return strings.HasPrefix(m.Text, at) && !isPreview(m) })
}

// do does one. It reports false where it cannot be done now.
func (p *people) do(a act, sent []telegram.Sent) bool {
	id := p.ids[a.of]
	switch a.does {
	case says:
		p.say(p.first, a.what)
	case sends:
		p.album(a.what, a.files)
	case edits:
		p.texts++
		p.first.Edit(id, a.what)
	case deletes:
		p.texts, p.quiet = p.texts+1, true
		p.first.Reply(id, sayGone)
	case forgets:
		p.texts, p.quiet = p.texts+1, true
		p.first.Reply(id, "/forget")
	case presses:
		return p.pressNow(a.what, sent) || a.what == stopButton && p.pressNow(sayStop, sent) // the question that is in its place
	case pressesAgain:
		p.drop()
		p.presses++
		p.w.tg.Raw("callback_query", fmt.Sprintf(`{"id": "again", "from": {"id": %d, "first_name": "Ann%s"}, "chat_instance": "1", "data": %q,
			"message": {"message_id": %d, "date": %d, "chat": {"id": %d, "type": "private"}}}`,
			personID, hastily, *p.pressed.Rows[0][0].Data, p.pressed.ID, p.pressed.At.Unix(), personID))
	}
	return true
}

// pressNow presses a button if some message has it.
func (p *people) pressNow(button string, sent []telegram.Sent) bool {
	at := slices.IndexFunc(sent, func(m telegram.Sent) bool { return slices.Contains(m.Buttons(), button) })
	if at < 0 || p.first.Press(sent[at].ID, button) != nil {
		return false
	}
	p.presses++
	p.pressed = sent[at]
	if button == redoButton {
		p.redone++
	}
	return true
}

// album sends files as one, or the one that there is.
func (p *people) album(text string, list []*telegram.File) {
	p.texts += len(list)
	post := telegram.Post{Text: text}
	if len(list) == 1 {
		post.File = list[0]
		p.ids[text] = p.first.Post(post)
		return
	}
	p.ids[text] = p.first.Album(post, list...)[0]
}

// drop notes that what is said next is not accepted.
func (p *people) drop() { p.drops = append(p.drops, p.texts+p.presses) }

// dropped counts those of the first updates that are not accepted.
func (p *people) dropped(updates int) int {
	n := 0
	for _, at := range p.drops {
		if at < updates {
			n++
		}
	}
	return n
}

// isPreview reports whether a message shows an answer in the making: it has the
// button that stops the turn.
func isPreview(m telegram.Sent) bool {
	return len(m.Rows) > 0 && strings.HasPrefix(*m.Rows[0][0].Data, ports.StopQuestion+":") || strings.HasSuffix(m.Text, " …")
}
