package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

// measureAll builds, measures, and leaves nothing behind but the result.
func measureAll(ctx context.Context, opt options, progress io.Writer) (result Result, err error) {
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
	sync, err := measureSync(work)
	if err != nil {
		return Result{}, err
	}
	m := &meter{opt: opt, work: work, progress: progress, systems: []system{gatewaySystem(bins, opt.env)}}
	if !opt.noBare {
		m.systems = append(m.systems, bareSystem(bins))
	}
	result = Result{
		Date: time.Now().UTC().Truncate(time.Second), Commit: commit(ctx, opt.root), Go: runtime.Version(), Cores: runtime.NumCPU(),
		Note: opt.note, Seconds: opt.window.Seconds(), Rounds: opt.rounds, Depth: opt.depth, SyncMS: sync,
	}
	if err := m.starts(ctx, &result); err != nil {
		return result, err
	}
	if err := m.recovery(ctx, &result); err != nil {
		return result, err
	}
	return result, m.rows(ctx, &result)
}

// meter measures one thing after the other.
type meter struct {
	opt      options
	work     string
	progress io.Writer
	systems  []system
	runs     int
}

// folder makes one for a process.
func (m *meter) folder() (string, error) {
	m.runs++
	dir := filepath.Join(m.work, fmt.Sprint(m.runs))
	return dir, os.Mkdir(dir, 0o700)
}

// starts measures the start and the weight of each system, without and with a
// tool server.
func (m *meter) starts(ctx context.Context, result *Result) error {
	if m.opt.starts == 0 {
		return nil
	}
	for _, tool := range []bool{false, true} {
		row := StartRow{Tool: tool}
		for i, s := range m.systems {
			var all []Start
			for n := range m.opt.starts {
				fmt.Fprintf(m.progress, "start of the %s, tool server: %t, %d of %d\n", s.name, tool, n+1, m.opt.starts)
				one, err := m.start(ctx, s, tool)
				if err != nil {
					return err
				}
				all = append(all, one)
			}
			*[]*Start{&row.Gateway, &row.Bare}[i] = medianStart(all)
		}
		result.Starts = append(result.Starts, row)
	}
	return nil
}

// start starts a system twice in one folder: the first time makes the database,
// the second is what a restart is.
func (m *meter) start(ctx context.Context, s system, tool bool) (Start, error) {
	dir, err := m.folder()
	if err != nil {
		return Start{}, err
	}
	var one Start
	for _, to := range []*float64{&one.FirstPollNewMS, &one.FirstPollMS} {
		err := m.with(ctx, s, Load{Chats: 1, Tool: tool}, dir, func(_ *rig, p *process, polled time.Duration) error {
			*to = milliseconds(polled)
			if to != &one.FirstPollMS {
				return nil
			}
			if err := pause(ctx, m.opt.settle); err != nil {
				return err
			}
			mem, err := measureMemory(p.pid())
			if err != nil {
				return err
			}
			one.IdleMB, one.IdleAnonMB = mem.resident, mem.anonymous
			for _, child := range childrenOf(p.pid()) {
				mem, err := measureMemory(child)
				if err != nil {
					return err
				}
				one.ToolServerMB += mem.resident
			}
			return nil
		})
		if err != nil {
			return one, err
		}
	}
	return one, os.RemoveAll(dir)
}

// with runs a system against a rig of its own while do works, and ends both.
func (m *meter) with(ctx context.Context, s system, l Load, dir string, do func(*rig, *process, time.Duration) error) error {
	r := newRig(l, m.opt.depth)
	defer r.close()
	p, polled, err := s.boot(ctx, r, dir)
	if err != nil {
		return err
	}
	return s.halt(p, do(r, p, polled))
}

