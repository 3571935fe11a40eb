package terminal

import (
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"dragoman/ports"
	"dragoman/tests/channeltest"
)

func TestConformance(t *testing.T) {
	channeltest.Run(t, channeltest.Harness{
		Start: func(ctx context.Context) (channeltest.Platform, error) { return newPlatform(ctx), nil },
	})
}

// platform is a store and the terminals at it. "Send" goes wrong in the store.
type platform struct {
	ctx     context.Context
	end     context.CancelFunc
	mem     *memory
	current atomic.Pointer[Channel]
	people  atomic.Int64
	work    sync.WaitGroup
}

func newPlatform(ctx context.Context) *platform {
	p := &platform{mem: newMemory()}
	p.ctx, p.end = context.WithCancel(ctx)
	return p
}

func (p *platform) Facts() channeltest.Facts { return channeltest.Facts{DropsDoubles: true} }

func (p *platform) Channel(log *slog.Logger) (ports.ChannelPort, error) {
	c, err := New(Deps{Feed: p.mem, Fates: p.mem, Log: log})
	if err == nil {
		p.current.Store(c)
	}
	return c, err
}

func (p *platform) Person(string) (channeltest.Person, error) {
	who := &sitter{platform: p, chat: strconv.FormatInt(p.people.Add(1), 10), queue: make(chan ports.Saying, 100)}
	p.work.Go(who.say)
	return who, nil
}

// Break makes appends fail as a store does.
func (p *platform) Break(what channeltest.Call, how channeltest.Fault, times int) bool {
	if what != channeltest.CallSend || how != channeltest.FaultOutage && how != channeltest.FaultHang {
		return false
	}
	var left atomic.Int64
	left.Store(int64(times))
	p.mem.fail(func(ctx context.Context, op string, act func()) error {
		if op != "append sent" || times >= 0 && left.Add(-1) < 0 {
			act()
			return nil
		}
		if how == channeltest.FaultHang {
			<-ctx.Done()
			return ctx.Err()
		}
		return ports.Errorf(ports.KindUnavailable, "memory append", "the disk is full")
	})
	return true
}

func (p *platform) Close() {
	p.end()
	p.work.Wait()
}

// sitter is somebody at a terminal.
type sitter struct {
	platform *platform
	chat     string
	queue    chan ports.Saying
}

func (s *sitter) ID() string { return s.chat }

func (s *sitter) Say(text string) error {
	s.queue <- ports.Saying{ID: rand.Text(), Text: text}
	return nil
}

func (s *sitter) Press(label string) error {
	lines, err := s.lines()
	if err != nil {
		return err
	}
	for _, l := range slices.Backward(lines) {
		for _, c := range l.Choices {
			if c.Label == label {
				s.queue <- ports.Saying{ID: rand.Text(), Choice: &c, Line: l.Seq}
				return nil
			}
		}
	}
	return fmt.Errorf("no choice %q", label)
}

func (s *sitter) Shows() ([]channeltest.Shown, error) {
	lines, err := s.lines()
	var shown []channeltest.Shown
	for _, l := range lines {
		one := channeltest.Shown{Text: l.Text}
		for _, c := range l.Choices {
			one.Buttons = append(one.Buttons, c.Label)
		}
		shown = append(shown, one)
	}
	return shown, err
}

// lines are the bot's.
func (s *sitter) lines() ([]ports.Line, error) {
	items, err := s.platform.mem.Tail(s.platform.ctx, s.chat, 0, 10_000)
	if err != nil {
		return nil, err
	}
	var lines []ports.Line
	for _, f := range items {
		l, err := line(f)
		if err != nil {
			return nil, err
		}
		if !l.Own {
			lines = append(lines, l)
		}
	}
	return lines, nil
}

// say hands over one after another, each until it is taken.
func (s *sitter) say() {
	for {
		select {
		case <-s.platform.ctx.Done():
			return
		case saying := <-s.queue:
			for !s.try(saying) {
				select {
				case <-s.platform.ctx.Done():
					return
				case <-time.After(50 * time.Millisecond):
				}
			}
		}
	}
}

func (s *sitter) try(saying ports.Saying) bool {
	ctx, cancel := context.WithTimeout(s.platform.ctx, time.Second)
	defer cancel()
	_, err := s.platform.current.Load().Say(ctx, s.chat, saying)
	return err == nil
}
