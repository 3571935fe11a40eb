package gateway_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"dragoman/ports"
)

// many is an answer of this many words.
func many(words int) string {
	var b strings.Builder
	for i := range words {
		fmt.Fprintf(&b, "word%d ", i)
	}
	return b.String()
}

// An answer that takes many messages is complete and in order whatever fails on
// the way: no part is missing, and none comes twice but one that a kill cut off.
func TestALongAnswerIsWholeWhereverItFails(t *testing.T) {
	for how, name := range map[fault]string{killBefore: "killed before", killAfter: "killed after", refused: "refused", unsure: "unsure"} {
		for at := 2; at <= 6; at++ {
			t.Run(fmt.Sprintf("%s %d", name, at), func(t *testing.T) {
				t.Parallel()
				w := newWorld(t)
				w.chat.traits.MaxText = 100
				w.model.reply = func(context.Context, ports.ModelRequest) (ports.ModelReply, error) { return says(many(50)) }
				w.plays(at, how, "go", func(ports.Content) string { return "" })
				var all []string
				last, twice := "", 0
				for i, text := range w.chat.texts() {
					if len(text) > 100 {
						t.Errorf("a message has %d bytes", len(text))
					}
					nonce := w.chat.post(i).out.Nonce
					if nonce == last {
						twice++
						continue
					}
					last = nonce
					all = append(all, strings.Fields(text)...)
				}
				if got := strings.Join(all, " "); got != strings.TrimSpace(many(50)) {
					t.Errorf("the answer reads %q", got)
				}
				if how != killBefore && twice > 0 || twice > 1 {
					t.Errorf("%d messages came twice", twice)
				}
				w.sound(1)
			})
		}
	}
}

// A question that takes many messages has its buttons under the last one, which
// is the one that a reply in a group answers, and loses nothing else by it.
func TestALongQuestionIsAnsweredByItsLastPart(t *testing.T) {
	for name, answer := range map[string]func(q post) ports.Message{
		"a press": func(q post) ports.Message { return q.pressed("ann", "yes") },
		"a reply": func(q post) ports.Message { return replying("ann", "yes", q) },
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.chat.traits.MaxText = 40
			w.model.reply = calls("srv__ask_a")
			w.start()
			w.chat.receive(t, inGroup("ann", "go"))
			w.settledAsk()
			texts := w.chat.texts()
			if len(texts) < 2 {
				t.Fatalf("the question is %q", texts)
			}
			for i := range texts[:len(texts)-1] {
				if n := len(w.chat.post(i).out.Content.Choices); n > 0 {
					t.Errorf("part %d has %d buttons", i, n)
				}
			}
			m := answer(w.chat.post(len(texts) - 1))
			m.Private = false
			w.chat.batch(t, m)
			w.comesToRest()
			if n := w.tools.ran("ask_a"); n != 1 {
				t.Errorf("the tool ran %d times", n)
			}
			w.sound(2)
		})
	}
}

// settledAsk waits until a question is posted and noted.
func (w *world) settledAsk() {
	w.t.Helper()
	w.asking()
	w.comesToRestBut("wait")
}

// A message that is refused for good costs itself alone: the parts behind it come,
// the turn counts as told, and the conversation goes on.
func TestAMessageThatIsRefusedForGoodCostsItselfAlone(t *testing.T) {
	for _, kind := range []ports.Kind{ports.KindForbidden, ports.KindInvalid, ports.KindNotFound, ports.KindTooLarge, ports.KindProtocol, ports.KindRefused, ports.KindInternal} {
		for part := range 3 {
			t.Run(fmt.Sprint(kind, part), func(t *testing.T) {
				w := newWorld(t)
				w.chat.traits.MaxText = 100
				w.model.reply = func(context.Context, ports.ModelRequest) (ports.ModelReply, error) { return says(many(30)) }
				w.chat.fails = append(make([]error, part), ports.Errorf(kind, "send", "no"))
				w.start()
				w.chat.say(t, "ann", "go")
				w.comesToRest()
				if got, want := len(w.chat.texts()), 2; got != want {
					t.Errorf("of three parts %d are shown, want %d: %q", got, want, w.chat.texts())
				}
				w.chat.say(t, "ann", "again")
				w.comesToRest()
				if got := len(w.chat.texts()); got != 5 {
					t.Errorf("with the next answer %d parts are shown, want 5", got)
				}
				if got := w.column(`SELECT state || ' ' || (failed <> '') FROM outbox WHERE state <> 'sent'`); len(got) != 1 || got[0] != "failed 1" {
					t.Errorf("of the deliveries %q are not sent", got)
				}
			})
		}
	}
}
