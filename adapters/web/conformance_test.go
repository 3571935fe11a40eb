package web

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/net/html"

	"dragoman/ports"
	"dragoman/tests/channeltest"
)

func TestConformance(t *testing.T) {
	channeltest.Run(t, channeltest.Harness{
		Start: func(ctx context.Context) (channeltest.Platform, error) { return newPlatform(ctx), nil },
	})
}

// platform is the web chat as the kit sees it: a store, and browsers that post
// as the page does. "Send" goes wrong in the store.
type platform struct {
	ctx     context.Context
	end     context.CancelFunc
	mem     *memory
	server  *httptest.Server
	current atomic.Pointer[Channel]
	posters sync.WaitGroup
	closed  sync.Once
}

func newPlatform(ctx context.Context) *platform {
	p := &platform{mem: newMemory()}
	p.ctx, p.end = context.WithCancel(ctx)
	p.server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p.current.Load().Handler().ServeHTTP(w, r)
	}))
	return p
}

func (p *platform) Facts() channeltest.Facts { return channeltest.Facts{DropsDoubles: true} }

func (p *platform) Channel(log *slog.Logger) (ports.ChannelPort, error) {
	c, err := New(Config{}, Deps{Feed: p.mem, Records: p.mem, Log: log})
	if err == nil {
		p.current.Store(c)
	}
	return c, err
}

func (p *platform) Person(string) (channeltest.Person, error) {
	token, user, err := sessions{records: p.mem}.open(p.ctx)
	if err != nil {
		return nil, err
	}
	who := &visitor{platform: p, user: user, token: token, queue: make(chan call, 100)}
	p.posters.Go(who.post)
	return who, nil
}

// Break makes appends fail as a store does.
func (p *platform) Break(what channeltest.Call, how channeltest.Fault, times int) bool {
	kinds := map[channeltest.Fault]ports.Kind{
		channeltest.FaultOutage: ports.KindUnavailable,
		channeltest.FaultHang:   ports.KindTimeout,
	}
	kind, ok := kinds[how]
	if what != channeltest.CallSend || !ok {
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
		return ports.Errorf(kind, "memory append", "the disk is full")
	})
	return true
}

func (p *platform) Close() {
	p.closed.Do(func() {
		p.end()
		p.posters.Wait()
		p.server.Close()
	})
}

type call struct{ path, body string }

// visitor is a person with the page open.
type visitor struct {
	platform    *platform
	user, token string
	queue       chan call
	last        atomic.Int64
}

func (v *visitor) ID() string { return v.user }

func (v *visitor) Say(text string) error {
	return v.enqueue("/api/messages", map[string]string{"id": v.id(), "text": text})
}

func (v *visitor) Press(label string) error {
	lines, err := v.lines()
	if err != nil {
		return err
	}
	for _, line := range slices.Backward(lines) {
		for _, c := range line.Choices {
			if c.Label == label {
				return v.enqueue("/api/press", map[string]string{
					"id": v.id(), "message": line.ID, "question": c.Question, "field": c.Field, "value": c.Value,
				})
			}
		}
	}
	return fmt.Errorf("no button %q", label)
}

func (v *visitor) Shows() ([]channeltest.Shown, error) {
	lines, err := v.lines()
	if err != nil {
		return nil, err
	}
	var shown []channeltest.Shown
	for _, line := range lines {
		s := channeltest.Shown{Text: line.Text}
		if line.HTML != "" {
			s.Text = textOf(line.HTML)
		}
		for _, c := range line.Choices {
			s.Buttons = append(s.Buttons, c.Label)
		}
		shown = append(shown, s)
	}
	return shown, nil
}

// lines are the bot's, after all edits, as view.js makes them of the feed.
func (v *visitor) lines() ([]item, error) {
	stored, err := v.platform.mem.Tail(v.platform.ctx, v.user, 0, 10_000)
	if err != nil {
		return nil, err
	}
	var lines []item
	for _, f := range stored {
		it, err := newItem(v.user, f)
		if err != nil {
			return nil, err
		}
		switch it.Kind {
		case kindBot:
			lines = append(lines, it)
		case kindEdit:
			at := slices.IndexFunc(lines, func(l item) bool { return l.ID == it.ID })
			if at < 0 {
				return nil, errors.New("an edit of no message")
			}
			lines[at].entry = it.entry
		}
	}
	return lines, nil
}

func (v *visitor) id() string { return fmt.Sprint("c", v.last.Add(1)) }

func (v *visitor) enqueue(path string, body map[string]string) error {
	v.queue <- call{path: path, body: encode(body)}
	return nil
}

// post sends one after another, each until it is taken, as outbox.js does.
func (v *visitor) post() {
	for {
		select {
		case <-v.platform.ctx.Done():
			return
		case c := <-v.queue:
			for !v.try(c) {
				select {
				case <-v.platform.ctx.Done():
					return
				case <-time.After(50 * time.Millisecond):
				}
			}
		}
	}
}

func (v *visitor) try(c call) bool {
	r, err := http.NewRequestWithContext(v.platform.ctx, http.MethodPost, v.platform.server.URL+c.path, strings.NewReader(c.body))
	if err != nil {
		return false
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	r.AddCookie(&http.Cookie{Name: cookieName, Value: v.token})
	resp, err := v.platform.server.Client().Do(r)
	if err != nil {
		return false
	}
	defer resp.Body.Close()
	return resp.StatusCode == http.StatusAccepted
}

// textOf is a fragment as a person reads it.
func textOf(fragment string) string {
	var b strings.Builder
	z := html.NewTokenizer(strings.NewReader(fragment))
	for {
		switch z.Next() {
		case html.ErrorToken:
			return strings.TrimSpace(b.String())
		case html.TextToken:
			b.Write(z.Text())
		}
	}
}