// rows measures every load, round by round, so that what disturbs the machine for
// a while disturbs all rows a little and not one altogether.
func (m *meter) rows(ctx context.Context, result *Result) error {
	loads := m.opt.loads()
	all := make([][2][]Figures, len(loads))
	for round := range m.opt.rounds {
		for i, l := range loads {
			for k, s := range m.systems {
				fmt.Fprintf(m.progress, "round %d of %d, %s, %s: ", round+1, m.opt.rounds, l.Name(), s.name)
				f, err := m.row(ctx, s, l)
				if err != nil {
					return fmt.Errorf("%s: %w", l.Name(), err)
				}
				fmt.Fprintf(m.progress, "%.0f turns/s, p50 %.2f ms\n", f.TurnsPerSecond, f.AddedP50MS)
				all[i][k] = append(all[i][k], f)
			}
		}
	}
	for i, l := range loads {
		result.Rows = append(result.Rows, Row{Name: l.Name(), Load: l, Gateway: medianFigures(all[i][0]), Bare: medianFigures(all[i][1])})
	}
	return nil
}

// row measures one load once.
func (m *meter) row(ctx context.Context, s system, l Load) (Figures, error) {
	dir, err := m.folder()
	if err != nil {
		return Figures{}, err
	}
	if m.opt.profile != "" && s.name == "gateway" {
		if err := os.MkdirAll(m.opt.profile, 0o700); err != nil {
			return Figures{}, err
		}
		s.profile = filepath.Join(m.opt.profile, strings.NewReplacer(", ", "-", " ", "").Replace(l.Name()))
	}
	var f Figures
	err = m.with(ctx, s, l, dir, func(r *rig, p *process, _ time.Duration) error {
		if err := r.ready(ctx); err != nil {
			return err
		}
		f, err = m.underLoad(ctx, r, p, s.profile)
		return err
	})
	if err != nil {
		return f, err
	}
	return f, os.RemoveAll(dir)
}

// ready waits until an answer comes as it should, with the tool if there is one:
// its server may still be starting.
func (r *rig) ready(ctx context.Context) error {
	c := r.chatters[0]
	late := time.Now().Add(patience)
	for n := c.depth * 1_000_000; ; n += c.depth { // chats that the load does not come to
		r.noResult.Store(0)
		if err := c.say(ctx, n); err != nil {
			return err
		}
		if r.noResult.Load() == 0 {
			c.samples = nil
			return nil
		}
		if time.Now().After(late) {
			return fmt.Errorf("the tool gives no result within %s", patience)
		}
		if err := pause(ctx, 50*time.Millisecond); err != nil {
			return err
		}
	}
}

// underLoad warms up, measures while the load goes on, and lets it end.
func (m *meter) underLoad(ctx context.Context, r *rig, p *process, profile string) (Figures, error) {
	warm, window := m.opt.timing(r.load)
	t := r.begin(ctx, min(warm, time.Second))
	err := pause(ctx, warm)
	limited := r.limited.Load()
	if profile != "" {
		_ = p.cmd.Process.Signal(beginProfile)
	}
	from, err1 := measureUsage(p.pid())
	err = errors.Join(err, err1, pause(ctx, window))
	to, err2 := measureUsage(p.pid())
	limited = r.limited.Load() - limited
	if profile != "" {
		err2 = errors.Join(err2, profiled(ctx, p, profile))
	}
	err = errors.Join(err, err2, t.stop(), p.alive())
	if err != nil {
		return Figures{}, err
	}
	mem, err := measureMemory(p.pid())
	if err != nil {
		return Figures{}, err
	}
	if n := r.noResult.Load(); n > 0 {
		return Figures{}, fmt.Errorf("%d tool calls did not give what they should", n)
	}
	if err := r.check(); err != nil {
		return Figures{}, err
	}
	f := r.figures(from, to)
	f.Limited, f.PeakMB = limited, mem.peak
	return f, nil
}

// profiled ends a profile and waits until it is written.
func profiled(ctx context.Context, p *process, name string) error {
	_ = p.cmd.Process.Signal(endProfile)
	for late := time.Now().Add(patience); time.Now().Before(late); {
		if _, err := os.Stat(name + ".cpu"); err == nil {
			return nil
		}
		if err := pause(ctx, 20*time.Millisecond); err != nil {
			return err
		}
	}
	return errors.New("the profile was not written; a gateway given by -bin cannot make one")
}
