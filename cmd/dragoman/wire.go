package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"path/filepath"
	"reflect"
	"slices"

	"dragoman/adapters/anthropic"
	"dragoman/adapters/builtin"
	"dragoman/adapters/demo"
	"dragoman/adapters/discord"
	"dragoman/adapters/mcp"
	"dragoman/adapters/mcp/oauth"
	"dragoman/adapters/openai"
	"dragoman/adapters/sqlstore"
	"dragoman/adapters/telegram"
	"dragoman/adapters/terminal"
	"dragoman/adapters/web"
	"dragoman/config"
	"dragoman/ports"
)

// The adapter tables: one line for each adapter.
var (
	channels = map[string]factory[ports.ChannelPort]{
		"telegram": logged[ports.ChannelPort](telegram.New),
		"discord":  logged[ports.ChannelPort](discord.New),
		"web": build(func(c web.Config, p parts) (ports.ChannelPort, error) {
			files := func(ctx context.Context, chat, id string, offset, limit int64) (ports.Artifact, error) {
				return p.store.Read(ctx, ports.Conversation{Channel: p.name, Chat: chat}, id, offset, limit)
			}
			return web.New(c, web.Deps{Feed: p.store.Feed(p.name), Records: p.store, Files: files, Log: p.log})
		}),
	}
	models = map[string]factory[ports.ModelPort]{
		"openai":    logged[ports.ModelPort](openai.New),
		"anthropic": logged[ports.ModelPort](anthropic.New),
		"demo":      logged[ports.ModelPort](demo.New),
	}
	server = build(func(c mcp.Config, p parts) (ports.ToolSource, error) {
		login, err := loginTo(c, p)
		if err != nil {
			return nil, err
		}
		deps := mcp.Deps{Log: p.log, Mark: p.mark, Trace: traceOf(c, p), Login: login, Scope: "mcp_servers/" + p.name}
		if p.store != nil {
			deps.Records = p.store
		}
		return mcp.New(c.In(p.home), deps)
	})
	builtIn = func(store *sqlstore.Store) ports.ToolSource { return builtin.New(store) }
	console = func(p parts) (*terminal.Channel, error) {
		return terminal.New(terminal.Deps{Feed: p.store.Feed(p.name), Fates: p.store.Fates(p.name), Log: p.log})
	}
)

// parts is what an adapter may be built with.
type parts struct {
	name   string // its name in the config
	home   string // the folder of the config file
	log    *slog.Logger
	store  *sqlstore.Store // nil when the config is only checked
	logins *oauth.Desk     // nil when nobody logs in
	data   string          // the data folder
	mark   *mcp.Mark       // what children are known by
}

// traceOf is where a server's trace goes; nil if none is wanted.
func traceOf(c mcp.Config, p parts) io.Writer {
	if !c.Trace {
		return nil
	}
	return mcp.NewTraceFile(filepath.Join(p.data, "trace", p.name+".jsonl"))
}

// factory decodes a section of the config into the adapter's own Config, and
// builds the adapter of it.
type factory[P any] struct {
	config reflect.Type // what the section is decoded into
	check  func(s config.Section) error
	build  func(s config.Section, p parts) (P, error)
}

// build makes the factory of a constructor.
func build[P, C any](construct func(C, parts) (P, error)) factory[P] {
	decode := func(s config.Section) (C, error) {
		var c C
		err := s.Decode(&c)
		return c, err
	}
	return factory[P]{
		config: reflect.TypeFor[C](),
		check: func(s config.Section) error {
			_, err := decode(s)
			return err
		},
		build: func(s config.Section, p parts) (port P, err error) {
			c, err := decode(s)
			if err != nil {
				return port, err
			}
			port, err = construct(c, p)
			if err != nil {
				err = s.Fault("", err.Error())
			}
			return port, err
		},
	}
}

// logged is build for an adapter that needs no more than its log.
func logged[P, C, A any](construct func(C, *slog.Logger) (A, error)) factory[P] {
	return build(func(c C, p parts) (port P, err error) {
		a, err := construct(c, p.log)
		if err != nil {
			return port, err
		}
		return any(a).(P), nil
	})
}

// checkSections decodes every adapter's section, for its faults.
func checkSections(cfg *config.Config) error {
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(cfg.Models)) {
		errs = append(errs, checkModel(cfg.Models[name]))
	}
	for _, name := range slices.Sorted(maps.Keys(cfg.Channels)) {
		errs = append(errs, checkTyped(channels, cfg.Channels[name].Section, cfg.Channels[name].Type))
	}
	errs = append(errs, checkOneWeb(cfg), checkBots(cfg))
	for _, name := range slices.Sorted(maps.Keys(cfg.MCPServers)) {
		_, err := server.build(cfg.MCPServers[name].Section, parts{}) // New finds what is wrong between keys
		errs = append(errs, err)
	}
	return config.Join(errs...)
}

// checkModel builds the model too: New finds what is wrong between keys.
func checkModel(m config.Model) error {
	if err := checkTyped(models, m.Section, m.Type); err != nil {
		return err
	}
	_, err := models[m.Type].build(m.Section, parts{log: slog.New(slog.DiscardHandler)})
	return err
}

// checkOneWeb refuses a second channel that wants the page at "/".
func checkOneWeb(cfg *config.Config) error {
	first := ""
	for _, name := range slices.Sorted(maps.Keys(cfg.Channels)) {
		if cfg.Channels[name].Type != "web" {
			continue
		}
		if first != "" {
			return cfg.Channels[name].Fault("type", fmt.Sprintf("is a second web chat beside %q (there can be one)", first))
		}
		first = name
	}
	return nil
}

func checkTyped[P any](table map[string]factory[P], s config.Section, kind string) error {
	if err := s.OneOf("type", slices.Collect(maps.Keys(table))...); err != nil {
		return err
	}
	f, ok := table[kind]
	if !ok {
		return fmt.Errorf("%s: no adapter of type %q", s.Path(), kind)
	}
	return f.check(s)
}
