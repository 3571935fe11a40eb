package e2e

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"dragoman/ports"
	"dragoman/tests/fake/mcpfaults"
)

const (
	// faultArg starts the test binary as a server with a fault.
	faultArg = "mcp-fault"
	// faultGroups is how many gateways share the faults, one after the other.
	faultGroups = 6
	// faultMemory is how much more than at its start a gateway may ever take.
	faultMemory = 100 << 20
	// baseCalls is how many calls a good server's time is measured with.
	baseCalls = 60
	// leastCalls is how many are to go on beside the faults.
	leastCalls = 20
	// retryWithin is when a server that is mended must be back: the longest pause
	// between two tries, and some.
	retryWithin = 50 * time.Second
)

// Each server that misbehaves harms only its own tools, says so, and is taken
// back when it is mended. See [faultCases] for what is expected of each.
func TestEveryFaultOfAServerIsItsOwn(t *testing.T) {
	groups := dealt(t)
	for name := range faultCases {
		if _, ok := mcpfaults.Find(name); !ok {
			t.Errorf("there is no fault %q", name)
		}
	}
	alone := newControl(t, startFaulty(t, goodServer()))
	for i, group := range groups {
		t.Run(fmt.Sprint("group ", i+1), func(t *testing.T) { runFaults(t, group, alone) })
	}
}

// dealt are all faults in groups. Of those that cost much memory there is only one
// at a time: the ones that do as soon as they are connected to come first, so
// that they are in groups of their own, and the others wait for each other.
func dealt(t testing.TB) [][]mcpfaults.Fault {
	groups := make([][]mcpfaults.Fault, faultGroups)
	costly, atOnce, others := 0, 0, 0
	for _, f := range mcpfaults.Faults() {
		c, ok := faultCases[f.Name]
		i := others % faultGroups
		switch {
		case !ok:
			t.Errorf("nothing is expected of the fault %q", f.Name)
			continue
		case c.heavy && c.act == "":
			i, atOnce = atOnce, atOnce+1
		case c.heavy:
			i, costly = faultGroups-1-costly%(faultGroups/2), costly+1
		default:
			others++
		}
		groups[i] = append(groups[i], f)
	}
	return groups
}

// startFaulty starts a gateway, as it is shipped, with those servers.
func startFaulty(t testing.TB, servers ...string) *gateway {
	g := newGateway(t, plainBinary(t), `{"listen": "${LISTEN}", "models": {"main": {"type": "demo"}}, "channels": {}, "tools": {"default": "allow"},
		"mcp": {"timeout": "4s", "call_timeout": "3s"}, "mcp_servers": {`+strings.Join(servers, ",\n")+`}}`)
	g.Start()
	g.WaitReady()
	return g
}

// goodServer is the entry of a config for a server that is mended from the start.
func goodServer() string { return faultServer("good", "noise", os.Args[0]) }

func faultServer(name, fault, mendedBy string) string {
	return fmt.Sprintf(`%q: {"command": %q, "args": [%q, %s, %q]}`, name, os.Args[0], faultArg, quoted(fault), mendedBy)
}

// faulty is a gateway with servers that misbehave.
type faulty struct {
	*gateway
	*control
	look   *lookout
	mended string
	heavy  sync.Mutex // held by the one that costs much memory
}

