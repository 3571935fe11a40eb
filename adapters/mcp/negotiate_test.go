//go:build unix

package mcp

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"dragoman/ports"
)

// TestTheNewestCommonRevisionIsSpoken: whatever a server knows, and however it
// answers the probe.
func TestTheNewestCommonRevisionIsSpoken(t *testing.T) {
	say := func(text string) func(int, *strictCall) bool {
		return func(_ int, c *strictCall) bool { c.out(strings.ReplaceAll(text, "ID", string(c.m.ID))); return true }
	}
	unsupported := func(times int, data string) func(int, *strictCall) bool {
		return func(n int, c *strictCall) bool {
			if n > times {
				return false
			}
			c.refuse(codeUnsupportedVersion, "Unsupported protocol version", data)
			return true
		}
	}
	silent := func(times int) func(int, *strictCall) bool {
		return func(n int, c *strictCall) bool {
			if n <= times {
				<-c.ctx.Done()
			}
			return n <= times
		}
	}
	modern := []string{newestModern}
	for name, test := range map[string]struct {
		versions []string
		probed   func(n int, c *strictCall) bool // the n-th probe
		pin      string
		version  string // "" = none is settled, and words are why
		words    string
		asked    string // what was asked before the tools
	}{
		"modern":              {modern, nil, "", newestModern, "", "discover"},
		"both eras":           {[]string{newestModern, newestLegacy}, nil, "", newestModern, "", "discover"},
		"2025-11-25":          {[]string{newestLegacy}, nil, "", newestLegacy, "", "discover initialize"},
		"2025-06-18":          {[]string{"2025-06-18"}, nil, "", "2025-06-18", "", "discover initialize"},
		"2025-03-26":          {[]string{"2025-03-26"}, nil, "", "2025-03-26", "", "discover initialize"},
		"2024-11-05":          {[]string{"2024-11-05"}, nil, "", "2024-11-05", "", "discover initialize"},
		"one that is newer":   {[]string{"2027-01-01"}, nil, "", "", "the server speaks MCP 2027-01-01", "discover"},
		"refuses it once":     {modern, unsupported(1, `{"supported":["2026-07-28"]}`), "", newestModern, "", "discover discover"},
		"refuses it always":   {modern, unsupported(9, `{"supported":["2026-07-28"]}`), "", "", "error -32022", "discover discover"},
		"refuses without why": {modern, unsupported(9, ``), "", "", "error -32022", "discover"},
		"names legacy":        {[]string{newestLegacy}, unsupported(9, `{"supported":["2025-11-25"]}`), "", newestLegacy, "", "discover initialize"},
		"answers {}":          {[]string{"2025-06-18"}, say(`{"jsonrpc":"2.0","id":ID,"result":{}}`), "", "2025-06-18", "", "discover initialize"},
		"answers a text":      {[]string{"2025-06-18"}, say(`{"jsonrpc":"2.0","id":ID,"result":"yes"}`), "", "2025-06-18", "", "discover initialize"},
		"names numbers":       {[]string{"2025-06-18"}, say(`{"jsonrpc":"2.0","id":ID,"result":{"supportedVersions":[2026]}}`), "", "2025-06-18", "", "discover initialize"},
		"another error":       {[]string{"2025-06-18"}, say(`{"jsonrpc":"2.0","id":ID,"error":{"code":-32603,"message":"?"}}`), "", "2025-06-18", "", "discover initialize"},
		"an error of its own": {[]string{"2025-06-18"}, say(`{"jsonrpc":"2.0","id":ID,"error":{"code":-32050,"message":"?"}}`), "", "2025-06-18", "", "discover initialize"},
		"a modern error":      {modern, say(`{"jsonrpc":"2.0","id":ID,"error":{"code":-32021,"message":"Missing required client capability"}}`), "", "", "error -32021", "discover"},
		"silent":              {[]string{"2025-06-18"}, silent(9), "", "2025-06-18", "", "discover initialize"},
		"slow to start":       {modern, silent(1), "", newestModern, "", "discover initialize discover"},
		"pin of the modern":   {[]string{newestModern, newestLegacy}, nil, newestModern, newestModern, "", "discover"},
		"pin of the legacy":   {[]string{newestModern, newestLegacy}, nil, newestLegacy, newestLegacy, "", "initialize"},
		"pin of an older":     {[]string{newestLegacy, "2025-03-26"}, nil, "2025-03-26", "2025-03-26", "", "initialize"},
		"legacy pin not met":  {[]string{"2025-06-18"}, nil, "2025-03-26", "", "the server speaks MCP 2025-06-18, and protocol_version is 2025-03-26", "initialize"},
		"modern pin not met":  {[]string{newestLegacy}, nil, newestModern, "", "protocol_version is 2026-07-28", "discover"},
	} {
		for _, wire := range []string{"stdio", "http"} {
			t.Run(name+" over "+wire, func(t *testing.T) {
				if wire == "http" { // a process must have started within probeWithin, which many at once do not
					t.Parallel()
				}
				s := newStrict(t, test.versions...)
				if test.probed != nil {
					var n atomic.Int64
					s.probed = func(c *strictCall) bool { return test.probed(int(n.Add(1)), c) }
				}
				r := startStrict(t, s.wires()[wire](), Deps{}, func(c *Config) { c.ProtocolVersion, c.Timeout = test.pin, 30*time.Second })
				s.wantSettled(r, test.version, test.words, test.asked)
			})
		}
	}
}

