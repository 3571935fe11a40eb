package gateway

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"dragoman/core/internal/guard"
	"dragoman/core/toolbox"
	"dragoman/ports"
)

type named string

func (n named) Spec() ports.ToolSpec { return ports.ToolSpec{Name: string(n)} }

func (n named) Call(context.Context, ports.ToolCall, ports.Host) (ports.ToolResult, error) {
	return ports.ToolResult{}, nil
}

func valueOf(t *testing.T, c prometheus.Counter) float64 {
	t.Helper()
	var m dto.Metric
	if err := c.Write(&m); err != nil {
		t.Fatal(err)
	}
	return m.GetCounter().GetValue()
}

// countOf is how many series a collector has.
func countOf(c prometheus.Collector) int {
	out := make(chan prometheus.Metric)
	go func() { c.Collect(out); close(out) }()
	n := 0
	for range out {
		n++
	}
	return n
}

// A server may rename its tools for ever, and call them anything; the series
// must have an end, and a label be text.
func TestAServerThatRenamesItsToolsMakesNoEndOfSeries(t *testing.T) {
	tools := toolbox.New(toolbox.Config{}, nil, new(guard.Leaks), slog.New(slog.DiscardHandler))
	m := newMetrics(tools)
	reg := tools.Add(toolbox.Source{Name: "srv"})
	const more = 100
	for i := range toolsMax + more {
		reg.Register(ports.Catalog{Tools: []ports.ToolPort{named(fmt.Sprintf("t%d\xff%s", i, strings.Repeat("é", 200)))}})
		for _, tool := range tools.Tools() {
			m.Result(tool.Name, ports.CallOK)
			m.Result(tool.Name, ports.CallOK)
		}
	}
	if n := countOf(m.calls); n != toolsMax+1 {
		t.Errorf("%d series, want %d", n, toolsMax+1)
	}
	if n := valueOf(t, m.calls.WithLabelValues("srv", otherTool, "ok")); n != 2*more {
		t.Errorf("%v calls of other tools, want %d", n, 2*more)
	}
	families, err := m.registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		for _, metric := range f.GetMetric() {
			for _, l := range metric.GetLabel() {
				if len(l.GetValue()) > labelMax {
					t.Fatalf("a label of %d bytes", len(l.GetValue()))
				}
			}
		}
	}
}

// Odd figures of a provider must not panic: a counter never falls.
func TestOddTokensAreNotCounted(t *testing.T) {
	m := newMetrics(toolbox.New(toolbox.Config{}, nil, new(guard.Leaks), slog.New(slog.DiscardHandler)))
	m.Model("m", "ok", ports.Tokens{Input: 5, CachedInput: 9, Output: -3}, -1)
	for kind, want := range map[string]float64{"input": 0, "cached_input": 9, "output": 0} {
		if got := valueOf(t, m.tokens.WithLabelValues("m", kind)); got != want {
			t.Errorf("%s: %v, want %v", kind, got, want)
		}
	}
	if got := valueOf(t, m.cost.WithLabelValues("m")); got != 0 {
		t.Errorf("it cost %v", got)
	}
}
