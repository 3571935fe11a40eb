package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/mark3labs/mcp-go/client/transport"
)

const (
	// newestLegacy is what initialize asks for, newestModern what the probe is made in.
	newestLegacy   = "2025-11-25"
	newestModern   = "2026-07-28"
	methodDiscover = "server/discover"
	// probeWithin is how long a child may take to say that it speaks a modern
	// revision. One that is only slow to start is asked again.
	probeWithin = 3 * time.Second

	// The codes that modern revisions alone give (MCP basic, "Error Codes"). Legacy
	// servers have others of the same range for what they like.
	codeHeaderMismatch     = -32020
	codeUnsupportedVersion = -32022
)

// legacyVersions are the revisions that begin with initialize.
func legacyVersions() []string {
	return []string{"2024-10-07", "2024-11-05", "2025-03-26", "2025-06-18", newestLegacy}
}

// modernVersions are those without a handshake, the one to prefer first.
func modernVersions() []string { return []string{newestModern} }

// era is what is known of a server's revisions, so that it is not probed at each
// connect (MCP basic/versioning, "Backward Compatibility").
type era struct{ legacy atomic.Bool }

// errFellSilent is a probe that had no answer in time.
var errFellSilent = errors.New("no answer in time")

// open starts l and settles the version. It leaves closing l to its caller, also
// when it fails.
func (s *Source) open(ctx context.Context, l link) (*session, error) {
	c := newSession(l, offers{asks: s.deps.Asks, roots: rootsOf(s.cfg.Roots)}, s.cfg.redactor(), s.log)
	l.SetNotificationHandler(c.notified)
	l.SetRequestHandler(c.asked)
	l.SetPulse(c.alive)
	if err := l.Start(ctx); err != nil {
		return nil, err
	}
	if err := c.settle(ctx, s.cfg.ProtocolVersion, &s.era); err != nil {
		return nil, err
	}
	return c, nil
}

// settle finds the revision that both speak. A server is asked for the modern one
// first, unless it is known to be legacy or another is pinned.
func (s *session) settle(ctx context.Context, pin string, known *era) error {
	switch {
	case slices.Contains(modernVersions(), pin):
		return s.explain(ctx, methodDiscover, pinned(pin, s.discover(ctx, pin)))
	case pin != "":
		return s.explain(ctx, "initialize", pinned(pin, s.initialize(ctx, pin, true)))
	}
	var probe error
	_, older := s.link.(*legacySSE) // the transport ended before the modern revisions began
	if !older && !known.legacy.Load() {
		if probe = s.probe(ctx); probe == nil {
			return nil
		}
		if isClosed(s.link.Lost()) && loginOf(probe) == nil { // it may be the probe that it cannot bear
			known.legacy.Store(true)
		}
		if !mayBeLegacy(ctx, s.link, probe) {
			return s.explain(ctx, methodDiscover, probe)
		}
	}
	err := s.initialize(ctx, newestLegacy, false)
	known.legacy.Store(err == nil)
	var answer *answerError
	if errors.As(err, &answer) && (probe == nil || errors.Is(probe, errFellSilent)) {
		// It refuses to shake hands: it is modern now, or it was slow to start.
		if s.discover(ctx, newestModern) == nil {
			return nil
		}
	}
	return s.explain(ctx, "initialize", err)
}

// pinned says of a refusal that no other version was tried.
func pinned(version string, err error) error {
	var answer *answerError
	if errors.As(err, &answer) {
		return fmt.Errorf("%w (protocol_version is %s)", err, version)
	}
	return err
}

// probe asks for the modern revision, for a part of the time that there is.
func (s *session) probe(ctx context.Context) error {
	within := probeWithin
	if deadline, ok := ctx.Deadline(); ok {
		within = min(within, time.Until(deadline)/3)
		if s.overHTTP() { // it runs already: who does not know the method says so at once
			within = time.Until(deadline) / 2
		}
	}
	bounded, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	err := s.discover(bounded, newestModern)
	if err != nil && bounded.Err() != nil && ctx.Err() == nil {
		return errFellSilent
	}
	return err
}

// mayBeLegacy reports whether a failed probe leaves initialize to be tried: after
// anything but a modern error, a wish to log in, to wait, or no server at all.
func mayBeLegacy(ctx context.Context, l link, err error) bool {
	var (
		answer *answerError
		lost   *lostError
		newer  *unsupportedError
	)
	switch {
	case ctx.Err() != nil, isClosed(l.Lost()), loginOf(err) != nil, errors.As(err, &newer):
		return false
	case errors.As(err, &answer):
		return answer.code < codeUnsupportedVersion || answer.code > codeHeaderMismatch
	case errors.As(err, &lost):
		return lost.sent && lost.after == 0
	}
	return true
}

// discover settles a modern version (MCP server/discover). One that the server
// does not speak is followed by one that it does.
func (s *session) discover(ctx context.Context, version string) error {
	s.version, s.modern, s.signature = version, true, s.offers.signature(version)
	raw, err := s.request(ctx, ask{method: methodDiscover})
	var answer *answerError
	if errors.As(err, &answer) && answer.code == codeUnsupportedVersion {
		if s.version, err = commonModern(answer.supported(), err); err == nil {
			s.signature = s.offers.signature(s.version)
			raw, err = s.request(ctx, ask{method: methodDiscover})
		}
	}
	if err == nil {
		err = s.discovered(raw)
	}
	if err != nil {
		s.version, s.modern = "", false
		return err
	}
	s.settled()
	return nil
}

