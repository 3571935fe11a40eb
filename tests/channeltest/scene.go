package channeltest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/pprof"
	"strconv"
	"strings"
	"sync"
	"time"

	"dragoman/ports"
)

// defaultPatience is Harness.Patience unless it is set.
const defaultPatience = 45 * time.Second

// scene is one platform with one channel and one inbox, as a rule plays on it.
type scene struct {
	Platform
	ctx   context.Context
	ch    ports.ChannelPort
	inbox *Inbox
	book  *logbook
	stop  func() error // of the Run in progress, or nil
	sends int

	patience time.Duration // for what must happen
	soon     time.Duration // for what must happen soon
}

// play sets up a scene for check, and takes it down.
func play(check func(*scene) error) func(context.Context, Harness) error {
	return func(ctx context.Context, h Harness) (err error) {
		p, err := h.Start(ctx)
		if err != nil {
			return fmt.Errorf("the harness cannot start its platform: %w", err)
		}
		defer p.Close()
		s := &scene{Platform: p, ctx: ctx, inbox: &Inbox{}, book: &logbook{}, patience: h.Patience}
		if s.patience == 0 {
			s.patience = defaultPatience
		}
		s.soon = s.patience / 3
		if err := s.restart(); err != nil {
			return err
		}
		defer func() {
			if e := s.halt(); err == nil {
				err = e
			}
		}()
		return check(s)
	}
}

// restart makes a new channel, as a new process would.
func (s *scene) restart() error {
	if err := s.halt(); err != nil {
		return err
	}
	ch, err := s.Channel(slog.New(slog.NewTextHandler(s.book, &slog.HandlerOptions{Level: slog.LevelDebug})))
	if err != nil {
		return fmt.Errorf("the channel cannot be made: %w", err)
	}
	s.ch = ch
	return nil
}

// run starts Run.
func (s *scene) run() {
	ctx, cancel := context.WithCancel(s.ctx)
	label := fmt.Sprintf("run-%p-%d", s, time.Now().UnixNano())
	done := make(chan error, 1)
	go pprof.Do(ctx, pprof.Labels("channeltest", label), func(ctx context.Context) { done <- s.ch.Run(ctx, s.inbox) })
	s.stop = func() error {
		cancel()
		select {
		case err := <-done:
			if err != nil && !errors.Is(err, context.Canceled) {
				return fmt.Errorf("Run returned %v when its context ended; want nil or the context's error", err)
			}
		case <-time.After(s.soon):
			return fmt.Errorf("Run still runs %v after its context ended", s.soon)
		}
		if err := s.fewer(label, 1); err != nil {
			return fmt.Errorf("Run has ended: %w", err)
		}
		return nil
	}
}

// halt ends the Run in progress and checks that it ended well.
func (s *scene) halt() error {
	stop := s.stop
	if stop == nil {
		return nil
	}
	s.stop = nil
	return stop()
}