// wantSettled waits for the version or for the words why there is none.
func (s *strict) wantSettled(r *rig, version, words, asked string) {
	s.t.Helper()
	state := r.await("settled", 0, func(st ports.State) bool { return st.Phase == ports.PhaseReady || st.Err != "" })
	if state.Protocol != version && version != "" || !strings.Contains(state.Err, words) || (words == "") != (state.Err == "") {
		s.t.Errorf("version %q and the error %q, want %q and %q", state.Protocol, state.Err, version, words)
	}
	var list []string
	for _, m := range s.requests("server/discover", "initialize") {
		list = append(list, strings.TrimPrefix(m, "server/"))
	}
	if got := strings.Join(list, " "); got != asked {
		s.t.Errorf("the server was asked %s, want %s", got, asked)
	}
	if version == "" {
		return
	}
	if _, err := r.call(s.t.Context(), "work", `{}`); err != nil {
		s.t.Errorf("a call: %v", err)
	}
}

// TestAServerThatDiesOfTheProbeIsAskedToInitialize: by the next process of it.
func TestAServerThatDiesOfTheProbeIsAskedToInitialize(t *testing.T) {
	s := newStrict(t, newestLegacy)
	s.probed = func(c *strictCall) bool { c.out(hangUp); return true }
	s.running("stdio", Deps{})
	if got := s.requests("server/discover", "initialize"); !slices.Equal(got, []string{"server/discover", "initialize"}) {
		t.Errorf("the server was asked %v", got)
	}
}

// TestAServerIsProbedOnce: a legacy one is known at the next connect.
func TestAServerIsProbedOnce(t *testing.T) {
	for _, wire := range []string{"stdio", "http"} {
		t.Run(wire, func(t *testing.T) {
			s := newStrict(t, newestLegacy)
			r := s.running(wire, Deps{})
			if err := r.src.Reconnect(t.Context()); err != nil {
				t.Fatal(err)
			}
			if got := s.requests("server/discover", "initialize"); !slices.Equal(got, []string{"server/discover", "initialize", "initialize"}) {
				t.Errorf("the server was asked %v", got)
			}
		})
	}
}

// TestAServerMayBecomeModern: and back, between two connections.
func TestAServerMayBecomeModern(t *testing.T) {
	for _, wire := range []string{"stdio", "http"} {
		t.Run(wire, func(t *testing.T) {
			s := newStrict(t, newestLegacy)
			r := s.running(wire, Deps{})
			for _, version := range []string{newestModern, newestLegacy, newestModern} {
				s.note(func() { s.versions = []string{version} })
				if err := r.src.Reconnect(t.Context()); err != nil {
					t.Fatalf("after it became %s: %v", version, err)
				}
				if got := r.last().Protocol; got != version {
					t.Errorf("%s is spoken, want %s", got, version)
				}
				if _, err := r.call(t.Context(), "work", `{}`); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

// TestAServerThatWantsALoginIsNotAskedToInitialize: not now, and not first after the login.
func TestAServerThatWantsALoginIsNotAskedToInitialize(t *testing.T) {
	s := newStrict(t, newestModern, newestLegacy)
	var locked atomic.Bool
	var knocks atomic.Int64
	locked.Store(true)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if locked.Load() {
			knocks.Add(1)
			answers(http.StatusUnauthorized, "application/json", `{"jsonrpc":"2.0","id":1,"error":{"code":-32600,"message":"who are you?"}}`)(w, r)
			return
		}
		s.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	r := startStrict(t, Config{URL: ports.Secret(server.URL)}, Deps{})
	r.await("refused", 0, func(st ports.State) bool { return strings.Contains(st.Err, "wants a login") })
	if n := knocks.Load(); n != 1 {
		t.Errorf("%d requests without a login, want the probe alone", n)
	}
	locked.Store(false)
	if err := r.src.Reconnect(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := s.requests("server/discover", "initialize"); !slices.Equal(got, []string{"server/discover"}) || r.last().Protocol != newestModern {
		t.Errorf("the server was asked %v, and speaks %s", got, r.last().Protocol)
	}
}

// TestAServerThatChokesOnTheProbeIsAskedToInitialize: status 500 says nothing of its era.
func TestAServerThatChokesOnTheProbeIsAskedToInitialize(t *testing.T) {
	s := newStrict(t, newestLegacy)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Mcp-Method") == methodDiscover {
			http.Error(w, "what is this?", http.StatusInternalServerError)
			return
		}
		s.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	r := startStrict(t, Config{URL: ports.Secret(server.URL)}, Deps{}).ready()
	if got := s.requests("initialize"); !slices.Equal(got, []string{"initialize"}) || r.last().Protocol != newestLegacy {
		t.Errorf("the server was asked %v, and speaks %s", got, r.last().Protocol)
	}
}
