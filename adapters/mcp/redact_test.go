//go:build unix

package mcp

import (
	"context"
	"log/slog"
	"strings"
	"testing"

	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"

	"dragoman/adapters/mcp/oauth"
	"dragoman/ports"
)

// TestNoSecretOfTheConfigIsReadAnywhere: whatever a server prints of what it was
// given, people read none of it.
func TestNoSecretOfTheConfigIsReadAnywhere(t *testing.T) {
	t.Setenv("DRAGOMAN_TEST_INHERITED", "inherited-value")
	c := Config{
		Args:       []string{"--verbose", "--api-key=joined-value", "--token", "separate-value", "harmless-value"},
		Env:        map[string]ports.Secret{"KEY": "environment-value"},
		InheritEnv: []string{"DRAGOMAN_TEST_INHERITED"},
		Headers:    map[string]ports.Secret{"Authorization": "Bearer header-value"},
		URL:        "https://user:password-value@example.org/mcp?key=query-value",
		OAuth:      &oauth.Config{ClientSecret: "client-value", PrivateKey: "private-value"},
	}
	said := "inherited-value joined-value separate-value environment-value header-value password-value query-value client-value private-value harmless-value"
	if got := c.redactor().Replace(said); strings.Count(got, "[redacted]") != 9 || !strings.Contains(got, "harmless-value") {
		t.Errorf("it reads %q", got)
	}
}

// repeating is a link whose server answers each request with the same error.
type repeating struct {
	*memory
	fault mcp.JSONRPCErrorDetails
}

func (r repeating) SendRequest(_ context.Context, m transport.JSONRPCRequest) (*transport.JSONRPCResponse, error) {
	fault := r.fault
	return &transport.JSONRPCResponse{ID: m.ID, Error: &fault}, nil
}

// TestAServersErrorDoesNotRepeatASecret: "invalid API key sk-…" is what servers say
// most when a key is wrong, and both the log and the model read it.
func TestAServersErrorDoesNotRepeatASecret(t *testing.T) {
	c := Config{Env: map[string]ports.Secret{"KEY": "environment-value"}}
	l := repeating{newMemory(), mcp.JSONRPCErrorDetails{Code: -32602, Message: "bad key environment-value"}}
	s := newSession(l, offers{}, c.redactor(), slog.New(slog.DiscardHandler))
	_, err := s.request(t.Context(), ask{method: methodCall})
	if err == nil || strings.Contains(err.Error(), "environment-value") || !strings.Contains(err.Error(), "bad key [redacted]") {
		t.Errorf("the error is %v", err)
	}
}
