package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"dragoman/ports"
)

// control speaks to a gateway's control socket, as its own commands do, without
// a process for each word.
type control struct{ http *http.Client }

func newControl(t testing.TB, g *gateway) *control {
	path := filepath.Join(g.Dir, "dragoman-data", "control.sock")
	c := &control{http: &http.Client{Transport: &http.Transport{
		MaxIdleConnsPerHost: 64,
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "unix", path)
		},
	}}}
	t.Cleanup(c.http.CloseIdleConnections)
	return c
}

// adminPatience is how long an admin waits for a call that its server may make
// longer than call_timeout, by telling of progress or by making it a task.
const adminPatience = 8 * time.Second

// call calls a tool as an admin.
func (c *control) call(ctx context.Context, tool, args string) (ports.CallReport, error) {
	ctx, cancel := context.WithTimeout(ctx, adminPatience+answerWithin) // a gateway that is stuck fails the test
	defer cancel()
	body, err := json.Marshal(map[string]any{"name": tool, "args": json.RawMessage(args), "timeout": adminPatience})
	if err != nil {
		return ports.CallReport{}, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://control/call", bytes.NewReader(body))
	if err != nil {
		return ports.CallReport{}, err
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return ports.CallReport{}, err
	}
	defer resp.Body.Close()
	var r ports.CallReport
	if err := json.NewDecoder(resp.Body).Decode(&r); err != nil || resp.StatusCode != http.StatusOK {
		return r, fmt.Errorf("%s: %w", resp.Status, err)
	}
	return r, nil
}

// serverState is a server as `dragoman servers --json` shows it.
type serverState struct {
	Name  string `json:"name"`
	State string `json:"state"`
	Err   string `json:"last_error"`
	Tools int    `json:"tools"`
}

// lookout remembers all that `dragoman servers --json` said of each server.
type lookout struct {
	mu   sync.Mutex
	seen map[string][]serverState
}

// watchServers looks again and again until the test, or what ctx is for, is over.
func watchServers(ctx context.Context, t testing.TB, g *gateway) (*lookout, func()) {
	l := &lookout{seen: make(map[string][]serverState)}
	ctx, cancel := context.WithCancel(ctx)
	var done sync.WaitGroup
	done.Go(func() {
		tick := time.NewTicker(300 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				l.look(t, g)
			}
		}
	})
	return l, func() { cancel(); done.Wait() }
}

func (l *lookout) look(t testing.TB, g *gateway) {
	out, stderr, code := g.CLI("servers", "--json")
	var list []serverState
	if err := json.Unmarshal([]byte(out), &list); code != 0 || err != nil {
		t.Errorf("servers --json: exit %d, %v: %s%s", code, err, out, stderr)
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, s := range list {
		if seen := l.seen[s.Name]; len(seen) == 0 || seen[len(seen)-1] != s {
			l.seen[s.Name] = append(seen, s)
		}
	}
}

// history is what was seen of a server, the latest last.
func (l *lookout) history(name string) []serverState {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.seen[name])
}

func (l *lookout) now(name string) serverState {
	seen := l.history(name)
	if len(seen) == 0 {
		return serverState{State: "not seen yet"}
	}
	return seen[len(seen)-1]
}

// said reports whether the words, or some of them with | between, were ever a part of a server's errors.
func (l *lookout) said(name, words string) bool {
	return slices.ContainsFunc(l.history(name), func(s serverState) bool {
		return slices.ContainsFunc(strings.Split(words, "|"), func(some string) bool { return strings.Contains(s.Err, some) })
	})
}

// probe calls a tool of a good server again and again, and keeps how long each took.
type probe struct {
	c    *control
	tool string

	mu     sync.Mutex
	times  []time.Duration
	faults []string
}

// run calls until ctx ends, or n times.
func (p *probe) run(ctx context.Context, n int) {
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for range n {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		began := time.Now()
		r, err := p.c.call(context.WithoutCancel(ctx), p.tool, `{"text":"all is well"}`)
		took := time.Since(began)
		p.mu.Lock()
		p.times = append(p.times, took)
		if err != nil || r.Outcome != ports.CallOK || r.Text != "all is well" {
			p.faults = append(p.faults, fmt.Sprintf("after %s: %s %.100q (%v)", took, r.Outcome, r.Text, err))
		}
		p.mu.Unlock()
	}
}

// median and worst of the calls so far, and how many there were.
func (p *probe) figures() (median, worst time.Duration, n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.times) == 0 {
		return 0, 0, 0
	}
	sorted := slices.Sorted(slices.Values(p.times))
	return sorted[len(sorted)/2], sorted[len(sorted)-1], len(sorted)
}
