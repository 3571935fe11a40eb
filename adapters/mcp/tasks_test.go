//go:build unix

package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"dragoman/ports"
)

// person is the Host of a call: it fills forms in, and hears how the call is.
type person struct {
	fills func(q ports.Question) (ports.Answer, error)

	mu     sync.Mutex
	asked  []ports.Question
	heard  []ports.Progress
	moment []time.Time
}

func (p *person) Ask(_ context.Context, q ports.Question) (ports.Answer, error) {
	p.mu.Lock()
	p.asked = append(p.asked, q)
	p.mu.Unlock()
	return p.fills(q)
}

func (p *person) Sample(context.Context, ports.ModelRequest) (ports.ModelReply, error) {
	return ports.ModelReply{}, errors.New("there is no model")
}

func (p *person) Progress(_ context.Context, r ports.Progress) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.heard, p.moment = append(p.heard, r), append(p.moment, time.Now())
}

func (p *person) questions() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.asked)
}

func filling(values map[string]string) *person {
	return &person{fills: func(ports.Question) (ports.Answer, error) {
		return ports.Answer{State: ports.QuestionAnswered, Values: values}, nil
	}}
}

// flavour is one of the two kinds of tasks.
type flavour struct {
	name, version, can, tools string
}

func flavours() []flavour {
	return []flavour{
		{"legacy", newestLegacy, `{"tools":{},"tasks":{"cancel":{},"requests":{"tools":{"call":{}}}}}`,
			`[{"name":"work","inputSchema":{"type":"object"},"execution":{"taskSupport":"required"}}]`},
		{"modern", newestModern, `{"tools":{},"extensions":{"io.modelcontextprotocol/tasks":{}}}`, `[{"name":"work","inputSchema":{"type":"object"}}]`},
	}
}

const doneText = `{"content":[{"type":"text","text":"done"}]}`

// ended is how a task is completed in each flavour.
const ended = `"status":"completed","result":` + doneText

// eachFlavour runs a test with a server whose calls become the task.
func eachFlavour(t *testing.T, task func() *strictTask, test func(t *testing.T, s *strict, task *strictTask)) {
	for _, f := range flavours() {
		t.Run(f.name, func(t *testing.T) {
			t.Parallel()
			s := newStrict(t, f.version)
			s.can, s.tools = f.can, f.tools
			one := task()
			if one.id == "" {
				one.id = "task-1"
			}
			if one.result == "" {
				one.result = doneText
			}
			s.call = func(c *strictCall) { c.become(one) }
			test(t, s, one)
		})
	}
}

func quickTask(states ...string) func() *strictTask {
	return func() *strictTask { return &strictTask{every: leastPoll, states: states} }
}

func keyed(key string) ports.ToolCall {
	return ports.ToolCall{Call: ports.Call{Arguments: json.RawMessage(`{}`)}, Key: key}
}

func TestACallThatBecomesATaskIsFollowedToItsResult(t *testing.T) {
	working := `"status":"working","statusMessage":"half way"`
	eachFlavour(t, quickTask(working, working, ended), func(t *testing.T, s *strict, task *strictTask) {
		kept, host := newShelf(), filling(nil)
		r := s.running("http", Deps{Records: kept, Scope: "mcp/a"})
		result, err := r.tool("work").Call(t.Context(), keyed("k"), host)
		if err != nil || wantText(result, "done") != nil {
			t.Fatalf("the call gives %+v, %v", result, err)
		}
		if n := len(s.requests("tasks/get task-1")); n != 3 || len(s.requests("tools/call")) != 1 || len(s.requests("tasks/cancel")) != 0 {
			t.Errorf("%d looks, and the server saw %v", n, s.requests("t"))
		}
		if len(host.heard) == 0 || host.heard[0].Text != "half way" {
			t.Errorf("the person heard %+v", host.heard)
		}
		if n := kept.count(kindTask); n != 0 {
			t.Errorf("%d tasks are remembered, and there is none any more", n)
		}
	})
}

