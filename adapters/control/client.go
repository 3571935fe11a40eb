package control

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"dragoman/ports"
)

const dialTimeout = 2 * time.Second

// Client is ports.Admin of a gateway that runs elsewhere on this machine. Safe
// for many goroutines.
type Client struct{ http *http.Client }

var _ ports.Admin = (*Client)(nil)

// Dial finds the gateway that serves the socket at path. KindUnavailable: none does.
func Dial(ctx context.Context, path string) (*Client, error) {
	c := &Client{http: &http.Client{Transport: &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) { return dial(ctx, path) },
	}}}
	conn, err := dial(ctx, path)
	if err != nil {
		return nil, &ports.Error{Kind: ports.KindUnavailable, Op: "control socket", Err: err}
	}
	return c, conn.Close()
}

func dial(ctx context.Context, path string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, dialTimeout)
	defer cancel()
	short, done, err := shorten(path)
	if err != nil {
		return nil, err
	}
	defer done()
	return new(net.Dialer).DialContext(ctx, "unix", short)
}

// Ready asks the gateway; one that does not answer is not ready.
func (c *Client) Ready(ctx context.Context) ports.Readiness {
	r, err := post[ports.Readiness](ctx, c, "ready", arguments{})
	if err != nil {
		return ports.Readiness{Store: err.Error()}
	}
	return r
}

// Servers implements ports.Admin.
func (c *Client) Servers(ctx context.Context) ([]ports.ServerInfo, error) {
	return post[[]ports.ServerInfo](ctx, c, "servers", arguments{})
}

// Tools implements ports.Admin.
func (c *Client) Tools(ctx context.Context) ([]ports.ToolInfo, error) {
	return post[[]ports.ToolInfo](ctx, c, "tools", arguments{})
}

// CallTool implements ports.Admin.
func (c *Client) CallTool(ctx context.Context, name string, args json.RawMessage, timeout time.Duration) (ports.CallReport, error) {
	return post[ports.CallReport](ctx, c, "call", arguments{Name: name, Args: args, Timeout: timeout})
}

// Reconnect implements ports.Admin.
func (c *Client) Reconnect(ctx context.Context, name string) (ports.ServerInfo, error) {
	return post[ports.ServerInfo](ctx, c, "reconnect", arguments{Name: name})
}

// SetEnabled implements ports.Admin.
func (c *Client) SetEnabled(ctx context.Context, name string, enabled bool) (ports.ServerInfo, error) {
	return post[ports.ServerInfo](ctx, c, "set_enabled", arguments{Name: name, Enabled: enabled})
}

// Pairings implements ports.Admin.
func (c *Client) Pairings(ctx context.Context) ([]ports.Pairing, error) {
	return post[[]ports.Pairing](ctx, c, "pairings", arguments{})
}

// Approve implements ports.Admin.
func (c *Client) Approve(ctx context.Context, code string, role ports.Role) (ports.Pairing, error) {
	return post[ports.Pairing](ctx, c, "approve", arguments{Code: code, Role: role})
}

// Revoke implements ports.Admin.
func (c *Client) Revoke(ctx context.Context, id string) (ports.Pairing, error) {
	return post[ports.Pairing](ctx, c, "revoke", arguments{ID: id})
}

// Entries implements ports.Admin.
func (c *Client) Entries(ctx context.Context, limit int) ([]ports.AuditEntry, error) {
	return post[[]ports.AuditEntry](ctx, c, "entries", arguments{Limit: limit})
}

// Used implements ports.Usage. Days are those of the gateway's time zone.
func (c *Client) Used(ctx context.Context, q ports.UsageQuery) ([]ports.Used, error) {
	return post[[]ports.Used](ctx, c, "used", arguments{Query: q})
}

func post[T any](ctx context.Context, c *Client, name string, a arguments) (got T, err error) {
	resp, err := c.send(ctx, name, a)
	if err != nil {
		return got, err
	}
	defer resp.Body.Close()
	if err := json.NewDecoder(resp.Body).Decode(&got); err != nil {
		return got, lost(ctx, name, err)
	}
	return got, nil
}

// send makes a request; what is not answered with 200 is an error.
func (c *Client) send(ctx context.Context, name string, a arguments) (*http.Response, error) {
	body, err := json.Marshal(a)
	if err != nil {
		return nil, &ports.Error{Kind: ports.KindInvalid, Op: name, Err: err}
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://control/"+name, bytes.NewReader(body))
	if err != nil {
		return nil, wrap(name, err)
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, lost(ctx, name, err)
	}
	if resp.StatusCode == http.StatusOK {
		return resp, nil
	}
	defer resp.Body.Close()
	var f failure
	if err := json.NewDecoder(resp.Body).Decode(&f); err != nil {
		return nil, wrap(name, fmt.Errorf("the gateway answered %s: %w", resp.Status, err))
	}
	return nil, &ports.Error{Kind: f.Kind, Op: f.Op, Err: errors.New(f.Error)}
}
