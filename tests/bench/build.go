package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
)

// binaries are the programs that are measured.
type binaries struct{ gateway, loop, echo string }

// buildAll builds them into dir as a release is built: static, without symbols
// and paths.
func buildAll(ctx context.Context, opt options, dir string) (binaries, error) {
	b := binaries{gateway: opt.bin}
	var err error
	if opt.mcp {
		b.echo = filepath.Join(dir, "echo")
		err = build(ctx, opt.root, b.echo, "dragoman/tests/bench/echo")
	} else {
		b.loop = filepath.Join(dir, "loop")
		err = build(ctx, opt.root, b.loop, "dragoman/tests/bench/loop")
	}
	if err != nil {
		return b, err
	}
	if b.gateway != "" {
		return b, nil
	}
	b.gateway = filepath.Join(dir, "dragoman")
	var flags []string
	if opt.profile != "" {
		overlay, err := profiling(opt.root, dir)
		if err != nil {
			return b, err
		}
		flags = append(flags, "-overlay", overlay)
	}
	return b, build(ctx, opt.root, b.gateway, "dragoman/cmd/dragoman", flags...)
}

func build(ctx context.Context, root, to, pkg string, flags ...string) error {
	args := append([]string{"build", "-trimpath", "-buildvcs=false", "-ldflags", "-s -w", "-o", to}, flags...)
	cmd := exec.CommandContext(ctx, "go", append(args, pkg)...)
	cmd.Dir = root
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGINT) } // so that it clears up
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("go build %s: %w\n%s", pkg, err, out)
	}
	return nil
}

// profiling makes an overlay by which the gateway is built with one file more:
// testdata/profile.go, which the product does not have.
func profiling(root, dir string) (string, error) {
	overlay := map[string]map[string]string{"Replace": {
		filepath.Join(root, "cmd", "dragoman", "bench_profile.go"): filepath.Join(root, "tests", "bench", "testdata", "profile.go"),
	}}
	text, err := json.Marshal(overlay)
	if err != nil {
		return "", err
	}
	file := filepath.Join(dir, "overlay.json")
	return file, os.WriteFile(file, text, 0o600)
}

// commit is the one that is checked out, with a + if files were changed since.
func commit(ctx context.Context, root string) string {
	git := func(args ...string) (string, error) {
		out, err := exec.CommandContext(ctx, "git", append([]string{"-C", root, "-c", "safe.directory=*"}, args...)...).Output()
		return strings.TrimSpace(string(out)), err
	}
	id, err := git("rev-parse", "--short", "HEAD")
	if err != nil {
		return "unknown"
	}
	if changed, err := git("status", "--porcelain", "--untracked-files=no"); err != nil || changed != "" {
		id += "+"
	}
	return id
}
