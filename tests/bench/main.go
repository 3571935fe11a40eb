package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"strings"
	"syscall"
	"time"
)

func main() {
	// The load's own garbage is not what is measured.
	debug.SetGCPercent(400)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	switch {
	case errors.Is(err, flag.ErrHelp):
		os.Exit(2)
	case err != nil:
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

// options are what the command line asks for.
type options struct {
	plan
	root    string // of the repository
	bin     string // a gateway that is built already
	dir     string // where the gateways keep their data
	history string // "" = none
	profile string // folder for profiles; "" = none
	note    string
	env     []string // more of the gateway's environment
	compare bool
	mcp     bool // MCP servers alone
	calls   int  // of a round
}

func run(ctx context.Context, args []string, out, progress io.Writer) error {
	opt, err := parse(args, progress)
	if err != nil {
		return err
	}
	if opt.compare {
		return compareLast(out, opt.history)
	}
	began := time.Now()
	measure := measureAll
	if opt.mcp {
		measure = measureMCP
	}
	r, err := measure(ctx, opt, progress)
	if err != nil {
		return err
	}
	fmt.Fprint(out, r.Table())
	fmt.Fprintf(progress, "done in %s\n", time.Since(began).Round(time.Second))
	if opt.history == "" || opt.profile != "" {
		return nil
	}
	return appendHistory(opt.history, r)
}

func parse(args []string, usage io.Writer) (options, error) {
	f := flag.NewFlagSet("bench", flag.ContinueOnError)
	f.SetOutput(usage)
	var opt options
	chats := f.String("chats", "1,16,128,512", "how many chats at once, one row each")
	seconds := f.Float64("seconds", 5, "how long a row is measured, after a warm-up of a third of that")
	f.IntVar(&opt.rounds, "rounds", 3, "how often each row is measured; the medians count")
	f.IntVar(&opt.starts, "starts", 5, "how often the start is measured; 0 = not")
	f.IntVar(&opt.kills, "kills", 5, "how often the gateway is killed to see when it answers again; 0 = not")
	f.IntVar(&opt.inFlight, "inflight", 200, "how many turns are in flight at such a kill")
	f.IntVar(&opt.depth, "depth", 20, "after how many messages a chat makes room for another")
	f.StringVar(&opt.only, "only", "", "rows whose name contains this, as: tool, limits, \"128 chats\"")
	f.DurationVar(&opt.settle, "settle", 3*time.Second, "how long after its first poll a system that does nothing is weighed")
	quick := f.Bool("quick", false, "-chats 1,16,128 -seconds 1.5 -rounds 1 -starts 2 -kills 2 -calls 500")
	f.BoolVar(&opt.noBare, "nobare", false, "leave the bare loop out")
	f.StringVar(&opt.bin, "bin", "", "measure this binary instead of building one")
	f.StringVar(&opt.dir, "dir", os.TempDir(), "folder on the disk that the gateway's data shall lie on")
	f.StringVar(&opt.history, "history", "", "file that a line of JSON is added to (default tests/bench/history.jsonl; - = none)")
	f.StringVar(&opt.note, "note", "", "a few words for the history")
	env := f.String("env", "", "more of the gateway's environment, as: GOGC=200 GODEBUG=gctrace=1")
	f.StringVar(&opt.profile, "profile", "", "write CPU and allocation profiles of the gateway into this folder")
	f.BoolVar(&opt.mcp, "mcp", false, "measure MCP servers alone: calls against mcp-go's client, and gateways with 0, 5 and 20 servers")
	f.IntVar(&opt.calls, "calls", 2000, "how many calls of a tool make a round of -mcp")
	f.BoolVar(&opt.compare, "compare", false, "measure nothing; show the last run of the history against the one before")
	if err := f.Parse(args); err != nil {
		return opt, err
	}
	if f.NArg() > 0 {
		return opt, fmt.Errorf("unexpected argument %q", f.Arg(0))
	}
	opt.env = strings.Fields(*env)
	given := map[string]bool{}
	f.Visit(func(f *flag.Flag) { given[f.Name] = true })
	if *quick {
		opt.quick(given, chats, seconds)
	}
	opt.window = time.Duration(*seconds * float64(time.Second))
	if opt.window < 100*time.Millisecond || opt.rounds < 1 || opt.starts < 0 || opt.depth < 1 || opt.kills < 0 || opt.inFlight < 1 || opt.inFlight > maxChats || opt.calls < 2*sideBySide {
		return opt, fmt.Errorf("-seconds must be at least 0.1, -rounds, -depth and -inflight 1, -starts and -kills 0, -calls %d", 2*sideBySide)
	}
	for _, n := range strings.Split(*chats, ",") {
		c, err := strconv.Atoi(strings.TrimSpace(n))
		if err != nil || c < 1 || c > maxChats {
			return opt, fmt.Errorf("-chats: %q is not a number from 1 to %d", n, maxChats)
		}
		opt.chats = append(opt.chats, c)
	}
	return opt, opt.place()
}

// quick is less of everything that was not asked for.
func (o *options) quick(given map[string]bool, chats *string, seconds *float64) {
	if !given["chats"] {
		*chats = "1,16,128"
	}
	if !given["seconds"] {
		*seconds = 1.5
	}
	if !given["rounds"] {
		o.rounds = 1
	}
	if !given["starts"] {
		o.starts = 2
	}
	if !given["calls"] {
		o.calls = 500
	}
	if !given["kills"] {
		o.kills = 2
	}
}

// place finds the repository, and makes paths absolute: children have folders of their own.
func (o *options) place() error {
	root, err := findRoot()
	if err != nil {
		return err
	}
	o.root = root
	switch o.history {
	case "":
		o.history = filepath.Join(root, "tests", "bench", "history.jsonl")
	case "-":
		o.history = ""
	}
	for _, path := range []*string{&o.bin, &o.dir, &o.profile, &o.history} {
		if *path == "" {
			continue
		}
		if *path, err = filepath.Abs(*path); err != nil {
			return err
		}
	}
	return nil
}

// findRoot goes up to the folder of go.mod.
func findRoot() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir, nil
		}
		up := filepath.Dir(dir)
		if up == dir {
			return "", errors.New("run it in the repository: no go.mod here or above")
		}
		dir = up
	}
}
