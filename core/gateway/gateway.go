// Package gateway owns the parts of the core, introduces them to one another and
// to the adapters, and starts and stops them in order.
//
// Promises: a slow, dead or panicking channel or tool source harms only itself;
// ready within moments with every MCP server down; a stop drains what runs, for a
// bounded time, and leaves the rest to the journal.
package gateway

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"

	"dragoman/core/access"
	"dragoman/core/agent"
	"dragoman/core/ask"
	"dragoman/core/files"
	"dragoman/core/inbox"
	"dragoman/core/internal/guard"
	"dragoman/core/outbox"
	"dragoman/core/spend"
	"dragoman/core/toolbox"
	"dragoman/ports"
)

// Store is every facet that the core's parts share out among themselves.
type Store interface {
	ports.Turns
	ports.Questions
	ports.Leases
	ports.Records
	ports.Artifacts
}

// Channel is a chat platform with what the admin said of it.
type Channel struct {
	Name          string
	Port          ports.ChannelPort
	Agent         string
	Chats         map[string]string // agents of chats that have another than Agent, by the chat's id
	SendsInFlight int
}

// Source is a tool source with what the admin said of it.
type Source struct {
	toolbox.Source
	Port     ports.ToolSource
	Disabled bool // by the config; an admin may enable it
}

// Agent is an agent with what it may use.
type Agent struct {
	agent.Config
	Tools   toolbox.Filter
	Servers []string // nil = all
}

// Options is what a gateway is made of. Channels may be empty: then it serves
// an admin's command line only.
type Options struct {
	Store    Store
	Audit    ports.Audit
	Channels []Channel
	Sources  []Source
	// NoServers is the config's word that no source is started but the built-in
	// ones. An admin cannot enable one then.
	NoServers bool
	Agents    []Agent
	Access    access.Config
	Ask       ask.Config
	Tools     toolbox.Config
	Usage     ports.Usage   // what was spent; nil: nobody can ask, and there can be no Caps
	Caps      Caps          // on what may be spent in a day
	Version   string        // for /status
	Turns     int           // how many run at once
	Drain     time.Duration // how long a stop waits for what runs
	Listener  net.Listener  // for HTTP; nil = none
	// AdminToken opens what HTTP serves to admins; "" opens it to nobody.
	AdminToken ports.Secret
	// Logins serves /oauth/, where logins to servers come back; nil = nothing does.
	Logins http.Handler
	Log    *slog.Logger
}

// sweepEvery is the pause between two looks for conversations that have work and
// no owner, and for questions whose time is over.
const sweepEvery = time.Second

// Gateway implements ports.Admin. Make it with New, then Run it once.
type Gateway struct {
	opt    Options
	log    *slog.Logger
	leaks  guard.Leaks
	access *access.Access
	tools  *toolbox.Toolbox
	asker  *ask.Asker
	purse  *spend.Ledger

	metrics   *metrics
	byChannel map[string]Channel
	agents    map[string]Agent
	views     map[string]*toolbox.View // by agent
	running   map[string]*agent.Agent  // set by Run before anything is received
	settings  *settings
	admins    *admins

	switching sync.Mutex // held while a source is put in, taken out, enabled or disabled

	telling sync.WaitGroup // notices to admins on their way into the store

	mu       sync.Mutex
	inbox    *inbox.Inbox // set by Run, as is outbox
	outbox   *outbox.Outbox
	channels map[string]ports.ChannelState
	members  map[string]*member
	launch   func(*member) // starts a source; nil while none are run
}

var _ ports.Admin = (*Gateway)(nil)

