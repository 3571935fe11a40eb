package toolbox

import (
	"bytes"
	"log/slog"
	"reflect"
	"testing"
	"time"

	"dragoman/core/internal/guard"
	"dragoman/ports"
)

// A registrar is dead once its source is taken out or another is in its place:
// whatever it is told, nobody is woken by it and nothing is said of it.
func TestARegistrarOfASourceThatIsGoneIsDead(t *testing.T) {
	for name, leaves := range map[string]func(*Toolbox){
		"removed":  func(b *Toolbox) { b.Remove("a") },
		"disabled": func(b *Toolbox) { b.Disable(Source{Name: "a"}, ports.ByAdmin, time.Unix(9, 0)) },
		"replaced": func(b *Toolbox) { b.Add(Source{Name: "a"}).Register(named("second")) },
	} {
		t.Run(name, func(t *testing.T) {
			var said bytes.Buffer
			b := New(Config{}, nil, new(guard.Leaks), slog.New(slog.NewTextHandler(&said, &slog.HandlerOptions{Level: slog.LevelDebug})))
			late := b.Add(Source{Name: "a"})
			late.Register(named("first"))
			leaves(b)
			servers, tools, woken := b.Servers(), names(b.Tools()), b.changed
			said.Reset()
			late.Register(named("too_late"))
			late.State(ports.State{Phase: ports.PhaseReady})
			if !reflect.DeepEqual(b.Servers(), servers) || !reflect.DeepEqual(names(b.Tools()), tools) {
				t.Errorf("it is listed as %+v with %v, before as %+v with %v", b.Servers(), names(b.Tools()), servers, tools)
			}
			select {
			case <-woken:
				t.Error("it wakes those who wait")
			default:
			}
			if said.Len() > 0 {
				t.Errorf("the log says %s", said.String())
			}
		})
	}
}

// A tool of an idle source can be called: the call connects it.
func TestAnIdleSourcesToolsAreReady(t *testing.T) {
	b := newBox(Config{})
	r := b.Add(Source{Name: "a"})
	r.Register(named("x"))
	r.State(ports.State{Phase: ports.PhaseIdle})
	if list := b.Tools(); len(list) != 1 || list[0].State != "ready" {
		t.Errorf("they are %+v", list)
	}
}
