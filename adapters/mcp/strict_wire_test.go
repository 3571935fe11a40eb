//go:build unix

package mcp

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"dragoman/ports"
)

// socketVar names the socket that a relay joins its pipes to.
const socketVar = "DRAGOMAN_TEST_SOCKET"

// relay is a server on stdio whose work is done by the test itself.
func relay() {
	conn, err := net.Dial("unix", os.Getenv(socketVar))
	if err != nil {
		panic(err)
	}
	go func() {
		_, _ = io.Copy(conn, os.Stdin)
		os.Exit(0)
	}()
	_, _ = io.Copy(os.Stdout, conn)
}

// onStdio is the config of a program that is s.
func (s *strict) onStdio() Config {
	folder, err := os.MkdirTemp("", "mcp") // the path of a socket is short
	if err != nil {
		s.t.Fatal(err)
	}
	socket := filepath.Join(folder, "s")
	listener, err := net.Listen("unix", socket)
	if err != nil {
		s.t.Fatal(err)
	}
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			wg.Go(func() { s.serveLines(conn) })
		}
	})
	s.t.Cleanup(func() {
		listener.Close()
		wg.Wait()
		os.RemoveAll(folder)
	})
	cfg := peerConfig("relay")
	cfg.Env[socketVar] = ports.Secret(socket)
	return cfg
}

func (s *strict) serveLines(conn net.Conn) {
	var wg sync.WaitGroup
	var mu sync.Mutex
	ctx, cancel := context.WithCancel(context.Background())
	defer wg.Wait()
	defer cancel()
	defer conn.Close()
	out := func(line string) {
		mu.Lock()
		defer mu.Unlock()
		if line == hangUp {
			conn.Close()
			return
		}
		_, _ = io.WriteString(conn, line+"\n")
	}
	peer := newStrictConn("stdio")
	peer.out = out
	in := bufio.NewReaderSize(conn, 1<<20)
	for {
		line, err := in.ReadBytes('\n')
		if err != nil {
			return
		}
		var m incoming
		if json.Unmarshal(line, &m) != nil {
			s.note(func() { s.faults = append(s.faults, "no JSON: "+string(line)) })
			continue
		}
		if len(m.ID) == 0 || m.Method == "" {
			s.take(ctx, peer, m, out) // in the order in which they came
			continue
		}
		wg.Go(func() { s.take(ctx, peer, m, out) })
	}
}

// hangUp, as a line of the server's, ends its process or breaks the request's connection off.
const hangUp = "hang up"

// onHTTP is the config of a server at a url that is s.
func (s *strict) onHTTP() Config {
	server := httptest.NewServer(s)
	s.t.Cleanup(server.Close)
	return Config{Transport: overHTTP, URL: ports.Secret(server.URL)}
}

