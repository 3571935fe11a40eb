package agent

import (
	"context"
	"log/slog"

	"dragoman/ports"
)

// NewHost makes a Host for a call of a source that declared no wish to ask the
// person or the model. heard is called with each progress that the tool tells,
// from any goroutine; nil: nobody wants to know.
func NewHost(log *slog.Logger, tool string, heard func(ports.Progress)) ports.Host {
	return &host{log: log, tool: tool, heard: heard}
}

// host is what a running tool may ask.
type host struct {
	log   *slog.Logger
	tool  string
	heard func(ports.Progress)
}

var _ ports.Host = (*host)(nil)

// Ask refuses: no source of this gateway declares that its people can be asked.
func (h *host) Ask(context.Context, ports.Question) (ports.Answer, error) {
	return ports.Answer{}, ports.Errorf(ports.KindInvalid, "ask", "nobody can be asked during a call of %s", h.tool)
}

// Sample refuses: no source of this gateway declares that it may use the model.
func (h *host) Sample(context.Context, ports.ModelRequest) (ports.ModelReply, error) {
	return ports.ModelReply{}, ports.Errorf(ports.KindInvalid, "sample", "%s may not use the model", h.tool)
}

// Progress goes to the log, and to who waits for the call.
func (h *host) Progress(_ context.Context, p ports.Progress) {
	h.log.Debug("tool_progress", "tool", h.tool, "done", p.Done, "total", p.Total)
	if h.heard != nil {
		h.heard(p)
	}
}
