package gateway_test

import (
	"context"
	"encoding/json"
	"slices"
	"testing"
	"time"

	"dragoman/ports"
)

// recorded are the turns of the test data: each is run by a gateway, and its last
// turn is the recording, unless it says otherwise.
var recorded = []struct {
	name  string
	reply func(context.Context, ports.ModelRequest) (ports.ModelReply, error)
	limit time.Duration // of the turn
	first bool          // its first turn is the recording
	play  func(t *testing.T, w *world)
}{
	{name: "plain", reply: echo, play: says1("hello")},
	{name: "history", reply: echo, play: func(t *testing.T, w *world) {
		for i, text := range []string{"one", "/help", "two", "three"} {
			w.chat.say(t, "ann", text)
			w.shown(i + 1)
			w.settled()
		}
	}},
	{name: "burst", reply: echo, play: func(t *testing.T, w *world) {
		w.chat.mu.Lock()
		in := w.chat.in
		w.chat.mu.Unlock()
		var b ports.Batch
		for _, text := range []string{"one", "two", "three"} {
			b.Messages = append(b.Messages, ports.Message{Event: text, From: "ann", In: ports.Conversation{Chat: "ann"}, Text: text, Private: true})
		}
		if err := in.Receive(t.Context(), b); err != nil {
			t.Fatal(err)
		}
		w.shown(1)
	}},
	{name: "tools", reply: calls("srv__read_b", "srv__write_a", "srv__read_a", "srv__write_b"), play: says1("go")},
	{name: "two_rounds", reply: inRounds("srv__read_a", "srv__write_a"), play: says1("go")},
	{name: "ruled_out", reply: calls("srv__nothing", "srv__never", "srv__panics", "srv__fails", "srv__read_a"), play: says1("go")},
	{name: "bad_arguments", reply: func(ctx context.Context, r ports.ModelRequest) (ports.ModelReply, error) {
		reply, err := calls("srv__write_a", "srv__write_b")(ctx, r)
		for i := range reply.Calls {
			reply.Calls[i].Arguments = json.RawMessage(`{"n":"nought"}`)
		}
		return reply, err
	}, play: says1("go")},
	{name: "approved", reply: calls("srv__ask_a", "srv__read_a"), play: pressed("yes")},
	{name: "refused", reply: calls("srv__ask_a", "srv__write_a"), play: pressed("no")},
	{name: "approved_and_refused", reply: calls("srv__ask_a", "srv__read_a", "srv__ask_b"), play: pressed("yes", "no")},
	{name: "typed_yes", reply: calls("srv__ask_a"), play: talked("go", "Yes!")},
	{name: "superseded", reply: calls("srv__ask_a", "srv__write_a", "srv__ask_b"), play: talked("go", "rather not")},
	{name: "expired", reply: calls("srv__ask_a"), play: func(t *testing.T, w *world) {
		w.end()
		w.opt.Ask.Expires = 10 * time.Millisecond
		w.start()
		w.chat.say(t, "ann", "go")
		w.shown(2)
	}},
	{name: "parked", reply: calls("srv__write_a", "srv__ask_a"), play: says1("go")},
	{name: "stopped_at_a_question", reply: calls("srv__ask_a", "srv__ask_b"), play: talked("go", "/stop")},
	{name: "stopped_at_a_question_behind_a_tool", reply: calls("srv__read_a", "srv__ask_a", "srv__write_a"), play: talked("go", "/stop")},
	{name: "stopped_at_a_tool", reply: calls("srv__read_a", "srv__slow", "srv__write_a"), play: func(t *testing.T, w *world) {
		w.chat.say(t, "ann", "go")
		eventually(t, "the tools run", func() bool { return w.tools.ran("slow") == 1 && w.tools.ran("read_a") == 1 })
		w.chat.say(t, "ann", "and hurry")
		w.chat.say(t, "ann", "/stop")
		w.shown(1)
	}},
	{name: "stopped_at_a_deaf_tool", reply: calls("srv__write_a", "srv__stuck", "srv__write_b"), play: func(t *testing.T, w *world) {
		w.tools.stuck = make(chan struct{})
		defer close(w.tools.stuck)
		w.chat.say(t, "ann", "go")
		eventually(t, "the tool runs", func() bool { return w.tools.ran("stuck") == 1 })
		w.chat.say(t, "ann", "/stop")
		w.shown(1)
		w.settled()
	}},
	{name: "stopped_at_the_model", reply: deaf, play: func(t *testing.T, w *world) {
		w.chat.say(t, "ann", "go")
		eventually(t, "the model is asked", func() bool { return len(w.model.asked()) == 1 })
		w.chat.say(t, "ann", "/stop")
		w.shown(1)
	}},
	{name: "nothing_to_stop", reply: echo, play: talked("/stop")},
	{name: "model_refused", reply: failing3(ports.KindUnauthorized), play: says1("go")},
	{name: "model_invalid", reply: failing3(ports.KindInvalid), play: says1("go")},
	{name: "model_panicked", reply: func(context.Context, ports.ModelRequest) (ports.ModelReply, error) { panic("boom") }, play: says1("go")},
	{name: "too_many_steps", reply: func(context.Context, ports.ModelRequest) (ports.ModelReply, error) {
		return calls("srv__read_a")(nil, ports.ModelRequest{})
	}, play: says1("go")},
	{name: "too_long", limit: time.Second, reply: calls("srv__read_a", "srv__slow", "srv__write_b"), play: says1("go")},
	{name: "model_too_long", limit: time.Second, reply: deaf, play: says1("go")},
	{name: "old_and_wanted", reply: calls("srv__write_a"), play: old("yes")},
	{name: "old_and_not_wanted", reply: calls("srv__write_a"), play: old("no")},
	{name: "old_and_stopped", reply: echo, play: old("/stop")},
	{name: "old_and_superseded", reply: echo, first: true, play: old("is it raining?")},
	{name: "old_and_overtaken", reply: echo, first: true, play: func(t *testing.T, w *world) {
		w.chat.mu.Lock()
		in := w.chat.in
		w.chat.mu.Unlock()
		var b ports.Batch
		for i, text := range []string{"pour the concrete", "hello?"} {
			m := ports.Message{Event: text, From: "ann", Private: true, Text: text, In: ports.Conversation{Chat: "ann"}}
			m.At = time.Now().Add(time.Duration(5*(i-1)) * time.Hour)
			b.Messages = append(b.Messages, m)
		}
		if err := in.Receive(t.Context(), b); err != nil {
			t.Fatal(err)
		}
		w.shown(2)
	}},
	{name: "cut_off_for_long", reply: calls("srv__read_a", "srv__write_a"), play: cutOff("yes", "again")},
	{name: "cut_off_for_long_and_not_wanted", reply: calls("srv__read_a", "srv__write_a"), play: cutOff("no")},
	{name: "given_up", reply: calls("srv__write_a"), play: deadlyAt("srv__write_a")},
	{name: "given_up_before_a_row", reply: calls("srv__write_a"), play: deadlyAt("")},
	{name: "given_up_at_a_tool", reply: calls("srv__read_a", "srv__read_b"), play: func(t *testing.T, w *world) {
		w.end()
		w.opt.Drain = 10 * time.Millisecond
		d := &deadly{w: w, lives: make(chan *failing, 1)}
		w.tools.onCall = func(ctx context.Context, name string) {
			if name == "read_b" {
				f := <-d.lives
				d.lives <- f
				f.die()
				<-ctx.Done()
			}
		}
		d.begin()
		w.chat.say(t, "ann", "go")
		d.lived(d.shows("Reference: "))
	}},
	{name: "killed_and_run_again", reply: calls("srv__read_a", "srv__write_a", "srv__write_b"), play: killed("again")},
	{name: "killed_and_skipped", reply: calls("srv__write_a", "srv__read_a", "srv__write_b"), play: killed("skip")},
	{name: "killed_and_stopped", reply: calls("srv__write_a", "srv__write_b"), play: killed("stop")},
	{name: "killed_and_stopped_beside_a_reader", reply: calls("srv__read_a", "srv__write_a", "srv__read_b"), play: killed("stop")},
	{name: "killed_and_superseded", reply: calls("srv__write_a", "srv__write_b"), play: killed("never mind")},
}

