//go:build unix

package mcp

import (
	"encoding/json"
	"testing"

	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"

	"dragoman/ports"
)

// TestLossTellsWhatMayHaveHappened: only a request that the writer took may
// have had its effect; one that it did not take never will be written.
func TestLossTellsWhatMayHaveHappened(t *testing.T) {
	for name, test := range map[string]struct {
		writer func(frame)
		want   ports.Kind
	}{
		"never taken":  {func(frame) {}, ports.KindUnavailable},
		"being sent":   {func(f frame) { f.claim.write() }, ports.KindUnsure},
		"not one byte": {func(f frame) { f.claim.write(); f.claim.unwritten() }, ports.KindUnavailable},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStdio(Config{}, nil)
			gave := make(chan error, 1)
			go func() {
				_, err := s.SendRequest(t.Context(), transport.JSONRPCRequest{ID: mcp.NewRequestId(int64(1)), Params: json.RawMessage(`{}`)})
				gave <- err
			}()
			f := <-s.out
			test.writer(f)
			s.fail("the line was cut", nil)
			err := <-gave
			wantKind(t, wrapCall("tools/call", err), test.want, "the line was cut")
			wantKind(t, wrap("reconnect", err), ports.KindUnavailable, "the line was cut")
			if f.claim.write() {
				t.Error("a call that was told to be over can still be written")
			}
		})
	}
}
