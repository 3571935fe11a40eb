package gateway_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"dragoman/core/gateway"
	"dragoman/ports"
)

// withExtra is a world with one more server, "extra", also after a restart.
func withExtra(t *testing.T, p ports.ToolSource, disabled bool) *world {
	w := withToken(t)
	s := sourceOf("extra", p)
	s.Disabled = disabled
	w.opt.Sources = []gateway.Source{s}
	return w
}

func (w *world) switched(name string, enabled bool) ports.ServerInfo {
	w.t.Helper()
	s, err := w.g.SetEnabled(w.t.Context(), name, enabled)
	if err != nil {
		w.t.Fatal(err)
	}
	return s
}

func TestADisabledServerIsStoppedAndStaysSo(t *testing.T) {
	source := &plain{says: "hi", slow: 50 * time.Millisecond}
	w := withExtra(t, source, false).start()
	w.is("extra", ports.PhaseReady)
	const up = `dragoman_mcp_server_up{server="extra"}`
	have(t, w.scrape(), map[string]float64{up: 1})

	began := time.Now().Truncate(time.Second)
	s := w.switched("extra", false)
	if s.Phase != ports.PhaseDisabled || s.DisabledBy != ports.ByAdmin || s.DisabledAt.Before(began) || s.Tools != 0 {
		t.Errorf("it is listed as %+v", s)
	}
	if _, running, _, _ := source.seen(); running != 0 {
		t.Error("it runs still")
	}
	if r := w.called("extra__hello"); r.Outcome != ports.CallNotFound || r.Text != `The server "extra" is disabled.` {
		t.Errorf("a call gave %+v", r)
	}
	if _, there := w.scrape()[up]; there {
		t.Error("a disabled server has a series still")
	}
	if n := w.g.Ready(t.Context()).Servers["disabled"]; n != 1 {
		t.Errorf("/readyz counts %d disabled servers", n)
	}
	if _, err := w.g.Reconnect(t.Context(), "extra"); !ports.IsKind(err, ports.KindInvalid) || !strings.Contains(err.Error(), "enable") {
		t.Errorf("to reconnect it gave %v", err)
	}
	w.restart()
	if again, _ := w.server("extra"); again.Phase != ports.PhaseDisabled || again.DisabledBy != ports.ByAdmin || !again.DisabledAt.Equal(s.DisabledAt) {
		t.Errorf("after a restart it is %+v, want %+v", again, s)
	}
	if s := w.switched("extra", true); s.Phase != ports.PhaseReady || s.Tools != 1 || s.DisabledBy != "" {
		t.Errorf("enabled again it is %+v", s)
	}
	if r := w.called("extra__hello"); r.Text != "hi" {
		t.Errorf("a call gave %+v", r)
	}
	have(t, w.scrape(), map[string]float64{up: 1})
	w.restart()
	w.is("extra", ports.PhaseReady)
	for what, want := range map[string]int{"server_disable": 1, "server_enable": 1} {
		if n := w.count(`SELECT COUNT(*) FROM audit WHERE what = '` + what + `' AND ref = 'extra' AND actor = 'admin'`); n != want {
			t.Errorf("%s is audited %d times", what, n)
		}
	}
}

// The config's word decides anew when it changes: what an admin said before is
// forgotten, and does not come back with the next change.
func TestTheConfigsWordDecidesAnewWhenItChanges(t *testing.T) {
	w := withExtra(t, &plain{}, true).start()
	if s, _ := w.server("extra"); s.Phase != ports.PhaseDisabled || s.DisabledBy != ports.ByConfig || !s.DisabledAt.IsZero() {
		t.Errorf("a server that the config disables is %+v", s)
	}
	if s := w.switched("extra", true); s.Phase != ports.PhaseReady {
		t.Errorf("enabled it is %+v", s)
	}
	w.restart()
	w.is("extra", ports.PhaseReady)

	w.opt.Sources[0].Disabled = false
	w.restart()
	w.is("extra", ports.PhaseReady)
	w.opt.Sources[0].Disabled = true
	w.restart()
	if s, _ := w.server("extra"); s.Phase != ports.PhaseDisabled || s.DisabledBy != ports.ByConfig {
		t.Errorf("once the config disables it anew it is %+v", s)
	}
	w.switched("extra", true)
	w.opt.Sources = nil
	w.restart()
	w.opt.Sources = []gateway.Source{sourceOf("extra", &plain{})}
	w.opt.Sources[0].Disabled = true
	w.restart()
	if s, _ := w.server("extra"); s.Phase != ports.PhaseDisabled {
		t.Errorf("out of the config and back it is %+v", s)
	}
	if n := w.count(`SELECT COUNT(*) FROM record WHERE kind = 'enabled'`); n != 0 {
		t.Errorf("%d words are kept for nothing", n)
	}
}

