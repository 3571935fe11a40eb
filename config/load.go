package config

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
)

// Load reads a config file. Relative paths in it are relative to its folder.
// env is os.LookupEnv or the like; nil sets no variable.
//
// The error is Faults, or a plain one if the file cannot be read. With Faults
// the Config is nil if the text is no JSON object, else it holds what could be
// read: good for finding the faults of its sections too (see Join), and for nothing else.
func Load(path string, env func(string) (string, bool)) (*Config, error) {
	dir, err := filepath.Abs(filepath.Dir(path))
	if err != nil {
		return nil, fmt.Errorf("find the folder of %s: %w", path, err)
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("read the config: %w", err)
	}
	defer file.Close()
	text, err := io.ReadAll(io.LimitReader(file, maxBytes+1))
	if err != nil {
		return nil, fmt.Errorf("read the config: %w", err)
	}
	return Parse(path, text, dir, env)
}

// Parse is Load from memory: name stands in faults, dir is where relative paths start.
func Parse(name string, text []byte, dir string, env func(string) (string, bool)) (*Config, error) {
	// Editors on Windows put a byte order mark in front and do not count it.
	doc := newDocument(name, bytes.TrimPrefix(text, []byte("\uFEFF")), dir)
	doc.rules = newRules()
	if len(text) > maxBytes {
		return nil, Faults{doc.fault(0, "", "is too large (must be at most %d bytes)", maxBytes)}
	}
	syntax, fault := doc.parse()
	if fault != nil {
		return nil, Faults{*fault}
	}
	build := &builder{doc: doc, expand: &expander{dir: dir, env: env}}
	root := build.build(syntax, "")
	d := newDecoder(doc)
	d.faults = append(build.faults, root.problems(nil)...)
	if root.kind != isObject {
		d.faults = append(d.faults, doc.fault(root.at, "", `is %s (must be an object like {"version": 1})`, kindWords(root)))
		return nil, d.faults.err()
	}
	cfg := &Config{Dir: dir}
	v := reflect.ValueOf(cfg).Elem()
	d.object(root, v, rootRule, extras{})
	d.validate(v, root)
	cfg.complete(root)
	(&checker{decoder: d, cfg: cfg}).check()
	return cfg, d.faults.err()
}

// complete fills in what follows from other keys.
func (c *Config) complete(root *node) {
	var all []string
	if models := root.get("models"); models != nil {
		for _, m := range models.members {
			all = append(all, m.name)
		}
	}
	if len(c.Agents) == 0 {
		c.Agents = map[string]Agent{"main": defaultAgent()}
	}
	only := "main"
	for name, agent := range c.Agents {
		if agent.Models == nil {
			agent.Models = all
			c.Agents[name] = agent
		}
		if len(c.Agents) == 1 {
			only = name
		}
	}
	for name, channel := range c.Channels {
		if channel.Agent == "" {
			channel.Agent = only
			c.Channels[name] = channel
		}
	}
	for name, server := range c.MCPServers {
		if c.MCP.Timeout > 0 {
			server.Section = server.With("timeout", c.MCP.Timeout)
		}
		if c.MCP.CallTimeout > 0 {
			server.Section = server.With("call_timeout", c.MCP.CallTimeout)
		}
		server.foreign = keysOfOthers(name)
		c.MCPServers[name] = server
	}
}

// defaultAgent is an agent of which the file says nothing.
func defaultAgent() Agent {
	var agent Agent
	d := newDecoder(nil)
	d.object(&node{kind: isObject}, reflect.ValueOf(&agent).Elem(), "", extras{})
	return agent
}
