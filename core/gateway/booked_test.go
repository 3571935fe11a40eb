package gateway_test

import (
	"context"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"dragoman/ports"
)

// What a model's reply used is booked by the commit that stores the reply, once,
// wherever a commit is refused, unsure and made again, or cut off by a kill. A
// request whose reply was lost is not booked.
func TestUsageAndAYesAreBookedWithTheirRowsWhereverItFails(t *testing.T) {
	for how, name := range map[fault]string{killBefore: "killed before", killAfter: "killed after", refused: "refused", unsure: "unsure"} {
		for at := 1; at <= 10; at++ {
			t.Run(fmt.Sprintf("%s %d", name, at), func(t *testing.T) {
				t.Parallel()
				w := newWorld(t)
				script := rounds([]string{"srv__read_a"}, []string{"srv__ask_a"})
				w.model.reply = func(ctx context.Context, r ports.ModelRequest) (ports.ModelReply, error) {
					got, err := script(ctx, r)
					got.Usage = ports.Tokens{Input: 100 + len(r.Entries), CachedInput: 7, Output: 5}
					return got, err
				}
				w.plays(at, how, "go", func(ports.Content) string { return "yes" })
				w.sound(2 + w.count(`SELECT COUNT(*) FROM question WHERE json(body) ->> '$.kind' = 'unknown'`))
				for _, want := range []string{"101 7 5", "103 7 5", "105 7 5"} { // of the three replies
					if n := w.count(`SELECT COUNT(*) FROM usage WHERE input || ' ' || cached_input || ' ' || output = '` + want + `' AND model = 'm' AND person <> ''`); n != 1 {
						t.Errorf("a reply that used %s is booked %d times: %q", want, n, w.column(`SELECT input || ' ' || cached_input || ' ' || output FROM usage`))
					}
				}
				if n := w.count(`SELECT COUNT(*) FROM audit WHERE what = 'tool_approved' AND detail ->> '$.tool' = 'srv__ask_a'`); n != 1 {
					t.Errorf("the yes is audited %d times", n)
				}
			})
		}
	}
}

// A turn has its time for each activation, for what it does and not for what it
// waits for: a person may take as long as the question stands.
func TestATurnsTimeIsItsOwn(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.opt.Ask.Expires = time.Hour
		w.model.turnTimeout = time.Minute
		w.model.reply = func(ctx context.Context, r ports.ModelRequest) (ports.ModelReply, error) {
			time.Sleep(50 * time.Second)
			return rounds([]string{"srv__ask_a"})(ctx, r)
		}
		w.start()
		w.chat.say(t, "ann", "go")
		w.within(51*time.Second, "ann", "May I run")
		time.Sleep(15 * time.Minute)
		w.chat.batch(t, w.chat.post(0).pressed("ann", "yes"))
		w.within(51*time.Second, "ann", "You said: Yes", "result of ask_a")
		w.comesToRest()
		w.sound(2)
		w.end()
	})
}

// A turn whose time is over says so at that moment, whatever it is at; what was
// open then is told to the model as unknown, and what it did is kept.
func TestATurnsTimeIsOverForWhateverItIsAt(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		reply func(context.Context, ports.ModelRequest) (ports.ModelReply, error)
		kinds string // of the journal
	}{
		"the model": {takes(time.Hour), "final"},
		"a tool":    {rounds([]string{"srv__slow", "srv__write_a"}), "reply start result result final"},
		"a second model": {func(ctx context.Context, r ports.ModelRequest) (ports.ModelReply, error) {
			if hasTool(r) {
				return takes(time.Hour)(ctx, r)
			}
			return rounds([]string{"srv__write_a"})(ctx, r)
		}, "reply start result final"},
		"a pause before another try": {func(context.Context, ports.ModelRequest) (ports.ModelReply, error) {
			return ports.ModelReply{}, &ports.Error{Kind: ports.KindRateLimited, Op: "model", RetryAfter: 29 * time.Second}
		}, "final"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t)
				w.model.turnTimeout = 20 * time.Second
				w.model.reply = c.reply
				var told time.Time
				w.chat.onSend = func(ports.Outgoing) { told = time.Now() }
				w.start()
				began := time.Now()
				w.chat.say(t, "ann", "go")
				w.within(time.Minute, "ann", "I stopped because this took longer than 20s.")
				if took := told.Sub(began); took != 20*time.Second {
					t.Errorf("it was told after %s", took)
				}
				w.comesToRest()
				got := ""
				for _, k := range w.column(`SELECT kind FROM step ORDER BY idx`) {
					got += " " + k
				}
				if got != " "+c.kinds {
					t.Errorf("the journal is%s, want %s", got, c.kinds)
				}
				if n := w.tools.ran("write_a"); name == "a tool" && n != 0 {
					t.Errorf("a call that came behind the slow one ran %d times", n)
				}
				w.sound(1)
				w.end()
			})
		})
	}
}
