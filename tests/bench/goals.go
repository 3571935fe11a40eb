package main

import (
	"fmt"
	"time"
)

// goal is a figure that the gateway is held to.
type goal struct {
	what  string
	least bool // the figure is to reach the bound, else not to exceed it
	bound float64
	unit  string
	get   func(Result) (float64, bool)
}

// goals are in the order in which they are told.
func goals() []goal {
	idle := func(tool bool) func(Result) (float64, bool) {
		return onStart(tool, func(s Start) float64 { return s.IdleMB })
	}
	slow := 200 * time.Millisecond
	return []goal{
		{"first poll", false, 60, "ms", onStart(false, func(s Start) float64 { return s.FirstPollMS })},
		{"first poll, new database", false, 60, "ms", onStart(false, func(s Start) float64 { return s.FirstPollNewMS })},
		{"idle RSS", false, 40, "MB", idle(false)},
		{"idle RSS, one MCP server", false, 40, "MB", idle(true)},
		{"SIGKILL to the next answer, 200 turns in flight", false, 500, "ms", onRecovery(200)},
		{"added p50, 1 chat", false, 5, "ms", onRow(Load{Chats: 1}, func(f Figures) float64 { return f.AddedP50MS })},
		{"whole p50, 512 chats, model 200ms, pause 1s", false, 230, "ms",
			onRow(Load{Chats: 512, Delay: slow, Pause: time.Second}, func(f Figures) float64 { return f.WholeP50MS })},
		{"whole p50, 512 chats, model 200ms, no pause", false, 230, "ms",
			onRow(Load{Chats: 512, Delay: slow}, func(f Figures) float64 { return f.WholeP50MS })},
		{"turns/s, 128 chats", true, 1000, "", onRow(Load{Chats: 128}, func(f Figures) float64 { return f.TurnsPerSecond })},
		{"MCP call over stdio, p50 against mcp-go's", false, 1.5, "x", onCalls("stdio", 1)},
		{"MCP call over stdio, 16 at a time", false, 1.5, "x", onCalls("stdio", sideBySide)},
		{"MCP call over HTTP, p50 against mcp-go's", false, 1.5, "x", onCalls("http", 1)},
		{"MCP call over HTTP, 16 at a time", false, 1.5, "x", onCalls("http", sideBySide)},
		{"memory for each MCP server", false, 1, "MB", func(r Result) (float64, bool) {
			if r.MCP == nil {
				return 0, false
			}
			return r.MCP.perServer()
		}},
		{"turns/s, 128 chats, tool", true, 600, "", onRow(Load{Chats: 128, Tool: true}, func(f Figures) float64 { return f.TurnsPerSecond })},
	}
}

func onStart(tool bool, get func(Start) float64) func(Result) (float64, bool) {
	return func(r Result) (float64, bool) {
		for _, s := range r.Starts {
			if s.Tool == tool {
				return get(s.Gateway), true
			}
		}
		return 0, false
	}
}

func onRecovery(inFlight int) func(Result) (float64, bool) {
	return func(r Result) (float64, bool) {
		if r.Recovery == nil || r.Recovery.InFlight != inFlight {
			return 0, false
		}
		return r.Recovery.FirstMS, true
	}
}

// onCalls is the worse of the revisions.
func onCalls(transport string, parallel int) func(Result) (float64, bool) {
	return func(r Result) (worst float64, ok bool) {
		if r.MCP == nil {
			return 0, false
		}
		for _, c := range r.MCP.Calling {
			if c.Transport == transport && c.Parallel == parallel {
				worst, ok = max(worst, c.Ratio), true
			}
		}
		return worst, ok
	}
}

func onRow(l Load, get func(Figures) float64) func(Result) (float64, bool) {
	return func(r Result) (float64, bool) {
		for _, row := range r.Rows {
			if row.Load == l {
				return get(row.Gateway), true
			}
		}
		return 0, false
	}
}

// verdicts are the goals whose figures were measured.
func (r Result) verdicts() [][]string {
	var rows [][]string
	for _, g := range goals() {
		v, ok := g.get(r)
		if !ok || v == 0 {
			continue
		}
		sign, met := "<=", v <= g.bound
		if g.least {
			sign, met = ">=", v >= g.bound
		}
		word := "MISSED"
		if met {
			word = "met"
		}
		rows = append(rows, []string{g.what, fmt.Sprintf("%s %g %s", sign, g.bound, g.unit), number(v), word})
	}
	return rows
}
