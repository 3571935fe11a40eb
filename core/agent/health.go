package agent

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/sony/gobreaker/v2"

	"dragoman/ports"
)

const (
	// modelFailures is how many requests in a row a model may fail before it is
	// left alone for modelRest. Then one request tries whether it is back.
	modelFailures = 5
	modelRest     = 30 * time.Second
	// restMax is the longest rest that a provider may ask for.
	restMax = 10 * time.Minute
	// refusedMax is how many requests a reply may cost whose tools are refused one
	// after another, and of how many refused tools the admins hear by name.
	refusedMax = 8
)

// errNoVerdict says of a request that it tells nothing about the model's health.
var errNoVerdict = errors.New("no verdict")

// Health is what this process knows of a model at work. All agents that have the
// model share it: see Model. Safe for many goroutines.
type Health struct {
	breaker *gobreaker.TwoStepCircuitBreaker[struct{}]

	mu      sync.Mutex
	rests   time.Time            // the provider asked to be left alone until then
	opened  time.Time            // when the breaker last did
	refused map[toolKey]struct{} // tools that the provider does not take
}

// toolKey is a tool's definition: a server that mends it is tried again.
type toolKey struct{ name, schema, description string }

func keyOf(s ports.ToolSpec) toolKey { return toolKey{s.Name, string(s.InputSchema), s.Description} }

// NewHealth makes the health of a model that was not asked yet.
func NewHealth() *Health {
	h := &Health{refused: map[toolKey]struct{}{}}
	h.breaker = gobreaker.NewTwoStepCircuitBreaker[struct{}](gobreaker.Settings{
		MaxRequests: 1,
		Timeout:     modelRest - 1, // it is over only after that: who comes back in time may pass
		ReadyToTrip: func(n gobreaker.Counts) bool { return n.ConsecutiveFailures >= modelFailures },
		IsExcluded:  func(err error) bool { return errors.Is(err, errNoVerdict) },
		OnStateChange: func(_ string, _, to gobreaker.State) {
			if to == gobreaker.StateOpen {
				h.mu.Lock()
				h.opened = time.Now()
				h.mu.Unlock()
			}
		},
	})
	return h
}

// Failing reports whether the model failed so often that it is left alone for now.
func (h *Health) Failing() bool { return h.breaker.State() != gobreaker.StateClosed }

// Refused are the names of the tools that the provider does not take, sorted.
func (h *Health) Refused() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	names := make([]string, 0, len(h.refused))
	for k := range h.refused {
		names = append(names, k.name)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// away says why the model is not to be asked now, if it is not.
func (h *Health) away(model string) error {
	if rest := h.rest(); rest > retryAfterMax {
		return &ports.Error{Kind: ports.KindRateLimited, Op: "model", RetryAfter: rest, Err: fmt.Errorf("%s asked to be left alone for %s", model, rest)}
	}
	if h.breaker.State() == gobreaker.StateOpen {
		return leftAlone(model, gobreaker.ErrOpenState)
	}
	return nil
}

// allow lets one request through, whose outcome done must hear; or says why not.
func (h *Health) allow(model string) (done func(error), err error) {
	done, err = h.breaker.Allow()
	if err != nil {
		return nil, leftAlone(model, err)
	}
	return done, nil
}

func leftAlone(model string, err error) error {
	return ports.Errorf(ports.KindUnavailable, "model", "%s failed %d times in a row and is left alone for a while: %w", model, modelFailures, err)
}

// rest is how long the provider still wants to be left alone.
func (h *Health) rest() time.Duration {
	h.mu.Lock()
	defer h.mu.Unlock()
	return max(0, time.Until(h.rests))
}

// restFor notes that the provider asked to be left alone. Longer than restMax it
// is not: that costs a request now and then, and what was mended meanwhile is seen.
func (h *Health) restFor(d time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if until := time.Now().Add(min(d, restMax)); until.After(h.rests) {
		h.rests = until
	}
}

// refuse notes that the provider does not take a tool, and says how many that makes;
// known: it was noted before.
func (h *Health) refuse(s ports.ToolSpec) (n int, known bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	_, known = h.refused[keyOf(s)]
	h.refused[keyOf(s)] = struct{}{}
	return len(h.refused), known
}

// takes are the tools without those that the provider refuses, in their order.
func (h *Health) takes(tools []ports.ToolSpec) []ports.ToolSpec {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.refused) == 0 {
		return tools
	}
	return slices.DeleteFunc(slices.Clone(tools), func(s ports.ToolSpec) bool {
		_, refused := h.refused[keyOf(s)]
		return refused
	})
}

// verdict is what a request's outcome says about the model itself: what the
// provider holds against a key or a prompt is no failure of the model's, and a
// limit of rate has a clock of its own. Nor is an empty reply: a person may have
// asked for one, and must not have others wait for the model.
func verdict(ended bool, err error) error {
	switch ports.KindOf(err) {
	case ports.KindTemporary, ports.KindTimeout, ports.KindProtocol, ports.KindUnavailable:
		if err != nil && !ended && !errors.Is(err, errEmptyReply) {
			return err
		}
	}
	if err == nil {
		return nil
	}
	return fmt.Errorf("%w: %w", errNoVerdict, err)
}

// quarantine leaves a tool out that the provider refused the whole request for:
// false where err is about something else, or the tool is not in the request. After
// refusedMax tools it leaves out the rest as well: they have the next request.
func (t *turn) quarantine(ctx context.Context, m Model, req *ports.ModelRequest, err error, refusals *int) bool {
	var refused *ports.RefusedTool
	if !errors.As(err, &refused) {
		return false
	}
	i := slices.IndexFunc(req.Tools, func(s ports.ToolSpec) bool { return s.Name == refused.Name })
	if i < 0 {
		return false
	}
	if n, known := m.Health.refuse(req.Tools[i]); !known {
		t.log.Error("tool_quarantined", "model", m.Name, "tool", refused.Name, "err", err)
		t.tellRefused(ctx, m, refused.Name, n)
	}
	req.Tools = slices.Delete(slices.Clone(req.Tools), i, i+1)
	if *refusals++; *refusals == refusedMax && len(req.Tools) > 0 {
		t.log.Warn("tools_left_out", "model", m.Name, "tools", len(req.Tools))
		req.Tools = nil
	}
	return true
}

// tellRefused tells the admins of each of the first n refused tools, and of those
// that follow once.
func (t *turn) tellRefused(ctx context.Context, m Model, tool string, n int) {
	switch {
	case n <= refusedMax:
		t.tell(ctx, "tool_quarantined/"+m.Name+"/"+tool, fmt.Sprintf("The model %q refuses the definition of the tool %q. "+
			"It is left out of its requests until its server changes it; everything else goes on. The log has the provider's words under tool_quarantined.", m.Name, tool))
	case n == refusedMax+1:
		t.tell(ctx, "tools_quarantined/"+m.Name, fmt.Sprintf("The model %q refuses the definitions of more than %d tools, which is more than tools are to blame for: see whether the entry of the model is right. "+
			"The log names each under tool_quarantined.", m.Name, refusedMax))
	}
}

// tell has the admins told something, once for a key.
func (t *turn) tell(ctx context.Context, key, text string) {
	if t.cfg.Tell != nil {
		t.cfg.Tell(context.WithoutCancel(ctx), key, text)
	}
}
