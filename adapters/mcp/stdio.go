package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mark3labs/mcp-go/client/transport"
	"github.com/mark3labs/mcp-go/mcp"
)

const (
	// outQueue is how many messages may wait for a child that is slow to read.
	outQueue = 16
	// maxServing is how many requests of a server are worked on at a time.
	maxServing = 8
	// lastWords is how long output may trail behind a child's end; more comes
	// only from a descendant that left the group and holds the pipe open.
	lastWords = 300 * time.Millisecond
	// dying is how long a child that has closed its output may take to be gone: on a
	// busy machine its end is seen some time after that of its pipes.
	dying = time.Second
)

// stdio is JSON-RPC in lines over the pipes of a child (MCP basic/transports,
// "stdio"). mcp-go's own stdio transport writes without a deadline while it
// holds a lock, reads lines without a bound, and passes our environment on.
type stdio struct {
	callbacks
	cfg    Config
	mark   *Mark // set before Start, as trace is; both may be nil
	trace  *wire
	stderr *tail
	proc   *process
	out    chan frame
	wg     sync.WaitGroup

	errsRead chan struct{} // closed when the child's stderr has been read to its end

	lost    chan struct{}
	stopped context.CancelFunc // ends the requests that are being served
	serving chan struct{}

	mu      sync.Mutex
	err     error
	pending map[int64]chan outcome
	noise   int
	oddLine string
	flood   flood
}

// outcome is what came of a request: an answer, or why there is none to give.
type outcome struct {
	response *transport.JSONRPCResponse
	err      error
}

// frame is a line to write. It is skipped if its sender left before its turn,
// or took it back. A frame without a claim belongs to the writer.
type frame struct {
	line  []byte
	left  <-chan struct{}
	claim *claim
}

// claim settles between the sender and the writer of a frame whether the server
// may have seen it. Once the sender has withdrawn it, it is never written.
type claim struct{ taken atomic.Bool }

func (c *claim) write() bool    { return c == nil || c.taken.CompareAndSwap(false, true) }
func (c *claim) withdraw() bool { return c.taken.CompareAndSwap(false, true) }

// unwritten gives the frame back: not a byte of it left.
func (c *claim) unwritten() {
	if c != nil {
		c.taken.Store(false)
	}
}

var _ link = (*stdio)(nil)

func newStdio(cfg Config, log *slog.Logger) *stdio {
	return &stdio{
		callbacks: callbacks{log: log},
		cfg:       cfg,
		stderr:    &tail{redact: cfg.redactor()},
		out:       make(chan frame, outQueue),
		errsRead:  make(chan struct{}),
		lost:      make(chan struct{}),
		stopped:   func() {},
		serving:   make(chan struct{}, maxServing),
		pending:   make(map[int64]chan outcome),
	}
}

// Start starts the child. ctx does not bound its life.
func (s *stdio) Start(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	proc, err := startProcess(s.cfg.Command, s.cfg.Args, s.cfg.environ(), s.cfg.Cwd, s.mark.next(), s.log)
	if err != nil {
		return &lostError{reason: err.Error(), cause: err}
	}
	s.proc = proc
	life, stopped := context.WithCancel(context.WithoutCancel(ctx))
	s.stopped = stopped
	s.wg.Go(func() { s.read(life) })
	s.wg.Go(func() { defer close(s.errsRead); s.readStderr() })
	s.wg.Go(s.write)
	s.wg.Go(s.watch)
	return nil
}

// SendRequest sends one request and waits for its answer. A request that ctx
// ended before it was written is not written any more. A lostError says whether
// the server may have seen the request.
func (s *stdio) SendRequest(ctx context.Context, r transport.JSONRPCRequest) (*transport.JSONRPCResponse, error) {
	id, line, err := encodeRequest(r)
	if err != nil {
		return nil, err
	}
	answer := make(chan outcome, 1)
	s.mu.Lock()
	s.pending[id] = answer
	s.mu.Unlock()
	defer func() {
		s.mu.Lock()
		delete(s.pending, id)
		s.mu.Unlock()
	}()
	claim := new(claim)
	if err := s.send(ctx, frame{line: line, left: ctx.Done(), claim: claim}); err != nil {
		return nil, err
	}
	select {
	case a := <-answer:
		return a.response, a.err
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-s.lost:
	}
	select { // an answer that came with the last words counts
	case a := <-answer:
		return a.response, a.err
	default:
		return nil, s.lostAfter(claim)
	}
}

// SendNotification queues a notification, in order with the requests.
func (s *stdio) SendNotification(ctx context.Context, n mcp.JSONRPCNotification) error {
	line, err := json.Marshal(n)
	if err != nil {
		return fmt.Errorf("encode %s: %w", n.Method, err)
	}
	return s.send(ctx, frame{line: line})
}

