package gateway_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	names "github.com/prometheus/common/model"

	"dragoman/adapters/sqlstore"
	"dragoman/core/agent"
	"dragoman/core/gateway"
	"dragoman/ports"
)

const testToken = "an-admin-token-of-a-test"

// get asks the gateway's handler for a page.
func (w *world) get(path, authorization string) *httptest.ResponseRecorder {
	r := httptest.NewRequestWithContext(w.t.Context(), http.MethodGet, path, nil)
	if authorization != "" {
		r.Header.Set("Authorization", authorization)
	}
	answer := httptest.NewRecorder()
	w.g.Handler().ServeHTTP(answer, r)
	return answer
}

// scrape reads all metrics: the sample of a series by its name with its labels,
// as name{a="1",b="2"}; of a histogram the count.
func (w *world) scrape() map[string]float64 {
	w.t.Helper()
	answer := w.get("/metrics", "Bearer "+testToken)
	if answer.Code != http.StatusOK {
		w.t.Fatalf("/metrics: %d %s", answer.Code, answer.Body)
	}
	parser := expfmt.NewTextParser(names.UTF8Validation)
	families, err := parser.TextToMetricFamilies(answer.Body)
	if err != nil {
		w.t.Fatalf("/metrics is not in Prometheus' format: %v", err)
	}
	samples := map[string]float64{}
	for name, f := range families {
		for _, m := range f.GetMetric() {
			samples[name+labelsOf(m)] = m.GetCounter().GetValue() + m.GetGauge().GetValue() + float64(m.GetHistogram().GetSampleCount())
		}
	}
	return samples
}

func labelsOf(m *dto.Metric) string {
	var list []string
	for _, l := range m.GetLabel() { // sorted by name
		list = append(list, fmt.Sprintf("%s=%q", l.GetName(), l.GetValue()))
	}
	if len(list) == 0 {
		return ""
	}
	return "{" + strings.Join(list, ",") + "}"
}

// have compares the samples that are named, and only these.
func have(t *testing.T, got, want map[string]float64) {
	t.Helper()
	for series, n := range want {
		if v, there := got[series]; !there || v != n {
			t.Errorf("%s is %v (there: %t), want %v", series, v, there, n)
		}
	}
}

func withToken(t *testing.T) *world {
	w := newWorld(t)
	w.opt.AdminToken = testToken
	return w
}

