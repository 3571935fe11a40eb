package control_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"

	"dragoman/adapters/control"
	"dragoman/ports"
)

// admin answers with what it was asked.
type admin struct{}

func (admin) Ready(context.Context) ports.Readiness {
	return ports.Readiness{Ready: true, Store: "ok", Servers: map[string]int{"ready": 2}}
}

func (admin) Servers(context.Context) ([]ports.ServerInfo, error) {
	return []ports.ServerInfo{{Name: "files", Tools: 3, State: ports.State{Phase: ports.PhaseReady, Restarts: 1}}}, nil
}

func (admin) Tools(context.Context) ([]ports.ToolInfo, error) {
	return []ports.ToolInfo{{Name: "files__read", InputSchema: json.RawMessage(`{"type":"object"}`)}}, nil
}

func (admin) CallTool(ctx context.Context, name string, args json.RawMessage, timeout time.Duration) (ports.CallReport, error) {
	if name == "hangs" {
		<-ctx.Done()
		return ports.CallReport{}, ctx.Err()
	}
	return ports.CallReport{Tool: name, Text: string(args) + timeout.String()}, nil
}

func (admin) Reconnect(_ context.Context, name string) (ports.ServerInfo, error) {
	return ports.ServerInfo{Name: name, State: ports.State{Phase: ports.PhaseDegraded, Err: "nobody is at home"}}, nil
}

func (admin) SetEnabled(_ context.Context, name string, enabled bool) (ports.ServerInfo, error) {
	if enabled {
		return ports.ServerInfo{}, ports.Errorf(ports.KindNotFound, "enable", "there is no %s", name)
	}
	return ports.ServerInfo{Name: name, DisabledBy: ports.ByAdmin, DisabledAt: time.Unix(9, 0).UTC(), State: ports.State{Phase: ports.PhaseDisabled}}, nil
}

func (admin) Pairings(context.Context) ([]ports.Pairing, error) { return []ports.Pairing{}, nil }

func (admin) Approve(_ context.Context, code string, role ports.Role) (ports.Pairing, error) {
	return ports.Pairing{}, ports.Errorf(ports.KindNotFound, "approve", "no such code %s for %s", code, role)
}

func (admin) Revoke(_ context.Context, id string) (ports.Pairing, error) {
	return ports.Pairing{ID: id}, nil
}

func (admin) Entries(_ context.Context, limit int) ([]ports.AuditEntry, error) {
	return []ports.AuditEntry{{At: time.Unix(9, 0).UTC(), Actor: "ann", What: "turn_given_up", Ref: strconv.Itoa(limit), Detail: json.RawMessage(`{"a":1}`)}}, nil
}

func (admin) Used(_ context.Context, q ports.UsageQuery) ([]ports.Used, error) {
	q.Since = q.Since.Round(0)
	return []ports.Used{{Key: fmt.Sprintf("%s %s %s %s %s", q.Person, q.Channel, q.Chat, q.Agent, q.By), Requests: int(q.Since.Unix()),
		Tokens: ports.Tokens{Input: 4, CachedInput: 3, CacheWrite: 2, Output: 1}, Cost: 1 << 60, Unpriced: 7}, {Key: q.Since.Location().String()}}, nil
}

// serve starts a server on a socket and returns a client of it.
func serve(t *testing.T, path string) *control.Client {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- control.Serve(ctx, path, admin{}, nil) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Serve: %v", err)
		}
		if _, err := os.Stat(path); !os.IsNotExist(err) {
			t.Errorf("the socket is left behind: %v", err)
		}
	})
	deadline := time.Now().Add(time.Minute)
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		c, err := control.Dial(t.Context(), path)
		if err == nil {
			return c
		}
		if time.Now().After(deadline) {
			t.Fatal(err)
		}
		<-tick.C
	}
}

func TestTheClientIsTheAdmin(t *testing.T) {
	for name, dir := range map[string]string{"short": "", "longer than a socket's path may be": strings.Repeat("long/", 40)} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), dir, "control.sock")
			if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, nil, 0o600); err != nil { // left by a killed gateway
				t.Fatal(err)
			}
			c, ctx := serve(t, path), t.Context()
			same(t, c.Ready(ctx), admin{}.Ready(ctx)) // before it answers one can connect already
			if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
				t.Errorf("the socket's mode: %v, %v", info.Mode(), err)
			}
			got, err := c.Servers(ctx)
			want, _ := admin{}.Servers(ctx)
			same(t, got, want, err)
			tools, err := c.Tools(ctx)
			wantTools, _ := admin{}.Tools(ctx)
			same(t, tools, wantTools, err)
			report, err := c.CallTool(ctx, "x", json.RawMessage(`{"a":1}`), time.Second)
			same(t, report.Text, `{"a":1}1s`, err)
			if _, err = c.Approve(ctx, "CODE", ports.RoleAdmin); !ports.IsKind(err, ports.KindNotFound) || err.Error() != "approve: no such code CODE for admin" {
				t.Errorf("Approve: %v", err)
			}
			entries, err := c.Entries(ctx, 7)
			wantEntries, _ := admin{}.Entries(ctx, 7)
			same(t, entries, wantEntries, err)
			query := ports.UsageQuery{Since: time.Unix(9, 0), Person: "p", Channel: "c", Chat: "a", Agent: "main", By: ports.UsageByDay}
			used, err := c.Used(ctx, query)
			wantUsed, _ := admin{}.Used(ctx, query)
			same(t, used, wantUsed, err)
			again, err := c.Reconnect(ctx, "files")
			wantAgain, _ := admin{}.Reconnect(ctx, "files")
			same(t, again, wantAgain, err)
			off, err := c.SetEnabled(ctx, "files", false)
			wantOff, _ := admin{}.SetEnabled(ctx, "files", false)
			same(t, off, wantOff, err)
			if _, err := c.SetEnabled(ctx, "files", true); !ports.IsKind(err, ports.KindNotFound) {
				t.Errorf("SetEnabled: %v", err)
			}
			gone, err := c.Revoke(ctx, "ann")
			same(t, gone.ID, "ann", err)
		})
	}
}

func TestACallEndsWithItsCaller(t *testing.T) {
	c := serve(t, filepath.Join(t.TempDir(), "control.sock"))
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := c.CallTool(ctx, "hangs", nil, 0); !ports.IsKind(err, ports.KindTimeout) {
		t.Errorf("the call gave %v", err)
	}
}

func TestNobodyServes(t *testing.T) {
	if _, err := control.Dial(t.Context(), filepath.Join(t.TempDir(), "control.sock")); !ports.IsKind(err, ports.KindUnavailable) {
		t.Errorf("Dial gives %v", err)
	}
}

func same(t *testing.T, got, want any, errs ...error) {
	t.Helper()
	for _, err := range errs {
		if err != nil {
			t.Error(err)
		}
	}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
}
