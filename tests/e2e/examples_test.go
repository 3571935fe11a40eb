package e2e

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

// The page "Writing an adapter" is followed here to the letter: its config, its
// commands, its entry in the table of adapters.

const pageFile = "../../adapters/README.md"

func TestThePagesServersWork(t *testing.T) {
	t.Parallel()
	config := strings.Replace(pageBlock(t, "jsonc", `"mcp_servers"`), "{", `{"listen": "${LISTEN}", "models": {"main": {"type": "demo"}},`, 1)
	g := newGateway(t, gatewayBinary(t), config)
	servers := []string{"dates-go"}
	buildHere(t, "build", "-o", filepath.Join(g.Dir, "dates"), "../examples/gomcp")
	if python(t) {
		servers = append(servers, "dates")
		copyFile(t, "../examples/python/dates.py", filepath.Join(g.Dir, "dates.py"))
	}
	g.Start()
	g.WaitReady()
	for _, server := range servers {
		t.Run(server, func(t *testing.T) {
			for _, c := range []struct{ tool, args, outcome, text string }{
				{"days_between", `{"from": "2024-02-28", "to": "2024-03-01"}`, "ok", "2 days"},
				{"add_days", `{"date": "2023-12-31", "days": 1}`, "ok", "2024-01-01, a Monday"},
				{"days_between", `{"from": "2023-02-29", "to": "2024-03-01"}`, "tool_error", "from must be a day that exists"},
				{"add_days", `{"date": "9999-12-31", "days": 1}`, "tool_error", "the years 1 and 9999"},
				{"days_between", `{"from": "yesterday", "to": "2024-03-01"}`, "invalid_params", "from"},
				{"days_between", `{"from": "2024-02-28"}`, "invalid_params", "to"},
				{"days_between", `{"from": "2024-02-28", "to": "2024-03-01", "until": 1}`, "invalid_params", "until"},
				{"add_days", `{"date": "2024-02-28", "days": "1"}`, "invalid_params", "days"},
				{"weeks_between", `{}`, "tool_not_found", "weeks_between"},
			} {
				var report struct {
					Server, Tool, Outcome, Text string
					IsError                     bool `json:"is_error"`
				}
				var out, stderr string
				eventually(t, answerWithin, "the server "+server+" is there", func() error {
					var code int
					out, stderr, code = g.CLI("call", server+"__"+c.tool, c.args, "--json")
					report.Outcome = ""
					if err := json.Unmarshal([]byte(out), &report); err != nil {
						return final{fmt.Errorf("exit %d, %s%s: %w", code, out, stderr, err)}
					}
					if (code == 0) != (c.outcome == "ok") {
						return fmt.Errorf("exit %d, %s%s", code, out, stderr)
					}
					return nil
				})
				if report.Outcome != c.outcome || !strings.Contains(report.Text, c.text) || report.IsError != (c.outcome != "ok") {
					t.Errorf("%s %s: %s%s, want %s and %q", c.tool, c.args, out, stderr, c.outcome, c.text)
				}
			}
		})
	}
	if command := `dragoman call dates__days_between '{"from": "2024-02-28", "to": "2024-03-01"}' --json`; !strings.Contains(pageBlock(t, "sh", "dragoman call"), command) {
		t.Errorf("the page does not say %s", command)
	}
}