func TestMetricsCountWhatTurnsDo(t *testing.T) {
	w := withToken(t)
	n := 0
	tools := calls("srv__read_a", "srv__never", "srv__made_up", "nobody__knows", "srv__fails")
	w.agent = func(c *agent.Config) { c.Models[0].Facts.Price = &ports.Price{Input: 2, CachedInput: 0.5, Output: 8} }
	w.model.reply = func(ctx context.Context, r ports.ModelRequest) (ports.ModelReply, error) {
		if n++; n == 1 {
			return ports.ModelReply{}, ports.Errorf(ports.KindTemporary, "model", "502")
		}
		got, err := tools(ctx, r)
		got.Usage = ports.Tokens{Input: 100, CachedInput: 40, Output: 7}
		return got, err
	}
	w.start()
	have(t, w.scrape(), map[string]float64{
		`dragoman_messages_received_total{channel="chat"}`:      0,
		`dragoman_turns_total{agent="main",outcome="answered"}`: 0,
		`dragoman_turns_total{agent="main",outcome="failed"}`:   0,
		`dragoman_model_requests_total{model="m",outcome="ok"}`: 0,
		`dragoman_tokens_total{kind="output",model="m"}`:        0,
		`dragoman_cost_usd_total{model="m"}`:                    0,
		`dragoman_abandoned_calls_total{op="model"}`:            0,
		`dragoman_abandoned_calls_running{op="tool_call"}`:      0,
	})
	for range 3 { // the platform delivers it again
		w.chat.receive(t, ports.Message{Event: "same", From: "ann", Text: "go", Private: true})
	}
	w.shown(1)
	w.settled()
	eventually(t, "the turn is counted", func() bool { return w.scrape()["dragoman_turn_seconds"] == 1 })
	got := w.scrape()
	have(t, got, map[string]float64{
		`dragoman_messages_received_total{channel="chat"}`:                               1,
		`dragoman_turns_total{agent="main",outcome="answered"}`:                          1,
		`dragoman_turns_total{agent="main",outcome="failed"}`:                            0,
		`dragoman_turn_seconds`:                                                          1,
		`dragoman_tool_calls_total{outcome="ok",server="srv",tool="read_a"}`:             1,
		`dragoman_tool_calls_total{outcome="denied",server="srv",tool="never"}`:          1,
		`dragoman_tool_calls_total{outcome="tool_not_found",server="srv",tool=""}`:       1,
		`dragoman_tool_calls_total{outcome="tool_not_found",server="",tool=""}`:          1,
		`dragoman_tool_calls_total{outcome="transport_error",server="srv",tool="fails"}`: 1,
		`dragoman_tool_call_seconds`:                                                     2, // what never ran took no time
		`dragoman_mcp_server_up{server="srv"}`:                                           1,
		`dragoman_model_requests_total{model="m",outcome="temporary"}`:                   1,
		`dragoman_model_requests_total{model="m",outcome="ok"}`:                          2,
		`dragoman_tokens_total{kind="input",model="m"}`:                                  120,
		`dragoman_tokens_total{kind="cached_input",model="m"}`:                           80,
		`dragoman_tokens_total{kind="output",model="m"}`:                                 14,
		`dragoman_cost_usd_total{model="m"}`:                                             2 * (60*2 + 40*0.5 + 7*8) / 1e6,
		`dragoman_inbox_pending`:                                                         0,
		`dragoman_outbox_pending`:                                                        0,
	})
	for series := range got {
		if strings.Contains(series, "made_up") || strings.Contains(series, "nobody") {
			t.Errorf("a name that the model made up is a label: %s", series)
		}
	}
	if got["go_goroutines"] < 1 || got["process_start_time_seconds"] < 1 {
		t.Errorf("the process tells nothing of itself: %v goroutines", got["go_goroutines"])
	}
}

func TestMetricsTellWhatWaits(t *testing.T) {
	w := withToken(t)
	gate := make(chan struct{})
	w.model.reply = gated(gate, echo)
	w.start()
	w.chat.say(t, "ann", "hello")
	eventually(t, "the model is asked", func() bool { return len(w.model.asked()) == 1 })
	have(t, w.scrape(), map[string]float64{`dragoman_inbox_pending`: 1, `dragoman_outbox_pending`: 0})
	close(gate)
	w.settled()
	have(t, w.scrape(), map[string]float64{`dragoman_inbox_pending`: 0, `dragoman_outbox_pending`: 0})
}

// uncountable is a store that cannot say what waits.
type uncountable struct{ gateway.Store }

func (uncountable) Backlog(context.Context) (ports.Backlog, error) {
	return ports.Backlog{}, ports.Errorf(ports.KindUnavailable, "backlog", "the disk is gone")
}

func TestMetricsOutliveTheStore(t *testing.T) {
	w := withToken(t)
	w.startOn(func(s *sqlstore.Store) gateway.Store { return uncountable{s} })
	got := w.scrape()
	have(t, got, map[string]float64{`dragoman_messages_received_total{channel="chat"}`: 0})
	if n, there := got[`dragoman_inbox_pending`]; there {
		t.Errorf("%v messages wait, though nobody knows", n)
	}
}

func TestAFailedAndAStoppedTurnCountAsSuch(t *testing.T) {
	w := withToken(t)
	w.model.reply = func(context.Context, ports.ModelRequest) (ports.ModelReply, error) {
		return ports.ModelReply{}, ports.Errorf(ports.KindUnauthorized, "model", "401")
	}
	w.start()
	w.chat.say(t, "ann", "go")
	w.shown(1)
	w.settled()
	w.model.reply = calls("srv__slow")
	w.chat.say(t, "ann", "go")
	eventually(t, "the tool runs", func() bool { return w.tools.ran("slow") == 1 })
	w.chat.say(t, "ann", "/stop")
	w.shown(2)
	w.settled()
	have(t, w.scrape(), map[string]float64{
		`dragoman_turns_total{agent="main",outcome="failed"}`:                     1,
		`dragoman_turns_total{agent="main",outcome="stopped"}`:                    1,
		`dragoman_turns_total{agent="main",outcome="answered"}`:                   0,
		`dragoman_model_requests_total{model="m",outcome="unauthorized"}`:         1,
		`dragoman_tool_calls_total{outcome="cancelled",server="srv",tool="slow"}`: 1,
	})
}

