package e2e

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	names "github.com/prometheus/common/model"

	"dragoman/tests/fake/telegram"
)

// adminToken is the one that the gateway made in its data folder.
func adminToken(t testing.TB, g *gateway) string {
	t.Helper()
	name := filepath.Join(g.Dir, "dragoman-data", "admin-token")
	info, err := os.Stat(name)
	if err != nil {
		t.Fatal(err)
	}
	if info.Mode().Perm() != 0o600 {
		t.Errorf("the admin token's file has mode %v, want 0600", info.Mode())
	}
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(text))
}

// get reads a page of the gateway.
func (g *gateway) get(path, authorization string) (status int, header http.Header, body string) {
	g.t.Helper()
	req, err := http.NewRequestWithContext(g.t.Context(), http.MethodGet, g.URL+path, nil)
	if err != nil {
		g.t.Fatal(err)
	}
	if authorization != "" {
		req.Header.Set("Authorization", authorization)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		g.t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		g.t.Fatal(err)
	}
	return resp.StatusCode, resp.Header, string(text)
}

// metrics scrapes the gateway as Prometheus does.
func (g *gateway) metrics(token string) map[string]*dto.MetricFamily {
	g.t.Helper()
	status, _, body := g.get("/metrics", "Bearer "+token)
	if status != http.StatusOK {
		g.t.Fatalf("/metrics: %d %s", status, body)
	}
	parser := expfmt.NewTextParser(names.UTF8Validation)
	families, err := parser.TextToMetricFamilies(strings.NewReader(body))
	if err != nil {
		g.t.Fatalf("/metrics is not in Prometheus' format: %v\n%s", err, body)
	}
	return families
}

// sample is the value of the series with exactly these labels, name and value by
// turns; of a histogram its count.
func sample(families map[string]*dto.MetricFamily, name string, labels ...string) (float64, error) {
	want := map[string]string{}
	for i := 0; i < len(labels); i += 2 {
		want[labels[i]] = labels[i+1]
	}
	for _, m := range families[name].GetMetric() {
		got := map[string]string{}
		for _, l := range m.GetLabel() {
			got[l.GetName()] = l.GetValue()
		}
		if fmt.Sprint(got) == fmt.Sprint(want) {
			return m.GetCounter().GetValue() + m.GetGauge().GetValue() + float64(m.GetHistogram().GetSampleCount()), nil
		}
	}
	return 0, fmt.Errorf("no %s with the labels %v; there are %v", name, want, families[name].GetMetric())
}

// lines are the gateway's log lines with a reference.
func (g *gateway) lines(t testing.TB, ref string) (found []map[string]any) {
	t.Helper()
	for _, line := range g.proc.Lines() {
		var l map[string]any
		if json.Unmarshal([]byte(line), &l) == nil && l["ref"] == ref {
			found = append(found, l)
		}
	}
	return found
}

