package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"text/tabwriter"
	"time"

	"dragoman/adapters/sqlstore"
	"dragoman/config"
	"dragoman/core/gateway"
	"dragoman/ports"
)

const (
	// tryTimeout is how long a model or a channel may take to answer a check.
	tryTimeout = 30 * time.Second
	// tryTokens bounds the reply of a model that is tried: room for one that thinks first.
	tryTokens = 256
	// lookEvery is the pause between two looks at a gateway whose servers still connect.
	lookEvery = 100 * time.Millisecond
)

// found is what a check by dialling found.
type found struct {
	Config   string       `json:"config"`
	OK       bool         `json:"ok"`
	Servers  []serverLine `json:"servers"`
	Models   []tried      `json:"models"`
	Channels []tried      `json:"channels"`
}

// tried is a model or a channel that was dialled.
type tried struct {
	Name  string `json:"name"`
	Type  string `json:"type"`
	OK    bool   `json:"ok"`
	Found string `json:"found"` // in words
	Err   string `json:"error"` // "" = nothing is wrong
}

// dial dials every server, model and channel of the config, side by side. The
// servers are those of the gateway that runs, where one does.
func dial(ctx context.Context, cfg *config.Config, file, name string) (found, error) {
	f := found{Config: name, OK: true}
	cfg.Log.Level = "error" // what a command prints is its answer
	running := findRunning(ctx, file)
	err := withTemporary(ctx, cfg, func(store *sqlstore.Store, log *slog.Logger) error {
		var work sync.WaitGroup
		defer work.Wait()
		work.Go(func() { f.Models = dialModels(ctx, cfg, store, log) })
		work.Go(func() { f.Channels = dialChannels(ctx, cfg, store, log) })
		keep := func(list []ports.ServerInfo) { f.Servers = forScripts(list) }
		if running != nil {
			list, err := runningServers(ctx, running, cfg)
			keep(list)
			return err
		}
		return withGateway(ctx, cfg, store, log, func(g *gateway.Gateway) error {
			return connected(ctx, g, func(ctx context.Context, a ports.Admin) error {
				list, err := awake(ctx, a)
				keep(list)
				return err
			})
		})
	})
	for _, s := range f.Servers {
		f.OK = f.OK && !missing(s.ServerInfo)
	}
	for _, t := range slices.Concat(f.Models, f.Channels) {
		f.OK = f.OK && t.OK
	}
	return f, err
}

// runningServers are the servers of a gateway that runs, once none of them is
// connecting or its time for it is over. One that only the config has is missing there.
func runningServers(ctx context.Context, a ports.Admin, cfg *config.Config) ([]ports.ServerInfo, error) {
	bounded, cancel := context.WithTimeout(ctx, cfg.MCP.Timeout)
	defer cancel()
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	for busy := true; busy && bounded.Err() == nil; {
		list, err := a.Servers(ctx)
		if err != nil {
			return nil, err
		}
		if busy = slices.ContainsFunc(list, func(s ports.ServerInfo) bool { return s.Phase == ports.PhaseConnecting }); !busy {
			break
		}
		select {
		case <-tick.C:
		case <-bounded.Done():
		}
	}
	list, err := awake(ctx, a)
	if err != nil {
		return nil, err
	}
	for _, name := range slices.Sorted(maps.Keys(cfg.MCPServers)) {
		if !slices.ContainsFunc(list, func(s ports.ServerInfo) bool { return s.Name == name }) {
			list = append(list, ports.ServerInfo{Name: name, State: ports.State{Phase: ports.PhaseStopped,
				Err: "the gateway that runs does not have it yet: restart it"}})
		}
	}
	return list, nil
}

// awake lists the servers with those that are idle connected.
func awake(ctx context.Context, a ports.Admin) ([]ports.ServerInfo, error) {
	list, err := a.Servers(ctx)
	var work sync.WaitGroup
	for i, s := range list {
		if s.Phase != ports.PhaseIdle {
			continue
		}
		work.Go(func() {
			now, err := a.Reconnect(ctx, s.Name)
			if err != nil {
				now = s
				now.Phase, now.Err = ports.PhaseDegraded, err.Error()
			}
			list[i] = now
		})
	}
	work.Wait()
	return list, err
}