func (s *session) discovered(raw json.RawMessage) error {
	var d struct {
		Supported    []string                   `json:"supportedVersions"`
		Capabilities json.RawMessage            `json:"capabilities"`
		Meta         map[string]json.RawMessage `json:"_meta"`
		ServerInfo   json.RawMessage            `json:"serverInfo"`
	}
	if err := json.Unmarshal(raw, &d); err != nil {
		return malformed("the answer to %s is malformed: %v", methodDiscover, err)
	}
	// Servers that answer {} to whatever they do not know are not modern.
	version, err := commonModern(d.Supported, malformed("the answer to %s names no protocol version", methodDiscover))
	if err != nil {
		return err
	}
	s.version, s.signature = version, s.offers.signature(version)
	s.can = decodeCapabilities(d.Capabilities)
	if s.peer = peerName(d.Meta[metaServer]); s.peer == "" {
		s.peer = peerName(d.ServerInfo)
	}
	return nil
}

// commonModern is the modern version that both speak. With none in common it is
// otherwise, unless the server names only newer ones.
func commonModern(theirs []string, otherwise error) (string, error) {
	for _, v := range modernVersions() {
		if slices.Contains(theirs, v) {
			return v, nil
		}
	}
	for _, v := range legacyVersions() {
		if slices.Contains(theirs, v) {
			return "", malformed("the server wants initialize")
		}
	}
	if len(theirs) > 0 {
		return "", unsupported(theirs[0])
	}
	return "", otherwise
}

// unsupportedError is a server that speaks no revision that we know.
type unsupportedError struct{ malformedError }

func (e *unsupportedError) Unwrap() error { return &e.malformedError }

func unsupported(version string) error {
	what := fmt.Sprintf("the server speaks MCP %s; supported are %s to %s", clip(version, 40), legacyVersions()[0], newestModern)
	return &unsupportedError{malformedError{what}}
}

// supported are the versions that a refusal names (MCP basic/versioning).
func (e *answerError) supported() []string {
	var d struct {
		Supported []string `json:"supported"`
	}
	if json.Unmarshal(e.data, &d) != nil {
		return nil
	}
	return d.Supported
}

// initialize is the handshake (MCP basic/lifecycle, "Initialization"). exactly
// refuses a server that answers with another version.
func (s *session) initialize(ctx context.Context, version string, exactly bool) error {
	raw, err := s.request(ctx, ask{method: "initialize", params: map[string]any{
		"protocolVersion": version,
		"capabilities":    s.offers.capabilities(false),
		"clientInfo":      clientInfo(),
	}})
	if err != nil {
		return err
	}
	var answer struct {
		ProtocolVersion string          `json:"protocolVersion"`
		Capabilities    json.RawMessage `json:"capabilities"`
		ServerInfo      json.RawMessage `json:"serverInfo"`
	}
	if err := json.Unmarshal(raw, &answer); err != nil {
		return malformed("the answer to initialize is malformed: %v", err)
	}
	switch {
	case answer.ProtocolVersion == "":
		return malformed("the answer to initialize names no protocol version; this does not look like an MCP server")
	case !slices.Contains(legacyVersions(), answer.ProtocolVersion):
		return unsupported(answer.ProtocolVersion)
	case exactly && answer.ProtocolVersion != version:
		return malformed("the server speaks MCP %s, and protocol_version is %s", answer.ProtocolVersion, version)
	}
	s.version = answer.ProtocolVersion
	s.can = decodeCapabilities(answer.Capabilities)
	s.peer = peerName(answer.ServerInfo)
	s.settled()
	if err := s.notify(ctx, "notifications/initialized", nil); err != nil {
		return err
	}
	s.wantLog(ctx)
	return nil
}

// settled tells the link what was agreed. From now on others may look at it.
func (s *session) settled() {
	s.agreed.Store(true)
	if h, ok := s.link.(transport.HTTPConnection); ok {
		h.SetProtocolVersion(s.version)
	}
}

// explain says in words why no version was settled.
func (s *session) explain(ctx context.Context, method string, err error) error {
	if err == nil {
		return nil
	}
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		err = fmt.Errorf("no answer to %s: %w", method, ctx.Err())
	}
	return s.noisy(err)
}

// noisy adds to an error what the server printed that is no message: it may be the
// answer that is missing.
func (s *session) noisy(err error) error {
	noisy, ok := s.link.(interface{ Noise() (int, string) })
	if !ok {
		return err
	}
	if lines, first := noisy.Noise(); lines > 0 {
		return fmt.Errorf("%w (%d lines of its output are not JSON-RPC, the first: %q)", err, lines, first)
	}
	return err
}

func peerName(raw json.RawMessage) string {
	var info struct {
		Name    string `json:"name"`
		Version string `json:"version"`
	}
	if json.Unmarshal(raw, &info) != nil {
		return ""
	}
	return clip(info.Name+" "+info.Version, 120)
}
