//go:build linux

package mcp

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"dragoman/ports"
)

// markVar is in the environment of a server and of all that it starts.
const markVar = "DRAGOMAN_TEST_FAMILY"

// family marks the server of cfg, so that its descendants can be found.
func family(t *testing.T, cfg *Config) (mark string) {
	t.Helper()
	mark = strconv.Itoa(os.Getpid()) + t.Name()
	cfg.Env[markVar] = ports.Secret(mark)
	return mark
}

// members are the programs that have the mark, and what they started: a browser's
// renderers hide their environment.
func members(t *testing.T, mark string) map[int]string {
	t.Helper()
	parents, found := map[int]int{}, map[int]string{}
	dirs, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range dirs {
		pid, err := strconv.Atoi(filepath.Base(dir))
		if err != nil {
			t.Fatal(err)
		}
		parents[pid] = parentOf(dir)
		environ, _ := os.ReadFile(filepath.Join(dir, "environ")) // one that is gone has no mark
		if slices.Contains(strings.Split(string(environ), "\x00"), markVar+"="+mark) {
			found[pid] = argv(dir)
		}
	}
	for more := true; more; {
		more = false
		for pid, parent := range parents {
			if found[pid] == "" && found[parent] != "" {
				found[pid], more = argv(filepath.Join("/proc", strconv.Itoa(pid))), true
			}
		}
	}
	return found
}

func parentOf(dir string) int {
	status, _ := os.ReadFile(filepath.Join(dir, "status"))
	_, rest, _ := strings.Cut(string(status), "\nPPid:\t")
	digits, _, _ := strings.Cut(rest, "\n")
	pid, _ := strconv.Atoi(digits) // 0: it is gone
	return pid
}

// argv is the command line of a process, never "".
func argv(dir string) string {
	line, _ := os.ReadFile(filepath.Join(dir, "cmdline"))
	return "$ " + strings.TrimSpace(strings.ReplaceAll(string(line), "\x00", " "))
}

// running waits until the family has a member whose command line matches.
func running(t *testing.T, mark, pattern string) (pid int) {
	t.Helper()
	eventually(t, "the server runs as "+pattern, func() bool {
		for member, line := range members(t, mark) {
			if regexp.MustCompile(pattern).MatchString(line) {
				pid = member
				return true
			}
		}
		return false
	})
	return pid
}

// endFamily stops the source and wants every member of the family gone.
func endFamily(t *testing.T, r *rig, mark string) {
	t.Helper()
	was := members(t, mark)
	r.end()
	for pid, line := range was {
		t.Logf("%d %.200s", pid, line)
		gone(t, pid)
	}
	for pid, line := range members(t, mark) {
		t.Errorf("still running: %d %.200s", pid, line)
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}
}

// TestABrowserIsDrivenAndEndsWithItsServer: the server that people use most starts
// a browser, which starts a dozen processes, some in groups of their own.
func TestABrowserIsDrivenAndEndsWithItsServer(t *testing.T) {
	const chromium = "/usr/bin/chromium"
	installed(t, chromium)
	page := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		fmt.Fprintf(w, `<title>Counter %s</title><p id=n>0</p><button onclick="n.textContent = +n.textContent + 1">Count</button>`, r.URL.Path)
	}))
	t.Cleanup(page.Close)
	cfg := nodeServer(t, "playwright-mcp", "--headless", "--no-sandbox", "--isolated", "--executable-path", chromium)
	cfg.Cwd = t.TempDir() // it keeps a log of the pages there
	cfg.Env["HOME"] = ports.Secret(cfg.Cwd)
	mark := family(t, &cfg)
	r := start(t, cfg)
	r.awaitPhase(ports.PhaseReady, 0)
	if n := len(r.names()); n < 20 {
		t.Errorf("it has %d tools", n)
	}
	for _, p := range []probe{
		{"browser_navigate", `{"url":"` + page.URL + `/one"}`, `text .*Page Title: Counter /one.*`},
		{"browser_click", `{"target":"button"}`, `text .*`},
		{"browser_evaluate", `{"function":"() => 40 + Number(n.textContent)"}`, `text .*\n41\n.*`},
		{"browser_snapshot", `{}`, `text .*button "Count".*`},
		{"browser_take_screenshot", `{}`, `text .*\nimage image/png \d+x\d+.*`},
		{"browser_navigate", `{"url":"http://127.0.0.1:1/"}`, `FAILED\ntext .*`},
	} {
		result, err := r.call(t.Context(), p.tool, p.args)
		if err != nil {
			t.Fatalf("%s: %v", p.tool, err)
		}
		if got := show(result); !regexp.MustCompile(`(?s)^(?:` + p.want + `)$`).MatchString(got) {
			t.Errorf("%s %s gives\n%.2000s\nwant\n%s", p.tool, p.args, got, p.want)
		}
	}
	running(t, mark, `chromium.*--type=renderer`)
	endFamily(t, r, mark)
}

// TestServersStartedByNpxEndAsOne: npx starts a shell that starts the server, so
// our child is the server's grandparent. One that hangs sees no end of its stdin.
func TestServersStartedByNpxEndAsOne(t *testing.T) {
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		args  []string
		probe probe
		hangs bool
	}{
		"everything": {[]string{"-y", "@modelcontextprotocol/server-everything"}, probe{"echo", `{"message":"hello"}`, `text Echo: hello`}, false},
		"filesystem": {[]string{"-y", "@modelcontextprotocol/server-filesystem", dir}, probe{"list_allowed_directories", `{}`, `text Allowed directories:\n` + regexp.QuoteMeta(dir) + `\nstructured .*`}, true},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := npx(t, c.args...)
			mark := family(t, &cfg)
			r := start(t, cfg)
			r.awaitPhase(ports.PhaseReady, 0)
			result, err := r.call(t.Context(), c.probe.tool, c.probe.args)
			if got := show(result); err != nil || !regexp.MustCompile(`(?s)^(?:`+c.probe.want+`)$`).MatchString(got) {
				t.Errorf("%s gives %s, %v", c.probe.tool, got, err)
			}
			running(t, mark, `^\$ npm exec `)
			if server := running(t, mark, `^\$ node .*mcp-server-`+name); c.hangs {
				if err := syscall.Kill(server, syscall.SIGSTOP); err != nil {
					t.Error(err)
				}
			}
			endFamily(t, r, mark)
		})
	}
}

// npx is a server as READMEs start it. npx runs the packages of the folder that it
// is started in, and may neither ask a registry nor fill the person's cache.
func npx(t *testing.T, args ...string) Config {
	t.Helper()
	cfg := nodeServer(t, strings.Replace(filepath.Base(args[1]), "server-", "mcp-server-", 1))
	cfg.Cwd = filepath.Join(filepath.Dir(cfg.Command), "..", "..")
	var err error
	if cfg.Command, err = exec.LookPath("npx"); err != nil {
		installed(t, "/usr/bin/npx")
	}
	cfg.Args = args
	for name, value := range map[string]string{"npm_config_offline": "true", "npm_config_cache": t.TempDir(), "npm_config_update_notifier": "false"} {
		cfg.Env[name] = ports.Secret(value)
	}
	return cfg
}

func installed(t *testing.T, file string) {
	t.Helper()
	if _, err := os.Stat(file); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatalf("%v: tests/run installs it", err)
		}
		t.Skipf("LEFT OUT: %v: tests/run installs it", err)
	}
}
