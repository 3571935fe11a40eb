package discord

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"time"

	"github.com/coder/websocket"
)

// Opcodes, https://docs.discord.com/developers/topics/opcodes-and-status-codes#gateway.
const (
	opDispatch     = 0
	opHeartbeat    = 1
	opIdentify     = 2
	opPresence     = 3
	opVoice        = 4
	opResume       = 6
	opReconnect    = 7
	opMembers      = 8
	opInvalid      = 9
	opHello        = 10
	opHeartbeatAck = 11
)

// Close codes of the gateway.
const (
	CloseUnknown          = 4000
	CloseUnknownOp        = 4001
	CloseDecode           = 4002
	CloseNotAuthenticated = 4003
	CloseBadToken         = 4004
	CloseAlreadyIn        = 4005
	CloseBadSeq           = 4007
	CloseFlooded          = 4008
	CloseTimedOut         = 4009
	CloseBadShard         = 4010
	CloseShardingRequired = 4011
	CloseBadVersion       = 4012
	CloseBadIntents       = 4013
	CloseForbidden        = 4014 // intents that are not granted
)

// A client may send so much (120 payloads a minute, of 4096 bytes each).
const (
	maxPayload   = 4096
	payloadsEach = 120
)

// link is one connection to the gateway. Its fields are the server's.
type link struct {
	ws      *websocket.Conn
	wake    chan struct{} // one slot: something to write
	version int
	open    bool
	session *session
	next    int        // event of the session to send
	resumed int        // events before RESUMED is sent; < 0: none is due
	control [][]byte   // to send before any event
	closing *closeWith // what to close with, after control
	deaf    bool       // a zombie: nothing is sent any more
	beat    time.Time  // last heartbeat
	sent    []time.Time
	held    bool // no events yet: a control payload came first
}

type closeWith struct {
	code   int
	reason string
}

// identify is what a client says who it is with.
type identify struct {
	Token      string          `json:"token"`
	Properties json.RawMessage `json:"properties"`
	Intents    *int            `json:"intents"`
	Shard      *[2]int         `json:"shard"`
	Compress   bool            `json:"compress"`
	Large      int             `json:"large_threshold"`
	Presence   json.RawMessage `json:"presence"`
}

type resume struct {
	Token   string `json:"token"`
	Session string `json:"session_id"`
	Seq     int    `json:"seq"`
}

func (s *Server) gatewayURL() string { return "ws" + strings.TrimPrefix(s.url, "http") + "/gateway" }

// serveGateway holds one connection until it ends.
func (s *Server) serveGateway(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	down := s.gate.down
	s.mu.Unlock()
	if down {
		http.Error(w, "fake discord: the gateway is down", http.StatusServiceUnavailable)
		return
	}
	ws, err := websocket.Accept(w, r, &websocket.AcceptOptions{InsecureSkipVerify: true, CompressionMode: websocket.CompressionDisabled})
	if err != nil {
		return
	}
	ws.SetReadLimit(1 << 20)
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	l := &link{ws: ws, wake: make(chan struct{}, 1), open: true, resumed: -1, beat: time.Now()}
	if !s.greet(l, r) {
		_ = ws.CloseNow()
		return
	}
	s.idle.Go(func() {
		defer cancel()
		s.write(ctx, l)
	})
	s.read(ctx, l)
}

// greet takes a connection in, and says hello.
func (s *Server) greet(l *link, r *http.Request) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	select {
	case <-s.done:
		return false
	default:
	}
	s.gate.links[l] = true
	s.gate.connects++
	q := r.URL.Query()
	switch q.Get("v") {
	case "10":
		l.version = 10
	case "9":
		l.version = 9
	default:
		l.end(CloseBadVersion, "Invalid API version.")
	}
	if q.Get("encoding") != "json" || q.Has("compress") {
		l.end(CloseDecode, "fake discord: JSON without compression only")
	}
	l.say(opHello, map[string]any{"heartbeat_interval": s.opts.Heartbeat.Milliseconds(), "_trace": []string{"fake"}})
	return true
}

