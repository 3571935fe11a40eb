package gateway_test

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"dragoman/adapters/sqlstore"
	"dragoman/core/access"
	"dragoman/core/agent"
	"dragoman/core/ask"
	"dragoman/core/gateway"
	"dragoman/core/toolbox"
	"dragoman/ports"
)

// world is a gateway on a real store, with a chat platform, a model and tools
// that the test plays. It survives a restart of the gateway.
type world struct {
	t     *testing.T
	dir   string
	opt   gateway.Options
	chat  *chat
	plug  ports.ChannelPort // in the chat's place, if set
	model *model
	tools *tools

	store *sqlstore.Store
	g     *gateway.Gateway
	lives int // how often it was started
	stale time.Duration
	agent func(*agent.Config)    // changes the agent's config; may be nil
	last  func(*gateway.Options) // changes the options; may be nil
	stop  func()

	agents []gateway.Agent   // instead of the one, if set
	chats  map[string]string // agents of chats
}

func newWorld(t *testing.T) *world {
	w := &world{t: t, dir: t.TempDir(), chat: newChat(), model: &model{}, tools: &tools{runs: map[string]int{}}}
	w.opt = gateway.Options{
		Turns: 64, Drain: 5 * time.Second,
		Ask:    ask.Config{Expires: time.Hour, OnMessage: ask.Supersede, GroupWait: time.Minute},
		Tools:  toolbox.Config{Default: ports.PolicyAllow, Policy: map[string]ports.Policy{"srv__ask_*": ports.PolicyAsk, "srv__never": ports.PolicyDeny}, ResultBytes: 4096},
		Access: access.Config{Channels: map[string]access.Rules{"chat": {Mode: access.Open, Groups: access.GroupAll}}},
	}
	t.Cleanup(func() { w.end() })
	return w
}

// start opens the store and runs the gateway.
func (w *world) start() *world {
	w.t.Helper()
	w.startOn(func(s *sqlstore.Store) gateway.Store { return s })
	return w
}

// newStore is the file of a store that holds nothing: to make its tables takes
// longer than most tests.
var newStore = sync.OnceValue(func() []byte {
	dir, err := os.MkdirTemp("", "gateway-test-")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir)
	store, err := sqlstore.Open(context.Background(), sqlstore.Config{Dir: dir, Sync: "normal"}, slog.New(slog.DiscardHandler))
	if err != nil {
		panic(err)
	}
	if err := store.Close(); err != nil {
		panic(err)
	}
	file, err := os.ReadFile(filepath.Join(dir, "dragoman.db"))
	if err != nil {
		panic(err)
	}
	return file
})

// startOn is start on whatever wrap makes of the store.
func (w *world) startOn(wrap func(*sqlstore.Store) gateway.Store) {
	w.t.Helper()
	log := cmp.Or(w.opt.Log, slog.New(slog.DiscardHandler))
	if os.Getenv("GATEWAY_LOG") != "" {
		log = slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelDebug}))
	}
	file := filepath.Join(w.dir, "dragoman.db")
	if _, err := os.Stat(file); err != nil {
		if err := os.WriteFile(file, newStore(), 0o600); err != nil {
			w.t.Fatal(err)
		}
	}
	store, err := sqlstore.Open(w.t.Context(), sqlstore.Config{Dir: w.dir, Sync: "normal"}, log)
	if err != nil {
		w.t.Fatal(err)
	}
	w.store = store
	w.lives++
	opt := w.opt
	opt.Store, opt.Audit, opt.Log = wrap(store), store, log
	opt.Usage = cmp.Or[ports.Usage](opt.Usage, store)
	opt.Channels = []gateway.Channel{{Name: "chat", Port: cmp.Or[ports.ChannelPort](w.plug, w.chat), Agent: "main", Chats: w.chats, SendsInFlight: 8}}
	opt.Sources = append([]gateway.Source{{Source: toolbox.Source{Name: "srv", Timeout: roomy(time.Second)}, Port: w.tools}}, w.opt.Sources...)
	own := agent.Config{Name: "main", MaxSteps: 5, TurnTimeout: cmp.Or(w.model.turnTimeout, time.Minute), StaleAfter: w.stale,
		Models: []agent.Model{{Name: "m", Port: w.port(), ContextTokens: 32000}}}
	if w.agent != nil {
		w.agent(&own)
	}
	opt.Agents = []gateway.Agent{{Config: own}}
	if w.agents != nil {
		opt.Agents = w.agents
	}
	if w.last != nil {
		w.last(&opt)
	}
	w.g = gateway.New(opt)
	soft, end := context.WithCancel(context.WithoutCancel(w.t.Context()))
	done := make(chan error, 1)
	go func() { done <- w.g.Run(soft, context.WithoutCancel(soft)) }()
	w.stop = func() {
		end()
		if err := <-done; err != nil {
			w.t.Errorf("Run: %v", err)
		}
	}
	w.chat.await(w.t)
}