// New makes a gateway. It starts nothing.
func New(opt Options) *Gateway {
	g := &Gateway{opt: opt, log: opt.Log, channels: map[string]ports.ChannelState{}, members: map[string]*member{},
		byChannel: map[string]Channel{}, agents: map[string]Agent{}, views: map[string]*toolbox.View{}}
	g.access = access.New(opt.Access, opt.Store, opt.Log)
	g.asker = ask.New(opt.Ask)
	g.purse = spend.New(opt.Caps, opt.Usage, func(ctx context.Context, w spend.Warning) { g.TellAdmins(ctx, w.Key, capText(w)) }, opt.Log)
	g.leaks.Report = g.abandoned
	g.tools = toolbox.New(opt.Tools, opt.Store, &g.leaks, opt.Log)
	g.settings = newSettings(opt.Store, &g.leaks)
	g.admins = newAdmins(opt.Store)
	g.metrics = newMetrics(g.tools)
	g.metrics.begin(opt.Channels, opt.Agents)
	for _, s := range opt.Sources {
		g.join(&member{Source: s}, byConfig(s))
	}
	for _, c := range opt.Channels {
		g.channels[c.Name] = ports.ChannelState{Name: c.Name, State: stateStarting}
		g.byChannel[c.Name] = c
	}
	health := map[string]*agent.Health{} // by model
	for _, a := range opt.Agents {
		a.Models = shareHealth(a.Models, health)
		g.agents[a.Name] = a
		g.views[a.Name] = g.tools.View(a.Tools, a.Servers).Finding(a.Name, opt.Store).Within(agent.Window(a.Models))
	}
	return g
}

// FirstAdminCode is the code by which a person becomes the first admin, "" where
// one is known. Call it before Run.
func (g *Gateway) FirstAdminCode(ctx context.Context) (string, error) {
	return g.access.FirstAdminCode(ctx)
}

// Run serves until ctx ends, then drains, for at most Options.Drain; hard ends
// the drain at once. It returns when everything it started has ended, but for what
// is deaf to hard.
func (g *Gateway) Run(ctx, hard context.Context) error {
	if err := g.recall(ctx); err != nil {
		return err
	}
	box := outbox.New(hard, g.opt.Store, &g.leaks, g.log)
	for _, c := range g.opt.Channels {
		box.Add(c.Name, c.Port, c.SendsInFlight)
	}
	in := inbox.New(hard, g.opt.Store, g.parts(box), g.opt.Turns, &g.leaks, g.log)
	g.mu.Lock()
	g.inbox, g.outbox = in, box
	g.mu.Unlock()

	sources := g.startSources(hard)
	receiving, stopReceiving := context.WithCancel(ctx)
	defer stopReceiving()
	var work sync.WaitGroup
	for _, c := range g.opt.Channels {
		work.Go(func() { g.runChannel(receiving, c, in) })
	}
	served := make(chan error, 1)
	work.Go(func() { served <- g.serve(receiving) })
	work.Go(func() { g.sweep(receiving, in) })

	var err error
	select {
	case <-ctx.Done():
	case err = <-served:
		if err == nil {
			<-ctx.Done()
		}
	}
	g.log.Info("gateway_draining", "busy", in.Busy(), "timeout", g.opt.Drain)
	stopReceiving()
	work.Go(func() { g.drain(hard, in, box) })
	g.leave("receivers", hard.Done(), work.Wait)
	sources()
	g.log.Info("gateway_stopped")
	return err
}

// RunSources keeps only the tool sources running until ctx ends, for a command
// that wants tools and no chats.
func (g *Gateway) RunSources(ctx context.Context) (stop func(), err error) {
	if err := g.recall(ctx); err != nil {
		return nil, err
	}
	return g.startSources(ctx), nil
}

// Busy counts the conversations that have something to run now.
func (g *Gateway) Busy() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.inbox == nil {
		return 0
	}
	return g.inbox.Busy()
}

// Reached waits until each source is ready or had its time for it, or ctx ends.
func (g *Gateway) Reached(ctx context.Context) { g.tools.Reached(ctx) }

// Settled waits until each source was reached or given up for now, or ctx ends.
func (g *Gateway) Settled(ctx context.Context) { g.tools.Settled(ctx) }

