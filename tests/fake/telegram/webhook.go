package telegram

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// The header that carries the secret of a webhook.
const secretHeader = "X-Telegram-Bot-Api-Secret-Token"

const (
	hookConnections = 40 // at once, unless max_connections says otherwise
	hookPause       = time.Second
	hookTimeout     = time.Minute
	hookSlower      = 5 // how often a pause doubles
)

// webhook delivers updates to the bot. All but the constant fields are guarded by Server.mu.
//
// As Telegram does, it delivers the updates of one chat one after the other, and
// those of different chats side by side. An update whose answer is not 2xx stays
// and is tried again, later each time; the other chats go on.
type webhook struct {
	url, secret string
	target      string // where requests really go; "" = nowhere
	max         int
	certificate bool
	stop        context.CancelFunc

	wake      chan struct{} // holds one token
	open      int
	lanes     map[int64]*lane // by chat
	lastError string
	lastDate  int64
}

// lane is a chat with a delivery in progress or a pause after one that failed.
type lane struct {
	busy  bool
	fails int
	next  time.Time
}

// Delivery is one request that a webhook got.
type Delivery struct {
	Update int64
	Chat   int64
	Status int   // 0: no answer
	Err    error // why there was none
}

// ServeHooksAt names the server ("http://127.0.0.1:8080") that stands behind the
// host of every webhook, as a reverse proxy with a certificate would have it.
// It counts from the next setWebhook on. Without it only a webhook on
// this machine is called, which may be plain HTTP on any port, as with a local Bot API server.
func (s *Server) ServeHooksAt(base string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.proxy = strings.TrimSuffix(base, "/")
}

// Deliveries are all requests that webhooks got, in the order of their answers.
func (s *Server) Deliveries() []Delivery {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.delivered)
}

var secretToken = regexp.MustCompile(`^[A-Za-z0-9_-]{1,256}$`)

func (s *Server) setWebhook(ctx context.Context, p params) reply {
	s.mu.Lock()
	defer s.mu.Unlock()
	if p.form["url"] == "" {
		return s.unhook(p)
	}
	h := &webhook{
		url: p.form["url"], secret: p.form["secret_token"], max: hookConnections, certificate: p.has("certificate"),
		wake: make(chan struct{}, 1), lanes: map[int64]*lane{},
	}
	if n := p.int("max_connections"); p.has("max_connections") {
		if n < 1 || n > 100 {
			return badRequest("fake telegram: max_connections is not of 1 to 100")
		}
		h.max = int(n)
	}
	if h.secret != "" && !secretToken.MatchString(h.secret) {
		return badRequest("secret token contains unallowed characters")
	}
	var no *reply
	if h.target, no = s.route(h.url); no != nil {
		return *no
	}
	if no := s.allow(p.form["allowed_updates"]); no != nil {
		return *no
	}
	if s.hook != nil {
		s.hook.stop()
	}
	if p.form["drop_pending_updates"] == "true" {
		s.queue = nil
	}
	s.endPoll(conflictSet)
	s.hook = h
	ctx, h.stop = context.WithCancel(context.WithoutCancel(ctx))
	s.idle.Go(func() { s.runHook(ctx, h) })
	return reply{OK: true, Result: true, Description: "Webhook was set"}
}

// route is where requests for a webhook go.
func (s *Server) route(hook string) (string, *reply) {
	no := func(why string) (string, *reply) {
		a := badRequest("bad webhook: " + why)
		return "", &a
	}
	u, err := url.Parse(hook)
	if err != nil || u.Host == "" {
		return no("Failed to parse webhook URL")
	}
	ip := net.ParseIP(u.Hostname())
	switch {
	case ip != nil && ip.IsLoopback():
		return hook, nil
	case u.Scheme != "https":
		return no("An HTTPS URL must be provided for webhook")
	case !slices.Contains([]string{"", "80", "88", "443", "8443"}, u.Port()):
		return no("Webhook can be set up only on ports 80, 88, 443 or 8443")
	case s.proxy == "":
		return "", nil
	}
	return s.proxy + u.RequestURI(), nil
}

func (s *Server) deleteWebhook(_ context.Context, p params) reply {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.unhook(p)
}

// unhook ends the webhook. s.mu is held.
func (s *Server) unhook(p params) reply {
	what := "Webhook is already deleted"
	if s.hook != nil {
		s.hook.stop()
		s.hook = nil
		what = "Webhook was deleted"
	}
	if p.form["drop_pending_updates"] == "true" {
		s.queue = nil
	}
	return reply{OK: true, Result: true, Description: what}
}

