//go:build unix

package mcp

import (
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestATraceShowsNoSecret(t *testing.T) {
	redact := Config{Env: peerConfig("good").Env}
	redact.Env["KEY"] = "the-key-in-env"
	r := redact.redactor()
	for raw, want := range map[string]string{
		`{"a":"the-key-in-env!","n":12345678901234567890}`:                         `{"a":"[redacted]!","n":12345678901234567890}`,
		`{"password":"p","Access_Token":{"x":[1]},"api-key":7,"secret":null}`:      `{"Access_Token":"[redacted]","api-key":"[redacted]","password":"[redacted]","secret":null}`,
		`{"x":[{"refreshToken":"a"},{"code_verifier":"b"},{"client_secret":"c"}]}`: `{"x":[{"refreshToken":"[redacted]"},{"code_verifier":"[redacted]"},{"client_secret":"[redacted]"}]}`,
		`{"_meta":{"progressToken":5},"maxTokens":9,"tokens":1}`:                   `{"_meta":{"progressToken":5},"maxTokens":9,"tokens":1}`,
		`{"text":"{\"password\":\"p\",\"b\":\"<&>\"}"}`:                            `{"text":"{\"b\":\"<&>\",\"password\":\"[redacted]\"}"}`,
		`{"text":"Authorization: Bearer abcdefgh12345 and on"}`:                    `{"text":"Authorization: Bearer [redacted] and on"}`,
		`{"text":"see https://x/?access_token=abc&b=1, password = \"hunter2\""}`:   `{"text":"see https://x/?access_token=[redacted]&b=1, password = \"[redacted]\""}`,
		`{"text":"the token is long; 5 tokens: fine"}`:                             `{"text":"the token is long; 5 tokens: fine"}`,
		`[1]`: `[1]`,
	} {
		if got, ok := cleanJSON(r, []byte(raw)); !ok || string(got) != want {
			t.Errorf("%s\nbecomes %s\nwant    %s", raw, got, want)
		}
	}
	for _, raw := range []string{`{"a":1`, `x`, `{} {}`, ``} {
		if got, ok := cleanJSON(r, []byte(raw)); ok {
			t.Errorf("%q is taken for JSON: %s", raw, got)
		}
	}
}

// lines are the lines of a trace.
func (j *journal) lines(t *testing.T) (list []traced) {
	t.Helper()
	j.mu.Lock()
	defer j.mu.Unlock()
	for line := range strings.Lines(j.text.String()) {
		var one traced
		if err := json.Unmarshal([]byte(line), &one); err != nil || one.Time == "" || one.Dir == "" {
			t.Errorf("%q is no line of a trace: %v", line, err)
		}
		list = append(list, one)
	}
	return list
}

func TestATraceHasEachMessageOnStdio(t *testing.T) {
	cfg := peerConfig("noise")
	cfg.Env["API_KEY"] = "sk-very-secret"
	cfg.MaxMessageBytes = 64 << 10
	out := new(journal)
	src, err := New(cfg, Deps{Trace: out})
	if err != nil {
		t.Fatal(err)
	}
	r := startSource(t, src).ready()
	r.wantEcho("Bearer abcdefghijkl and sk-very-secret")
	_, _ = r.call(t.Context(), "say", `{"size":100000}`)
	r.end()
	seen := map[string]int{}
	for _, l := range out.lines(t) {
		seen[l.Dir]++
		var m message
		_ = json.Unmarshal(l.Message, &m)
		switch {
		case m.Method != "":
			seen[l.Dir+" "+m.Method]++
		case m.hasID():
			seen[l.Dir+" answer"]++
		case l.Text != "":
			seen[l.Dir+" "+l.Text]++
		case l.Bytes > 100_000:
			seen[l.Dir+" long"]++
		}
	}
	for _, want := range []string{"out initialize", "out notifications/initialized", "out tools/list", "out tools/call", "in answer", "in Welcome to the server!", "in long"} {
		if seen[want] == 0 {
			t.Errorf("there is no %q in the trace: %v", want, seen)
		}
	}
	if text := out.text.String(); strings.Contains(text, "sk-very-secret") || strings.Contains(text, "abcdefghijkl") {
		t.Errorf("a secret is in the trace: %s", text)
	}
}

func TestATraceHasEachExchangeOverHTTP(t *testing.T) {
	out := new(journal)
	trips := newTracer(out, Config{URL: "https://x.example/mcp?k=url-secret-1"}.redactor(), slog.New(slog.DiscardHandler)).conn().http(answering(func(req *http.Request) (*http.Response, error) {
		if req.Method == http.MethodDelete {
			return nil, errors.New("broken, with token=tok-secret")
		}
		media, body := "application/json", `{"jsonrpc":"2.0","id":1,"result":{"password":"pw-secret"}}`
		if req.Method == http.MethodGet {
			media, body = "text/event-stream", ": hello\r\n\r\nid: 1\ndata: {\"id\":2,\ndata: \"result\":{}}\n\ndata: "+strings.Repeat("x", maxTraced+9)+"\n\ndata: half"
		}
		return &http.Response{StatusCode: 200, Header: http.Header{"Content-Type": {media}, "Mcp-Session-Id": {"session-secret"}, "Set-Cookie": {"a=cookie-secret"}}, Body: io.NopCloser(strings.NewReader(body))}, nil
	}))
	for _, method := range []string{http.MethodPost, http.MethodGet, http.MethodDelete} {
		req, err := http.NewRequestWithContext(t.Context(), method, "https://x.example/mcp?k=url-secret-1", strings.NewReader(`{"id":1,"method":"m","params":{"token":"p-secret"}}`))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer header-secret")
		req.Header.Set("X-Own", "own-secret")
		resp, err := trips.RoundTrip(req)
		if err != nil {
			continue
		}
		if read, err := io.ReadAll(resp.Body); err != nil || len(read) < 40 {
			t.Errorf("the answer is %q, %v", read, err)
		}
		resp.Body.Close()
	}
	var heads, messages, long, texts int
	for _, l := range out.lines(t) {
		switch {
		case l.Method == "":
			t.Errorf("a line has no method: %+v", l)
		case l.Headers != nil:
			heads++
		case l.Message != nil && l.Status == 200:
			messages++
		case l.Bytes == maxTraced+9:
			long++
		case l.Err != "":
			texts++
		}
	}
	if heads != 5 || messages != 2 || long != 1 || texts != 1 {
		t.Errorf("%d heads, %d messages, %d long ones, %d errors", heads, messages, long, texts)
	}
	text := out.text.String()
	for name := range strings.SplitSeq("url header own session cookie pw p tok", " ") {
		if strings.Contains(text, name+"-secret") {
			t.Errorf("%s-secret is in the trace:\n%s", name, text)
		}
	}
}

type answering func(*http.Request) (*http.Response, error)

func (a answering) RoundTrip(req *http.Request) (*http.Response, error) { return a(req) }

func TestATraceFileIsPrivateAndBounded(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "trace", "files.jsonl")
	f := NewTraceFile(path)
	if _, err := os.Stat(filepath.Dir(path)); err == nil {
		t.Error("there is a folder before anything is written")
	}
	line := []byte(strings.Repeat("x", 1<<20-1) + "\n")
	for range 25 {
		if n, err := f.Write(line); n != len(line) || err != nil {
			t.Fatal(n, err)
		}
	}
	for name, want := range map[string]int64{"files.jsonl": 5 << 20, "files.1.jsonl": 10 << 20} {
		info, err := os.Stat(filepath.Join(dir, "trace", name))
		if err != nil || info.Size() != want || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v, %v", name, info, err)
		}
	}
	if list, err := os.ReadDir(filepath.Dir(path)); len(list) != 2 {
		t.Errorf("there are %v (%v)", list, err)
	}
	if err := os.RemoveAll(filepath.Dir(path)); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Write(line); err != nil {
		t.Errorf("a folder that went away: %v", err)
	}
}

// TestATraceThatCannotBeWrittenDisturbsNobody but its reader, who is told once.
func TestATraceThatCannotBeWrittenDisturbsNobody(t *testing.T) {
	blocked := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(blocked, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	log := new(journal)
	src, err := New(peerConfig("good"), Deps{Log: slog.New(slog.NewTextHandler(log, nil)), Trace: NewTraceFile(filepath.Join(blocked, "x.jsonl"))})
	if err != nil {
		t.Fatal(err)
	}
	r := startSource(t, src).ready()
	r.wantEcho("on and on")
	r.end()
	if n := strings.Count(log.text.String(), "mcp_trace_failed"); n != 1 {
		t.Errorf("the log complains %d times", n)
	}
}
