package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"testing"
)

// aimock is @copilotkit/aimock: a model provider that nobody here wrote, with
// fixtures for answers. It is strict: what no fixture matches is a 503.
// Base URLs: OpenAI and what is compatible URL+"/v1", Anthropic URL.
type aimock struct {
	URL string
	t   testing.TB
}

// fixture is {"match": …, "response": …}, in aimock's own words. The first that
// matches counts; match.userMessage is a part of the last message of the user.
type fixture map[string]any

// says answers a message that contains a text.
func says(message, answer string) fixture {
	return fixture{
		"match":    map[string]any{"userMessage": message},
		"response": map[string]any{"content": answer},
	}
}

// calls answers a message that contains a text with a call of one tool, and with
// a text once the tool's result is there.
func calls(message, tool string, arguments map[string]any, then string) []fixture {
	return []fixture{
		{
			"match": map[string]any{"userMessage": message, "hasToolResult": false},
			"response": map[string]any{"toolCalls": []any{
				map[string]any{"id": "call_" + tool, "name": tool, "arguments": arguments},
			}},
		},
		{
			"match":    map[string]any{"userMessage": message, "hasToolResult": true},
			"response": map[string]any{"content": then},
		},
	}
}

// startAimock starts it on a port of its own choice and waits until it is ready.
func startAimock(t testing.TB, fixtures ...fixture) *aimock {
	t.Helper()
	script := nodePackage(t, "@copilotkit", "aimock", "dist", "cli.js")
	dir, env := sandbox(t)
	// It refuses to be strict with no fixture at all.
	fixtures = append(fixtures, says("\x00 no test says this", "?"))
	file := filepath.Join(dir, "fixtures.json")
	text, err := json.Marshal(map[string]any{"fixtures": fixtures})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	p := start(t, dir, env, node(t), script,
		"-p", "0", "-f", file, "--strict", "--validate-on-load", "--log-level", "info")
	m := &aimock{t: t, URL: p.WaitLine(t, `listening on (http://\S+)`, readyWithin)[1]}
	eventually(t, readyWithin, "aimock is ready", func() error {
		_, err := m.request(http.MethodGet, "/ready", nil)
		return err
	})
	return m
}

// Add adds fixtures behind those that are there.
func (m *aimock) Add(fixtures ...fixture) {
	m.t.Helper()
	m.control(http.MethodPost, "/__aimock/fixtures", map[string]any{"fixtures": fixtures})
}

// FailNext makes the next request fail with a status and a body like OpenAI's.
func (m *aimock) FailNext(status int, message string) {
	m.t.Helper()
	m.control(http.MethodPost, "/__aimock/error", map[string]any{
		"status": status, "body": map[string]any{"message": message},
	})
}

// exchange is a request that the mock got, and how it answered.
type exchange struct {
	Method   string            `json:"method"`
	Path     string            `json:"path"`
	Headers  map[string]string `json:"headers"`
	Body     json.RawMessage   `json:"body"` // whole up to 64 KiB, with credentials taken out
	Response struct {
		Status int `json:"status"`
	} `json:"response"`
}

// Journal lists what it got so far, oldest first. The query filters: "path",
// "status" and others; nil lists all.
func (m *aimock) Journal(query url.Values) []exchange {
	m.t.Helper()
	var all []exchange
	if err := json.Unmarshal(m.control(http.MethodGet, "/__aimock/journal?"+query.Encode(), nil), &all); err != nil {
		m.t.Fatal(err)
	}
	return all
}

// ClearJournal forgets what it got; the fixtures stay.
func (m *aimock) ClearJournal() {
	m.t.Helper()
	m.control(http.MethodPost, "/__aimock/reset/journal", nil)
}

func (m *aimock) control(method, path string, body any) []byte {
	m.t.Helper()
	answer, err := m.request(method, path, body)
	if err != nil {
		m.t.Fatal(err)
	}
	return answer
}

func (m *aimock) request(method, path string, body any) ([]byte, error) {
	ctx, cancel := context.WithTimeout(m.t.Context(), answerWithin)
	defer cancel()
	var content io.Reader
	if body != nil {
		text, err := json.Marshal(body)
		if err != nil {
			return nil, err
		}
		content = bytes.NewReader(text)
	}
	req, err := http.NewRequestWithContext(ctx, method, m.URL+path, content)
	if err != nil {
		return nil, err
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("aimock: %s %s: %s: %s", method, path, resp.Status, answer)
	}
	return answer, err
}