// port is the model, or what the test put in its place.
func (w *world) port() ports.ModelPort {
	if w.opt.Agents != nil {
		return w.opt.Agents[0].Models[0].Port
	}
	return w.model
}

// end stops the gateway in order and closes the store.
func (w *world) end() {
	if w.stop == nil {
		return
	}
	w.stop()
	w.stop = nil
	if err := w.store.Close(); err != nil {
		w.t.Errorf("Close: %v", err)
	}
}

func (w *world) restart() {
	w.t.Helper()
	w.end()
	w.start()
}

// roomy is how long to wait for what takes d at most. The clock of a bubble stands
// still while anybody works; a machine holds up whom it likes, for seconds.
func roomy(d time.Duration) time.Duration {
	if time.Now().Year() == 2000 { // in a bubble
		return d
	}
	return 10 * d
}

// eventually polls until what is so, or fails the test.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	deadline := time.Now().Add(roomy(10 * time.Second))
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	for !ok() {
		if time.Now().After(deadline) {
			t.Fatalf("not in time: %s", what)
		}
		<-tick.C
	}
}

// shown waits until the chat shows n messages and returns their texts.
func (w *world) shown(n int) []string {
	w.t.Helper()
	defer func() {
		if w.t.Failed() {
			w.t.Logf("the chat shows %q", w.chat.texts())
		}
	}()
	eventually(w.t, fmt.Sprintf("%d messages in the chat", n), func() bool { return len(w.chat.texts()) >= n })
	texts := w.chat.texts()
	if len(texts) != n {
		w.t.Fatalf("the chat shows %d messages, want %d: %q", len(texts), n, texts)
	}
	return texts
}

// settled waits until nothing is left to do.
func (w *world) settled() {
	w.t.Helper()
	eventually(w.t, "no backlog", func() bool {
		if w.g.Busy() > 0 {
			return false
		}
		b, err := w.store.Backlog(w.t.Context())
		return err == nil && b == ports.Backlog{} && w.g.Busy() == 0 // a sweep may have begun something in between
	})
}

// model answers by a function that the test sets.
type model struct {
	mu          sync.Mutex
	reply       func(ctx context.Context, r ports.ModelRequest) (ports.ModelReply, error)
	requests    []ports.ModelRequest
	turnTimeout time.Duration
	dwell       func(ctx context.Context) // between the text of a reply and its end
}

func (m *model) Generate(ctx context.Context, r ports.ModelRequest, onText func(string)) (ports.ModelReply, error) {
	m.mu.Lock()
	m.requests = append(m.requests, r)
	reply := m.reply
	m.mu.Unlock()
	got, err := reply(ctx, r)
	if err == nil && onText != nil && got.Text != "" {
		onText(got.Text)
		if m.dwell != nil {
			m.dwell(ctx)
		}
	}
	return got, err
}

// becomes changes what a model that was asked already answers.
func (m *model) becomes(reply func(context.Context, ports.ModelRequest) (ports.ModelReply, error)) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.reply = reply
}

func (m *model) asked() []ports.ModelRequest {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.Clone(m.requests)
}

// calls replies with calls on the first request of a turn, and with the results,
// one a line, once they are there.
func calls(names ...string) func(context.Context, ports.ModelRequest) (ports.ModelReply, error) {
	return func(_ context.Context, r ports.ModelRequest) (ports.ModelReply, error) {
		var results []string
		for i := len(r.Entries) - 1; i >= 0 && r.Entries[i].Role != ports.RoleAssistant; i-- {
			switch e := r.Entries[i]; e.Role {
			case ports.RoleTool:
				results = append([]string{e.Text}, results...)
			case ports.RoleUser:
				results = append([]string{"user: " + e.Text}, results...)
			}
		}
		if len(results) > 0 && r.Entries[len(r.Entries)-1].Role == ports.RoleTool || len(r.Entries) > 1 && hasTool(r) {
			return says(strings.Join(results, "\n"))
		}
		reply := ports.ModelReply{Text: "Let me see.", Model: "m", Stop: ports.StopCalls}
		for i, n := range names {
			reply.Calls = append(reply.Calls, ports.Call{ID: fmt.Sprintf("c%d", i), Name: n, Arguments: json.RawMessage(`{"n":` + strconv.Itoa(i) + `}`)})
		}
		return reply, nil
	}
}

