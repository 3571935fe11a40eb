package main

import (
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"time"
)

// Result is one run, and a line of the history.
type Result struct {
	Date     time.Time  `json:"date"`
	Commit   string     `json:"commit"`
	Go       string     `json:"go"`
	Cores    int        `json:"cores"`
	Note     string     `json:"note,omitempty"`
	Seconds  float64    `json:"seconds"`
	Rounds   int        `json:"rounds"`
	Depth    int        `json:"depth"`   // messages of a chat
	SyncMS   float64    `json:"sync_ms"` // of 4 KiB written to the disk and synced, median
	Starts   []StartRow `json:"starts,omitempty"`
	Recovery *Recovery  `json:"recovery,omitempty"`
	Rows     []Row      `json:"rows,omitempty"`
	MCP      *MCPResult `json:"mcp,omitempty"` // of a run with -mcp
}

// StartRow is the start and the weight of both systems.
type StartRow struct {
	Tool    bool  `json:"tool"`
	Gateway Start `json:"gateway"`
	Bare    Start `json:"bare,omitzero"`
}

// Start is from exec to the first poll, and memory when nothing happens.
type Start struct {
	FirstPollNewMS float64 `json:"first_poll_new_ms"` // with a new database
	FirstPollMS    float64 `json:"first_poll_ms"`
	IdleMB         float64 `json:"idle_mb"`
	IdleAnonMB     float64 `json:"idle_anon_mb"`
	ToolServerMB   float64 `json:"tool_server_mb"`
}

// Row is one load on both systems.
type Row struct {
	Name    string  `json:"name"`
	Load    Load    `json:"load"`
	Gateway Figures `json:"gateway"`
	Bare    Figures `json:"bare,omitzero"`
}

// Figures of one load. CPU times are seconds per 1,000 turns.
type Figures struct {
	Turns          int     `json:"turns"`
	TurnsPerSecond float64 `json:"turns_per_s"`
	AddedP50MS     float64 `json:"added_p50_ms"`
	AddedP99MS     float64 `json:"added_p99_ms"`
	WholeP50MS     float64 `json:"whole_p50_ms"`
	WholeP99MS     float64 `json:"whole_p99_ms"`
	CPU            float64 `json:"cpu_s"`
	ToolCPU        float64 `json:"tool_cpu_s"`
	LoadCPU        float64 `json:"load_cpu_s"`
	Busy           float64 `json:"busy"`   // share of the machine that the process used
	Others         float64 `json:"others"` // share of the machine that nobody of ours used
	PeakMB         float64 `json:"peak_mb"`
	Limited        int64   `json:"limited"` // posts that the platform refused as too many
}

// figures of what happened between two moments: what was answered then counts for
// turns/s, what was asked then for latency, however late its answer came. Else
// those whom the platform's limits keep waiting would be left out.
func (r *rig) figures(from, to usage) Figures {
	within := func(t time.Time) bool { return !t.Before(from.at) && t.Before(to.at) }
	var added, whole []float64
	answered := 0
	for _, c := range r.chatters {
		for _, s := range c.samples {
			if within(s.shown) {
				answered++
			}
			if within(s.said) {
				added = append(added, milliseconds(s.shown.Sub(s.handed)-r.load.Delay*r.load.thoughts()))
				whole = append(whole, milliseconds(s.shown.Sub(s.said)))
			}
		}
	}
	used := to.minus(from)
	perThousand := func(d time.Duration) float64 { return d.Seconds() / float64(max(1, answered)) * 1000 }
	return Figures{
		Turns: answered, TurnsPerSecond: float64(answered) / used.wall.Seconds(),
		AddedP50MS: percentile(added, 50), AddedP99MS: percentile(added, 99),
		WholeP50MS: percentile(whole, 50), WholeP99MS: percentile(whole, 99),
		CPU: perThousand(used.process), ToolCPU: perThousand(used.children), LoadCPU: perThousand(used.own),
		Busy:   used.process.Seconds() / used.wall.Seconds() / float64(runtime.NumCPU()),
		Others: used.others(runtime.NumCPU()),
	}
}

// thoughts is how often the model is asked for one answer.
func (l Load) thoughts() time.Duration {
	if l.Tool {
		return 2
	}
	return 1
}

// percentile is the smallest of the values that p percent do not exceed; 0 of none.
func percentile(values []float64, p float64) float64 {
	if len(values) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(values))
	return sorted[max(0, int(math.Ceil(p/100*float64(len(sorted))))-1)]
}

func median[T any](all []T, of func(T) float64) float64 {
	var values []float64
	for _, one := range all {
		values = append(values, of(one))
	}
	slices.Sort(values)
	switch n := len(values); {
	case n == 0:
		return 0
	case n%2 == 0:
		return (values[n/2-1] + values[n/2]) / 2
	default:
		return values[n/2]
	}
}

func medianStart(all []Start) Start {
	return Start{
		FirstPollNewMS: median(all, func(s Start) float64 { return s.FirstPollNewMS }),
		FirstPollMS:    median(all, func(s Start) float64 { return s.FirstPollMS }),
		IdleMB:         median(all, func(s Start) float64 { return s.IdleMB }),
		IdleAnonMB:     median(all, func(s Start) float64 { return s.IdleAnonMB }),
		ToolServerMB:   median(all, func(s Start) float64 { return s.ToolServerMB }),
	}
}

// medianFigures takes each figure's median over the rounds; of what disturbs, the worst.
func medianFigures(all []Figures) Figures {
	if len(all) == 0 {
		return Figures{}
	}
	of := func(get func(Figures) float64) float64 { return median(all, get) }
	f := Figures{
		Turns:          int(of(func(f Figures) float64 { return float64(f.Turns) })),
		TurnsPerSecond: of(func(f Figures) float64 { return f.TurnsPerSecond }),
		AddedP50MS:     of(func(f Figures) float64 { return f.AddedP50MS }),
		AddedP99MS:     of(func(f Figures) float64 { return f.AddedP99MS }),
		WholeP50MS:     of(func(f Figures) float64 { return f.WholeP50MS }),
		WholeP99MS:     of(func(f Figures) float64 { return f.WholeP99MS }),
		CPU:            of(func(f Figures) float64 { return f.CPU }),
		ToolCPU:        of(func(f Figures) float64 { return f.ToolCPU }),
		LoadCPU:        of(func(f Figures) float64 { return f.LoadCPU }),
		Busy:           of(func(f Figures) float64 { return f.Busy }),
		Limited:        int64(of(func(f Figures) float64 { return float64(f.Limited) })),
	}
	for _, one := range all {
		f.Others, f.PeakMB = max(f.Others, one.Others), max(f.PeakMB, one.PeakMB)
	}
	return f
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

// measureSync is how long the disk takes for what a commit needs.
func measureSync(dir string) (float64, error) {
	f, err := os.Create(filepath.Join(dir, "sync"))
	if err != nil {
		return 0, err
	}
	defer f.Close()
	var took []float64
	page := make([]byte, 4096)
	for range 40 {
		began := time.Now()
		if _, err := f.Write(page); err != nil {
			return 0, err
		}
		if err := f.Sync(); err != nil {
			return 0, err
		}
		took = append(took, milliseconds(time.Since(began)))
	}
	return percentile(took, 50), nil
}
