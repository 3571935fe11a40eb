package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"dragoman/tests/fake/model"
)

// TestSmoke has the whole bench measure a little of everything: both systems,
// with a tool and with limits, and looks at whether the figures can be true.
func TestSmoke(t *testing.T) {
	if testing.Short() || runtime.GOOS != "linux" {
		t.Skip("it builds and runs the gateway, on Linux")
	}
	dir := t.TempDir()
	history := filepath.Join(dir, "history.jsonl")
	args := []string{
		"-bin", gatewayBinary(t), "-chats", "3", "-seconds", "2", "-rounds", "1",
		"-starts", "1", "-settle", "300ms", "-kills", "2", "-inflight", "5", "-dir", dir, "-history", history,
	}
	var out, progress bytes.Buffer
	if err := run(t.Context(), args, &out, &progress); err != nil {
		t.Fatalf("%v\n%s", err, progress.String())
	}
	all, err := readHistory(history)
	if err != nil || len(all) != 1 {
		t.Fatalf("the history has %d runs (%v)", len(all), err)
	}
	r := all[0]
	if len(r.Starts) != 2 || len(r.Rows) != 5 {
		t.Fatalf("%d starts and %d rows, want 2 and 5:\n%s", len(r.Starts), len(r.Rows), out.String())
	}
	for _, s := range r.Starts {
		for name, one := range map[string]Start{"gateway": s.Gateway, "bare": s.Bare} {
			if one.FirstPollMS <= 0 || one.IdleMB < 5 || one.IdleMB > 500 || (one.ToolServerMB > 0) != s.Tool {
				t.Errorf("%s, tool %t: %+v", name, s.Tool, one)
			}
		}
	}
	if k := r.Recovery; k == nil || k.Kills != 2 || k.InFlight != 5 || k.PollMS <= 0 || k.FirstMS <= 0 || k.AllMS < k.FirstMS ||
		k.FirstWorstMS < k.FirstMS || k.AllWorstMS < k.AllMS || k.AllWorstMS > milliseconds(answerWithin) {
		t.Errorf("after a SIGKILL: %+v", k)
	}
	for _, row := range r.Rows {
		for name, f := range map[string]Figures{"gateway": row.Gateway, "bare": row.Bare} {
			least := max(row.Load.Delay*row.Load.thoughts(), 1)
			if f.Turns == 0 || f.CPU <= 0 || f.AddedP50MS <= 0 || f.AddedP99MS < f.AddedP50MS || f.WholeP50MS < milliseconds(least) ||
				f.PeakMB < 5 || (f.ToolCPU > 0 && !row.Load.Tool) || (f.Limited > 0) != row.Load.Limits {
				t.Errorf("%s, %s: %+v", row.Name, name, f)
			}
		}
		if row.Load.Limits && row.Gateway.TurnsPerSecond > 1.4*float64(row.Load.Chats) {
			t.Errorf("with a limit of one a second in each of %d chats there are %.1f turns/s", row.Load.Chats, row.Gateway.TurnsPerSecond)
		}
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 1 {
		t.Errorf("it leaves %v (%v)", left, err)
	}
}

// A run that is broken off leaves neither process nor folder.
func TestInterrupted(t *testing.T) {
	if testing.Short() || runtime.GOOS != "linux" {
		t.Skip("it builds and runs the gateway, on Linux")
	}
	dir := t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	progress := &cancelling{at: "128 chats", cancel: func() { time.AfterFunc(time.Second, cancel) }}
	args := []string{"-bin", gatewayBinary(t), "-chats", "128", "-seconds", "30", "-starts", "0", "-kills", "0", "-dir", dir, "-history", "-"}
	began := time.Now()
	if err := run(ctx, args, &bytes.Buffer{}, progress); err == nil {
		t.Error("it went on to the end")
	}
	if took := time.Since(began); took > 2*time.Minute {
		t.Errorf("it took %s to end", took)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("it leaves %v (%v)", left, err)
	}
	for _, pid := range childrenOf(os.Getpid()) {
		t.Errorf("process %d is still there", pid)
	}
}

// bins is where the tests' gateway is; TestMain removes it.
var bins string

var buildOnce = sync.OnceValues(func() (string, error) {
	root, err := findRoot()
	if err != nil {
		return "", err
	}
	bin := filepath.Join(bins, "dragoman")
	return bin, build(context.Background(), root, bin, "dragoman/cmd/dragoman")
})

func gatewayBinary(t *testing.T) string {
	t.Helper()
	bin, err := buildOnce()
	if err != nil {
		t.Fatal(err)
	}
	return bin
}

func TestMain(m *testing.M) {
	var err error
	if bins, err = os.MkdirTemp("", "bench-test"); err != nil {
		panic(err)
	}
	code := m.Run()
	_ = os.RemoveAll(bins)
	os.Exit(code)
}

// cancelling cancels when a line is written, like somebody at the keyboard.
type cancelling struct {
	at     string
	cancel func()
}

func (c *cancelling) Write(b []byte) (int, error) {
	if strings.Contains(string(b), c.at) {
		c.cancel()
	}
	return len(b), nil
}

// A bot that answers wrongly, twice, or not at all is found out.
func TestRigFindsFaults(t *testing.T) {
	for name, bot := range map[string]func(post func(string), right string){
		"says something else": func(post func(string), right string) { post("Something went wrong."); post(right) },
		"answers twice":       func(post func(string), right string) { post(right); post(right) },
		"answers another":     func(post func(string), right string) { post(right + "0"); post(right) },
		"is right":            func(post func(string), right string) { post(right) },
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(Load{Chats: 1}, 5)
			defer r.close()
			c := r.chatters[0]
			asked := make(chan error, 1)
			go func() { asked <- c.say(t.Context(), 0) }()
			chat, ref := awaitTurn(t, c)
			right := "Fifty-one. It is " + ref
			bot(func(text string) { sendMessage(t, r, chat, text) }, right)
			if err := <-asked; err != nil {
				t.Fatal(err)
			}
			if err := r.check(); (err == nil) != (name == "is right") {
				t.Errorf("check says %v", err)
			}
			if len(c.samples) != 1 || c.samples[0].shown.Before(c.samples[0].said) {
				t.Errorf("samples %+v", c.samples)
			}
		})
	}
}

