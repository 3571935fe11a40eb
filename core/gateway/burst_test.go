package gateway_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"dragoman/core/agent"
	"dragoman/ports"
)

// pieces has ann send parts of one thing, pause apart; each but the last says that
// there is more, and the last too where the platform does not know.
func (w *world) pieces(t *testing.T, n int, pause time.Duration) {
	t.Helper()
	for i := range n {
		if i > 0 {
			<-time.After(pause)
		}
		w.chat.receive(t, ports.Message{From: "ann", Name: "ann", Private: true, In: ports.Conversation{Chat: "ann"}, Text: fmt.Sprint("piece ", i), More: true})
	}
}

// turnsAs are the turns with their messages, the pieces as their numbers.
func (w *world) turnsAs() []string {
	return w.column(`SELECT t.outcome || ' ' || (SELECT group_concat(replace(text, 'piece ', ''), '+') FROM (SELECT body ->> '$.text' AS text FROM inbox WHERE turn = t.id ORDER BY seq)) FROM turn t ORDER BY t.seq`)
}

func (w *world) turnsAre(t *testing.T, want ...string) {
	t.Helper()
	w.comesToRest()
	if got := w.turnsAs(); !slices.Equal(got, want) {
		t.Errorf("the turns are %q, want %q", got, want)
	}
}

func TestWhatComesInPiecesIsOneTurnInEachMode(t *testing.T) {
	t.Parallel()
	for _, mode := range []ports.Busy{ports.BusyQueue, ports.BusySteer, ports.BusyInterrupt, ports.BusyCollect} {
		t.Run(string(mode), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				w.agent = func(a *agent.Config) { a.Busy = mode }
				w.model.reply = echo
				w.start()
				began := time.Now()
				w.pieces(t, 4, 700*time.Millisecond)
				w.shown(1)
				if took := time.Since(began); took < 3*time.Second || took > 3500*time.Millisecond {
					t.Errorf("the answer came after %s, want one second of silence after the last piece", took)
				}
				w.turnsAre(t, "answered 0+1+2+3")
				w.end()
			})
		})
	}
}

func TestPiecesWithoutEndAreWaitedForTenSeconds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.model.reply = echo
		w.start()
		w.pieces(t, 16, 900*time.Millisecond)
		<-time.After(5 * time.Second)
		w.turnsAre(t, "answered 0+1+2+3+4+5+6+7+8+9+10+11", "answered 12+13+14+15")
		w.end()
	})
}

// long is a model that takes five seconds for its first reply.
func long(w *world) {
	first := once{takes: 5 * time.Second}
	w.model.dwell = func(ctx context.Context) { _ = first.wait(ctx) }
}

func TestARunningTurnIsInterruptedOnceByAllThePieces(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.agent = func(a *agent.Config) { a.Busy = ports.BusyInterrupt }
		w.model.reply = echo
		long(w)
		w.start()
		w.chat.say(t, "ann", "first")
		<-time.After(time.Second)
		w.pieces(t, 3, 800*time.Millisecond)
		if got := w.chat.texts(); len(got) > 0 {
			t.Errorf("before all of it was there, the chat shows %q", got)
		}
		<-time.After(5 * time.Second)
		w.turnsAre(t, "superseded first", "answered 0+1+2")
		w.end()
	})
}

func TestARunningTurnIsSteeredByAllThePiecesOrByNone(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		after time.Duration // the call began
		want  []string
	}{
		"all":  {time.Second, []string{"answered first+0+1+2"}},
		"none": {4200 * time.Millisecond, []string{"answered first", "answered 0+1+2"}},
	} {
		t.Run(name, func(t *testing.T) {
			var recorded []ports.Recording
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				w.agent = func(a *agent.Config) { a.Busy = ports.BusySteer }
				w.model.reply = inRead.answering
				w.tools.onCall = func(ctx context.Context, _ string) { idle(ctx, 5*time.Second) }
				w.start()
				w.chat.say(t, "ann", "first")
				<-time.After(c.after)
				w.pieces(t, 3, 600*time.Millisecond)
				<-time.After(10 * time.Second)
				w.turnsAre(t, c.want...)
				w.end()
				recorded = w.recordings()
			})
			for _, rec := range recorded {
				replayed(t, rec, 0)
			}
		})
	}
}

func TestPiecesInPlaceOfAnAnswerJoinTheTurnTogether(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.model.reply = inQuestion.answering
		w.start()
		w.chat.say(t, "ann", "first")
		w.within(10*time.Second, "ann", "May I run")
		w.pieces(t, 3, 600*time.Millisecond)
		<-time.After(10 * time.Second)
		w.turnsAre(t, "answered first+0+1+2")
		w.end()
		if got := w.column(`SELECT body ->> '$.seq' FROM step WHERE kind = 'input'`); len(got) != 1 {
			t.Errorf("the pieces joined in %d rows, %q", len(got), got)
		}
	})
}

func TestAStopDoesNotWaitForThePieces(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.model.reply = echo
		w.start()
		w.pieces(t, 2, 300*time.Millisecond)
		began := time.Now()
		w.chat.say(t, "ann", "/stop")
		w.shown(1)
		if took := time.Since(began); took > 500*time.Millisecond {
			t.Errorf("the stop was heard after %s", took)
		}
		w.end()
	})
}
