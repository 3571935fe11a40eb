package control

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"time"

	"dragoman/ports"
)

const (
	bodyLimit  = 16 << 20
	closeGrace = 2 * time.Second
)

// arguments of every method; each uses some of them.
type arguments struct {
	Name    string           `json:"name,omitempty"`
	Args    json.RawMessage  `json:"args,omitempty"`
	Timeout time.Duration    `json:"timeout,omitempty"`
	Enabled bool             `json:"enabled,omitempty"`
	Code    string           `json:"code,omitempty"`
	Role    ports.Role       `json:"role,omitempty"`
	ID      string           `json:"id,omitempty"`
	Agent   string           `json:"agent,omitempty"`
	Chat    string           `json:"chat,omitempty"`
	Back    int              `json:"back,omitempty"`
	Limit   int              `json:"limit,omitempty"`
	Saying  ports.Saying     `json:"saying,omitzero"`
	Said    ports.Said       `json:"said,omitzero"`
	Query   ports.UsageQuery `json:"query,omitzero"`
}

// failure is an error on the wire.
type failure struct {
	Kind  ports.Kind `json:"kind"`
	Op    string     `json:"op"`
	Error string     `json:"error"`
}

// Serve answers on the socket at path until ctx ends, then removes it. A socket
// that a killed gateway left there is replaced: the caller holds the lock of the
// data folder, so nobody serves it.
// Without terminals there are none to attach to.
func Serve(ctx context.Context, path string, admin ports.Admin, terminals Terminals) error {
	if err := os.Remove(path); err != nil && !errors.Is(err, os.ErrNotExist) {
		return wrap("control socket", err)
	}
	short, done, err := shorten(path)
	if err != nil {
		return wrap("control socket", err)
	}
	defer done()
	l, err := net.Listen("unix", short)
	if err != nil {
		return wrap("control socket", err)
	}
	defer os.Remove(path)
	if err := os.Chmod(path, 0o600); err != nil {
		l.Close()
		return wrap("control socket", err)
	}
	mux := Handler(admin)
	if terminals != nil {
		serveTerminals(ctx, mux, terminals)
	}
	s := &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second}
	failed := make(chan error, 1)
	go func() { failed <- s.Serve(l) }()
	select {
	case err = <-failed:
		return wrap("control socket", err)
	case <-ctx.Done():
	}
	grace, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeGrace)
	defer cancel()
	if s.Shutdown(grace) != nil {
		s.Close()
	}
	<-failed
	return nil
}

// Handler serves ports.Admin as JSON over HTTP, without any authentication.
func Handler(admin ports.Admin) *http.ServeMux {
	mux := http.NewServeMux()
	method(mux, "ready", func(ctx context.Context, _ arguments) (ports.Readiness, error) { return admin.Ready(ctx), nil })
	method(mux, "servers", func(ctx context.Context, _ arguments) ([]ports.ServerInfo, error) { return admin.Servers(ctx) })
	method(mux, "tools", func(ctx context.Context, _ arguments) ([]ports.ToolInfo, error) { return admin.Tools(ctx) })
	method(mux, "call", func(ctx context.Context, a arguments) (ports.CallReport, error) {
		return admin.CallTool(ctx, a.Name, a.Args, a.Timeout)
	})
	method(mux, "reconnect", func(ctx context.Context, a arguments) (ports.ServerInfo, error) { return admin.Reconnect(ctx, a.Name) })
	method(mux, "set_enabled", func(ctx context.Context, a arguments) (ports.ServerInfo, error) {
		return admin.SetEnabled(ctx, a.Name, a.Enabled)
	})
	method(mux, "pairings", func(ctx context.Context, _ arguments) ([]ports.Pairing, error) { return admin.Pairings(ctx) })
	method(mux, "approve", func(ctx context.Context, a arguments) (ports.Pairing, error) {
		return admin.Approve(ctx, a.Code, a.Role)
	})
	method(mux, "entries", func(ctx context.Context, a arguments) ([]ports.AuditEntry, error) { return admin.Entries(ctx, a.Limit) })
	method(mux, "used", func(ctx context.Context, a arguments) ([]ports.Used, error) {
		a.Query.Since = a.Query.Since.Local() // JSON has the offset of one moment, and no zone
		return admin.Used(ctx, a.Query)
	})
	method(mux, "revoke", func(ctx context.Context, a arguments) (ports.Pairing, error) { return admin.Revoke(ctx, a.ID) })
	return mux
}

func method[T any](mux *http.ServeMux, name string, call func(context.Context, arguments) (T, error)) {
	mux.HandleFunc("POST /"+name, func(w http.ResponseWriter, r *http.Request) {
		a, ok := read(w, r, name)
		if !ok {
			return
		}
		got, err := call(r.Context(), a)
		if err != nil {
			refuse(w, name, err)
			return
		}
		answer(w, http.StatusOK, got)
	})
}

// read decodes a request; one that does not decode is answered.
func read(w http.ResponseWriter, r *http.Request, name string) (a arguments, ok bool) {
	err := json.NewDecoder(http.MaxBytesReader(w, r.Body, bodyLimit)).Decode(&a)
	if err != nil {
		answer(w, http.StatusBadRequest, failure{ports.KindInvalid, name, fmt.Sprintf("the request does not decode: %v", err)})
	}
	return a, err == nil
}

func refuse(w http.ResponseWriter, name string, err error) {
	f := failure{ports.KindOf(err), name, err.Error()}
	if e := (*ports.Error)(nil); errors.As(err, &e) && e.Err != nil {
		f.Op, f.Error = e.Op, e.Err.Error() // Error puts the op before it again
	}
	answer(w, http.StatusUnprocessableEntity, f)
}

func answer(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	json.NewEncoder(w).Encode(body)
}
