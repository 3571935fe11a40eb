package crash

import (
	"context"
	"sync"

	"dragoman/ports"
)

// model records every request, and the first piece of text of each.
type model struct {
	inner ports.ModelPort
	p     *points
}

var _ ports.ModelPort = (*model)(nil)

func (m *model) Generate(ctx context.Context, r ports.ModelRequest, onText func(string)) (ports.ModelReply, error) {
	name := "model.Generate " + asks(r)
	m.p.pass(name + " | before")
	m.p.fact(factBegins, reply)
	heard := onText
	if onText != nil {
		var once sync.Once
		heard = func(delta string) {
			after := func() {}
			once.Do(func() { after = m.p.call("model.Generate.onText " + asks(r)) })
			onText(delta)
			after()
		}
	}
	reply, err := m.inner.Generate(ctx, r, heard)
	m.p.pass(name + " | after")
	return reply, err
}

// source records a source of tools, and what it calls.
type source struct {
	inner ports.ToolSource
	name  string
	p     *points
}

var _ ports.ToolSource = (*source)(nil)

func (s *source) Run(ctx context.Context, reg ports.Registrar) error {
	defer s.p.call(beside + "source.Run " + s.name)()
	return s.inner.Run(ctx, &registrar{reg, s.name, s.p})
}

// redialler is a source that can be told to connect anew.
type redialler struct {
	source
	redial ports.Reconnector
}

func (r *redialler) Reconnect(ctx context.Context) error {
	defer r.p.call("source.Reconnect " + r.name)()
	return r.redial.Reconnect(ctx)
}

// recordSource keeps the one ability that a source of ours has.
func recordSource(name string, s ports.ToolSource, p *points) ports.ToolSource {
	one := source{inner: s, name: name, p: p}
	if r, ok := s.(ports.Reconnector); ok {
		return &redialler{one, r}
	}
	return &one
}

type registrar struct {
	inner ports.Registrar
	name  string
	p     *points
}

var _ ports.Registrar = (*registrar)(nil)

func (r *registrar) Register(c ports.Catalog) {
	defer r.p.call(beside + "registrar.Register " + r.name)()
	tools := make([]ports.ToolPort, len(c.Tools))
	for i, t := range c.Tools {
		tools[i] = &tool{t, r.p}
	}
	c.Tools = tools
	r.inner.Register(c)
}

func (r *registrar) State(s ports.State) {
	defer r.p.call(beside + "registrar.State " + r.name + " " + string(s.Phase))()
	r.inner.State(s)
}

type tool struct {
	inner ports.ToolPort
	p     *points
}

var _ ports.ToolPort = (*tool)(nil)

func (t *tool) Spec() ports.ToolSpec {
	defer t.p.call(beside + "tool.Spec")()
	return t.inner.Spec()
}

// Call notes under which key the tool runs.
func (t *tool) Call(ctx context.Context, c ports.ToolCall, h ports.Host) (ports.ToolResult, error) {
	name := "tool.Call " + c.Name + " of " + t.p.turn(c.Turn)
	t.p.pass(name + " | before")
	t.p.fact(factKey, c.Name+" "+string(c.Arguments)+" "+c.Key)
	t.p.fact(factBegins, c.Name)
	r, err := t.inner.Call(ctx, c, &host{h, c.Name, t.p})
	t.p.pass(name + " | after")
	return r, err
}

// host records what a running tool asks.
type host struct {
	inner ports.Host
	tool  string
	p     *points
}

var _ ports.Host = (*host)(nil)

func (h *host) Ask(ctx context.Context, q ports.Question) (ports.Answer, error) {
	defer h.p.call("host.Ask by " + h.tool)()
	return h.inner.Ask(ctx, q)
}

func (h *host) Sample(ctx context.Context, r ports.ModelRequest) (ports.ModelReply, error) {
	defer h.p.call("host.Sample by " + h.tool)()
	return h.inner.Sample(ctx, r)
}

func (h *host) Progress(ctx context.Context, pr ports.Progress) {
	defer h.p.call(beside + "host.Progress by " + h.tool)()
	h.inner.Progress(ctx, pr)
}