// An admin's call is a call as any other.
func TestAnAdminsCallIsCounted(t *testing.T) {
	w := withToken(t)
	w.start()
	for name, args := range map[string]string{"srv__read_a": `{"n":1}`, "srv__write_a": `{}`} {
		if _, err := w.g.CallTool(t.Context(), name, json.RawMessage(args), time.Minute); err != nil {
			t.Fatal(err)
		}
	}
	have(t, w.scrape(), map[string]float64{
		`dragoman_tool_calls_total{outcome="ok",server="srv",tool="read_a"}`:              1,
		`dragoman_tool_calls_total{outcome="invalid_params",server="srv",tool="write_a"}`: 1,
		`dragoman_tool_call_seconds`: 1, // the other did not run
	})
}

func TestMetricsNeedTheAdminToken(t *testing.T) {
	w := withToken(t)
	w.start()
	for authorization, want := range map[string]int{
		"":                             http.StatusUnauthorized,
		"Bearer":                       http.StatusUnauthorized,
		"Bearer ":                      http.StatusUnauthorized,
		"Bearer " + testToken[:10]:     http.StatusUnauthorized,
		"Bearer " + testToken + "x":    http.StatusUnauthorized,
		"Basic " + testToken:           http.StatusUnauthorized,
		testToken:                      http.StatusUnauthorized,
		"Bearer " + testToken:          http.StatusOK,
		"bearer  " + testToken + "   ": http.StatusOK, // RFC 9110, 11.1: a scheme's name has no case
	} {
		answer := w.get("/metrics", authorization)
		if answer.Code != want {
			t.Errorf("with %q: %d, want %d", authorization, answer.Code, want)
		}
		body, challenge := answer.Body.String(), answer.Header().Get("WWW-Authenticate")
		if want == http.StatusUnauthorized && (!strings.HasPrefix(challenge, "Bearer ") || !strings.Contains(body, "admin-token") || strings.Contains(body, "dragoman_")) {
			t.Errorf("with %q: WWW-Authenticate %q, %q", authorization, challenge, body)
		}
		if strings.Contains(body, testToken) {
			t.Errorf("with %q the answer shows the token", authorization)
		}
	}
	for _, open := range []string{"/healthz", "/readyz"} {
		if answer := w.get(open, ""); answer.Code != http.StatusOK {
			t.Errorf("%s without a token: %d", open, answer.Code)
		}
	}
}

// Where no token is set, none fits: not the empty one either.
func TestWithoutATokenNobodyReadsMetrics(t *testing.T) {
	w := newWorld(t)
	w.start()
	for _, authorization := range []string{"", "Bearer", "Bearer ", "Bearer x"} {
		if answer := w.get("/metrics", authorization); answer.Code != http.StatusUnauthorized {
			t.Errorf("with %q: %d", authorization, answer.Code)
		}
	}
}

// A model that ignores its context is given up, counted and logged; its end is counted too.
func TestACallThatIsGivenUpIsCounted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := withToken(t)
		log := w.logged()
		stuck := make(chan struct{})
		w.model.turnTimeout = time.Second
		w.model.reply = func(context.Context, ports.ModelRequest) (ports.ModelReply, error) {
			<-stuck
			return says("too late")
		}
		w.start()
		w.chat.say(t, "ann", "go")
		text := w.shown(1)[0]
		const running, total = `dragoman_abandoned_calls_running{op="model"}`, `dragoman_abandoned_calls_total{op="model"}`
		time.Sleep(time.Minute)
		have(t, w.scrape(), map[string]float64{running: 1, total: 1})
		if lines := log.find("call_abandoned"); len(lines) != 1 || lines[0]["ref"] != refIn(t, text) || lines[0]["op"] != "model" {
			t.Errorf("the log says %v, the chat %q", lines, text)
		}
		close(stuck)
		synctest.Wait()
		have(t, w.scrape(), map[string]float64{running: 0, total: 1})
		w.end()
	})
}
