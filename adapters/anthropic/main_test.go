package anthropic

import (
	"testing"

	"go.uber.org/goleak"
)

// A request may leave a connection for the next one; nothing else may stay.
func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m,
		goleak.IgnoreAnyFunction("net/http.(*persistConn).readLoop"),
		goleak.IgnoreAnyFunction("net/http.(*persistConn).writeLoop"))
}