func (s *strict) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch r.Method {
	case http.MethodDelete:
		return
	case http.MethodGet:
		s.serveStream(w, r)
		return
	}
	var m incoming
	if json.NewDecoder(r.Body).Decode(&m) != nil {
		http.Error(w, "no JSON", http.StatusBadRequest)
		return
	}
	if version := r.Header.Get(headerProtocol); version == "" || slices.Contains(legacyVersions(), version) {
		s.serveLegacy(w, r, m)
		return
	}
	if why := headerFault(r, m); why != "" {
		s.note(func() { s.faults = append(s.faults, why) })
		answers(http.StatusBadRequest, "application/json", fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"error":{"code":-32020,"message":%q}}`, m.ID, why))(w, r)
		return
	}
	s.mu.Lock()
	peer := s.conns["modern "+r.Host] // each client has an address of its own
	if peer == nil || m.Method == methodDiscover && string(m.ID) == "1" {
		peer = newStrictConn("http")
		s.conns["modern "+r.Host] = peer
	}
	s.mu.Unlock()
	s.serveEvents(w, r, peer, m)
}

// headerFault is what the headers of a request get wrong (streamable-http, "Server Validation").
func headerFault(r *http.Request, m incoming) string {
	var p struct {
		Meta   map[string]json.RawMessage `json:"_meta"`
		Name   string                     `json:"name"`
		URI    string                     `json:"uri"`
		TaskID string                     `json:"taskId"`
	}
	_ = json.Unmarshal(m.Params, &p)
	name := ""
	switch {
	case m.Method == methodCall:
		name = p.Name
	case m.Method == methodRead:
		name = p.URI
	case strings.HasPrefix(m.Method, "tasks/"):
		name = p.TaskID
	}
	switch {
	case len(m.ID) == 0 && strings.HasPrefix(m.Method, "notifications/"):
		return "a notification over HTTP: " + m.Method
	case r.Header.Get(headerSession) != "":
		return "a session"
	case r.Header.Get(headerProtocol) != text(p.Meta[metaVersion]):
		return "the header names another version than _meta"
	case r.Header.Get("Mcp-Method") != m.Method:
		return "Mcp-Method is not the method"
	case r.Header.Get("Mcp-Name") != headerValue(name) && r.Header.Get("Mcp-Name")+headerValue(name) != "":
		return fmt.Sprintf("Mcp-Name of %s is %q, want %q", m.Method, r.Header.Get("Mcp-Name"), name)
	case !strings.Contains(r.Header.Get("Accept"), "text/event-stream") || !strings.Contains(r.Header.Get("Accept"), "application/json"):
		return "Accept has not both"
	}
	return ""
}

// serveLegacy finds the session of a request, or begins one.
func (s *strict) serveLegacy(w http.ResponseWriter, r *http.Request, m incoming) {
	id := r.Header.Get(headerSession)
	s.mu.Lock()
	peer := s.conns[id]
	if m.Method == "initialize" {
		s.serial++
		id = fmt.Sprint("session-", s.serial)
		peer = newStrictConn(id)
		s.conns[id] = peer
		if slices.ContainsFunc(s.versions, func(v string) bool { return slices.Contains(legacyVersions(), v) }) {
			w.Header().Set(headerSession, id)
		}
	}
	s.mu.Unlock()
	if peer == nil || id == "" {
		http.Error(w, "there is no such session", http.StatusNotFound)
		return
	}
	if m.Method != "initialize" && r.Header.Get(headerProtocol) != peer.version && peer.version >= "2025-06-18" {
		s.note(func() { s.faults = append(s.faults, "the header names another version than the handshake") })
	}
	if len(m.ID) == 0 || m.Method == "" {
		s.take(r.Context(), peer, m, nil)
		w.WriteHeader(http.StatusAccepted)
		return
	}
	s.serveEvents(w, r, peer, m)
}

// serveEvents answers on a stream of events.
func (s *strict) serveEvents(w http.ResponseWriter, r *http.Request, peer *strictConn, m incoming) {
	w.Header().Set("Content-Type", "text/event-stream")
	var mu sync.Mutex
	s.take(r.Context(), peer, m, func(line string) {
		mu.Lock()
		defer mu.Unlock()
		if line == hangUp {
			panic(http.ErrAbortHandler)
		}
		_, _ = io.WriteString(w, "data: "+line+"\n\n")
		w.(http.Flusher).Flush()
	})
}

// serveStream is the stream on which a legacy server speaks by itself.
func (s *strict) serveStream(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	peer := s.conns[r.Header.Get(headerSession)]
	s.mu.Unlock()
	if peer == nil || r.Header.Get(headerSession) == "" {
		http.Error(w, "there is no such session", http.StatusNotFound)
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	w.(http.Flusher).Flush()
	var mu sync.Mutex
	s.note(func() {
		peer.out = func(line string) {
			mu.Lock()
			defer mu.Unlock()
			if r.Context().Err() == nil {
				_, _ = io.WriteString(w, "data: "+line+"\n\n")
				w.(http.Flusher).Flush()
			}
		}
	})
	<-r.Context().Done()
	s.note(func() { peer.out = nil })
	mu.Lock()
	defer mu.Unlock()
}

// wires are the transports on which s can be reached.
func (s *strict) wires() map[string]func() Config {
	return map[string]func() Config{"stdio": s.onStdio, "http": s.onHTTP}
}

// running starts a source for s over a transport and waits until it is ready.
func (s *strict) running(wire string, deps Deps, change ...func(*Config)) *rig {
	s.t.Helper()
	return startStrict(s.t, s.wires()[wire](), deps, change...).ready()
}

func startStrict(t *testing.T, cfg Config, deps Deps, change ...func(*Config)) *rig {
	t.Helper()
	for _, one := range change {
		one(&cfg)
	}
	src, err := New(cfg, deps)
	if err != nil {
		t.Fatal(err)
	}
	return startSource(t, src)
}