// TestATaskIsKeptWhileItRuns, and is taken up by another process: the call is made once.
func TestATaskIsTakenUpByAnotherProcess(t *testing.T) {
	for how, again := range map[string]func(r *rig) (ports.ToolResult, error){
		"rejoined": func(r *rig) (ports.ToolResult, error) {
			return r.tool("work").(ports.Rejoiner).Rejoin(r.t.Context(), keyed("k"), nil)
		},
		"called again": func(r *rig) (ports.ToolResult, error) {
			return r.tool("work").Call(r.t.Context(), keyed("k"), nil)
		},
	} {
		t.Run(how, func(t *testing.T) {
			eachFlavour(t, quickTask(`"status":"working"`), func(t *testing.T, s *strict, task *strictTask) {
				deps := Deps{Records: newShelf(), Scope: "mcp/a"}
				first := s.running("http", deps)
				early := s.running("http", deps) // it has read the records before there is one
				if _, err := early.tool("work").(ports.Rejoiner).Rejoin(t.Context(), keyed("other"), nil); !ports.IsKind(err, ports.KindNotFound) {
					t.Fatalf("a call that nobody made gives %v", err)
				}
				ctx, cancel := context.WithCancelCause(t.Context())
				gave := make(chan error, 1)
				go func() { _, err := first.tool("work").Call(ctx, keyed("k"), nil); gave <- err }()
				s.awaitSeen("tasks/get", 1)
				cancel(ports.ErrLeaving)
				wantKind(t, <-gave, ports.KindCancelled, "")
				first.end()
				s.note(func() {
					task.states, task.looks, task.last = []string{`"status":"working"`, ended}, 0, time.Time{}
				})
				next := early
				if how == "called again" {
					next = s.running("http", deps)
				}
				result, err := again(next)
				if err != nil || wantText(result, "done") != nil {
					t.Fatalf("the task gives %+v, %v", result, err)
				}
				if seen := s.requests("tools/call", "tasks/cancel"); len(seen) != 1 {
					t.Errorf("the server saw %v, want one call", seen)
				}
			})
		})
	}
}

func TestAStoppedTaskIsCancelled(t *testing.T) {
	eachFlavour(t, quickTask(`"status":"working"`), func(t *testing.T, s *strict, task *strictTask) {
		kept := newShelf()
		r := s.running("http", Deps{Records: kept, Scope: "mcp/a"})
		ctx, cancel := context.WithCancelCause(t.Context())
		gave := make(chan error, 1)
		go func() { _, err := r.tool("work").Call(ctx, keyed("k"), nil); gave <- err }()
		s.awaitSeen("tasks/get", 2)
		if kept.count(kindTask) != 1 {
			t.Error("the task is not remembered while it runs")
		}
		cancel(errors.New("stopped by the person"))
		wantKind(t, <-gave, ports.KindCancelled, "")
		if seen := s.requests("tasks/cancel", "notifications/cancelled"); fmt.Sprint(seen) != "[tasks/cancel task-1]" || kept.count(kindTask) != 0 {
			t.Errorf("the server saw %v, %d tasks are remembered", seen, kept.count(kindTask))
		}
	})
}

// TestATaskThatNeverEndsEndsWithItsCall: and no sooner, whatever the call's own time is.
func TestATaskThatNeverEndsEndsWithItsCall(t *testing.T) {
	eachFlavour(t, quickTask(`"status":"working"`), func(t *testing.T, s *strict, task *strictTask) {
		r := s.running("http", Deps{}, func(c *Config) { c.CallTimeout = 3 * time.Second })
		ctx, cancel := context.WithTimeout(t.Context(), 7*time.Second)
		defer cancel()
		begun := time.Now()
		_, err := r.tool("work").Call(ctx, keyed("k"), nil)
		wantKind(t, err, ports.KindTimeout, "")
		if took := time.Since(begun); took < 6900*time.Millisecond || len(s.requests("tasks/cancel")) != 1 {
			t.Errorf("after %s; the server saw %v", took, s.requests("tasks/cancel"))
		}
	})
}