func runFaults(t *testing.T, group []mcpfaults.Fault, alone *control) {
	f := &faulty{mended: filepath.Join(t.TempDir(), "mended")}
	servers := []string{goodServer()}
	for i, fault := range group {
		servers = append(servers, f.server(t, serverName(i), fault))
	}
	base := &probe{c: alone, tool: "good__echo"}
	base.run(t.Context(), baseCalls)

	f.gateway = startFaulty(t, servers...)
	f.control = newControl(t, f.gateway)
	before := usage(t, f.gateway)
	var stop func()
	f.look, stop = watchServers(t.Context(), t, f.gateway)
	defer stop()
	eventually(t, answerWithin, "the good server is there", func() error {
		r, err := f.call(t.Context(), "good__echo", `{"text":"x"}`)
		if err == nil && r.Text != "x" {
			err = fmt.Errorf("%s %s", r.Outcome, r.Text)
		}
		return err
	})
	good := &probe{c: f.control, tool: "good__echo"}
	while, end := context.WithCancel(t.Context())
	var probing sync.WaitGroup
	probing.Go(func() { good.run(while, 1_000_000) })
	f.each(t, "misbehave", group, f.misbehaves)
	end()
	probing.Wait()
	judge(t, base, good)
	after := usage(t, f.gateway)
	t.Logf("before: %s", before)
	t.Logf("after:  %s", after)
	if more := after.PeakRSS - before.RSS; more > faultMemory {
		t.Errorf("the gateway took up to %d MiB more than at its start, want at most %d", more>>20, faultMemory>>20)
	}
	if err := os.WriteFile(f.mended, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	f.each(t, "recover", group, f.recovers)
	stop()
	f.Term()
	noSurvivors(t, f.Dir, 5*time.Second)
}

func serverName(i int) string { return fmt.Sprintf("f%d", i) }

// server is the entry of a config for a server with the fault.
func (f *faulty) server(t testing.TB, name string, fault mcpfaults.Fault) string {
	if fault.Over == mcpfaults.Stdio {
		return faultServer(name, fault.Name, f.mended)
	}
	s := mcpfaults.Start(fault, f.mended)
	t.Cleanup(s.Close)
	return fmt.Sprintf(`%q: {"transport": %q, "url": %q}`, name, fault.Over, s.URL())
}

// judge compares the calls of the good server beside the faults with those of one alone.
func judge(t testing.TB, base, good *probe) {
	t.Helper()
	alone, _, _ := base.figures()
	median, worst, n := good.figures()
	t.Logf("the good server's calls: %s alone, %s beside the faults (median), %s at worst, %d calls", alone, median, worst, n)
	if n < leastCalls || median > 5*alone+100*time.Millisecond {
		t.Errorf("beside the faults %d calls of the good server took %s (median), alone %s", n, median, alone)
	}
	if len(good.faults)+len(base.faults) > 0 {
		t.Errorf("%d calls of the good server failed, as %s", len(good.faults)+len(base.faults), append(good.faults, base.faults...)[0])
	}
}

// each checks all faults of the group side by side, and logs which took longest to do it.
func (f *faulty) each(t *testing.T, what string, group []mcpfaults.Fault, check func(ctx context.Context, name string, c faultCase) error) {
	var all sync.WaitGroup
	began, took := time.Now(), make([]time.Duration, len(group))
	for i, fault := range group {
		all.Go(func() {
			if err := check(t.Context(), serverName(i), faultCases[fault.Name]); err != nil {
				t.Errorf("%s (%s): %v\nit was %+v", fault.Name, fault.Why, err, f.look.history(serverName(i)))
			}
			took[i] = time.Since(began)
		})
	}
	all.Wait()
	last := slices.Index(took, slices.Max(took))
	t.Logf("%d servers took %s to %s, %q the longest", len(group), took[last], what, group[last].Name)
}

// misbehaves checks what a fault does before it is mended.
func (f *faulty) misbehaves(ctx context.Context, name string, c faultCase) error {
	if c.act != "" {
		if err := f.acts(ctx, name, c); err != nil {
			return err
		}
	}
	if c.act != "" && !c.gone {
		if err := f.echoes(ctx, name); err != nil {
			return err
		}
	}
	return poll(answerWithin, func() error {
		switch now := f.look.now(name); {
		case !f.look.said(name, c.says):
			return fmt.Errorf("nothing tells of %q", c.says)
		case c.says == "" && !c.gone && !c.heavy && (now.State != "ready" || now.Err != ""):
			return fmt.Errorf("it is %s: %s", now.State, now.Err)
		}
		return nil
	})
}

// acts calls the tool that shows the fault, once the server is ready.
func (f *faulty) acts(ctx context.Context, name string, c faultCase) error {
	err := poll(answerWithin, func() error {
		if now := f.look.now(name); now.State != "ready" || now.Tools == 0 {
			return fmt.Errorf("it is %s, with %d tools", now.State, now.Tools)
		}
		return nil
	})
	if err != nil {
		return err
	}
	args := "{}"
	if c.args != "" { // more than a pipe takes
		args = `{"text":"` + strings.Repeat(c.args, 1<<18) + `"}`
	}
	if c.heavy {
		f.heavy.Lock()
		defer f.heavy.Unlock()
	}
	r, err := f.call(ctx, name+"__act", args)
	if err != nil || !regexp.MustCompile("^("+c.act+")$").MatchString(string(r.Outcome)) || !strings.Contains(r.Text, c.text) {
		return fmt.Errorf("the call gave %s %.300q (%v), want %s %q", r.Outcome, r.Text, err, c.act, c.text)
	}
	return nil
}

// echoes waits until the server's other tool works.
func (f *faulty) echoes(ctx context.Context, name string) error {
	return poll(answerWithin, func() error {
		r, err := f.call(ctx, name+"__echo", `{"text":"still here"}`)
		if err == nil && (r.Outcome != ports.CallOK || r.Text != "still here") {
			err = fmt.Errorf("its other tool gives %s %.100q", r.Outcome, r.Text)
		}
		return err
	})
}

// recovers checks that a server works again once it is mended, without a restart
// of the gateway.
func (f *faulty) recovers(ctx context.Context, name string, c faultCase) error {
	if c.told {
		if _, stderr, code := f.CLI("servers", "reconnect", name); code != 0 {
			return fmt.Errorf("servers reconnect: exit %d, %s", code, stderr)
		}
	}
	err := poll(retryWithin, func() error {
		r, err := f.call(ctx, name+"__act", `{}`)
		if err == nil && (r.Outcome != ports.CallOK || r.Text != "acted") {
			err = fmt.Errorf("after it was mended a call gives %s %.100q", r.Outcome, r.Text)
		}
		return err
	})
	if err != nil {
		return err
	}
	return f.echoes(ctx, name)
}
