package aimock

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"dragoman/tests/modeltest"
)

// Mock is one running aimock. Its Script and Seen are those of a modeltest.Harness.
type Mock struct {
	URL    string
	Filter string // how the wire calls an end by the filter
	secret string
}

// Start runs aimock until the test ends. Its refusal of a key quotes secret. Where
// it is not installed the test is skipped, in CI it fails. The test's folder is two
// levels below the module's root, as all adapters are.
func Start(t *testing.T, secret string) *Mock {
	t.Helper()
	bin, err := filepath.Abs("../../tests/node_modules/.bin")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(bin, "llmock")); err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatalf("aimock is not installed: %v", err)
		}
		t.Skipf("SKIPPED, not proven: aimock is not installed (npm ci in tests/): %v", err)
	}
	node := filepath.Join(bin, "node")
	if _, err := os.Stat(node); err != nil {
		node = "node"
	}
	seed := filepath.Join(t.TempDir(), "fixtures.json")
	if err := os.WriteFile(seed, []byte(`{"fixtures":[{"match":{"userMessage":"nobody says this"},"response":{"content":"x"}}]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(node, filepath.Join(bin, "llmock"), "-p", "0", "-f", seed, "--strict", "--log-level", "info")
	return &Mock{URL: run(t, cmd), Filter: "content_filter", secret: secret}
}

// run starts the command, and gives the address that it listens on.
func run(t *testing.T, cmd *exec.Cmd) string {
	t.Helper()
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	address := make(chan string, 1)
	read := make(chan struct{})
	go func() {
		defer close(read)
		defer close(address)
		for lines := bufio.NewScanner(out); lines.Scan(); {
			if _, url, ok := strings.Cut(lines.Text(), "listening on "); ok {
				address <- strings.TrimSpace(url)
			}
		}
	}()
	t.Cleanup(func() {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL)
		<-read
		_ = cmd.Wait() // killed: its status says no more
	})
	select {
	case url, ok := <-address:
		if !ok {
			t.Fatalf("aimock ended: %s", stderr.String())
		}
		return url
	case <-time.After(30 * time.Second):
		t.Fatal("aimock did not start within 30 s")
	}
	return ""
}

// Script has it answer everything as the act says.
func (m *Mock) Script(ctx context.Context, act modeltest.Act) error {
	fixture, err := m.fixtureFor(act)
	if err != nil {
		return err
	}
	fixture["match"] = map[string]any{}
	return m.Fixtures(ctx, fixture)
}

// Fixtures replaces all fixtures by these, in aimock's own words, and empties the
// journal.
func (m *Mock) Fixtures(ctx context.Context, fixtures ...map[string]any) error {
	if err := m.control(ctx, http.MethodPost, "/reset", nil, nil); err != nil {
		return err
	}
	return m.control(ctx, http.MethodPost, "/fixtures", map[string]any{"fixtures": fixtures}, nil)
}

// Seen is what it got since the last Script. Bodies are in the form of chat
// completions, whatever the wire.
func (m *Mock) Seen(ctx context.Context) (modeltest.Seen, error) {
	var journal []struct {
		Body json.RawMessage
	}
	if err := m.control(ctx, http.MethodGet, "/journal", nil, &journal); err != nil || len(journal) == 0 {
		return modeltest.Seen{}, err
	}
	seen := modeltest.Seen{Requests: len(journal), Body: journal[len(journal)-1].Body}
	var request struct {
		Tools []struct{ Function struct{ Name string } }
	}
	if err := json.Unmarshal(seen.Body, &request); err != nil {
		return seen, err
	}
	for _, t := range request.Tools {
		seen.Tools = append(seen.Tools, t.Function.Name)
	}
	return seen, nil
}

func (m *Mock) control(ctx context.Context, method, path string, in, out any) error {
	body, err := json.Marshal(in)
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, method, m.URL+"/__aimock"+path, bytes.NewReader(body))
	if err != nil {
		return err
	}
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	res, err := client.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = res.Body.Close() }()
	raw, err := io.ReadAll(res.Body)
	if err != nil {
		return err
	}
	if res.StatusCode != http.StatusOK {
		return fmt.Errorf("aimock %s: %d %s", path, res.StatusCode, raw)
	}
	if out == nil {
		return nil
	}
	return json.Unmarshal(raw, out)
}