// The page's entry is put into the table of adapters, and the gateway that comes
// of it is talked to as people do.
func TestThePagesEntryMakesAChannel(t *testing.T) {
	t.Parallel()
	bin := gatewayWith(t, pageBlock(t, "go", `"linechat": `))
	address := freeAddress(t)
	g := newGateway(t, bin, `{"listen": "${LISTEN}", "models": {"main": {"type": "demo"}}, "access": {"mode": "open"},
		"channels": {"line": {"type": "linechat", "listen": `+quoted(address)+`, "password": "${LINE_PASSWORD}"}},
		"mcp_servers": {"dates-go": {"command": "./dates"}}, "tools": {"policy": {"dates-go__*": "allow"}}}`, "LINE_PASSWORD=swordfish-1")
	buildHere(t, "build", "-o", filepath.Join(g.Dir, "dates"), "../examples/gomcp")
	g.Start()
	g.WaitReady()
	eventually(t, answerWithin, "the server is there", func() error {
		out, stderr, code := g.CLI("tools")
		if code != 0 || !strings.Contains(out, "dates-go__add_days") {
			return fmt.Errorf("exit %d, %s%s", code, out, stderr)
		}
		return nil
	})
	ann := dialLine(t, address)
	ann.says("* who are you")
	ann.types("ann swordfish-1")
	ann.says("* hello ann")
	ann.types(`call dates-go__add_days {"date": "2024-02-28", "days": 2}`)
	ann.says("* ok")
	ann.says("< .*2024-03-01, a Friday")
	_ = ann.Close()

	g.Kill()
	g.Start()
	g.WaitReady()
	ann = dialLine(t, address)
	ann.says("* who are you")
	ann.types("ann swordfish-1")
	ann.says("< .*2024-03-01, a Friday")
	ann.says("* hello ann")
	g.Term()

	for line := range slices.Values(g.proc.Lines()) {
		if strings.Contains(line, "swordfish") {
			t.Errorf("the password is in %q", line)
		}
	}
	bad := filepath.Join(g.Dir, "bad.json")
	if err := os.WriteFile(bad, []byte(`{"channels": {"line": {"type": "linechat", "password": "short"}}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, stderr, code := g.CLI("check", "--config", bad); code != 1 || !strings.Contains(stderr, "channels.line.password: ") {
		t.Errorf("a short password: exit %d, %s", code, stderr)
	}
	if out, stderr, code := g.CLI("schema"); code != 0 || !strings.Contains(out, "What everybody gives after their name") {
		t.Errorf("the schema does not know the channel: exit %d, %s", code, stderr)
	}
}

// line is nc.
type line struct {
	net.Conn
	t   *testing.T
	out *bufio.Scanner
}

func dialLine(t *testing.T, address string) *line {
	t.Helper()
	var conn net.Conn
	eventually(t, answerWithin, "somebody listens", func() (err error) {
		conn, err = net.Dial("tcp", address)
		return err
	})
	t.Cleanup(func() { _ = conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(answerWithin)); err != nil {
		t.Fatal(err)
	}
	return &line{conn, t, bufio.NewScanner(conn)}
}

func (l *line) types(text string) {
	l.t.Helper()
	if _, err := l.Write([]byte(text + "\n")); err != nil {
		l.t.Fatal(err)
	}
}

// says waits for a line that begins like a pattern; a star stands for itself.
func (l *line) says(pattern string) {
	l.t.Helper()
	want := regexp.MustCompile("^" + strings.Replace(pattern, "* ", `\* `, 1))
	var seen []string
	for l.out.Scan() {
		if want.MatchString(l.out.Text()) {
			return
		}
		seen = append(seen, l.out.Text())
	}
	l.t.Fatalf("it said %q (%v), want %q", seen, l.out.Err(), pattern)
}

// pageBlock is the page's fenced block of a language that has some text in it.
func pageBlock(t *testing.T, language, with string) string {
	t.Helper()
	page, err := os.ReadFile(pageFile)
	if err != nil {
		t.Fatal(err)
	}
	for _, block := range regexp.MustCompile("(?ms)^```"+language+"\n(.*?)^```$").FindAllStringSubmatch(string(page), -1) {
		if strings.Contains(block[1], with) {
			return block[1]
		}
	}
	t.Fatalf("the page has no block of %s with %s", language, with)
	return ""
}

// gatewayWith builds a gateway with one more entry in its table of channels. The
// tree stays as it is: the compiler is shown another wire.go.
func gatewayWith(t *testing.T, entry string) string {
	t.Helper()
	wire, err := filepath.Abs("../../cmd/dragoman/wire.go")
	if err != nil {
		t.Fatal(err)
	}
	source, err := os.ReadFile(wire)
	if err != nil {
		t.Fatal(err)
	}
	text := string(source)
	for _, put := range []struct{ before, what string }{
		{"import (\n", "\t\"dragoman/tests/examples/linechat\"\n"},
		{"channels = map[string]factory[ports.ChannelPort]{\n", entry},
	} {
		if strings.Count(text, put.before) != 1 {
			t.Fatalf("wire.go has %d times %q", strings.Count(text, put.before), put.before)
		}
		text = strings.Replace(text, put.before, put.before+put.what, 1)
	}
	dir := t.TempDir()
	changed, overlay, bin := filepath.Join(dir, "wire.go"), filepath.Join(dir, "overlay.json"), filepath.Join(dir, "dragoman")
	replace, err := json.Marshal(map[string]any{"Replace": map[string]string{wire: changed}})
	if err != nil {
		t.Fatal(err)
	}
	for file, content := range map[string][]byte{changed: []byte(text), overlay: replace} {
		if err := os.WriteFile(file, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	args := []string{"build", "-overlay", overlay, "-o", bin}
	if raceEnabled() {
		args = append(args, "-race")
	}
	buildHere(t, append(args, "dragoman/cmd/dragoman")...)
	return bin
}

func buildHere(t *testing.T, args ...string) {
	t.Helper()
	if out, err := exec.Command("go", args...).CombinedOutput(); err != nil {
		t.Fatalf("go %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

// python reports whether there is one. It fails the test where nothing may be
// left out; else it says loudly what is.
func python(t *testing.T) bool {
	t.Helper()
	_, err := exec.LookPath("python3")
	if err != nil && os.Getenv("CI") == "true" {
		t.Fatalf("%v: tests/run installs it", err)
	}
	if err != nil {
		t.Run("python", func(t *testing.T) { t.Skipf("LEFT OUT: %v: tests/run installs it", err) })
	}
	return err == nil
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	b, err := os.ReadFile(from)
	if err == nil {
		err = os.WriteFile(to, b, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
}
