package gateway

import (
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"dragoman/core/agent"
	"dragoman/core/toolbox"
	"dragoman/ports"
)

const (
	// toolsMax bounds how many tools get a label of their own: a server may rename
	// its tools for ever. The calls of the rest count together.
	toolsMax  = 1000
	otherTool = "(other)"
	// labelMax bounds a server's own name of a tool as a label, in bytes.
	labelMax = 128
)

// seconds are the bounds of the histograms: from a tool in memory to a turn that
// waits for several slow ones.
var seconds = []float64{.005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600}

// metrics counts what the parts report. Every label is a name from the config, a
// constant word or the name of a tool that a server registered.
type metrics struct {
	registry *prometheus.Registry
	tools    *toolbox.Toolbox

	messages *prometheus.CounterVec
	turns    *prometheus.CounterVec
	calls    *prometheus.CounterVec
	requests *prometheus.CounterVec
	tokens   *prometheus.CounterVec
	cost     *prometheus.CounterVec
	turnTook prometheus.Histogram
	callTook prometheus.Histogram

	mu    sync.Mutex
	known map[[2]string]bool // server and tool of those with a label
}

var _ agent.Meter = (*metrics)(nil)

func newMetrics(tools *toolbox.Toolbox) *metrics {
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
	}
	histogram := func(name, help string) prometheus.Histogram {
		return prometheus.NewHistogram(prometheus.HistogramOpts{Name: name, Help: help, Buckets: seconds})
	}
	m := &metrics{registry: prometheus.NewRegistry(), tools: tools, known: map[[2]string]bool{},
		messages: counter("dragoman_messages_received_total", "Messages that were taken in, each once.", "channel"),
		turns:    counter("dragoman_turns_total", "Turns that ended.", "agent", "outcome"),
		calls:    counter("dragoman_tool_calls_total", "Tool calls by what became of them; tool is empty for a name that no server has.", "server", "tool", "outcome"),
		requests: counter("dragoman_model_requests_total", "Requests to models, each try on its own; outcome is ok or the kind of the failure.", "model", "outcome"),
		tokens:   counter("dragoman_tokens_total", "Tokens by kind: input (that was not cached), cached_input, output.", "model", "kind"),
		cost:     counter("dragoman_cost_usd_total", "What requests to models cost, in US dollars; those of a model without a known price are not in it.", "model"),
		turnTook: histogram("dragoman_turn_seconds", "How long turns worked, waiting for a person left out."),
		callTook: histogram("dragoman_tool_call_seconds", "How long tool calls ran."),
	}
	m.registry.MustRegister(m.messages, m.turns, m.calls, m.requests, m.tokens, m.cost, m.turnTook, m.callTook,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

// begin gives what the config names its series at 0, so that the first event of
// each is a rise.
func (m *metrics) begin(channels []Channel, agents []Agent) {
	for _, c := range channels {
		m.messages.WithLabelValues(c.Name)
	}
	for _, a := range agents {
		for _, o := range []ports.Outcome{ports.OutcomeAnswered, ports.OutcomeFailed, ports.OutcomeStopped} {
			m.turns.WithLabelValues(a.Name, string(o))
		}
		for _, model := range a.Models {
			m.requests.WithLabelValues(model.Name, "ok")
			m.use(model.Name, ports.Tokens{}, 0)
		}
	}
}

func (m *metrics) received(channel string, n int) {
	m.messages.WithLabelValues(channel).Add(float64(n))
}

// Turn counts a turn. See agent.Meter.
func (m *metrics) Turn(agent string, o ports.Outcome, took time.Duration) {
	m.turns.WithLabelValues(agent, string(o)).Inc()
	m.turnTook.Observe(took.Seconds())
}

// Model counts a request. See agent.Meter.
func (m *metrics) Model(model, outcome string, used ports.Tokens, cost ports.Money) {
	m.requests.WithLabelValues(model, outcome).Inc()
	m.use(model, used, cost)
}

// use counts tokens and money. A provider's odd figures must not make a counter fall.
func (m *metrics) use(model string, used ports.Tokens, cost ports.Money) {
	m.cost.WithLabelValues(model).Add(max(0, cost.Dollars()))
	for kind, n := range map[string]int{"input": used.Input - used.CachedInput, "cached_input": used.CachedInput, "output": used.Output} {
		m.tokens.WithLabelValues(model, kind).Add(float64(max(0, n)))
	}
}

// Result counts what became of a call. See agent.Meter.
func (m *metrics) Result(name string, o ports.CallOutcome) {
	server, tool := m.tools.Origin(name)
	m.calls.WithLabelValues(server, m.label(server, tool), string(o)).Inc()
}

// Ran counts the time of a call. See agent.Meter.
func (m *metrics) Ran(took time.Duration) { m.callTook.Observe(took.Seconds()) }

// label makes the label of a server's own name for a tool.
func (m *metrics) label(server, tool string) string {
	if tool == "" {
		return ""
	}
	tool = strings.ToValidUTF8(tool[:min(len(tool), labelMax)], "") // Prometheus takes no other
	key := [2]string{server, tool}
	m.mu.Lock()
	defer m.mu.Unlock()
	if !m.known[key] && len(m.known) >= toolsMax {
		return otherTool
	}
	m.known[key] = true
	return tool
}
