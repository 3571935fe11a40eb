package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"dragoman/adapters/sqlstore"
	"dragoman/config"
	"dragoman/core/agent"
	"dragoman/core/ask"
	"dragoman/core/toolbox"
	"dragoman/ports"
)

func newReplay(file *string) *cobra.Command {
	var opt replayOptions
	cmd := &cobra.Command{
		Use:   "replay TURN | FILE.json",
		Short: "Run a recorded turn anew, offline, and show where it differs",
		Long: `Run a recorded turn anew with this version and this config, and show where it goes
another way than it did: the model replies what it replied, the tools give what
they gave, the person answers what they answered. Nothing is asked, run, sent or
written, and no network is used; the gateway may run meanwhile.

TURN is the reference that a failure shows in the chat (the "ref" of a log line), or
a turn's id. Exit code 0: it is the same; 1: it differs, or there is no such turn.

--save writes the recording to a new file, which can be replayed elsewhere. It holds
what people wrote and what tools answered, in this turn and those before it.`,
		Example: "  dragoman replay k3vq7a\n  dragoman replay k3vq7a --save turn.json\n  dragoman replay turn.json --as-recorded",
		Args:    between(1, 1, "TURN | FILE.json [--json] [--save FILE] [--as-recorded] [--agent A]"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return replay(cmd, *file, args[0], opt)
		},
	}
	cmd.Flags().BoolVar(&opt.json, "json", false, "print the whole comparison as JSON")
	cmd.Flags().StringVar(&opt.save, "save", "", "write the recording to this new file")
	cmd.Flags().BoolVar(&opt.asRecorded, "as-recorded", false, "let the calls be allowed, asked about or denied as they were, whatever the config says")
	cmd.Flags().StringVar(&opt.agent, "agent", "", "run it as this agent of the config (default: the one of its channel)")
	return cmd
}

type replayOptions struct {
	json, asRecorded bool
	save, agent      string
}

// replay does what the command says.
func replay(cmd *cobra.Command, file, name string, opt replayOptions) error {
	cfg, err := replayConfig(cmd.Context(), file)
	if err != nil {
		return err
	}
	rec, err := findRecording(cmd.Context(), cfg, name)
	if err != nil {
		return err
	}
	who, err := agentFor(cfg, rec.Turn.In.Channel, opt.agent)
	if err != nil {
		return err
	}
	rules := agent.RulesOf(rec)
	if !opt.asRecorded {
		rules = rulesFor(cmd.Context(), cfg, who, rec)
	}
	asker := ask.New(ask.Config{Expires: cfg.Ask.Expires, OnMessage: ask.OnMessage(cfg.Ask.OnMessage), GroupWait: cfg.Ask.GroupWait})
	got, err := agent.Replay(cmd.Context(), replayedAgent(cfg, who), rules, asker, rec, slog.New(slog.DiscardHandler))
	if err != nil {
		return err
	}
	if opt.save != "" {
		if err := saveRecording(cmd, opt.save, rec, got); err != nil {
			return err
		}
	}
	if opt.json {
		err = printJSON(cmd.OutOrStdout(), got)
	} else {
		err = printComparison(cmd.OutOrStdout(), got)
	}
	if err == nil && !got.Same {
		err = errSaid
	}
	return err
}

// replayConfig reads the config. What is wrong with the models, the channels and
// the servers does not matter: none of them is reached, and their secrets may not
// be set in this shell.
func replayConfig(ctx context.Context, file string) (*config.Config, error) {
	if file == "" {
		if _, err := os.Stat(defaultFile); errors.Is(err, fs.ErrNotExist) {
			ctx, cancel := context.WithCancel(ctx)
			cancel() // no model is looked for on this machine
			return builtInConfig(ctx)
		}
		file = defaultFile
	}
	return loadFor(file, func(f config.Fault) bool {
		section, rest, _ := strings.Cut(f.Path, ".")
		_, key, _ := strings.Cut(rest, ".")
		return key == "" || !slices.Contains([]string{"models", "channels", "mcp_servers"}, section) || strings.HasPrefix(key, "tools")
	})
}

// findRecording reads a recording from a file, or from the store.
func findRecording(ctx context.Context, cfg *config.Config, name string) (ports.Recording, error) {
	if !strings.HasSuffix(name, ".json") {
		return sqlstore.Recorded(ctx, sqlstore.Config{Dir: cfg.DataDir, Path: cfg.Store.Path}, name)
	}
	var rec ports.Recording
	text, err := os.ReadFile(name)
	if err != nil {
		return rec, fmt.Errorf("read the recording: %w", err)
	}
	if err := json.Unmarshal(text, &rec); err != nil {
		return rec, fmt.Errorf("%s is no recording of a turn (dragoman replay TURN --save FILE.json makes one)", name)
	}
	return rec, nil
}