func dialModels(ctx context.Context, cfg *config.Config, store *sqlstore.Store, log *slog.Logger) []tried {
	return eachTried(cfg.Models, func(name string) tried {
		m := cfg.Models[name]
		port, err := models[m.Type].build(m.Section, parts{name: name, log: log, store: store})
		if err != nil {
			return attempt(ctx, name, m.Type, failing(err))
		}
		return attempt(ctx, name, m.Type, func(ctx context.Context) (string, error) {
			if c, ok := port.(ports.Checker); ok {
				return c.Check(ctx)
			}
			// Nothing less shows that key, name and account are good for an answer.
			r, err := port.Generate(ctx, ports.ModelRequest{MaxTokens: tryTokens,
				Entries: []ports.Entry{{Role: ports.RoleUser, Text: "Answer with one word: ok"}}}, nil)
			return fmt.Sprintf("%s answers (%d tokens)", oneLine(r.Model), r.Usage.Input+r.Usage.Output), err
		})
	})
}

func dialChannels(ctx context.Context, cfg *config.Config, store *sqlstore.Store, log *slog.Logger) []tried {
	return eachTried(cfg.Channels, func(name string) tried {
		c := cfg.Channels[name]
		port, err := channels[c.Type].build(hooked(cfg, name), parts{name: name, log: log, store: store})
		if err != nil {
			return attempt(ctx, name, c.Type, failing(err))
		}
		return attempt(ctx, name, c.Type, func(ctx context.Context) (string, error) {
			if c, ok := port.(ports.Checker); ok {
				return c.Check(ctx)
			}
			return "nothing to dial", nil
		})
	})
}

func failing(err error) func(context.Context) (string, error) {
	return func(context.Context) (string, error) { return "", err }
}

// eachTried tries all of a table side by side, and lists what came of it by name.
func eachTried[T any](table map[string]T, try func(name string) tried) []tried {
	names := slices.Sorted(maps.Keys(table))
	list := make([]tried, len(names))
	var work sync.WaitGroup
	for i, name := range names {
		work.Go(func() { list[i] = try(name) })
	}
	work.Wait()
	return list
}

func attempt(ctx context.Context, name, kind string, do func(context.Context) (string, error)) tried {
	ctx, cancel := context.WithTimeout(ctx, tryTimeout)
	defer cancel()
	words, err := do(ctx)
	if err != nil {
		return tried{Name: name, Type: kind, Err: err.Error()}
	}
	return tried{Name: name, Type: kind, OK: true, Found: words}
}

// printFound prints what was found, for people.
func printFound(w io.Writer, f found) error {
	var b strings.Builder
	if len(f.Servers) > 0 {
		b.WriteString("\nMCP servers\n")
	}
	for _, s := range f.Servers {
		switch {
		case s.Phase == ports.PhaseDisabled:
			fmt.Fprintf(&b, "%s  disabled\n", s.Name)
		case missing(s.ServerInfo):
			fmt.Fprintf(&b, "%s  FAILED (%s)\n", s.Name, s.Phase)
		default:
			fmt.Fprintf(&b, "%s  ok  %s\n", s.Name, facts(s.ServerInfo))
		}
		b.WriteString(trouble(s.ServerInfo))
	}
	err := printTried(&b, "Models", f.Models)
	if err == nil {
		err = printTried(&b, "Channels", f.Channels)
	}
	if err == nil {
		_, err = io.WriteString(w, b.String())
	}
	return err
}

func printTried(b *strings.Builder, title string, list []tried) error {
	if len(list) == 0 {
		return nil
	}
	fmt.Fprintf(b, "\n%s\n", title)
	tab := tabwriter.NewWriter(b, 0, 0, 2, ' ', 0)
	for _, t := range list {
		state, words := "ok", t.Found
		if !t.OK {
			state, words = "FAILED", t.Err
		}
		fmt.Fprintf(tab, "%s\t%s\t%s\t%s\n", t.Name, t.Type, state, oneLine(words))
	}
	return tab.Flush()
}