func TestTasksThatEndBadlyFailTheCall(t *testing.T) {
	for name, test := range map[string]struct {
		state string
		kind  ports.Kind
		says  string
	}{
		"cancelled":       {`"status":"cancelled","statusMessage":"no time"`, ports.KindCancelled, "no time"},
		"an unknown kind": {`"status":"sleeping"`, ports.KindProtocol, `unknown state "sleeping"`},
		"no status":       {`"ttl":7`, ports.KindProtocol, "unknown state"},
		"no task":         {`{"taskId":7}`, ports.KindProtocol, "malformed"},
		"another task":    {`{"taskId":"task-2","status":"completed","result":{"content":[]}}`, ports.KindProtocol, "tells of another"},
	} {
		t.Run(name, func(t *testing.T) {
			eachFlavour(t, quickTask(test.state), func(t *testing.T, s *strict, task *strictTask) {
				kept := newShelf()
				r := s.running("http", Deps{Records: kept, Scope: "mcp/a"})
				_, err := r.tool("work").Call(t.Context(), keyed("k"), nil)
				wantKind(t, err, test.kind, test.says)
				if kept.count(kindTask) != 0 {
					t.Error("it is remembered")
				}
			})
		})
	}
}

// TestAFailedTaskIsWhatItsServerSays: an error of JSON-RPC in the one flavour, in
// the other the result of a tool that failed.
func TestAFailedTaskIsWhatItsServerSays(t *testing.T) {
	failed := `"status":"failed","error":{"code":-32603,"message":"the disk is full"}`
	eachFlavour(t, quickTask(failed), func(t *testing.T, s *strict, task *strictTask) {
		task.result = `{"isError":true,"content":[{"type":"text","text":"the disk is full"}]}`
		result, err := s.running("http", Deps{}).tool("work").Call(t.Context(), keyed("k"), nil)
		if s.versions[0] == newestModern {
			wantKind(t, err, ports.KindProtocol, "the disk is full")
			return
		}
		if err != nil || !result.IsError || wantText(result, "the disk is full") != nil {
			t.Errorf("the call gives %+v, %v", result, err)
		}
	})
}

// TestAForgottenTaskIsUnsure: the call began. Taken up by another process it is
// one that nobody knows, so that its person decides.
func TestAForgottenTaskIsUnsure(t *testing.T) {
	eachFlavour(t, quickTask(`"status":"working"`), func(t *testing.T, s *strict, task *strictTask) {
		kept := newShelf()
		r := s.running("http", Deps{Records: kept, Scope: "mcp/a"})
		forget := func() { s.note(func() { delete(s.tasks, task.id) }) }
		gave := make(chan error, 1)
		go func() { _, err := r.tool("work").Call(t.Context(), keyed("k"), nil); gave <- err }()
		s.awaitSeen("tasks/get", 1)
		forget()
		wantKind(t, <-gave, ports.KindUnsure, "says of its task")
		if kept.count(kindTask) != 0 {
			t.Error("it is remembered")
		}
		ctx, cancel := context.WithCancelCause(t.Context())
		go func() { _, err := r.tool("work").Call(ctx, keyed("k2"), nil); gave <- err }()
		s.awaitSeen("tools/call", 2)
		eventually(t, "it is kept", func() bool { return kept.count(kindTask) == 1 })
		cancel(ports.ErrLeaving)
		<-gave
		forget()
		_, err := r.tool("work").(ports.Rejoiner).Rejoin(t.Context(), keyed("k2"), nil)
		wantKind(t, err, ports.KindNotFound, "no task is known")
	})
}

// TestATaskOutlivesItsConnection: a look that was cut off is made again over the next one.
func TestATaskOutlivesItsConnection(t *testing.T) {
	for _, wire := range []string{"stdio", "http"} {
		t.Run(wire, func(t *testing.T) {
			eachFlavour(t, quickTask(`"status":"working"`, hangUp, `"status":"working"`, ended), func(t *testing.T, s *strict, task *strictTask) {
				result, err := s.running(wire, Deps{}).tool("work").Call(t.Context(), keyed("k"), nil)
				if err != nil || wantText(result, "done") != nil {
					t.Fatalf("the call gives %+v, %v", result, err)
				}
				if n := len(s.requests("tools/call")); n != 1 {
					t.Errorf("%d calls", n)
				}
			})
		})
	}
}