// saveRecording writes a recording, with what this version told the model.
func saveRecording(cmd *cobra.Command, name string, rec ports.Recording, got agent.Comparison) error {
	if !strings.HasSuffix(name, ".json") {
		return usageError{fmt.Errorf("--save wants a name that ends in .json, not %q", name)}
	}
	if rec.Prompts == nil {
		rec.Prompts = got.Prompts
	}
	text, err := json.MarshalIndent(rec, "", "  ")
	if err != nil {
		return err
	}
	switch err := writeNew(name, append(text, '\n'), 0o600); { // it is what people wrote
	case errors.Is(err, fs.ErrExist):
		return fmt.Errorf("%s is there already, and is left as it is (choose another name)", name)
	case err != nil:
		return fmt.Errorf("write the recording: %w", err)
	}
	_, err = fmt.Fprintf(cmd.ErrOrStderr(), "%s is written. It holds what people wrote and what tools answered: mind whom you give it to.\n", name)
	return err
}

// agentFor is the name of the agent that answers in a channel, or the one that was named.
func agentFor(cfg *config.Config, channel, named string) (string, error) {
	if named != "" {
		if _, ok := cfg.Agents[named]; !ok {
			return "", fmt.Errorf("there is no agent %q (there are: %s)", named, strings.Join(slices.Sorted(maps.Keys(cfg.Agents)), ", "))
		}
		return named, nil
	}
	if c, ok := cfg.Channels[channel]; ok {
		return c.Agent, nil
	}
	known := slices.Sorted(maps.Keys(cfg.Agents))
	for _, name := range known {
		if terminalName(name) == channel || len(known) == 1 {
			return name, nil
		}
	}
	if slices.Contains(known, "main") {
		return "main", nil
	}
	return "", fmt.Errorf("the config has no channel %q: say by --agent whose turn it is (there are: %s)", channel, strings.Join(known, ", "))
}

// replayedAgent is an agent's config for a replay, whose model is the recorded one.
func replayedAgent(cfg *config.Config, name string) agent.Config {
	out := agentConfig(cfg, name)
	for _, m := range cfg.Agents[name].Models {
		var facts ports.ModelFacts
		section := cfg.Models[m]
		if f, ok := models[section.Type]; ok {
			if port, err := f.build(section.Section, parts{name: m, log: slog.New(slog.DiscardHandler)}); err == nil {
				facts = factsOf(port)
			}
		}
		out.Models = append(out.Models, agent.Model{Name: m, ContextTokens: facts.ContextTokens, Facts: facts})
	}
	return out
}

// rulesFor are the rules of the config: each tool that the turn used is there, if
// its server still is.
func rulesFor(ctx context.Context, cfg *config.Config, name string, rec ports.Recording) agent.Rules {
	box := toolbox.New(toolsOf(cfg), nil, nil, slog.New(slog.DiscardHandler))
	catalogs := map[string][]ports.ToolPort{}
	builtIns := builtInNames(ctx)
	for _, u := range agent.UsedTools(rec) {
		server, own, ok := strings.Cut(u.Name, "__")
		if !ok || slices.Contains(builtIns, u.Name) {
			server, own = "", u.Name
		}
		catalogs[server] = append(catalogs[server], recordedTool{ports.ToolSpec{Name: own, Class: u.Class, InputSchema: json.RawMessage(`{"type":"object"}`)}})
	}
	register := func(s toolbox.Source) {
		r := box.Add(s)
		r.Register(ports.Catalog{Tools: catalogs[s.Name]})
		r.State(ports.State{Phase: ports.PhaseReady})
	}
	register(toolbox.Source{})
	for server, s := range cfg.MCPServers {
		if cfg.MCP.Enabled && s.Enabled {
			register(toolbox.Source{Name: server, Tools: toolbox.Filter{Allow: s.Tools.Allow, Deny: s.Tools.Deny}, ReadOnly: s.Tools.ReadOnly, Idempotent: s.Tools.Idempotent})
		}
	}
	a := cfg.Agents[name]
	return box.View(toolbox.Filter{Allow: a.Tools.Allow, Deny: a.Tools.Deny}, a.MCPServers).Finding(name, nil)
}

// recordedTool is a tool of which no more is known than what a turn shows.
type recordedTool struct{ spec ports.ToolSpec }

var _ ports.ToolPort = recordedTool{}

func (t recordedTool) Spec() ports.ToolSpec { return t.spec }

func (t recordedTool) Call(context.Context, ports.ToolCall, ports.Host) (ports.ToolResult, error) {
	return ports.ToolResult{}, ports.Errorf(ports.KindInvalid, "replay", "%s is not to be run", t.spec.Name)
}