// say queues a payload that is no event. s.mu is held.
func (l *link) say(op int, data any) {
	l.control = append(l.control, encode(payload{Op: op, Data: encode(data)}))
	l.stir()
}

// end closes the connection after what is queued. s.mu is held.
func (l *link) end(code int, reason string) {
	if l.closing == nil {
		l.closing = &closeWith{code, reason}
	}
	l.stir()
}

func (l *link) stir() {
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

// read hears the client until the connection ends.
func (s *Server) read(ctx context.Context, l *link) {
	var err error
	for err == nil {
		var data []byte
		if _, data, err = l.ws.Read(ctx); err != nil {
			break
		}
		s.mu.Lock()
		s.hear(l, data)
		s.mu.Unlock()
	}
	code := websocket.CloseStatus(err)
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.gate.links, l)
	wasCut := !l.open
	l.open = false
	if l.session == nil || l.session.link != l {
		return
	}
	l.session.link = nil
	if wasCut {
		return
	}
	l.session.left = s.now()
	if code == websocket.StatusNormalClosure || code == websocket.StatusGoingAway {
		delete(s.gate.sessions, l.session.id) // the client said goodbye: nothing to resume
	}
}

// write sends what is due until the connection ends.
func (s *Server) write(ctx context.Context, l *link) {
	tick := time.NewTicker(max(s.opts.Heartbeat/4, 10*time.Millisecond))
	defer tick.Stop()
	for {
		s.mu.Lock()
		s.checkBeat(l)
		batch, closing := s.due(l)
		s.mu.Unlock()
		for _, one := range batch {
			if l.ws.Write(ctx, websocket.MessageText, one) != nil {
				_ = l.ws.CloseNow()
				return
			}
		}
		if closing != nil {
			_ = l.ws.Close(websocket.StatusCode(closing.code), closing.reason)
			return
		}
		select {
		case <-l.wake:
		case <-tick.C:
		case <-ctx.Done():
			_ = l.ws.CloseNow()
			return
		}
	}
}

// checkBeat ends the session of a client whose heart stopped. s.mu is held.
func (s *Server) checkBeat(l *link) {
	if time.Since(l.beat) > s.opts.Heartbeat*3/2+time.Second {
		l.end(CloseTimedOut, "Session timed out.")
	}
}

// due takes what is to be written now. s.mu is held.
func (s *Server) due(l *link) (batch [][]byte, closing *closeWith) {
	if l.deaf {
		return nil, nil
	}
	batch, l.control = l.control, nil
	closing = l.closing
	n := l.session
	if n == nil || l.held || closing != nil {
		return batch, closing
	}
	for ; l.next < len(n.events); l.next++ {
		if l.next == l.resumed {
			batch = append(batch, l.resumeDone())
		}
		batch = append(batch, encode(n.events[l.next]))
	}
	if l.next == l.resumed {
		batch = append(batch, l.resumeDone())
	}
	return batch, nil
}

// resumeDone is RESUMED, which comes after the events that were missed.
func (l *link) resumeDone() []byte {
	seq, name := l.resumed, "RESUMED"
	l.resumed = -1
	return encode(payload{Op: opDispatch, Data: []byte(`{"_trace":["fake"]}`), Seq: &seq, Type: &name})
}

// hear answers one payload of the client. s.mu is held.
func (s *Server) hear(l *link, data []byte) {
	now := time.Now()
	l.sent = append(l.sent, now)
	for now.Sub(l.sent[0]) > time.Minute {
		l.sent = l.sent[1:]
	}
	var p struct {
		Op   *int            `json:"op"`
		Data json.RawMessage `json:"d"`
	}
	switch {
	case l.closing != nil || l.deaf:
	case len(l.sent) > payloadsEach:
		l.end(CloseFlooded, "You are being rate limited.")
	case len(data) > maxPayload || json.Unmarshal(data, &p) != nil || p.Op == nil:
		l.end(CloseDecode, "Error while decoding payload.")
	case *p.Op == opHeartbeat:
		s.heartbeat(l, p.Data)
	case *p.Op == opIdentify || *p.Op == opResume:
		if l.session != nil {
			l.end(CloseAlreadyIn, "Already authenticated.")
			return
		}
		if *p.Op == opResume {
			s.resume(l, p.Data)
			return
		}
		s.identify(l, p.Data)
	case l.session == nil:
		l.end(CloseNotAuthenticated, "Not authenticated.")
	case *p.Op == opPresence || *p.Op == opVoice || *p.Op == opMembers:
	default:
		l.end(CloseUnknownOp, "Unknown opcode.")
	}
}