// webhookInfo is https://core.telegram.org/bots/api#webhookinfo.
type webhookInfo struct {
	URL         string   `json:"url"`
	Certificate bool     `json:"has_custom_certificate"`
	Pending     int      `json:"pending_update_count"`
	Address     string   `json:"ip_address,omitempty"`
	ErrorDate   int64    `json:"last_error_date,omitempty"`
	Error       string   `json:"last_error_message,omitempty"`
	Max         int      `json:"max_connections,omitempty"`
	Allowed     []string `json:"allowed_updates,omitempty"`
}

func (s *Server) getWebhookInfo(context.Context, params) reply {
	s.mu.Lock()
	defer s.mu.Unlock()
	info := webhookInfo{Pending: len(s.queue), Allowed: s.kinds()}
	if h := s.hook; h != nil {
		info.URL, info.Certificate, info.Address, info.Max = h.url, h.certificate, "127.0.0.1", h.max
		info.Error, info.ErrorDate = h.lastError, h.lastDate
	}
	return result(info)
}

// poke has the webhook look at the queue. s.mu is held.
func (h *webhook) poke() {
	if h == nil {
		return
	}
	select {
	case h.wake <- struct{}{}:
	default:
	}
}

// runHook starts deliveries until ctx ends.
func (s *Server) runHook(ctx context.Context, h *webhook) {
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-h.wake:
		case <-timer.C:
		}
		if next := s.startDeliveries(ctx, h); !next.IsZero() {
			timer.Reset(time.Until(next))
		}
	}
}

// startDeliveries starts what may start now. It returns when a pause ends; zero: none waits.
func (s *Server) startDeliveries(ctx context.Context, h *webhook) (next time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if ctx.Err() != nil {
		return next
	}
	now := time.Now()
	seen := map[int64]bool{}
	for _, u := range s.queue {
		if seen[u.chat] || h.open >= h.max {
			continue
		}
		seen[u.chat] = true
		l := h.lanes[u.chat]
		if l == nil {
			l = &lane{}
			h.lanes[u.chat] = l
		}
		switch {
		case l.busy:
		case l.next.After(now):
			if next.IsZero() || l.next.Before(next) {
				next = l.next
			}
		default:
			l.busy = true
			h.open++
			s.handOut([]update{u})
			s.idle.Go(func() { s.deliver(ctx, h, l, u) })
		}
	}
	return next
}

// deliver tries one update once, and notes what came of it.
func (s *Server) deliver(ctx context.Context, h *webhook, l *lane, u update) {
	status, wait, err := s.request(ctx, h, u.body)
	s.mu.Lock()
	defer s.mu.Unlock()
	h.open--
	l.busy = false
	defer h.poke()
	if ctx.Err() != nil {
		return
	}
	s.delivered = append(s.delivered, Delivery{u.id, u.chat, status, err})
	if err == nil && status >= 200 && status < 300 {
		l.fails = 0
		s.queue = slices.DeleteFunc(s.queue, func(other update) bool { return other.id == u.id })
		return
	}
	h.lastDate = time.Now().Unix()
	h.lastError = "Wrong response from the webhook: " + strconv.Itoa(status) + " " + http.StatusText(status)
	if err != nil {
		h.lastError = err.Error()
	}
	if wait <= 0 {
		wait = s.opts.WebhookPause << min(l.fails, hookSlower)
	}
	l.fails++
	l.next = time.Now().Add(wait)
}

// request sends an update. wait is the answer's Retry-After.
func (s *Server) request(ctx context.Context, h *webhook, body json.RawMessage) (status int, wait time.Duration, err error) {
	if h.target == "" {
		return 0, 0, errors.New("Connection refused")
	}
	ctx, cancel := context.WithTimeout(ctx, s.opts.WebhookTimeout)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, h.target, bytes.NewReader(body))
	if err != nil {
		return 0, 0, err
	}
	req.Header.Set("Content-Type", "application/json")
	if h.secret != "" {
		req.Header.Set(secretHeader, h.secret)
	}
	res, err := s.client.Do(req)
	if err != nil {
		if ctx.Err() != nil {
			return 0, 0, errors.New("Read timeout expired")
		}
		return 0, 0, err
	}
	defer func() { _ = res.Body.Close() }()
	_, _ = io.Copy(io.Discard, io.LimitReader(res.Body, 1<<20))
	after, _ := strconv.Atoi(res.Header.Get("Retry-After"))
	return res.StatusCode, time.Duration(after) * time.Second, nil
}
