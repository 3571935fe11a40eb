package gateway

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"net/http"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"dragoman/core/internal/guard"
	"dragoman/ports"
)

// reading is what is read once for one scrape.
type reading []prometheus.Metric

// Describe says nothing: what is read differs from scrape to scrape.
func (r reading) Describe(chan<- *prometheus.Desc) {}

// Collect gives what was read.
func (r reading) Collect(out chan<- prometheus.Metric) {
	for _, m := range r {
		out <- m
	}
}

var (
	serverUp = prometheus.NewDesc("dragoman_mcp_server_up", "1 while the MCP server is ready, or idle for want of work. A disabled one has no series.", []string{"server"}, nil)
	inboxed  = prometheus.NewDesc("dragoman_inbox_pending", "Messages that wait for a turn.", nil, nil)
	outboxed = prometheus.NewDesc("dragoman_outbox_pending", "Messages that wait to be delivered.", nil, nil)
	leftOpen = prometheus.NewDesc("dragoman_abandoned_calls_running", "Calls that were given up as stuck and still run.", []string{"op"}, nil)
	leftAll  = prometheus.NewDesc("dragoman_abandoned_calls_total", "Calls that were given up as stuck while they ran.", []string{"op"}, nil)
)

// guardedOps are the calls that are guarded: each has its series from the start.
var guardedOps = []string{"admit", "channel", "command", "model", "preview", "reconnect", "send", "show", "store_accept", "store_admins", "store_claim", "store_cursor", "store_delivered",
	"store_expire", "store_history", "store_load", "store_pending", "store_preview", "store_settings", "store_usage", "store_write", "tool_call", "tool_source"}

// read reads the state that nobody reports. What the store cannot tell now is
// left out.
func (g *Gateway) read(ctx context.Context) reading {
	gauge := func(d *prometheus.Desc, n float64, labels ...string) prometheus.Metric {
		return prometheus.MustNewConstMetric(d, prometheus.GaugeValue, n, labels...)
	}
	var r reading
	for _, s := range g.tools.Servers() {
		switch s.Phase {
		case ports.PhaseDisabled:
		case ports.PhaseReady, ports.PhaseIdle:
			r = append(r, gauge(serverUp, 1, s.Name))
		default:
			r = append(r, gauge(serverUp, 0, s.Name))
		}
	}
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	if b, err := g.opt.Store.Backlog(ctx); err == nil {
		r = append(r, gauge(inboxed, float64(b.Inbox)), gauge(outboxed, float64(b.Outbox)))
	}
	left := g.leaks.Counts()
	for _, op := range guardedOps {
		if _, there := left[op]; !there {
			left[op] = guard.Count{}
		}
	}
	for op, n := range left {
		r = append(r, gauge(leftOpen, float64(n.Open), op),
			prometheus.MustNewConstMetric(leftAll, prometheus.CounterValue, float64(n.Total), op))
	}
	return r
}

// serveMetrics answers a scrape in Prometheus' text format.
func (g *Gateway) serveMetrics(w http.ResponseWriter, r *http.Request) {
	now := prometheus.NewRegistry()
	now.MustRegister(g.read(r.Context()))
	w.Header().Set("Cache-Control", "no-store")
	// One part that cannot be read must not hide the others.
	opt := promhttp.HandlerOpts{ErrorHandling: promhttp.ContinueOnError}
	promhttp.HandlerFor(prometheus.Gatherers{g.metrics.registry, now}, opt).ServeHTTP(w, r)
}

const textAdminOnly = "This page is for the admin. Send the header \"Authorization: Bearer TOKEN\"; TOKEN is \"admin\": {\"token\": …} of the config,\n" +
	"or, where that is not set, what stands in the file admin-token in the data folder.\n"

// adminOnly lets through who shows the admin token (RFC 6750, 2.1).
func (g *Gateway) adminOnly(next http.HandlerFunc) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		scheme, shown, _ := strings.Cut(r.Header.Get("Authorization"), " ")
		if strings.EqualFold(scheme, "Bearer") && g.isAdmin(strings.TrimSpace(shown)) {
			next(w, r)
			return
		}
		challenge := `Bearer realm="dragoman"`
		if shown != "" {
			challenge += `, error="invalid_token"` // RFC 6750, 3.1
		}
		w.Header().Set("WWW-Authenticate", challenge)
		http.Error(w, textAdminOnly, http.StatusUnauthorized)
	}
}

// isAdmin compares in a time that tells nothing of the token, its length included.
func (g *Gateway) isAdmin(shown string) bool {
	want, got := sha256.Sum256([]byte(g.opt.AdminToken.Reveal())), sha256.Sum256([]byte(shown))
	return g.opt.AdminToken != "" && subtle.ConstantTimeCompare(want[:], got[:]) == 1
}
