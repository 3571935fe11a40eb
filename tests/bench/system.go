package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"
)

// system is one of the two that are measured.
type system struct {
	name    string
	bins    binaries
	env     []string
	command func(s system, r *rig, dir string) (args []string, err error)
	profile string // where to put a profile
}

func gatewaySystem(b binaries, env []string) system {
	return system{name: "gateway", bins: b, env: env, command: gatewayCommand}
}

func bareSystem(b binaries) system { return system{name: "bare loop", bins: b, command: loopCommand} }

// boot starts the system against a rig, in a folder, and waits for its first poll.
func (s system) boot(ctx context.Context, r *rig, dir string) (*process, time.Duration, error) {
	args, err := s.command(s, r, dir)
	if err != nil {
		return nil, 0, err
	}
	env := append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + dir, "TMPDIR=" + dir}, s.env...)
	if s.profile != "" {
		env = append(env, "BENCH_PROFILE="+s.profile)
	}
	p, err := start(dir, env, args[0], args[1:]...)
	if err != nil {
		return nil, 0, err
	}
	late := time.NewTimer(patience)
	defer late.Stop()
	select {
	case at := <-r.polled:
		return p, at.Sub(p.began), nil
	case <-p.exited:
		err = p.alive()
	case <-late.C:
		err = fmt.Errorf("no poll within %s", patience)
	case <-ctx.Done():
		err = ctx.Err()
	}
	return nil, 0, s.halt(p, err)
}

// halt ends the process, and adds to an error what it printed last.
func (s system) halt(p *process, err error) error {
	if stopped := p.stop(); stopped != nil && err == nil {
		err = fmt.Errorf("stop: %w", stopped)
	}
	if err == nil || errors.Is(err, context.Canceled) {
		return err
	}
	return fmt.Errorf("%s: %w\n--- the end of its output:\n%s", s.name, err, p.tail())
}

// gatewayCommand writes the config of a public bot: everybody may talk to it, as
// fast as they like, and tools need no approval. All else is as it comes, but for
// how many model requests are under way: a model that takes its time is not to
// be what is measured.
func gatewayCommand(s system, r *rig, dir string) ([]string, error) {
	servers := ""
	if r.load.Tool {
		servers = `"mcp_servers": {"desk": {"command": ` + strconv.Quote(s.bins.gateway) + `, "args": ["desk"]}},`
	}
	config := fmt.Sprintf(`{
	"data_dir": %q, "listen": "127.0.0.1:0",
	"store": {"type": "sqlite", "sync": "full"},
	"models": {"main": {"type": "openai", "base_url": %q, "model": "bench", "api_key": "sk-bench", "max_concurrency": 1024}},
	"channels": {"tg": {"type": "telegram", "token": %q, "api_url": %q}},
	%s
	"tools": {"default": "allow"},
	"access": {"mode": "open", "rate": ""}
}`, filepath.Join(dir, "data"), r.model.URL(), r.platform.Token(), r.platform.URL(), servers)
	file := filepath.Join(dir, "dragoman.json")
	return []string{s.bins.gateway, "run", "--config", file}, os.WriteFile(file, []byte(config), 0o600)
}

func loopCommand(s system, r *rig, _ string) ([]string, error) {
	args := []string{s.bins.loop, "-telegram", r.platform.URL() + "/bot" + r.platform.Token(), "-model", r.model.URL()}
	if r.load.Tool {
		args = append(args, "-mcp", s.bins.gateway)
	}
	return args, nil
}
