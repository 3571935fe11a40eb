package agent

import (
	"encoding/json"
	"strings"
	"time"

	"dragoman/ports"
)

// replayMemos makes a replayed turn make the memos that the recorded one made.
type replayMemos struct{ p *player }

var _ memoScript = replayMemos{}

// memo is the recorded memo that comes at a row of the journal.
func (m replayMemos) memo(row int) (b memoBody, ok bool) {
	steps := m.p.script.steps
	if row >= len(steps) || steps[row].Kind != ports.StepMemo {
		return b, false
	}
	return b, read(steps[row], &b) == nil
}

// files is the recorded note on attachments that comes at a row of the journal.
func (m replayMemos) files(row int) (b inputBody, ok bool) {
	steps := m.p.script.steps
	if row >= len(steps) || steps[row].Kind != ports.StepInput || read(steps[row], &b) != nil {
		return b, false
	}
	return b, len(b.Files) > 0
}

// began is when the recorded turn began.
func (m replayMemos) began() time.Time { return m.p.script.rec.Inbox[0].Received }

// summaryOf gives the recorded memo, if it is one that the model is asked for. A
// memo is no reply: neither is given for the other. mu is held.
func (p *player) summaryOf(r ports.ModelRequest) (ports.ModelReply, bool) {
	n := len(r.Entries)
	if n == 0 || !strings.HasPrefix(r.Entries[n-1].Text, summaryMark) {
		return ports.ModelReply{}, false
	}
	b, _ := replayMemos{p}.memo(len(p.steps))
	return ports.ModelReply{Text: b.Text, Model: b.Model, Stop: ports.StopEnd}, true
}

// sameStep reports whether two rows say the same: what a prompt was taken for and
// when its reply came is not the same in any two runs.
func sameStep(a, b ports.Step) bool {
	return a.Kind == b.Kind && a.Call == b.Call && same(timeless(a), timeless(b))
}

// timeless is what of a row is the same whenever it is made.
func timeless(s ports.Step) json.RawMessage {
	var b replyBody
	if s.Kind != ports.StepReply || read(s, &b) != nil {
		return s.Body
	}
	b.Usage, b.Guess, b.At = nil, 0, time.Time{}
	return write(b)
}
