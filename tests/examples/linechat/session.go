package linechat

import (
	"bufio"
	"context"
	"crypto/rand"
	"crypto/subtle"
	"net"
	"regexp"
	"strings"
	"sync"
	"time"

	"dragoman/ports"
)

const (
	loginTime    = 30 * time.Second
	guessPause   = time.Second // a wrong password costs as much
	writeTimeout = 10 * time.Second
	storeTimeout = 10 * time.Second
	reread       = 3 * time.Second // another process may have sent, or a look at the feed failed
	recent       = 20              // messages shown to who comes in
)

var nameForm = regexp.MustCompile(`^[A-Za-z0-9_-]{1,32}$`)

func isName(s string) bool { return nameForm.MatchString(s) }

// session is one connection. All writing to it is done by one goroutine.
type session struct {
	channel *Channel
	conn    net.Conn
	in      ports.Receiver
	lines   chan said     // what the person says; closed when they are gone
	wake    chan struct{} // the feed has something new
	typing  chan struct{} // an answer is being made

	name     string
	id       string // begins its messages' events
	count    int    // of its messages
	seen     int64  // the last feed item shown; < 0: so many from the end
	thinking bool   // stands there already
}

// host keeps a connection until ctx ends or its person leaves.
func (c *Channel) host(ctx context.Context, conn net.Conn, in ports.Receiver) {
	s := &session{channel: c, conn: conn, in: in, id: rand.Text(), seen: -recent,
		lines: make(chan said), wake: make(chan struct{}, 1), typing: make(chan struct{}, 1)}
	var reading sync.WaitGroup
	over := make(chan struct{})
	reading.Go(func() { s.read(over) })
	err := s.talk(ctx)
	close(over)
	_ = conn.Close() // also ends the reading
	reading.Wait()
	c.log.Debug("linechat_session_ended", "user", s.name, "err", err)
}

// read hands over what the person says, until they leave or the session is over.
func (s *session) read(over <-chan struct{}) {
	defer close(s.lines)
	in := bufio.NewReader(s.conn)
	for {
		m, err := readSaid(in)
		if err != nil {
			return
		}
		select {
		case s.lines <- m:
		case <-over:
			return
		}
	}
}

// talk is the whole conversation. It ends with the first write that fails.
func (s *session) talk(ctx context.Context) error {
	if err := s.login(ctx); err != nil {
		return err
	}
	defer s.channel.enter(s)() // before the first look, so that nothing falls between
	if err := s.news(ctx); err != nil {
		return err
	}
	if err := s.note(`hello %s: say something (a line that ends with \ goes on in the next)`, s.name); err != nil {
		return err
	}
	again := time.NewTicker(reread)
	defer again.Stop()
	for {
		var err error
		select {
		case <-ctx.Done():
			return s.note("the gateway stops: come back later")
		case m, ok := <-s.lines:
			if !ok {
				return nil
			}
			err = s.take(ctx, m)
		case <-s.wake:
			err = s.news(ctx)
		case <-again.C:
			err = s.news(ctx)
		case <-s.typing:
			err = s.think()
		}
		if err != nil {
			return err
		}
	}
}

func (s *session) login(ctx context.Context) error {
	if err := s.note("who are you? NAME PASSWORD"); err != nil {
		return err
	}
	late := time.NewTimer(loginTime)
	defer late.Stop()
	var first said
	select {
	case <-ctx.Done():
		return wrap("login", ctx.Err())
	case <-late.C:
		_ = s.note("too late: come again")
		return ports.Errorf(ports.KindTimeout, "linechat login", "no name and password within %v", loginTime)
	case first = <-s.lines: // empty when they are gone
	}
	name, password, _ := strings.Cut(first.text, " ")
	if !isName(name) || subtle.ConstantTimeCompare([]byte(password), []byte(s.channel.cfg.Password.Reveal())) != 1 {
		sleep(ctx, guessPause)
		_ = s.note("no: a name has 1 to 32 of A-Z a-z 0-9 _ -, and the password must be right")
		return ports.Errorf(ports.KindUnauthorized, "linechat login", "wrong name or password")
	}
	s.name = name
	return nil
}
