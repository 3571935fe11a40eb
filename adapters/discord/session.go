package discord

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/coder/websocket"

	"dragoman/adapters/internal/call"
	"dragoman/ports"
)

// Operations of the gateway
// (https://discord.com/developers/docs/topics/opcodes-and-status-codes#gateway).
const (
	opDispatch  = 0
	opBeat      = 1
	opIdentify  = 2
	opResume    = 6
	opReconnect = 7
	opInvalid   = 9
	opHello     = 10
	opBeaten    = 11
)

// Intents: what the gateway is to tell of.
const (
	intentGuilds         = 1 << 0
	intentGuildMessages  = 1 << 9
	intentDirectMessages = 1 << 12
	intentContent        = 1 << 15
	intents              = intentGuilds | intentGuildMessages | intentDirectMessages | intentContent
)

const (
	startTimeout = 30 * time.Second // from dialling to READY or RESUMED
	writeTimeout = 10 * time.Second
	maxFrame     = 64 << 20 // a large guild comes as one
)

// Why a session ends that Discord did not close.
var (
	errReconnect = errors.New("discord asked to connect anew")
	errInvalid   = errors.New("discord forgot the session")
	errUnbeaten  = errors.New("a heartbeat was not acknowledged")
	errSlow      = errors.New("the connection did not come to be in time")
	errFull      = errors.New("too much waits to be stored")
)

// frame is one message of the gateway.
type frame struct {
	Op   int             `json:"op"`
	Data json.RawMessage `json:"d"`
	Seq  *int64          `json:"s,omitempty"`
	Type string          `json:"t,omitempty"`
}

// kept is what resumes a session. The zero value has none.
type kept struct {
	url string
	id  string
	seq int64
}

// session is one connection to the gateway. It ends with its context, which
// anything that goes wrong ends, with the reason.
type session struct {
	runner *runner
	conn   *websocket.Conn
	end    context.CancelCauseFunc
	kept   *kept

	mu     sync.Mutex
	beaten bool // the last heartbeat was acknowledged
	seq    int64
	live   func() bool // stops the timer of the start
}

// session connects, to resume what is kept, else to begin anew, and reads until
// the connection ends. The error says why.
func (r *runner) session(ctx context.Context, url string, k *kept) error {
	const op = "discord gateway"
	ctx, end := context.WithCancelCause(ctx)
	defer end(nil)
	slow := time.AfterFunc(startTimeout, func() { end(errSlow) })
	defer slow.Stop()
	conn, res, err := websocket.Dial(ctx, strings.TrimRight(url, "/")+"/?v=10&encoding=json", &websocket.DialOptions{HTTPClient: r.channel.api.http})
	if err != nil {
		if res != nil {
			err = fmt.Errorf("the gateway answered %s", res.Status)
		}
		return &ports.Error{Kind: ports.KindTemporary, Op: op, Err: because(ctx, call.Bare(err))}
	}
	defer func() { _ = conn.CloseNow() }()
	conn.SetReadLimit(maxFrame)
	s := &session{runner: r, conn: conn, end: end, kept: k, beaten: true, seq: k.seq, live: slow.Stop}
	var beating sync.WaitGroup
	defer beating.Wait()
	defer end(nil)
	err = s.read(ctx, &beating)
	return &ports.Error{Kind: kindOfClose(err), Op: op, Err: closedBecause(because(ctx, err))}
}

// because is why ctx ended, if it did, else err.
func because(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil && ctx.Err() != nil {
		return cause
	}
	return err
}

// read handles frames until one ends the session.
func (s *session) read(ctx context.Context, beating *sync.WaitGroup) error {
	for {
		_, raw, err := s.conn.Read(ctx)
		if err != nil {
			return err
		}
		var f frame
		if err := json.Unmarshal(raw, &f); err != nil {
			s.runner.log.Warn("discord_frame_unreadable", "err", err)
			continue
		}
		if err := s.handle(ctx, f, beating); err != nil {
			return err
		}
	}
}

func (s *session) handle(ctx context.Context, f frame, beating *sync.WaitGroup) error {
	switch f.Op {
	case opHello:
		var hello struct {
			Every int `json:"heartbeat_interval"`
		}
		if err := json.Unmarshal(f.Data, &hello); err != nil || hello.Every <= 0 {
			return errors.New("a hello without an interval")
		}
		every := time.Duration(hello.Every) * time.Millisecond
		beating.Go(func() { s.beatOn(ctx, every) })
		return s.begin(ctx)
	case opBeat:
		return s.beat(ctx)
	case opBeaten:
		s.mu.Lock()
		s.beaten = true
		s.mu.Unlock()
	case opReconnect:
		return errReconnect
	case opInvalid:
		var again bool
		if json.Unmarshal(f.Data, &again); !again {
			*s.kept = kept{}
		}
		return errInvalid
	case opDispatch:
		return s.dispatch(f)
	}
	return nil
}

// begin resumes or identifies.
func (s *session) begin(ctx context.Context) error {
	if s.kept.id != "" {
		return s.write(ctx, opResume, map[string]any{
			"token": s.runner.channel.api.token.Reveal(), "session_id": s.kept.id, "seq": s.kept.seq,
		})
	}
	return s.write(ctx, opIdentify, map[string]any{
		"token": s.runner.channel.api.token.Reveal(), "intents": intents, "shard": []int{s.runner.shard.index, s.runner.shard.count},
		"properties": map[string]string{"os": runtime.GOOS, "browser": "dragoman", "device": "dragoman"},
	})
}

// dispatch takes an event. Its number is kept only once it waits to be stored: a
// session that is resumed then brings again what was not taken.
func (s *session) dispatch(f frame) error {
	switch f.Type {
	case "READY":
		var ready struct {
			Session string `json:"session_id"`
			URL     string `json:"resume_gateway_url"`
		}
		if err := json.Unmarshal(f.Data, &ready); err != nil {
			return fmt.Errorf("an unreadable READY: %w", err)
		}
		s.kept.id, s.kept.url = ready.Session, ready.URL
		s.started("discord_connected")
	case "RESUMED":
		s.started("discord_resumed")
	}
	if !s.runner.enqueue(event{kind: f.Type, data: f.Data}) {
		return errFull
	}
	if f.Seq != nil {
		s.mu.Lock()
		s.seq = *f.Seq
		s.mu.Unlock()
		s.kept.seq = *f.Seq
	}
	return nil
}

func (s *session) started(word string) {
	s.live()
	s.runner.pause.Reset()
	s.runner.recovered()
	s.runner.log.Info(word)
}

// beatOn beats until ctx ends; one that was not acknowledged ends it.
func (s *session) beatOn(ctx context.Context, every time.Duration) {
	wait := time.NewTimer(time.Duration(rand.Int64N(int64(every)))) // so that not all who lost Discord come at once
	defer wait.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-wait.C:
		}
		s.mu.Lock()
		beaten := s.beaten
		s.beaten = false
		s.mu.Unlock()
		if !beaten {
			s.end(errUnbeaten)
			return
		}
		if err := s.beat(ctx); err != nil {
			s.end(err)
			return
		}
		wait.Reset(every)
	}
}

func (s *session) beat(ctx context.Context) error {
	s.mu.Lock()
	seq := s.seq
	s.mu.Unlock()
	if seq == 0 {
		return s.write(ctx, opBeat, nil)
	}
	return s.write(ctx, opBeat, seq)
}

func (s *session) write(ctx context.Context, op int, data any) error {
	raw, err := json.Marshal(struct {
		Op   int `json:"op"`
		Data any `json:"d"`
	}{op, data})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	return s.conn.Write(ctx, websocket.MessageText, raw)
}
