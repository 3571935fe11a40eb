//go:build unix

package mcp

import (
	"context"
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"dragoman/ports"
)

// filler is a person who fills forms in with the values they have, and notes what
// they were asked and shown.
type filler struct {
	values map[string]string

	mu     sync.Mutex
	asked  []ports.Question
	states []ports.Progress
}

func (f *filler) Ask(_ context.Context, q ports.Question) (ports.Answer, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.asked = append(f.asked, q)
	return ports.Answer{State: ports.QuestionAnswered, Values: f.values}, nil
}

func (f *filler) Sample(context.Context, ports.ModelRequest) (ports.ModelReply, error) {
	return ports.ModelReply{}, ports.Errorf(ports.KindForbidden, "sample", "not offered")
}

func (f *filler) Progress(_ context.Context, p ports.Progress) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.states = append(f.states, p)
}

func (f *filler) shown() []ports.Progress {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.states)
}

// callFor calls a tool for the person, and gives the text of its answer.
func (r *rig) callFor(f *filler, name, args string) string {
	r.t.Helper()
	eventually(r.t, "there is a tool "+name, func() bool { return slices.Contains(r.names(), name) })
	result, err := r.tool(name).Call(r.t.Context(), ports.ToolCall{Call: ports.Call{Arguments: json.RawMessage(args)}}, f)
	if err != nil {
		r.t.Fatalf("%s: %v", name, err)
	}
	return show(result)
}

// bothWays runs a test against the reference server on stdio and over HTTP. Its
// person can be asked.
func bothWays(t *testing.T, change func(*Config), test func(*testing.T, *rig)) {
	t.Parallel()
	for name, cfg := range map[string]func(*testing.T) Config{
		overStdio: func(t *testing.T) Config { return nodeServer(t, "mcp-server-everything", "stdio") },
		overHTTP:  func(t *testing.T) Config { return newRemote(t, "mcp-server-everything", "streamableHttp").config() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cfg := cfg(t)
			change(&cfg)
			src, err := New(cfg, Deps{Asks: true})
			if err != nil {
				t.Fatal(err)
			}
			r := startSource(t, src)
			r.awaitPhase(ports.PhaseReady, 0)
			test(t, r)
		})
	}
}

func TestARealServersProgressIsTold(t *testing.T) {
	bothWays(t, func(*Config) {}, func(t *testing.T, r *rig) {
		var f filler
		if got := r.callFor(&f, "trigger-long-running-operation", `{"duration":6,"steps":4}`); !strings.Contains(got, "Steps: 4") {
			t.Error(got)
		}
		told := f.shown()
		if len(told) == 0 {
			t.Fatal("nothing was told")
		}
		for i, p := range told {
			if p.Total != 4 || i > 0 && p.Done <= told[i-1].Done {
				t.Errorf("progress is told as %+v", told)
			}
		}
		if last := told[len(told)-1].Done; last < 3 {
			t.Errorf("the last that was told is step %v of 4", last)
		}
	})
}

// TestARealServersTaskIsFollowed: the server runs the call by itself, and asks in
// the middle of it what was meant.
func TestARealServersTaskIsFollowed(t *testing.T) {
	bothWays(t, func(*Config) {}, func(t *testing.T, r *rig) {
		var plain filler
		if got := r.callFor(&plain, "simulate-research-query", `{"topic":"tea"}`); !strings.HasPrefix(got, "text # Research Report: tea\n") {
			t.Error(got)
		}
		var texts []string
		for _, p := range plain.shown() {
			texts = append(texts, p.Text)
		}
		if all := strings.Join(texts, " "); !strings.Contains(all, "Gathering sources") && !strings.Contains(all, "Analyzing content") {
			t.Errorf("of the task's stages was told: %q", texts)
		}
		if len(plain.asked) > 0 {
			t.Errorf("the person was asked %+v", plain.asked)
		}
		asked := filler{values: map[string]string{"interpretation": "snake"}}
		if got := r.callFor(&asked, "simulate-research-query", `{"topic":"python","ambiguous":true}`); !strings.HasPrefix(got, "text # Research Report: python (snake)\n") {
			t.Error(got)
		}
		if len(asked.asked) != 1 || len(asked.asked[0].Fields) != 1 || !slices.Contains(asked.asked[0].Fields[0].Choices, ports.Choice{Value: "snake", Label: "Python snake species"}) {
			t.Errorf("the person was asked %+v", asked.asked)
		}
	})
}

func TestARealServersFormIsFilledIn(t *testing.T) {
	bothWays(t, func(*Config) {}, func(t *testing.T, r *rig) {
		f := filler{values: map[string]string{"name": "Ann", "check": "true", "integer": "7", "titledMultipleSelectEnum": `["fish-2","fish-3"]`}}
		got := r.callFor(&f, "trigger-elicitation-request", `{}`)
		for _, line := range []string{"- Name: Ann", "- Agreed to terms: true", "- Favorite Integer: 7", "- Favorite Number: 3.14", // the last is its default
			`"untitledSingleSelectEnum": "Monica"`, `"firstLine": "It was a dark and stormy night."`, `"fish-3"`} {
			if !strings.Contains(got, line) {
				t.Errorf("%q is not in\n%s", line, got)
			}
		}
		if len(f.asked) != 1 || f.asked[0].Kind != ports.QuestionForm || len(f.asked[0].Fields) != 13 {
			t.Fatalf("the person was asked %+v", f.asked)
		}
		for _, field := range f.asked[0].Fields {
			if field.Required != (field.Name == "name") {
				t.Errorf("%s is required: %v", field.Name, field.Required)
			}
		}
	})
}

func TestARealServerIsToldItsRoots(t *testing.T) {
	dir := t.TempDir()
	bothWays(t, func(cfg *Config) { cfg.Roots = []string{dir} }, func(t *testing.T, r *rig) {
		if got := r.callFor(&filler{}, "get-roots-list", `{}`); !strings.Contains(got, filepath.Base(dir)+"\n   URI: file://"+dir) {
			t.Error(got)
		}
	})
}