// fewer waits until less than limit goroutines with this label, which children
// inherit, are left.
func (s *scene) fewer(label string, limit int) error {
	deadline := time.Now().Add(s.soon)
	for {
		n, dump := labelled(label)
		if n < limit {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("%d goroutines that it started outlive it:\n%s", n, dump)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// labelled counts goroutines by profiler label.
func labelled(label string) (int, string) {
	var profile bytes.Buffer
	_ = pprof.Lookup("goroutine").WriteTo(&profile, 1)
	n, dump := 0, ""
	for _, group := range strings.Split(profile.String(), "\n\n") {
		if !strings.Contains(group, label) {
			continue
		}
		for _, line := range strings.Split(group, "\n") {
			if count, _, ok := strings.Cut(line, " @ "); ok {
				k, _ := strconv.Atoi(strings.TrimSpace(count))
				n += k
			}
		}
		dump += group + "\n"
	}
	return n, dump
}

// await waits for n messages in all.
func (s *scene) await(n int) ([]ports.Message, error) {
	ctx, cancel := context.WithTimeout(s.ctx, s.patience)
	defer cancel()
	return s.inbox.Await(ctx, n)
}

// meet is a person who said something that came through: now the kit knows the conversation.
func (s *scene) meet(name string) (Person, ports.Message, error) {
	who, err := s.Person(name)
	if err != nil {
		return nil, ports.Message{}, err
	}
	if s.stop == nil {
		s.run()
	}
	n := len(s.inbox.Messages())
	if err := who.Say("Hello from " + name); err != nil {
		return nil, ports.Message{}, err
	}
	all, err := s.await(n + 1)
	if err != nil {
		return nil, ports.Message{}, err
	}
	return who, all[n], nil
}

// out is a message to post, with a nonce of its own.
func (s *scene) out(in ports.Conversation, text string, choices ...ports.Choice) ports.Outgoing {
	s.sends++
	return ports.Outgoing{
		In: in, Content: ports.Content{Text: text, Choices: choices}, Nonce: "turn/1/" + strconv.Itoa(s.sends),
	}
}

// send posts a text and reports an error in words.
func (s *scene) send(in ports.Conversation, text string, choices ...ports.Choice) (ports.MessageID, error) {
	ctx, cancel := context.WithTimeout(s.ctx, s.patience)
	defer cancel()
	id, err := s.ch.Send(ctx, s.out(in, text, choices...))
	switch {
	case err != nil:
		return "", fmt.Errorf("Send failed: %w", err)
	case id == "":
		return "", errors.New("Send returned no id")
	}
	return id, nil
}

// shows waits until a private chat shows what ok accepts.
func (s *scene) shows(who Person, ok func([]Shown) bool) error {
	deadline := time.Now().Add(s.soon)
	for {
		got, err := who.Shows()
		switch {
		case err != nil:
			return err
		case ok(got):
			return nil
		case time.Now().After(deadline) || s.ctx.Err() != nil:
			return fmt.Errorf("the chat shows %s", brief(got))
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// brief prints what a chat shows, long texts cut.
func brief(all []Shown) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d messages", len(all))
	for _, m := range all {
		fmt.Fprintf(&b, "; %q %q", short(m.Text), m.Buttons)
	}
	return b.String()
}

func short(text string) string {
	if len(text) <= 80 {
		return text
	}
	return fmt.Sprintf("%s… (%d bytes)", strings.ToValidUTF8(text[:80], ""), len(text))
}

// showsTexts waits until a chat shows exactly these texts.
func (s *scene) showsTexts(who Person, want ...string) error {
	err := s.shows(who, func(got []Shown) bool {
		if len(got) != len(want) {
			return false
		}
		for i := range got {
			if got[i].Text != want[i] {
				return false
			}
		}
		return true
	})
	if err != nil {
		var texts []string
		for _, text := range want {
			texts = append(texts, short(text))
		}
		return fmt.Errorf("%w; want %q", err, texts)
	}
	return nil
}

// classified checks that an error is what an adapter must return.
func classified(err error, kinds ...ports.Kind) error {
	if err == nil {
		return fmt.Errorf("there was no error; want %v", kinds)
	}
	ok := false
	for _, k := range kinds {
		ok = ok || ports.KindOf(err) == k
	}
	if !ok {
		return fmt.Errorf("the error's kind is %v, want %v: %v", ports.KindOf(err), kinds, err)
	}
	return nil
}

// logbook keeps what a channel logs. Safe for many goroutines.
type logbook struct {
	mu    sync.Mutex
	lines bytes.Buffer
}

func (l *logbook) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.lines.Write(p)
}

func (l *logbook) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.lines.String()
}

// awaitRefused waits for n refused batches.
func (s *scene) awaitRefused(n int) error {
	ctx, cancel := context.WithTimeout(s.ctx, s.patience)
	defer cancel()
	return s.inbox.AwaitRefused(ctx, n)
}
