//go:build unix

package mcp

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"dragoman/ports"
)

// lateShelf is a shelf whose store takes its time.
type lateShelf struct {
	*shelf
	takes time.Duration
}

func (s lateShelf) Get(ctx context.Context, scope, kind, key string) (ports.Record, error) {
	if !sleep(ctx, s.takes) {
		return ports.Record{}, ctx.Err()
	}
	return s.shelf.Get(ctx, scope, kind, key)
}

// TestACallThatMeetsTheStartOfRunIsServed: turns hold the tools of an earlier Run,
// and call them while the next one still asks the store what is known.
func TestACallThatMeetsTheStartOfRunIsServed(t *testing.T) {
	for name, scope := range map[string]string{"everybody's": scopeShared, "a person's": scopePerson} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				kept := lateShelf{taught(t, oneTool), time.Second}
				cfg := lazily()
				cfg.Command, cfg.Scope = "unused", scope
				src, err := New(cfg, Deps{Records: kept, Scope: "mcp/a"})
				if err != nil {
					t.Fatal(err)
				}
				src.dial = func(Config, *slog.Logger) link {
					m := serving("served")
					m.list = func(int) (string, error) { return oneTool, nil }
					return m
				}
				held := &tool{source: src, def: definition{Spec: ports.ToolSpec{Name: "one"}}}
				ctx, cancel := context.WithCancel(t.Context())
				r := startSource(t, src)
				synctest.Wait() // it asks the store
				if _, err := callSafely(ctx, held, "ann"); err != nil {
					t.Errorf("the call that met the start: %v", err)
				}
				time.Sleep(time.Minute)
				for _, who := range []ports.PersonID{"ann", "bob"} {
					if _, err := callSafely(ctx, held, who); err != nil {
						t.Errorf("a later call of %s: %v", who, err)
					}
				}
				if err := src.Reconnect(ctx); err != nil {
					t.Error(err)
				}
				if _, err := callSafely(ctx, held, "ann"); err != nil {
					t.Errorf("the call after the reconnect: %v", err)
				}
				cancel()
				r.end()
			})
		})
	}
}

// TestARunThatEndsAtOnceLeavesNoCallBehind: a call that meets it has its answer.
func TestARunThatEndsAtOnceLeavesNoCallBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cfg := lazily()
		cfg.Command, cfg.Scope = "unused", scopePerson
		src, err := New(cfg, Deps{Records: lateShelf{taught(t, oneTool), time.Second}, Scope: "mcp/a"})
		if err != nil {
			t.Fatal(err)
		}
		src.dial = func(Config, *slog.Logger) link {
			m := serving("served")
			m.takes = time.Minute
			return m
		}
		held := &tool{source: src, def: definition{Spec: ports.ToolSpec{Name: "one"}}}
		r := startSource(t, src)
		synctest.Wait()
		called := make(chan error, 1)
		go func() { _, err := callSafely(t.Context(), held, "ann"); called <- err }()
		synctest.Wait()
		r.stop()
		wantKind(t, <-called, ports.KindUnavailable, "not connected")
		r.end()
	})
}

// callSafely is a call whose panic is an error.
func callSafely(ctx context.Context, held *tool, who ports.PersonID) (_ ports.ToolResult, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = errors.Join(err, fmt.Errorf("it panicked: %v", p))
		}
	}()
	return held.Call(ctx, ports.ToolCall{Person: who}, nil)
}
