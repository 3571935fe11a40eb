package openai

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
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

	"dragoman/ports"
	"dragoman/tests/modeltest"
)

// TestConformanceAimock runs the kit against a server of the wire that nobody
// here wrote.
func TestConformanceAimock(t *testing.T) {
	mock := startAimock(t)
	modeltest.Run(t, modeltest.Harness{
		Model:  testModel(t, mock.url+"/v1"),
		Script: mock.script,
		Seen:   mock.got,
		Secret: testKey,
	})
}

type aimock struct{ url string }

// startAimock runs @copilotkit/aimock until the test ends. Where it is not
// installed the test is skipped, in CI it fails.
func startAimock(t *testing.T) *aimock {
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
		return &aimock{url: url}
	case <-time.After(30 * time.Second):
		t.Fatal("aimock did not start within 30 s")
	}
	return nil
}

// script replaces all fixtures by one that answers everything.
func (a *aimock) script(ctx context.Context, act modeltest.Act) error {
	fixture, err := fixtureFor(act)
	if err != nil {
		return err
	}
	fixture["match"] = map[string]any{}
	if err := a.control(ctx, http.MethodPost, "/reset", nil, nil); err != nil {
		return err
	}
	return a.control(ctx, http.MethodPost, "/fixtures", map[string]any{"fixtures": []any{fixture}}, nil)
}

func (a *aimock) got(ctx context.Context) (modeltest.Seen, error) {
	var journal []struct {
		Body json.RawMessage
	}
	if err := a.control(ctx, http.MethodGet, "/journal", nil, &journal); err != nil || len(journal) == 0 {
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

func (a *aimock) control(ctx context.Context, method, path string, in, out any) error {
	body, err := json.Marshal(in)
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, method, a.url+"/__aimock"+path, bytes.NewReader(body))
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

// fixtureFor is the act in aimock's own words, as far as it has them.
func fixtureFor(act modeltest.Act) (map[string]any, error) {
	if act.State != "" {
		return nil, fmt.Errorf("aimock adds no state to calls: %w", errors.ErrUnsupported)
	}
	fail := func(status int, kind, code, message string) (map[string]any, error) {
		return map[string]any{"response": map[string]any{"status": status, "retryAfter": int(act.Wait.Seconds()),
			"error": map[string]any{"message": message, "type": kind, "code": code}}}, nil
	}
	response := map[string]any{}
	if act.Text != "" || len(act.Calls) == 0 {
		response["content"] = act.Text
	}
	var calls []any
	for _, c := range act.Calls {
		calls = append(calls, map[string]any{"id": c.ID, "name": c.Name, "arguments": string(c.Arguments)})
	}
	if calls != nil {
		response["toolCalls"] = calls
	}
	if act.Usage != (ports.Tokens{}) {
		response["usage"] = map[string]any{"prompt_tokens": act.Usage.Input, "completion_tokens": act.Usage.Output}
	}
	fixture := map[string]any{"response": response, "chunkSize": 4}
	switch act.Do {
	case modeltest.Reply:
	case modeltest.Length:
		response["finishReason"] = "length"
	case modeltest.Filtered:
		response["finishReason"] = "content_filter"
	case modeltest.Cut:
		fixture["latency"], fixture["truncateAfterChunks"] = 10, 3
	case modeltest.Hang:
		fixture["latency"], response["content"] = 30_000, "too late"
	case modeltest.JSON:
		fixture["chaos"] = map[string]any{"malformedRate": 1}
	case modeltest.RateLimit:
		return fail(429, "rate_limit_error", "rate_limit_exceeded", "slow down")
	case modeltest.ServerError:
		return fail(500, "server_error", "", "sorry")
	case modeltest.Overloaded:
		return fail(529, "overloaded_error", "", "busy")
	case modeltest.Unauthorized:
		return fail(401, "authentication_error", "invalid_api_key", "Incorrect API key provided: "+testKey)
	case modeltest.NotFound:
		return fail(404, "invalid_request_error", "model_not_found", "no such model")
	case modeltest.Invalid:
		return fail(400, "invalid_request_error", "", "bad request")
	case modeltest.TooLarge:
		return fail(400, "invalid_request_error", "context_length_exceeded", "too long")
	default:
		return nil, fmt.Errorf("aimock cannot do %q: %w", act.Do, errors.ErrUnsupported)
	}
	return fixture, nil
}