// parts introduces the core's parts to the inbox.
func (g *Gateway) parts(box *outbox.Outbox) inbox.Parts {
	g.running = map[string]*agent.Agent{}
	openers := map[string]ports.Opener{}
	for name, c := range g.byChannel {
		if o, ok := c.Port.(ports.Opener); ok {
			openers[name] = o
		}
	}
	attachments := files.New(g.opt.Store, openers, &g.leaks)
	for _, a := range g.agents {
		cfg := a.Config
		if cfg.Purse == nil {
			cfg.Purse = g.purse
		}
		if cfg.Settings == nil {
			cfg.Settings = g.chosen
		}
		if cfg.Tell == nil {
			cfg.Tell = g.TellAdmins
		}
		if cfg.Files == nil {
			cfg.Files = attachments
		}
		g.running[a.Name] = agent.New(cfg, g.opt.Store, g.views[a.Name], g.asker, speech{box}, &g.leaks, g.metrics, g.log)
	}
	return inbox.Parts{
		Admit:   g.admit(box),
		Known:   g.access.Known,
		Command: g.command,
		Match:   inbox.Matcher(g.asker, box.Render),
		Hold:    g.hold,
		Turn: func(ctx context.Context, l ports.Lease, w ports.Work, news <-chan struct{}) error {
			a, err := g.agentOf(l.In)
			if err != nil {
				return err
			}
			return g.running[a.Name].Turn(ctx, l, w, news)
		},
		Received: g.metrics.received,
		Heard:    box.Heard,
		Flush:    box.Wake,
		Commands: g.menu(),
	}
}

// speech is the outbox as an agent sees it.
type speech struct{ *outbox.Outbox }

func (s speech) Live(ctx context.Context, l ports.Lease, p ports.Preview) agent.Live {
	return s.Outbox.Live(ctx, l, p)
}

// admit asks access and words its refusals as deliveries.
func (g *Gateway) admit(box *outbox.Outbox) func(context.Context, ports.Message) (inbox.Verdict, error) {
	return func(ctx context.Context, m ports.Message) (inbox.Verdict, error) {
		v, err := g.access.Admit(ctx, m)
		if err != nil {
			return inbox.Verdict{}, err
		}
		out := inbox.Verdict{Person: v.Person, Role: v.Role, Drop: v.Drop, Welcome: v.Welcome, Undo: v.Undo}
		g.admins.seen(ctx, v, m, g.opt.Access.Channels[m.In.Channel], g.log)
		if v.Refusal != "" {
			out.Refusal = notice(box, m.In, v.Key, v.Refusal, m.Reply)
		}
		return out, nil
	}
}

// notice makes the deliveries of something said outside of a turn. The key makes
// their ids, so that it is said once.
func notice(box *outbox.Outbox, in ports.Conversation, key, text string, reply []byte) []ports.Delivery {
	var list []ports.Delivery
	for i, part := range box.Render(in, ports.Content{Text: text}) {
		id := ports.DeliveryID("notice:"+key, 0, i)
		list = append(list, ports.Delivery{ID: id, Out: ports.Outgoing{In: in, Content: part, Nonce: id, Reply: reply}})
	}
	return list
}

// abandoned logs a call that was given up while it still runs.
func (g *Gateway) abandoned(ctx context.Context, op string) {
	g.log.Warn("call_abandoned", "op", op, ports.TurnAttr(guard.TurnOf(ctx)))
}

// sweep looks for work that no message announces, until ctx ends.
func (g *Gateway) sweep(ctx context.Context, in *inbox.Inbox) {
	tick := time.NewTicker(sweepEvery)
	defer tick.Stop()
	for {
		if err := in.Sweep(ctx); err != nil && ctx.Err() == nil {
			g.log.Error("sweep_failed", "kind", ports.KindOf(err), "err", err)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// drain waits for turns, then for their answers. What is not done in time stays
// in the journal.
func (g *Gateway) drain(hard context.Context, in *inbox.Inbox, box *outbox.Outbox) {
	ctx, cancel := context.WithTimeout(hard, g.opt.Drain)
	defer cancel()
	in.Close(ctx)
	g.telling.Wait() // what its turns had the admins told; each has its deadline
	box.Close(ctx)
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		g.log.Warn("drain_timeout", "timeout", g.opt.Drain)
	}
}
