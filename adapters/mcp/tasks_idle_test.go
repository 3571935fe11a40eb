//go:build unix

package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mark3labs/mcp-go/client/transport"

	"dragoman/ports"
)

// tasky is a server whose every call becomes a task.
type tasky struct {
	*memory
	polls  int
	done   int // polls until it is done
	pollMs int
	mute   bool
}

func (m *tasky) SendRequest(ctx context.Context, r transport.JSONRPCRequest) (*transport.JSONRPCResponse, error) {
	answer := func(result string) (*transport.JSONRPCResponse, error) {
		return &transport.JSONRPCResponse{ID: r.ID, Result: json.RawMessage(result)}, nil
	}
	state := func(s string) string {
		return fmt.Sprintf(`"taskId":"t1","status":%q,"pollInterval":%d`, s, m.pollMs)
	}
	select {
	case <-m.lost:
		return nil, &lostError{reason: "the line was cut"}
	default:
	}
	switch r.Method {
	case "tools/call":
		return answer(`{"task":{` + state("working") + `}}`)
	case "tasks/get":
		if m.mute {
			<-ctx.Done()
			return nil, ctx.Err()
		}
		m.polls++
		if m.polls >= m.done {
			return answer(`{` + state("completed") + `}`)
		}
		return answer(`{` + state("working") + `}`)
	case "tasks/result":
		return answer(textResult("the result"))
	}
	return m.memory.SendRequest(ctx, r)
}

func taskRig(t *testing.T, cfg Config, serve func(n int) *tasky) *watched {
	cfg.Command = "unused"
	src, err := New(cfg, Deps{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	w := &watched{Source: src, stop: cancel, done: make(chan struct{}), begun: time.Now()}
	src.dial = func(Config, *slog.Logger) link {
		w.mu.Lock()
		w.dials = append(w.dials, time.Since(w.begun))
		n := len(w.dials)
		w.mu.Unlock()
		return serve(n)
	}
	go func() { defer close(w.done); _ = src.Run(ctx, w) }()
	t.Cleanup(w.end)
	return w
}

// TestAServerThatWorksOnATaskIsNotIdle: between two looks at it no call runs.
func TestAServerThatWorksOnATaskIsNotIdle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := taskRig(t, Config{IdleStop: 5 * time.Second}, func(n int) *tasky {
			return &tasky{memory: serving("x"), done: 4, pollMs: 20000}
		})
		synctest.Wait()
		ctx, stop := context.WithTimeout(t.Context(), 3*time.Minute)
		defer stop()
		got, err := w.call(ctx, "ann")
		if err != nil || got != "the result" {
			t.Errorf("the task gave %q, %v", got, err)
		}
		if n := w.dialled(); n != 1 {
			t.Errorf("the server was ended %d times while it worked on a task (each time a new process, which knows no task): dials at %v", n-1, w.dials)
		}
		w.end()
	})
}

// TestAStoppedTaskOfADeadServerEndsSoon: its person does not wait for the server.
func TestAStoppedTaskOfADeadServerEndsSoon(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := taskRig(t, Config{Timeout: 60 * time.Second}, func(n int) *tasky {
			m := &tasky{memory: serving("x"), done: 4, pollMs: 1000}
			if n > 1 {
				m.memory.takes = time.Hour
			} else {
				time.AfterFunc(2*time.Second, m.cut)
			}
			m.done = 1000
			return m
		})
		synctest.Wait()
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(20*time.Second, func() { cancel(errors.New("stopped by its person")) })
		begun := time.Now()
		_, err := w.call(ctx, "ann")
		wantKind(t, err, ports.KindCancelled, "")
		if took := time.Since(begun) - 20*time.Second; took > 5*time.Second {
			t.Errorf("after the stop it took %s more: %v", took, err)
		}
		w.stop()
	})
}
