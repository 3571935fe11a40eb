package linechat

import (
	"bufio"
	"errors"
	"net"
	"strings"
	"sync"
	"time"

	"dragoman/tests/channeltest"
)

// client is a person who keeps a line open, and says again what was not taken.
// Its screen holds what came since the line was opened last.
type client struct {
	platform *platform
	name     string

	mu       sync.Mutex
	queue    []string // not taken yet
	screen   []string // messages of the bot
	welcome  bool     // the line is open, and all of the past has been shown
	thinking bool
	changed  chan struct{} // closed at the next change
}

func (c *client) ID() string { return c.name }

func (c *client) Say(text string) error {
	c.change(func() { c.queue = append(c.queue, text) })
	return nil
}

func (c *client) Press(string) error { return errors.New("there are no buttons") }

// Shows is the screen, once there is a line.
func (c *client) Shows() ([]channeltest.Shown, error) {
	if c.platform.where() == "" {
		defer c.platform.open()()
		if !c.await(func() bool { return c.welcome }) {
			return nil, errors.New("the line cannot be opened")
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	var out []channeltest.Shown
	for _, text := range c.screen {
		out = append(out, channeltest.Shown{Text: text})
	}
	return out, nil
}

func (c *client) SeesTyping() bool { return c.await(func() bool { return c.thinking }) }

// change changes the client's state and wakes who waits for it.
func (c *client) change(do func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	do()
	close(c.changed)
	c.changed = make(chan struct{})
}

// await waits for a condition, which is called under the lock.
func (c *client) await(ok func() bool) bool {
	late := time.NewTimer(5 * time.Second)
	defer late.Stop()
	for {
		c.mu.Lock()
		done, changed := ok(), c.changed
		c.mu.Unlock()
		if done {
			return true
		}
		select {
		case <-changed:
		case <-late.C:
			return false
		case <-c.platform.ctx.Done():
			return false
		}
	}
}

// live opens the line again and again.
func (c *client) live() {
	for c.platform.ctx.Err() == nil {
		if address := c.platform.where(); address != "" {
			if conn, err := net.Dial("tcp", address); err == nil {
				c.chat(conn)
				c.change(func() { c.welcome = false })
			}
		}
		sleep(c.platform.ctx, 5*time.Millisecond)
	}
}

// chat is one line, until it breaks.
func (c *client) chat(conn net.Conn) {
	var writing sync.WaitGroup
	over, taken := make(chan struct{}), make(chan struct{}, 1)
	defer writing.Wait()
	defer close(over)
	defer conn.Close()
	writing.Go(func() {
		select {
		case <-c.platform.ctx.Done():
			conn.Close()
		case <-over:
		}
	})
	in := bufio.NewScanner(conn)
	in.Buffer(nil, 1<<20)
	for in.Scan() {
		text := in.Text()
		switch {
		case strings.HasPrefix(text, "* who are you"):
			c.change(func() { c.screen = nil })
			if _, err := conn.Write([]byte(c.name + " " + password + "\n")); err != nil {
				return
			}
		case strings.HasPrefix(text, "* hello"):
			c.change(func() { c.welcome = true })
			writing.Go(func() { c.talk(conn, taken, over) })
		case text == "* ok":
			c.change(func() { c.queue = c.queue[min(1, len(c.queue)):] })
			select {
			case taken <- struct{}{}:
			case <-c.platform.ctx.Done():
			}
		case text == "* thinking":
			c.change(func() { c.thinking = true })
		case strings.HasPrefix(text, "< "):
			c.change(func() { c.screen = append(c.screen, text[2:]) })
		case strings.HasPrefix(text, "  "):
			c.change(func() { c.screen[len(c.screen)-1] += "\n" + text[2:] })
		}
	}
}

// talk says what is in the queue, one message after the other was taken.
func (c *client) talk(conn net.Conn, taken, over <-chan struct{}) {
	for {
		c.mu.Lock()
		next, changed := "", c.changed
		if len(c.queue) > 0 {
			next = c.queue[0]
		}
		c.mu.Unlock()
		wait := changed
		if next != "" {
			wait = nil
			if _, err := conn.Write([]byte(strings.ReplaceAll(next, "\n", "\\\n") + "\n")); err != nil {
				return
			}
		}
		select {
		case <-wait:
		case <-taken:
		case <-over:
			return
		}
	}
}