// GetSessionId is "": stdio has no sessions.
func (s *stdio) GetSessionId() string { return "" }

// SetPulse is not needed: the end of a child is seen.
func (s *stdio) SetPulse(func(context.Context) error) {}

// Lost is closed when the connection is over.
func (s *stdio) Lost() <-chan struct{} { return s.lost }

// Err says why the connection is over.
func (s *stdio) Err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}

// Stderr is what the child printed last.
func (s *stdio) Stderr() ([]string, int) { return s.stderr.last() }

// Close ends the child and waits for it and for every goroutine of the link. A
// child that answers to the end of its input is not signalled.
func (s *stdio) Close() error {
	if s.proc == nil {
		s.fail("the connection was not made", nil)
		return nil
	}
	healthy := s.fail("the connection was closed", nil)
	err := s.proc.stop(healthy)
	s.proc.closeOutputs()
	if err != nil {
		return err // waiting for what the kernel cannot end would hold up everybody
	}
	s.wg.Wait()
	return nil
}

// Noise says what came on stdout that was not JSON-RPC.
func (s *stdio) Noise() (lines int, first string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.noise, s.oddLine
}

func (s *stdio) send(ctx context.Context, f frame) error {
	f.line = append(f.line, '\n')
	select {
	case <-s.lost:
		return s.Err()
	default:
	}
	select {
	case s.out <- f:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-s.lost:
		return s.Err()
	}
}

// lostAfter is Err for the sender of a frame.
func (s *stdio) lostAfter(c *claim) error {
	if c.withdraw() {
		return s.Err()
	}
	return &lostError{reason: s.Err().Error(), cause: s.Err(), sent: true}
}

// fail ends the connection for the reason given, and reports whether it was the first to.
func (s *stdio) fail(reason string, cause error) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err != nil {
		return false
	}
	s.err = &lostError{reason: reason, cause: cause}
	close(s.lost)
	s.stopped()
	return true
}

// hungUp fails the connection that the child ended: by its death, if it is
// dying, else by closing the pipe. The last words of the dead belong to the state.
func (s *stdio) hungUp(reason string, cause error) {
	if s.proc.gone(dying) {
		<-s.errsRead
		reason = "the process ended: " + s.proc.ending()
	}
	s.fail(reason, cause)
}

// write writes the queue. One line may take as long as a call: a server may be
// slow to read while it works.
func (s *stdio) write() {
	for {
		select {
		case <-s.lost:
			return
		case f := <-s.out:
			if isClosed(f.left) || !f.claim.write() {
				continue
			}
			if !s.writeLine(f) {
				return
			}
		}
	}
}

func (s *stdio) writeLine(f frame) bool {
	written := 0
	err := s.proc.stdin.SetWriteDeadline(time.Now().Add(s.cfg.CallTimeout))
	if err == nil {
		written, err = s.proc.stdin.Write(f.line)
	}
	if err == nil {
		s.trace.line(outwards, f.line)
		return true
	}
	if written == 0 {
		f.claim.unwritten()
	}
	switch {
	case brokenPipe(err):
		s.hungUp("the server closed its input", err)
	default:
		s.fail(fmt.Sprintf("the server did not read its input for %s", s.cfg.CallTimeout), err)
	}
	return false
}

// watch lets the readers come to an end when the child is gone, even if
// somebody else holds the pipes open.
func (s *stdio) watch() {
	<-s.proc.exited
	soon := time.Now().Add(lastWords)
	_ = s.proc.stdout.SetReadDeadline(soon)
	_ = s.proc.stderr.SetReadDeadline(soon)
}

func (s *stdio) readStderr() {
	lines := newLineReader(s.proc.stderr, 4*maxLineText, true)
	for {
		line, err := lines.next()
		if err != nil {
			return
		}
		s.stderr.add(string(line))
	}
}

// read takes what the child says until its output ends. It goes on while the
// link is being closed, so that the child is not stuck in a write; a child that
// was given up for what it wrote is not read any more.
func (s *stdio) read(life context.Context) {
	lines := newLineReader(s.proc.stdout, s.cfg.MaxMessageBytes, false)
	for {
		line, err := lines.next()
		switch {
		case err == nil:
			s.trace.line(inwards, line)
			if s.take(life, line); s.flooded() {
				return
			}
		case errors.Is(err, errLineTooLong):
			if !s.takeLong(lines) {
				return
			}
		default:
			s.hungUp("the server closed its output", err)
			return
		}
	}
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