func (s *Server) heartbeat(l *link, data json.RawMessage) {
	var seq *int
	if json.Unmarshal(data, &seq) != nil {
		l.end(CloseDecode, "Error while decoding payload.")
		return
	}
	if seq != nil && l.session != nil && *seq > len(l.session.events) {
		l.end(CloseBadSeq, "Invalid seq.")
		return
	}
	l.beat = time.Now()
	s.gate.beats++
	if s.gate.lostAcks != 0 {
		s.gate.lostAcks--
		return
	}
	l.say(opHeartbeatAck, nil)
}

func (s *Server) identify(l *link, data json.RawMessage) {
	var id identify
	if json.Unmarshal(data, &id) != nil || len(id.Properties) == 0 || id.Intents == nil {
		l.end(CloseDecode, "Error while decoding payload.")
		return
	}
	if id.Shard == nil {
		id.Shard = &[2]int{0, 1}
	}
	now := s.now()
	s.gate.identifies++
	if s.gate.identifies > s.opts.IdentifyBudget {
		s.reset = true // Discord takes the token away, and mails the owner
	}
	last := s.gate.lastIdentify
	s.gate.lastIdentify = now
	switch {
	case s.reset || strings.TrimPrefix(id.Token, "Bot ") != s.opts.Token:
		l.end(CloseBadToken, "Authentication failed.")
	case s.gate.refuse != nil:
		l.end(s.gate.refuse.code, s.gate.refuse.reason)
	case id.Shard[1] < 1 || id.Shard[0] < 0 || id.Shard[0] >= id.Shard[1]:
		l.end(CloseBadShard, "Invalid shard.")
	case id.Shard[1] < s.opts.Shards:
		l.end(CloseShardingRequired, "Sharding required.")
	case *id.Intents&^intentsKnown != 0 || *id.Intents < 0:
		l.end(CloseBadIntents, "Invalid intent(s).")
	case *id.Intents&(intentMembers|intentPresences) != 0 || s.opts.NoMessageContent && *id.Intents&intentMessageContent != 0:
		l.end(CloseForbidden, "Disallowed intent(s).")
	case !last.IsZero() && now.Sub(last) < s.opts.IdentifyEvery:
		l.say(opInvalid, false)
	default:
		s.first(l)
		s.beginSession(l, id)
	}
}

func (s *Server) resume(l *link, data json.RawMessage) {
	var r resume
	if json.Unmarshal(data, &r) != nil {
		l.end(CloseDecode, "Error while decoding payload.")
		return
	}
	if s.reset || strings.TrimPrefix(r.Token, "Bot ") != s.opts.Token {
		l.end(CloseBadToken, "Authentication failed.")
		return
	}
	n := s.resumable(r.Session, r.Seq)
	if s.gate.noResumes != 0 || n == nil {
		if s.gate.noResumes > 0 {
			s.gate.noResumes--
		}
		delete(s.gate.sessions, r.Session)
		s.gate.refused++
		l.say(opInvalid, false)
		return
	}
	if r.Seq > len(n.events) || r.Seq < 0 {
		delete(s.gate.sessions, n.id)
		l.end(CloseBadSeq, "Invalid seq.")
		return
	}
	if n.link != nil {
		n.link.end(CloseUnknown, "fake discord: resumed by another connection")
	}
	s.gate.resumes++
	s.first(l)
	n.link, l.session, l.next, l.resumed = l, n, r.Seq, len(n.events)
	l.stir()
}

// first sends op 7 before anything else, if a test wants that. s.mu is held.
func (s *Server) first(l *link) {
	if s.gate.reconnectFirst == 0 {
		return
	}
	s.gate.reconnectFirst--
	l.held = true
	l.say(opReconnect, nil)
}