func awaitTurn(t *testing.T, c *chatter) (chat int64, ref string) {
	t.Helper()
	for deadline := time.Now().Add(answerWithin); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		c.mu.Lock()
		chat, ref = c.turn.chat, c.turn.ref
		c.mu.Unlock()
		if chat != 0 && c.rig.platform.Pending() > 0 {
			return chat, ref
		}
	}
	t.Fatal("nobody asks")
	return 0, ""
}

func TestAnswerNeedsTheTool(t *testing.T) {
	r := newRig(Load{Chats: 1, Tool: true}, 5)
	defer r.close()
	asked := []model.Message{{Role: "user", Text: "How much? ref 10000-3"}}
	if got := r.answer(model.Request{Messages: asked}); len(got.Calls) != 1 || got.Text != "" {
		t.Errorf("it says %+v before the tool was called", got)
	}
	for result, wrong := range map[string]int64{"51": 0, "the tool is not there": 1} {
		r.noResult.Store(0)
		got := r.answer(model.Request{Messages: append(asked, model.Message{Role: "tool", Text: result})})
		if !strings.HasSuffix(got.Text, "ref 10000-3") || r.noResult.Load() != wrong {
			t.Errorf("after %q it says %q and counts %d wrong", result, got.Text, r.noResult.Load())
		}
	}
}

func TestFigures(t *testing.T) {
	r := newRig(Load{Chats: 2, Delay: 100 * time.Millisecond}, 5)
	defer r.close()
	at := func(ms int) time.Time { return time.Unix(1000, 0).Add(time.Duration(ms) * time.Millisecond) }
	r.chatters[0].samples = []sample{
		{at(-200), at(-190), at(-1)}, // before the window
		{at(-50), at(-40), at(100)},  // answered in it
		{at(100), at(110), at(240)},  // all of it
	}
	r.chatters[1].samples = []sample{{at(400), at(450), at(5000)}} // asked in it: its latency counts
	from := usage{at: at(0), process: time.Second, own: time.Second, machine: 10 * time.Second}
	to := usage{at: at(500), process: 1500 * time.Millisecond, own: 1250 * time.Millisecond, machine: 11 * time.Second}
	f := r.figures(from, to)
	if f.Turns != 2 || f.TurnsPerSecond != 4 || f.AddedP50MS != 30 || f.AddedP99MS != 4450 || f.WholeP50MS != 140 || f.CPU != 250 || f.LoadCPU != 125 {
		t.Errorf("got %+v", f)
	}
	if got := to.minus(from).others(2); got != 0.25 {
		t.Errorf("others used %v, want 0.25", got)
	}
}