// A turn with a tool, then one that fails: the metrics of the real binary count
// both, and the log knows the reference that the chat shows.
func TestMetricsAndTheReferenceOfAFailure(t *testing.T) {
	t.Parallel()
	files := notes(t, "the password is swordfish-4711\n")
	tg := telegram.New(telegram.Options{})
	t.Cleanup(tg.Close)
	mock := startAimock(t,
		wants("read notes.txt", "files__read_text_file", map[string]any{"path": filepath.Join(files, "notes.txt")}),
		seen("read notes.txt", "swordfish-4711", "It says: swordfish-4711"))
	g := startGateway(t, telegramConfig(t, tg, mock, files, open("open")))
	g.WaitLine("mcp_server_connected", readyWithin)
	token := adminToken(t, g)
	ann := tg.User(1001, "Ann")
	ann.Say("please read notes.txt")
	answeredWith(t, tg, ann, "It says: swordfish-4711") // not only what shows the call at work
	mock.FailNext(http.StatusUnauthorized, "Incorrect API key provided: sk-e2e-secret")
	ann.Say("please read notes.txt")
	text := answers(t, tg, ann, 2)[1].Text
	ref := reference.FindStringSubmatch(text)
	if ref == nil || strings.Contains(text, "sk-") {
		t.Fatalf("the failure reads %q", text)
	}

	eventually(t, answerWithin, "the metrics of two turns", func() error {
		families := g.metrics(token)
		for _, want := range []struct {
			n      float64
			name   string
			labels []string
		}{
			{2, "dragoman_messages_received_total", []string{"channel", "tg"}},
			{1, "dragoman_turns_total", []string{"agent", "main", "outcome", "answered"}},
			{1, "dragoman_turns_total", []string{"agent", "main", "outcome", "failed"}},
			{2, "dragoman_turn_seconds", nil},
			{1, "dragoman_tool_calls_total", []string{"server", "files", "tool", "read_text_file", "outcome", "ok"}},
			{1, "dragoman_tool_call_seconds", nil},
			{1, "dragoman_mcp_server_up", []string{"server", "files"}},
			{2, "dragoman_model_requests_total", []string{"model", "main", "outcome", "ok"}},
			{1, "dragoman_model_requests_total", []string{"model", "main", "outcome", "unauthorized"}},
			{0, "dragoman_inbox_pending", nil},
			{0, "dragoman_outbox_pending", nil},
			{0, "dragoman_abandoned_calls_total", []string{"op", "tool_call"}},
			{0, "dragoman_abandoned_calls_running", []string{"op", "tool_call"}},
		} {
			got, err := sample(families, want.name, want.labels...)
			if err != nil || got != want.n {
				return fmt.Errorf("%s %v is %v, want %v (%w)", want.name, want.labels, got, want.n, err)
			}
		}
		for _, kind := range []string{"input", "output"} {
			if n, err := sample(families, "dragoman_tokens_total", "model", "main", "kind", kind); err != nil || n < 1 {
				return final{fmt.Errorf("%v tokens of kind %s (%v)", n, kind, err)}
			}
		}
		if _, err := sample(families, "process_resident_memory_bytes"); err != nil {
			return final{err}
		}
		return nil
	})

	eventually(t, answerWithin, "the log knows the reference", func() error { // it comes through a pipe
		if !slices.ContainsFunc(g.lines(t, ref[1]), func(l map[string]any) bool { return l["level"] == "ERROR" }) {
			return fmt.Errorf("there is no error line with %s", ref[1])
		}
		return nil
	})
	errors := 0
	for _, l := range g.lines(t, ref[1]) {
		if l["level"] == "ERROR" {
			errors++
			if l["msg"] != "turn_failed" || l["kind"] != "unauthorized" {
				t.Errorf("the error line is %v", l)
			}
		}
	}
	if errors != 1 {
		t.Errorf("%d error lines have the reference %s: %v", errors, ref[1], g.lines(t, ref[1]))
	}
	g.Restart()
	if again := adminToken(t, g); again != token {
		t.Error("the admin token is another after a restart")
	}
	for _, line := range g.proc.Lines() {
		if strings.Contains(line, token) {
			t.Errorf("the admin token is in the log: %s", line)
		}
	}
}

// With no config at all, and with a token in it: /metrics opens to the token alone.
func TestMetricsNeedTheToken(t *testing.T) {
	t.Parallel()
	const given = "a-token-that-an-admin-chose"
	for name, config := range map[string]string{
		"made":  `{"listen": "${LISTEN}", "models": {"demo": {"type": "demo"}}, "channels": {"web": {"type": "web"}}}`,
		"given": `{"listen": "${LISTEN}", "models": {"demo": {"type": "demo"}}, "channels": {"web": {"type": "web"}}, "admin": {"token": "${DRAGOMAN_ADMIN_TOKEN}"}}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := startGateway(t, config, "DRAGOMAN_ADMIN_TOKEN="+given)
			token := given
			if name == "made" {
				token = adminToken(t, g)
			} else if _, err := os.Stat(filepath.Join(g.Dir, "dragoman-data", "admin-token")); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("a token was made beside the config's: %v", err)
			}
			if len(token) < 16 {
				t.Fatalf("the token has %d characters", len(token))
			}
			for _, wrong := range []string{"", "Bearer", "Bearer " + token[1:], "Basic " + token} {
				status, header, body := g.get("/metrics", wrong)
				if status != http.StatusUnauthorized || !strings.HasPrefix(header.Get("WWW-Authenticate"), "Bearer") || !strings.Contains(body, "admin") {
					t.Errorf("with %q: %d, %q, %q", wrong, status, header.Get("WWW-Authenticate"), body)
				}
			}
			if n, err := sample(g.metrics(token), "dragoman_messages_received_total", "channel", "web"); err != nil || n != 0 {
				t.Errorf("%v messages were received (%v)", n, err)
			}
		})
	}
}

// A token that is too short to be one is refused, and not shown.
func TestABadAdminTokenIsRefused(t *testing.T) {
	t.Parallel()
	g := newGateway(t, gatewayBinary(t), `{"listen": "${LISTEN}", "models": {"demo": {"type": "demo"}}, "admin": {"token": "hunter2"}}`)
	out, errs, code := g.CLI("check")
	if all := out + errs; code != 1 || !strings.Contains(all, "admin.token: is not right (must have at least 16 characters)") || strings.Contains(all, "hunter2") {
		t.Errorf("check: exit %d, %s", code, all)
	}
	if err := os.WriteFile(filepath.Join(g.Dir, "dragoman.json"), []byte(`{"listen": "${LISTEN}", "models": {"demo": {"type": "demo"}}}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(filepath.Join(g.Dir, "dragoman-data"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(g.Dir, "dragoman-data", "admin-token"), []byte("\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	g.Start()
	g.WaitLine(`admin-token holds no admin token`, readyWithin)
	if code := g.proc.wait(t, stopWithin); code != 1 {
		t.Errorf("with an empty token file: exit %d", code)
	}
}
