package e2e

import "testing"

// The least that a gateway must do: start with nothing but a model that needs no
// key, be ready, come back after a power cut, and stop with exit code 0.
func TestGatewayComesBackAfterAPowerCut(t *testing.T) {
	t.Parallel()
	g := startGateway(t, `{"version": 1, "listen": "${LISTEN}", "models": {"main": {"type": "demo"}}}`)
	g.Kill()
	g.Start()
	g.WaitReady()
	g.Term()
}
