package crash

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"dragoman/adapters/builtin"
	"dragoman/adapters/mcp"
	"dragoman/adapters/openai"
	"dragoman/adapters/sqlstore"
	"dragoman/adapters/telegram"
	"dragoman/core/access"
	"dragoman/core/agent"
	"dragoman/core/ask"
	"dragoman/core/gateway"
	"dragoman/core/toolbox"
	"dragoman/ports"
)

// childEnv holds a life, as JSON, for the process that lives it.
const childEnv = "CRASH_LIFE"

// life is what a child is told.
type life struct {
	Dir     string // of the data and the log
	At      string // the point to die at, "" = none
	Token   string
	Bot     string // URL of the platform
	Model   string // URL of the model
	Tools   string // URL of the MCP server
	Access  access.Mode
	Expires time.Duration // of questions
	Result  int           // bytes of a tool's result that the model reads
	Busy    ports.Busy
	Search  int         // tokens of tools above which the model has to search for them; 0 = never
	Limit   ports.Money // that a person may spend in a day; 0 = none
	Bare    bool        // the channel can do no more than it has to
}

const (
	channelName = "tg"
	serverName  = "srv"
	logName     = "points.log"
	approve     = "approve " // asks the child, on its stdin, to let somebody in
	// politeness is the niceness of the children: there are thousands of them, and tests
	// that run beside these wait for things with a deadline.
	politeness = 5
)

// liveOut is a whole life of a gateway, put together as the command does it.
func liveOut(text string) error {
	var l life
	if err := json.Unmarshal([]byte(text), &l); err != nil {
		return err
	}
	_ = syscall.Setpriority(syscall.PRIO_PROCESS, 0, politeness)
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	p, err := openPoints(filepath.Join(l.Dir, logName), l.At)
	if err != nil {
		return err
	}
	log := slog.New(slog.NewJSONHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelInfo}))
	db, err := sqlstore.Open(ctx, sqlstore.Config{Dir: l.Dir, Sync: "normal"}, log)
	if err != nil {
		return err
	}
	g, err := l.assemble(db, p, log)
	if err == nil {
		_, err = g.FirstAdminCode(ctx)
	}
	if err != nil {
		return errors.Join(err, db.Close())
	}
	go obey(ctx, g, p)
	return errors.Join(g.Run(ctx, context.Background()), db.Close())
}

// obey does what the parent writes, and ends the process when the parent is gone.
func obey(ctx context.Context, g *gateway.Gateway, p *points) {
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		code, ok := strings.CutPrefix(in.Text(), approve)
		if !ok {
			continue
		}
		switch _, err := g.Approve(ctx, code, ports.RoleMember); {
		case ports.IsKind(err, ports.KindNotFound):
			p.fact(factNoCode, code)
		case err != nil:
			fmt.Fprintln(os.Stderr, "approve:", err)
		}
	}
	os.Exit(3)
}

// assemble builds the gateway with a recorder around each port.
func (l life) assemble(db *sqlstore.Store, p *points, log *slog.Logger) (*gateway.Gateway, error) {
	rec := &store{db, p}
	tg, err := telegram.New(telegram.Config{Token: ports.Secret(l.Token), APIURL: l.Bot, Mode: "poll", Streaming: "edit"}, log)
	if err != nil {
		return nil, err
	}
	llm := openai.Config{BaseURL: l.Model, Model: "m", API: "auto"}
	llm.ContextTokens, llm.MaxOutputTokens, llm.MaxConcurrency = 128000, 4096, 8
	llm.Timeout, llm.IdleTimeout = time.Minute, time.Minute
	ai, err := openai.New(llm, log)
	if err != nil {
		return nil, err
	}
	server, err := mcp.New(mcp.Config{URL: ports.Secret(l.Tools), Trusted: true, Timeout: 15 * time.Second, CallTimeout: time.Minute}, mcp.Deps{Log: log})
	if err != nil {
		return nil, err
	}
	var port ports.ChannelPort = &channel{tg, p}
	if l.Bare {
		port = &bareChannel{&channel{tg, p}}
	}
	facts := ai.Facts()
	facts.Images = true
	if l.Limit > 0 { // of which a request may take nearly a half, and mostly takes a quarter
		facts.Price, facts.MaxTokens = &ports.Price{Output: 1000}, 40
	}
	return gateway.New(gateway.Options{
		Usage: db, Caps: gateway.Caps{Person: l.Limit},
		Store: rec, Audit: &audit{db, p}, Log: log, Turns: 16, Drain: 10 * time.Second,
		Channels: []gateway.Channel{{Name: channelName, Port: port, Agent: "main", SendsInFlight: 8}},
		Sources: []gateway.Source{
			{Source: toolbox.Source{Timeout: time.Second}, Port: recordSource("builtin", builtin.New(rec), p)},
			{Source: toolbox.Source{Name: serverName, Timeout: 15 * time.Second}, Port: recordSource(serverName, server, p)},
		},
		Agents: []gateway.Agent{{Config: agent.Config{Name: "main", MaxSteps: 8, TurnTimeout: time.Minute, StaleAfter: time.Hour, Busy: l.Busy,
			Models: []agent.Model{{Name: "m", Port: &model{ai, p}, ContextTokens: llm.ContextTokens, Facts: facts}}}}},
		Ask: ask.Config{Expires: l.Expires, OnMessage: ask.Supersede, GroupWait: time.Minute},
		Access: access.Config{Channels: map[string]access.Rules{channelName: {Mode: l.Access, Groups: access.GroupMention}},
			People: map[string]access.Listed{"boss": {Identities: []string{channelName + ":1"}, Role: ports.RoleAdmin}}},
		Tools: toolbox.Config{Default: ports.PolicyAllow, ResultBytes: l.Result, SearchAbove: l.Search,
			Policy: map[string]ports.Policy{serverName + "__risky_*": ports.PolicyAsk}},
	}), nil
}