func hasTool(r ports.ModelRequest) bool {
	return slices.ContainsFunc(r.Entries, func(e ports.Entry) bool { return e.Role == ports.RoleTool })
}

func says(text string) (ports.ModelReply, error) {
	return ports.ModelReply{Text: text, Model: "m", Stop: ports.StopEnd}, nil
}

// echo answers with the last thing the person said.
func echo(_ context.Context, r ports.ModelRequest) (ports.ModelReply, error) {
	return says("you said: " + r.Entries[len(r.Entries)-1].Text)
}

// tools is a source of tools that the test plays. A tool's class and behaviour
// follow from its name.
type tools struct {
	mu     sync.Mutex
	runs   map[string]int
	order  []string
	keys   []string
	active int
	most   int // that ran side by side
	gate   chan struct{}
	stuck  chan struct{} // what the tool "stuck" waits for, whatever its context says
	onCall func(ctx context.Context, name string)
	class  map[string]ports.Class // of a tool, where it is not what its name says
	gone   bool                   // the source has no tools and will not come back

	results map[string]ports.ToolResult // of tools that give something of their own
}

func (s *tools) Run(ctx context.Context, reg ports.Registrar) error {
	var list []ports.ToolPort
	for _, name := range []string{"read_a", "read_b", "write_a", "write_b", "ask_a", "ask_b", "never", "slow", "panics", "fails", "huge", "stuck"} {
		list = append(list, &tool{s, name})
	}
	if s.gone {
		reg.State(ports.State{Phase: ports.PhaseParked})
	} else {
		reg.Register(ports.Catalog{Tools: list})
		reg.State(ports.State{Phase: ports.PhaseReady})
	}
	<-ctx.Done()
	return ctx.Err()
}

func (s *tools) ran(name string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.runs[name]
}

type tool struct {
	s    *tools
	name string
}

func (t *tool) Spec() ports.ToolSpec {
	spec := ports.ToolSpec{Name: t.name, Description: "the tool " + t.name, Class: ports.ClassUnsafe,
		InputSchema: json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"],"additionalProperties":false}`)}
	if strings.HasPrefix(t.name, "read_") {
		spec.Class = ports.ClassRead
	}
	spec.Class = cmp.Or(t.s.class[t.name], spec.Class)
	return spec
}

func (t *tool) Call(ctx context.Context, c ports.ToolCall, _ ports.Host) (ports.ToolResult, error) {
	s := t.s
	s.mu.Lock()
	s.runs[t.name]++
	s.order = append(s.order, t.name)
	s.keys = append(s.keys, c.Key)
	s.active++
	s.most = max(s.most, s.active)
	gate, onCall := s.gate, s.onCall
	s.mu.Unlock()
	if onCall != nil {
		onCall(ctx, t.name)
	}
	defer func() {
		s.mu.Lock()
		s.active--
		s.mu.Unlock()
	}()
	if gate != nil {
		select {
		case <-gate:
		case <-ctx.Done():
			return ports.ToolResult{}, ctx.Err()
		}
	}
	if r, ok := s.results[t.name]; ok {
		return r, nil
	}
	switch t.name {
	case "slow":
		<-ctx.Done()
		return ports.ToolResult{}, ctx.Err()
	case "stuck":
		<-s.stuck
	case "panics":
		panic("boom")
	case "fails":
		return ports.ToolResult{}, ports.Errorf(ports.KindUnavailable, "call", "secret detail")
	case "huge":
		return ports.ToolResult{Content: []ports.Block{{Kind: ports.BlockText, Text: strings.Repeat("0123456789", 2000)}}}, nil
	}
	return ports.ToolResult{Content: []ports.Block{{Kind: ports.BlockText, Text: "result of " + t.name}}}, nil
}
