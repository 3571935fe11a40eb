package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"sort"
	"time"

	"dragoman/ports"
)

const (
	headerTimeout = 10 * time.Second
	idleTimeout   = 2 * time.Minute
	probeTimeout  = 2 * time.Second
	httpDrain     = 3 * time.Second
)

// serve answers HTTP until ctx ends. nil: there is nothing to serve, or it ended
// in order.
func (g *Gateway) serve(ctx context.Context) error {
	if g.opt.Listener == nil {
		return nil
	}
	s := &http.Server{Handler: g.Handler(), ReadHeaderTimeout: headerTimeout, IdleTimeout: idleTimeout}
	failed := make(chan error, 1)
	go func() { failed <- s.Serve(g.opt.Listener) }()
	select {
	case err := <-failed:
		return err
	case <-ctx.Done():
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), httpDrain)
	defer cancel()
	if s.Shutdown(ctx) != nil {
		s.Close()
	}
	if err := <-failed; !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// Handler is everything that the gateway serves over HTTP.
func (g *Gateway) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { w.Write([]byte("ok\n")) })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, r *http.Request) {
		ready := g.Ready(r.Context())
		w.Header().Set("Content-Type", "application/json")
		if !ready.Ready {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
		json.NewEncoder(w).Encode(ready)
	})
	mux.HandleFunc("GET /metrics", g.adminOnly(g.serveMetrics))
	if g.opt.Logins != nil {
		mux.Handle("/oauth/", g.opt.Logins)
	}
	mux.Handle("/hook/{channel}", g.hooks())
	for _, c := range g.opt.Channels {
		if h, ok := c.Port.(ports.HTTP); ok {
			mux.Handle("/", h.Handler())
			break
		}
	}
	return mux
}

// hooks is where platforms bring what people write, by the channel's name.
func (g *Gateway) hooks() http.Handler {
	hooks := map[string]http.Handler{}
	for _, c := range g.opt.Channels {
		if h, ok := c.Port.(ports.Hooker); ok {
			if handler := h.Hook(); handler != nil {
				hooks[c.Name] = handler
			}
		}
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		handler := hooks[r.PathValue("channel")]
		if handler == nil {
			http.NotFound(w, r)
			return
		}
		handler.ServeHTTP(w, r)
	})
}

// writable is an ability of a Store: whether it takes writes, known without
// writing while all is well.
type writable interface {
	Writable(ctx context.Context) error
}

// Ready reports whether messages can be taken in. Servers that are down are no
// reason not to be ready.
func (g *Gateway) Ready(ctx context.Context) ports.Readiness {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	r := ports.Readiness{Ready: true, Store: "ok", Channels: []ports.ChannelState{}, Servers: map[string]int{}}
	if _, err := g.opt.Store.Backlog(ctx); err != nil {
		r.Ready, r.Store = false, reason(err)
	} else if w, ok := g.opt.Store.(writable); ok && w.Writable(ctx) != nil {
		r.Ready, r.Store = false, "it cannot be written to: is the disk full? The log says more"
	}
	g.mu.Lock()
	for _, c := range g.channels {
		r.Channels = append(r.Channels, c)
		r.Ready = r.Ready && (c.State == stateRunning || c.State == stateDegraded)
	}
	g.mu.Unlock()
	sort.Slice(r.Channels, func(i, j int) bool { return r.Channels[i].Name < r.Channels[j].Name })
	for _, s := range g.tools.Servers() {
		r.Servers[string(s.Phase)]++
	}
	return r
}