func TestNoServerIsStartedWhereTheConfigStartsNone(t *testing.T) {
	source := &plain{}
	w := withExtra(t, source, false)
	w.opt.NoServers = true
	w.start()
	for _, name := range []string{"extra", "srv"} {
		if s, _ := w.server(name); s.Phase != ports.PhaseDisabled || s.DisabledBy != ports.ByConfig {
			t.Errorf("%s is %+v", name, s)
		}
	}
	if _, err := w.g.SetEnabled(t.Context(), "extra", true); !ports.IsKind(err, ports.KindInvalid) || !strings.Contains(err.Error(), "mcp") {
		t.Errorf("to enable one gave %v", err)
	}
	w.switched("extra", false) // holds for when the config starts servers again
	if runs, _, _, _ := source.seen(); runs != 0 {
		t.Errorf("it was run %d times", runs)
	}
	w.opt.NoServers = false
	w.restart()
	if s, _ := w.server("extra"); s.DisabledBy != ports.ByAdmin {
		t.Errorf("extra is %+v", s)
	}
}

// reconnects is a source that can make a new connection, and says how.
type reconnects struct {
	*plain
	phase ports.Phase
	deaf  bool

	mu    sync.Mutex
	wants int
}

func (r *reconnects) Reconnect(ctx context.Context) error {
	r.mu.Lock()
	r.wants++
	r.mu.Unlock()
	if r.deaf {
		<-ctx.Done()
		return ctx.Err()
	}
	r.plain.mu.Lock()
	reg := r.reg
	r.plain.mu.Unlock()
	reg.State(ports.State{Phase: ports.PhaseConnecting})
	go reg.State(ports.State{Phase: r.phase, Err: "as it is"})
	if r.phase != ports.PhaseReady {
		return fmt.Errorf("words that may hold a secret")
	}
	return nil
}

func TestReconnectTellsWhatCameOfIt(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		good := &reconnects{plain: &plain{}, phase: ports.PhaseReady}
		bad := &reconnects{plain: &plain{}, phase: ports.PhaseDegraded}
		deaf := &reconnects{plain: &plain{}, deaf: true}
		anew, down := &plain{}, &plain{down: true}
		w := newWorld(t)
		for name, p := range map[string]ports.ToolSource{"good": good, "bad": bad, "deaf": deaf, "anew": anew, "down": down} {
			s := sourceOf(name, p)
			s.Timeout = 10 * time.Millisecond // and the grace
			w.opt.Sources = append(w.opt.Sources, s)
		}
		w.start()
		w.is("down", ports.PhaseDegraded)
		for _, name := range []string{"good", "bad", "deaf", "anew"} {
			w.is(name, ports.PhaseReady)
		}
		for name, want := range map[string]ports.Phase{"good": ports.PhaseReady, "bad": ports.PhaseDegraded, "anew": ports.PhaseReady, "down": ports.PhaseDegraded} {
			s, err := w.g.Reconnect(t.Context(), name)
			if err != nil || s.Name != name || s.Phase != want || strings.Contains(s.Err, "secret") {
				t.Errorf("%s: %+v (%v)", name, s, err)
			}
		}
		if runs, running, most, _ := anew.seen(); runs != 2 || running != 1 || most != 1 {
			t.Errorf("a source that cannot reconnect was run %d times, %d at a time, and %d run", runs, most, running)
		}
		if _, err := w.g.Reconnect(t.Context(), "deaf"); !ports.IsKind(err, ports.KindTimeout) {
			t.Errorf("a source that never comes back gave %v", err)
		}
		for _, name := range []string{"", "nobody"} {
			if _, err := w.g.Reconnect(t.Context(), name); !ports.IsKind(err, ports.KindNotFound) {
				t.Errorf("%q gave %v", name, err)
			}
			if _, err := w.g.SetEnabled(t.Context(), name, false); !ports.IsKind(err, ports.KindNotFound) {
				t.Errorf("to disable %q gave %v", name, err)
			}
		}
		w.end()
	})
}

// The log says once how the servers stand when the gateway has started, and once
// that all are gone.
func TestTheLogCountsTheServersAtTheStartAndAtTheEnd(t *testing.T) {
	w := newWorld(t)
	log := w.logged()
	off := sourceOf("off", &plain{})
	off.Disabled = true
	down := sourceOf("down", &plain{down: true})
	down.Timeout = 2 * time.Second // all of it goes by
	w.opt.Sources = []gateway.Source{sourceOf("good", &plain{}), down, off}
	w.start()
	eventually(t, "the servers are counted", func() bool { return len(log.find("mcp_servers_connected")) == 1 })
	line := log.find("mcp_servers_connected")[0]
	if fmt.Sprint(line["ready"], line["failed"], line["idle"], line["disabled"]) != "2 1 0 1" { // srv is there too
		t.Errorf("the line is %v", line)
	}
	w.switched("good", false)
	w.switched("good", true)
	if n := len(log.find("mcp_servers_disconnected")); n != 0 {
		t.Errorf("%d lines before the end", n)
	}
	w.end()
	if a, b := len(log.find("mcp_servers_connected")), len(log.find("mcp_servers_disconnected")); a != 1 || b != 1 {
		t.Errorf("%d and %d lines, want one of each", a, b)
	}
}