const nameForm = `{"mode":"form","message":"Who are you?","requestedSchema":{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}}`

// TestATaskAsksItsPersonOnce: also where the answer was lost on its way, and with
// no end of the call's own time afterwards.
func TestATaskAsksItsPersonOnce(t *testing.T) {
	wants := `"status":"input_required","inputRequests":{"who":{"method":"elicitation/create","params":` + nameForm + `}}`
	eachFlavour(t, quickTask(wants, wants, `"status":"working"`, `"status":"working"`, `"status":"working"`, ended), func(t *testing.T, s *strict, task *strictTask) {
		task.ask, task.lose, task.every = nameForm, 1, 500*time.Millisecond
		if s.versions[0] == newestLegacy {
			task.states = []string{`"status":"working"`, `"status":"input_required"`, ended}
		}
		host := filling(map[string]string{"name": "Ann"})
		r := s.running("http", Deps{Asks: true}, func(c *Config) { c.CallTimeout = 2 * time.Second })
		result, err := r.tool("work").Call(t.Context(), keyed("k"), host)
		if err != nil || wantText(result, "done") != nil || host.questions() != 1 {
			t.Fatalf("the call gives %+v, %v after %d questions", result, err, host.questions())
		}
		said := string(task.answer.Result)
		if s.versions[0] == newestModern {
			if len(task.updates) != 1 {
				t.Fatalf("the updates are %v", task.updates)
			}
			said = string(task.updates[0]["who"])
		}
		if said != `{"action":"accept","content":{"name":"Ann"}}` {
			t.Errorf("the server heard %s", said)
		}
	})
}

func TestATaskIsServedNothingThatWasNotOffered(t *testing.T) {
	s := newStrict(t, newestModern)
	s.call = func(c *strictCall) {
		c.become(&strictTask{id: "t", every: leastPoll, states: []string{`"status":"input_required","inputRequests":{"x":{"method":"sampling/createMessage","params":{}}}`}})
	}
	_, err := s.running("http", Deps{Asks: true}).tool("work").Call(t.Context(), keyed("k"), filling(nil))
	wantKind(t, err, ports.KindProtocol, "sampling/createMessage, which it was not offered")
}

func TestATaskIsLookedAtAsOftenAsItsServerWantsWithinBounds(t *testing.T) {
	for ms, want := range map[float64]time.Duration{
		0: usualPoll, -5: usualPoll, 1: leastPoll, 2500: 2500 * time.Millisecond, 1e6: mostPoll, 1e300: mostPoll,
	} {
		if got := (taskState{PollInterval: ms}).pause(); got != want {
			t.Errorf("pollInterval %v: %s, want %s", ms, got, want)
		}
		if got := (taskState{PollIntervalMs: ms}).pause(); got != want {
			t.Errorf("pollIntervalMs %v: %s, want %s", ms, got, want)
		}
	}
}

// TestTaskIDsAreOpaque: they go back as they came, in headers too, or the call fails.
func TestTaskIDsAreOpaque(t *testing.T) {
	for name, id := range map[string]string{
		"text":        "a b/c?d=é%20\u2028",
		"like base64": "=?base64?eA==?=",
		"spaces":      "  x  ",
	} {
		t.Run(name, func(t *testing.T) {
			eachFlavour(t, quickTask(ended), func(t *testing.T, s *strict, task *strictTask) {
				task.id = id
				if _, err := s.running("http", Deps{}).tool("work").Call(t.Context(), keyed("k"), nil); err != nil {
					t.Error(err)
				}
			})
		})
	}
	for name, id := range map[string]string{"long": strings.Repeat("x", maxTaskID+1), "none": ""} {
		t.Run(name, func(t *testing.T) {
			s := newStrict(t, newestModern)
			s.call = func(c *strictCall) { c.become(&strictTask{id: id, every: leastPoll, states: []string{ended}}) }
			_, err := s.running("http", Deps{}).tool("work").Call(t.Context(), keyed("k"), nil)
			wantKind(t, err, ports.KindProtocol, "no usable id")
		})
	}
}