// says1 says one thing and waits for one message.
func says1(text string) func(*testing.T, *world) { return talked(text) }

// talked says things, each after the answer to the one before.
func talked(texts ...string) func(*testing.T, *world) {
	return func(t *testing.T, w *world) {
		for i, text := range texts {
			w.chat.say(t, "ann", text)
			w.shown(i + 1)
		}
	}
}

// pressed says go and answers the questions.
func pressed(values ...string) func(*testing.T, *world) {
	return func(t *testing.T, w *world) {
		w.chat.say(t, "ann", "go")
		for i, v := range values {
			w.shown(i + 1)
			w.chat.press(t, "ann", i, v)
		}
		w.shown(len(values) + 1)
	}
}

// killed says go, lets the process die once a call was begun that changes things,
// and answers the question about it.
func killed(answer string) func(*testing.T, *world) {
	return func(t *testing.T, w *world) {
		w.end()
		f := w.startFailing(2, killAfter) // the first is the message's, the second begins the calls
		w.chat.say(t, "ann", "go")
		<-f.died
		w.bury(f)
		w.start()
		w.shown(1)
		if slices.Contains([]string{"again", "skip", "stop"}, answer) {
			w.chat.press(t, "ann", 0, answer)
		} else {
			w.chat.say(t, "ann", answer)
		}
		w.shown(2)
	}
}