func TestPercentile(t *testing.T) {
	for _, c := range []struct {
		values []float64
		p      float64
		want   float64
	}{{nil, 50, 0}, {[]float64{7}, 99, 7}, {[]float64{4, 1, 3, 2}, 50, 2}, {[]float64{4, 1, 3, 2}, 99, 4}, {[]float64{4, 1, 3, 2}, 75, 3}} {
		if got := percentile(c.values, c.p); got != c.want {
			t.Errorf("%g%% of %v is %v, want %v", c.p, c.values, got, c.want)
		}
	}
	for _, c := range []struct {
		values []float64
		want   float64
	}{{nil, 0}, {[]float64{3, 1, 2}, 2}, {[]float64{4, 1, 3, 2}, 2.5}} {
		if got := median(c.values, func(v float64) float64 { return v }); got != c.want {
			t.Errorf("the median of %v is %v, want %v", c.values, got, c.want)
		}
	}
}

func TestParentIn(t *testing.T) {
	if got, err := parentIn([]byte("1234 (a) (b c) S 77 1234 1 0 -1\n")); err != nil || got != 77 {
		t.Errorf("got %d, %v", got, err)
	}
	for _, bad := range []string{"", "1 (x) S", "1 (x) S y"} {
		if got, err := parentIn([]byte(bad)); err == nil {
			t.Errorf("%q is read as %d", bad, got)
		}
	}
}

// What this process does for a while is seen as its own.
func TestUsage(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("Linux alone tells")
	}
	before, err := measureUsage(os.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	var used spent
	// Until it was given that much: on a busy machine that is not as long as it takes.
	for began := time.Now(); used.process < 60*time.Millisecond && time.Since(began) < answerWithin; {
		after, err := measureUsage(os.Getpid())
		if err != nil {
			t.Fatal(err)
		}
		used = after.minus(before)
	}
	if used.process < time.Millisecond || used.process > used.wall*time.Duration(runtime.NumCPU()) || used.own < used.process/2 {
		t.Errorf("spent %+v", used)
	}
	if mem, err := measureMemory(os.Getpid()); err != nil || mem.resident < 1 || mem.anonymous > mem.resident || mem.peak < mem.resident {
		t.Errorf("memory %+v (%v)", mem, err)
	}
}

func TestHistoryAndCompare(t *testing.T) {
	file := filepath.Join(t.TempDir(), "h.jsonl")
	if all, err := readHistory(file); err != nil || len(all) != 0 {
		t.Errorf("no file: %v, %v", all, err)
	}
	if err := compareLast(&bytes.Buffer{}, file); err == nil || !strings.Contains(err.Error(), "takes two") {
		t.Errorf("nothing to compare: %v", err)
	}
	one := Result{Date: time.Unix(1e9, 0).UTC(), Commit: "aaa", Go: "go1.26", Cores: 2, Seconds: 5, Rounds: 3, SyncMS: 0.5,
		Starts:   []StartRow{{Gateway: Start{FirstPollMS: 20, IdleMB: 40}}},
		Recovery: &Recovery{InFlight: 200, Kills: 5, FirstMS: 300, AllMS: 400},
		Rows: []Row{
			{Name: "1 chat", Load: Load{Chats: 1}, Gateway: Figures{Turns: 10, TurnsPerSecond: 100, CPU: 2}},
			{Name: "16 chats", Load: Load{Chats: 16}, Gateway: Figures{Turns: 10, TurnsPerSecond: 300, CPU: 2}},
		}}
	two := one
	two.Recovery = &Recovery{InFlight: 200, Kills: 5, FirstMS: 360, AllMS: 400}
	two.Commit, two.Rows = "bbb", []Row{{Name: "1 chat", Load: Load{Chats: 1}, Gateway: Figures{Turns: 10, TurnsPerSecond: 150, CPU: 1}}}
	for _, r := range []Result{one, two} {
		if err := appendHistory(file, r); err != nil {
			t.Fatal(err)
		}
	}
	all, err := readHistory(file)
	if err != nil || !reflect.DeepEqual(all, []Result{one, two}) {
		t.Errorf("read %+v (%v)", all, err)
	}
	var out bytes.Buffer
	if err := compareLast(&out, file); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"aaa", "bbb", "+50%", "-50%", "+0%", "+20%"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("it does not say %q:\n%s", want, out.String())
		}
	}
	if strings.Contains(out.String(), "16 chats") || strings.Contains(out.String(), "not measured alike") {
		t.Errorf("it compares what cannot be:\n%s", out.String())
	}
	if err := os.WriteFile(file, []byte("{}\n{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := readHistory(file); err == nil || !strings.Contains(err.Error(), ":2:") {
		t.Errorf("a broken line: %v", err)
	}
}

