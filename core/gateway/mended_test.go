package gateway_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"dragoman/core/agent"
	"dragoman/ports"
)

// What comes of an edit while a turn of its message runs does not hang on the mode:
// the turn hears what the message reads now, at its next step.
func TestAnEditDuringItsTurnJoinsIt(t *testing.T) {
	t.Parallel()
	for _, mode := range []ports.Busy{ports.BusyQueue, ports.BusySteer, ports.BusyInterrupt, ports.BusyCollect} {
		for _, at := range []moment{inRead, inWrite, inQuestion} {
			t.Run(fmt.Sprintf("%s %s", mode, at), func(t *testing.T) {
				var recorded []ports.Recording
				synctest.Test(t, func(t *testing.T) { recorded = mend(t, mode, at) })
				for _, rec := range recorded {
					replayed(t, rec, 0)
				}
			})
		}
	}
}

// mend edits a message while its turn is at a moment.
func mend(t *testing.T, mode ports.Busy, at moment) []ports.Recording {
	w := newWorld(t)
	w.agent = func(a *agent.Config) { a.Busy = mode }
	w.model.reply = at.answering
	w.tools.onCall = func(ctx context.Context, _ string) { idle(ctx, 5*time.Second) }
	w.start()
	w.chat.say(t, "ann", "first")
	<-time.After(3 * time.Second)
	w.chat.edit(t, "ann", "in-1", "yes")
	<-time.After(time.Minute)
	w.comesToRest()
	const now = "[The person has edited a message of theirs. It reads now:]\nyes"
	texts := strings.Join(w.chat.texts(), "|")
	if !strings.HasSuffix(texts, "answer to "+now) {
		t.Errorf("the chat shows %q", texts)
	}
	told := w.model.heard()
	if len(told) < 3 || told[0] != "user first" || told[len(told)-1] != "user "+now {
		t.Errorf("the model was told %q", told)
	}
	if n, want := w.tools.ran(at.tool()), map[bool]int{true: 0, false: 1}[at == inQuestion]; n != want {
		t.Errorf("the tool ran %d times, want %d", n, want)
	}
	if turns := w.column(`SELECT outcome FROM turn`); len(turns) != 1 || turns[0] != "answered" {
		t.Errorf("the turns are %q, want one", turns)
	}
	w.sound(2)
	w.end()
	return w.recordings()
}

// An edit that comes when the model writes its answer is the next turn's: of two
// edits that wait the last counts.
func TestAnEditBehindTheLastStepIsTheNextTurns(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.agent = func(a *agent.Config) { a.Busy = ports.BusyInterrupt }
		w.model.reply = func(ctx context.Context, r ports.ModelRequest) (ports.ModelReply, error) {
			if len(r.Entries) == 1 {
				return calls("srv__read_a")(ctx, r)
			}
			return echo(ctx, r)
		}
		w.model.dwell = lasts(10 * time.Second)
		w.start()
		w.chat.say(t, "ann", "first")
		time.Sleep(15 * time.Second) // it writes its answer
		w.chat.edit(t, "ann", "in-1", "second")
		w.chat.edit(t, "ann", "in-1", "third")
		time.Sleep(time.Minute)
		w.comesToRest()
		got := strings.Join(w.chat.texts(), "|")
		if want := "you said: result of read_a|you said: [The person has edited a message of theirs. It reads now:]\nthird"; got != want {
			t.Errorf("the chat shows %q", got)
		}
		w.sound(3)
	})
}