func deaf(ctx context.Context, _ ports.ModelRequest) (ports.ModelReply, error) {
	<-ctx.Done()
	return ports.ModelReply{}, ctx.Err()
}

func failing3(kind ports.Kind) func(context.Context, ports.ModelRequest) (ports.ModelReply, error) {
	return func(context.Context, ports.ModelRequest) (ports.ModelReply, error) {
		return ports.ModelReply{}, ports.Errorf(kind, "model", "no")
	}
}

// inRounds replies with one call after another, then with what came of the last.
func inRounds(names ...string) func(context.Context, ports.ModelRequest) (ports.ModelReply, error) {
	return func(ctx context.Context, r ports.ModelRequest) (ports.ModelReply, error) {
		n := 0
		for _, e := range r.Entries {
			if e.Role == ports.RoleTool {
				n++
			}
		}
		if n < len(names) {
			return calls(names[n])(ctx, ports.ModelRequest{})
		}
		return says("it is done: " + r.Entries[len(r.Entries)-1].Text)
	}
}

// old says something that the platform kept for hours, and answers the question.
func old(answer string) func(*testing.T, *world) {
	return func(t *testing.T, w *world) {
		w.sayOld("pour the concrete", 3*time.Hour)
		w.shown(1)
		w.settled()
		if answer == "yes" || answer == "no" {
			w.chat.press(t, "ann", 0, answer)
		} else {
			w.chat.say(t, "ann", answer)
		}
		eventually(t, "the end", func() bool { return len(w.chat.texts()) > 1 && w.over() })
	}
}

// cutOff lets the process die while a tool runs, and be away for hours.
func cutOff(answers ...string) func(*testing.T, *world) {
	return func(t *testing.T, w *world) {
		w.end()
		f := w.startFailing(2, killAfter)
		w.chat.say(t, "ann", "go")
		<-f.died
		w.bury(f)
		w.exec(`UPDATE inbox SET received = received - 7200000`)
		w.start()
		for i, answer := range answers {
			w.shown(i + 1)
			w.settled()
			w.chat.press(t, "ann", i, answer)
		}
		w.shown(len(answers) + 1)
	}
}

// deadlyAt says something that kills the process in each life, behind a call of
// a tool if one is named.
func deadlyAt(tool string) func(*testing.T, *world) {
	return func(t *testing.T, w *world) {
		w.end()
		w.opt.Drain = 10 * time.Millisecond
		d := &deadly{w: w, lives: make(chan *failing, 1), calm: echo, tool: tool, armed: make(chan struct{})}
		close(d.armed)
		w.model.becomes(d.reply)
		d.begin()
		w.chat.say(t, "ann", "poison")
		d.lived(d.shows("Reference: "))
	}
}
