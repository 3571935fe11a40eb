package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"time"
)

const (
	warmCalls   = 200
	sideBySide  = 16 // as many as a server's max_parallel lets run
	manyServers = 20
	versionOld  = "2025-11-25"
	versionNew  = "2026-07-28"
)

// MCPResult is what MCP servers cost.
type MCPResult struct {
	Calls   int       `json:"calls"` // of a round, on each side
	Rounds  int       `json:"rounds"`
	Calling []CallRow `json:"calling"`
	Fleets  []Fleet   `json:"fleets"`
}

// CallRow is how long a call takes through the adapter, and through mcp-go's own
// client to the same server: medians over the rounds.
type CallRow struct {
	Transport string  `json:"transport"` // stdio, http
	Version   string  `json:"version"`
	Parallel  int     `json:"parallel"`
	P50US     float64 `json:"p50_us"`
	P99US     float64 `json:"p99_us"`
	BareP50US float64 `json:"bare_p50_us"`
	BareP99US float64 `json:"bare_p99_us"`
	Ratio     float64 `json:"ratio"` // median of the rounds' own ratios of p50: what disturbs a round disturbs both
}

func (c CallRow) name() string {
	return fmt.Sprintf("%s %s, %d at a time", c.Transport, c.Version, c.Parallel)
}

// Fleet is a gateway with so many servers on stdio.
type Fleet struct {
	Servers int     `json:"servers"`
	ReadyMS float64 `json:"ready_ms"` // from exec until all of them are ready
	IdleMB  float64 `json:"idle_mb"`
	AnonMB  float64 `json:"anon_mb"`
}

// measureMCP measures MCP servers alone.
func measureMCP(ctx context.Context, opt options, progress io.Writer) (result Result, err error) {
	work, err := os.MkdirTemp(opt.dir, "bench")
	if err != nil {
		return Result{}, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(work)) }()
	fmt.Fprintln(progress, "building")
	bins, err := buildAll(ctx, opt, work)
	if err != nil {
		return Result{}, err
	}
	m := &meter{opt: opt, work: work, progress: progress}
	result = Result{Date: time.Now().UTC().Truncate(time.Second), Commit: commit(ctx, opt.root), Go: runtime.Version(), Cores: runtime.NumCPU(),
		Note: opt.note, Rounds: opt.rounds, MCP: &MCPResult{Calls: opt.calls, Rounds: opt.rounds}}
	if err := m.calling(ctx, bins, result.MCP); err != nil {
		return result, err
	}
	return result, m.fleets(ctx, bins, result.MCP)
}

// calling measures calls over each way.
func (m *meter) calling(ctx context.Context, bins binaries, to *MCPResult) error {
	dir, err := m.folder()
	if err != nil {
		return err
	}
	server, url, err := serveEcho(ctx, bins, dir)
	if err != nil {
		return err
	}
	defer server.kill()
	for _, l := range []link{{"", versionOld}, {"", versionNew}, {url, versionOld}, {url, versionNew}} {
		if err := m.callOver(ctx, bins, l, to); err != nil {
			return fmt.Errorf("calls over %+v: %w", l, err)
		}
	}
	return nil
}

// callOver measures both clients on one way, in turns.
func (m *meter) callOver(ctx context.Context, bins binaries, l link, to *MCPResult) (err error) {
	ours, err := adapterPeer(ctx, bins, l)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, ours.close()) }()
	bare, err := barePeer(ctx, bins, l)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, bare.close()) }()
	for _, parallel := range []int{1, sideBySide} {
		row := CallRow{Transport: "stdio", Version: l.Version, Parallel: parallel}
		if l.URL != "" {
			row.Transport = "http"
		}
		fmt.Fprintln(m.progress, "calls,", row.name())
		var rounds []CallRow
		for range m.opt.rounds {
			var one CallRow
			if one.P50US, one.P99US, err = timeCalls(ctx, ours, parallel, m.opt.calls); err != nil {
				return err
			}
			if one.BareP50US, one.BareP99US, err = timeCalls(ctx, bare, parallel, m.opt.calls); err != nil {
				return err
			}
			rounds = append(rounds, one)
		}
		row.P50US = median(rounds, func(c CallRow) float64 { return c.P50US })
		row.P99US = median(rounds, func(c CallRow) float64 { return c.P99US })
		row.BareP50US = median(rounds, func(c CallRow) float64 { return c.BareP50US })
		row.BareP99US = median(rounds, func(c CallRow) float64 { return c.BareP99US })
		row.Ratio = median(rounds, func(c CallRow) float64 { return c.P50US / c.BareP50US })
		to.Calling = append(to.Calling, row)
	}
	return nil
}

// timeCalls makes calls and gives their percentiles, in microseconds.
func timeCalls(ctx context.Context, p peer, parallel, calls int) (p50, p99 float64, err error) {
	runtime.GC() // the other side's garbage is not this one's
	took, faults := make([][]float64, parallel), make([]error, parallel)
	var wg sync.WaitGroup
	for w := range parallel {
		wg.Go(func() {
			for n := range (warmCalls + calls) / parallel {
				text := fmt.Sprintf("%d-%d", w, n)
				began := time.Now()
				if faults[w] = p.say(ctx, text); faults[w] != nil {
					return
				}
				if n >= warmCalls/parallel {
					took[w] = append(took[w], float64(time.Since(began))/float64(time.Microsecond))
				}
			}
		})
	}
	wg.Wait()
	var all []float64
	for _, one := range took {
		all = append(all, one...)
	}
	return percentile(all, 50), percentile(all, 99), errors.Join(faults...)
}

