package mcp

import (
	"strings"
	"testing"

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
