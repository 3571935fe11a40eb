package mcp

import (
	"io"
	"log/slog"

	"dragoman/ports"
)

// Deps are what a Source works with. The zero Deps is a source that logs and
// remembers nothing.
type Deps struct {
	Log *slog.Logger
	// Records keep what outlives the process, under Scope: the tools of a server
	// that is started when needed, calls that run as tasks, logins. nil: nothing is kept.
	Records ports.Records
	Scope   string
	// Asks says that the Host of a call can ask its person. Only then is the
	// server told so (capability elicitation).
	Asks bool
	// Trace takes what goes over the wire, a line for each message; nil: nobody wants it.
	Trace io.Writer
}