// fleets measures gateways with none, some and many servers.
func (m *meter) fleets(ctx context.Context, bins binaries, to *MCPResult) error {
	for _, n := range []int{0, 5, manyServers} {
		var all []Fleet
		for i := range max(1, m.opt.starts) {
			fmt.Fprintf(m.progress, "gateway with %d servers, %d of %d\n", n, i+1, max(1, m.opt.starts))
			one, err := m.fleet(ctx, bins, n)
			if err != nil {
				return err
			}
			all = append(all, one)
		}
		to.Fleets = append(to.Fleets, Fleet{Servers: n,
			ReadyMS: median(all, func(f Fleet) float64 { return f.ReadyMS }),
			IdleMB:  median(all, func(f Fleet) float64 { return f.IdleMB }),
			AnonMB:  median(all, func(f Fleet) float64 { return f.AnonMB }),
		})
	}
	return nil
}

// fleet starts a gateway with n servers, waits for them, and weighs it.
func (m *meter) fleet(ctx context.Context, bins binaries, n int) (f Fleet, err error) {
	dir, err := m.folder()
	if err != nil {
		return f, err
	}
	address, err := freeAddress()
	if err != nil {
		return f, err
	}
	file := filepath.Join(dir, "dragoman.json")
	if err := os.WriteFile(file, fleetConfig(dir, address, bins.echo, n), 0o600); err != nil {
		return f, err
	}
	env := append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "TMPDIR=" + dir}, m.opt.env...)
	p, err := start(dir, env, bins.gateway, "run", "--config", file)
	if err != nil {
		return f, err
	}
	defer func() { err = gatewaySystem(bins, nil).halt(p, err) }()
	if err := awaitFleet(ctx, p, address, n); err != nil {
		return f, err
	}
	f.ReadyMS = milliseconds(time.Since(p.began))
	if err := pause(ctx, m.opt.settle); err != nil {
		return f, err
	}
	mem, err := measureMemory(p.pid())
	f.IdleMB, f.AnonMB = mem.resident, mem.anonymous
	return f, err
}

func fleetConfig(dir, address, command string, n int) []byte {
	servers := map[string]any{}
	for i := range n {
		servers[fmt.Sprintf("s%02d", i)] = map[string]any{"command": command}
	}
	raw, err := json.Marshal(map[string]any{
		"data_dir": filepath.Join(dir, "data"), "listen": address, "mcp_servers": servers,
		"models": map[string]any{"main": map[string]any{"type": "demo"}}, "channels": map[string]any{"web": map[string]any{"type": "web"}},
	})
	if err != nil {
		panic(err) // nothing in it can fail
	}
	return raw
}

// awaitFleet waits until the gateway says that it is ready and so are n servers.
func awaitFleet(ctx context.Context, p *process, address string, n int) error {
	client := &http.Client{Timeout: time.Second}
	defer client.CloseIdleConnections()
	last := ""
	for until := time.Now().Add(patience); time.Now().Before(until); {
		var ready struct {
			Ready   bool           `json:"ready"`
			Servers map[string]int `json:"servers"`
		}
		answer, err := client.Get("http://" + address + "/readyz")
		if err == nil {
			err = errors.Join(json.NewDecoder(answer.Body).Decode(&ready), answer.Body.Close())
		}
		if err == nil && ready.Ready && ready.Servers["ready"] == n {
			return nil
		}
		last = strings.TrimSpace(fmt.Sprint(ready, " ", err))
		if err := errors.Join(p.alive(), pause(ctx, time.Millisecond)); err != nil {
			return err
		}
	}
	return fmt.Errorf("its %d servers are not ready: %s", n, last)
}

// freeAddress is one that nobody listened on a moment ago.
func freeAddress() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return l.Addr().String(), l.Close()
}

// perServer is what a server costs on our side in memory, in MB.
func (r *MCPResult) perServer() (float64, bool) {
	var none, many *Fleet
	for i, f := range r.Fleets {
		switch f.Servers {
		case 0:
			none = &r.Fleets[i]
		case manyServers:
			many = &r.Fleets[i]
		}
	}
	if none == nil || many == nil {
		return 0, false
	}
	return (many.IdleMB - none.IdleMB) / manyServers, true
}

func (r *MCPResult) table() string {
	var calls, fleets [][]string
	for _, c := range r.Calling {
		calls = append(calls, []string{c.name(), number(c.P50US), number(c.BareP50US), number(c.Ratio), number(c.P99US), number(c.BareP99US)})
	}
	for _, f := range r.Fleets {
		fleets = append(fleets, []string{fmt.Sprint(f.Servers), number(f.ReadyMS), number(f.IdleMB), number(f.AnonMB)})
	}
	return fmt.Sprintf("%d calls of a tool that echoes, median of %d rounds, us\n\n", r.Calls, r.Rounds) +
		grid([]string{"calls", "p50", "mcp-go", "x", "p99", "mcp-go"}, calls) + "\n" +
		grid([]string{"servers on stdio", "exec to all ready, ms", "idle RSS, MB", "of it anonymous"}, fleets)
}
