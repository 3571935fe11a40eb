package linechat

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"sync"

	"dragoman/ports"
	"dragoman/tests/channeltest"
)

const password = "swordfish-1"

// platform is the world around the channel: a port that the kernel chooses, a
// feed in memory, and people with a client of their own.
type platform struct {
	ctx    context.Context
	end    context.CancelFunc
	feed   *memory
	people sync.WaitGroup

	mu      sync.Mutex
	ch      *Channel
	address string // "" while nobody listens
	outages int
	born    int
}

var _ channeltest.Noiser = (*platform)(nil)

func newPlatform(ctx context.Context) *platform {
	p := &platform{feed: &memory{}}
	p.ctx, p.end = context.WithCancel(ctx)
	return p
}

func (p *platform) Facts() channeltest.Facts {
	return channeltest.Facts{Secrets: []string{password}, DropsDoubles: true}
}

func (p *platform) Channel(log *slog.Logger) (ports.ChannelPort, error) {
	ch, err := New(Config{Listen: "127.0.0.1:0", Password: password}, p.feed, log)
	if err != nil {
		return nil, err
	}
	ch.listen = p.listen
	p.mu.Lock()
	defer p.mu.Unlock()
	p.ch = ch
	return ch, nil
}

// listen notes where the channel is to be found.
func (p *platform) listen(ctx context.Context, address string) (net.Listener, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.outages != 0 {
		p.outages = max(p.outages-1, -1)
		return nil, &net.OpError{Op: "listen", Net: "tcp", Err: context.DeadlineExceeded}
	}
	l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	p.address = l.Addr().String()
	return &listener{Listener: l, platform: p}, nil
}

type listener struct {
	net.Listener
	platform *platform
}

func (l *listener) Close() error {
	l.platform.mu.Lock()
	defer l.platform.mu.Unlock()
	l.platform.address = ""
	return l.Listener.Close()
}

func (p *platform) Break(call channeltest.Call, f channeltest.Fault, times int) bool {
	switch {
	case call == channeltest.CallReceive && f == channeltest.FaultOutage:
		p.mu.Lock()
		defer p.mu.Unlock()
		p.outages = times
		return true
	case call == channeltest.CallSend && (f == channeltest.FaultOutage || f == channeltest.FaultHang):
		p.feed.breakAppends(f, times)
		return true
	}
	return false
}

func (p *platform) Close() {
	p.end()
	p.people.Wait()
}

func (p *platform) Person(string) (channeltest.Person, error) {
	p.mu.Lock()
	p.born++
	who := &client{platform: p, name: fmt.Sprint("person-", p.born), changed: make(chan struct{})}
	p.mu.Unlock()
	p.people.Go(who.live)
	return who, nil
}

// Noise is a caller who speaks no language of ours, one who guesses, and one who
// is cut off in the middle of a line.
func (p *platform) Noise() error {
	address := p.where()
	if address == "" {
		return nil
	}
	for _, noise := range []string{"\x16\x03\x01\x00\xff\n", "ann letmein-12\nhello\n", "ann " + password + "\nhel"} {
		conn, err := net.Dial("tcp", address)
		if err != nil {
			return err
		}
		if _, err := conn.Write([]byte(noise)); err != nil {
			return err
		}
		if err := conn.Close(); err != nil {
			return err
		}
	}
	return nil
}

func (p *platform) where() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.address
}

// open lets people in while the kit runs no channel: they read, and say nothing.
func (p *platform) open() (shut func()) {
	p.mu.Lock()
	ch := p.ch
	p.mu.Unlock()
	ctx, cancel := context.WithCancel(p.ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = ch.Run(ctx, deaf{})
	}()
	return func() { cancel(); <-done }
}

// deaf takes nothing.
type deaf struct{}

func (deaf) Receive(context.Context, ports.Batch) error {
	return ports.Errorf(ports.KindUnavailable, "deaf receive", "nothing is taken now")
}

func (deaf) Cursor(context.Context) (string, error) { return "", nil }
