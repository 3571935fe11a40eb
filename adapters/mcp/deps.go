package mcp

import (
	"io"
	"log/slog"
	"net/http"

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
	// Login logs in to a server with a url; nil: it has its token in headers, or needs none.
	Login Login
	// Mark is what the children are known by, so that what they forked can be
	// ended. nil: it cannot.
	Mark *Mark
	// Trace takes what goes over the wire, a line for each message; nil: nobody wants it.
	Trace io.Writer
}

// Login puts what a server wants to see on the requests to it. An
// *oauth.LoginError of the wrapped transport is a login that only a person can give.
type Login interface {
	Wrap(base http.RoundTripper) http.RoundTripper
	// Changed is closed when another try is worth it; ask again for the next time.
	Changed() <-chan struct{}
}