func TestTable(t *testing.T) {
	r := Result{Commit: "abc+", Go: "go1.26", Cores: 2, Seconds: 5, Rounds: 3,
		Starts:   []StartRow{{Gateway: Start{FirstPollMS: 61, IdleMB: 39}, Bare: Start{FirstPollMS: 30.5, IdleMB: 13}}},
		Recovery: &Recovery{InFlight: 200, Kills: 5, PollMS: 90, FirstMS: 208, FirstWorstMS: 407, AllMS: 316, AllWorstMS: 886},
		Rows: []Row{{Name: "128 chats", Load: Load{Chats: 128}, Gateway: Figures{TurnsPerSecond: 1200, CPU: 1.5, Others: 0.2},
			Bare: Figures{TurnsPerSecond: 2400, CPU: 0.5}}}}
	text := r.Table()
	for _, want := range []string{"|    61.0 | 30.5 | 2.00 |", "| 128 chats |    1200 | 2400 | 2.00 |", "20% !", "MISSED", "|   1200 |    met |", "abc+", "|         208 |   407 |", "|    208 |    met |"} {
		if !strings.Contains(text, want) {
			t.Errorf("it does not say %q:\n%s", want, text)
		}
	}
	widths := map[int]bool{}
	_, table, _ := strings.Cut(text, "| load")
	table, _, _ = strings.Cut("| load"+table, "\n\n")
	for _, line := range strings.Split(table, "\n") {
		widths[len(line)] = true
	}
	if len(widths) != 1 {
		t.Errorf("the columns are not aligned:\n%s", table)
	}
}

func TestParse(t *testing.T) {
	for _, bad := range [][]string{
		{"-chats", "0"}, {"-chats", "x"}, {"-chats", "1,"}, {"-chats", "10001"},
		{"-seconds", "0"}, {"-rounds", "0"}, {"-starts", "-1"}, {"-depth", "0"}, {"-kills", "-1"}, {"-inflight", "0"}, {"-inflight", "10001"},
		{"run"}, {"-what"},
	} {
		if _, err := parse(bad, &bytes.Buffer{}); err == nil {
			t.Errorf("%q is taken", bad)
		}
	}
	opt, err := parse([]string{"-quick", "-chats", "4", "-history", "-"}, &bytes.Buffer{})
	if err != nil || !reflect.DeepEqual(opt.chats, []int{4}) || opt.rounds != 1 || opt.window != 1500*time.Millisecond || opt.history != "" {
		t.Errorf("got %+v, %v", opt, err)
	}
	if _, err := os.Stat(filepath.Join(opt.root, "go.mod")); err != nil {
		t.Error(err)
	}
	var names []string
	for _, l := range (plan{chats: []int{1, 512}, only: "512"}).loads() {
		names = append(names, l.Name())
	}
	if want := []string{"512 chats", "512 chats, tool", "512 chats, model 200ms", "512 chats, model 200ms, pause 1s"}; !reflect.DeepEqual(names, want) {
		t.Errorf("the loads are %q", names)
	}
}

// The profile's file is no part of any build but the bench's own; here it is at
// least Go, and in the overlay.
func TestProfilingOverlay(t *testing.T) {
	root, err := findRoot()
	if err != nil {
		t.Fatal(err)
	}
	file, err := profiling(root, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var overlay struct{ Replace map[string]string }
	if err := json.Unmarshal(text, &overlay); err != nil || len(overlay.Replace) != 1 {
		t.Fatalf("%s (%v)", text, err)
	}
	for added, from := range overlay.Replace {
		if _, err := os.Stat(added); err == nil {
			t.Errorf("%s is in the product", added)
		}
		if _, err := os.Stat(from); err != nil {
			t.Error(err)
		}
	}
}
