package telegram

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"sync"
	"time"

	"dragoman/ports"
)

const (
	// secretHeader proves that a request is Telegram's
	// (https://core.telegram.org/bots/api#setwebhook).
	secretHeader = "X-Telegram-Bot-Api-Secret-Token"
	// maxUpdate bounds one update: far above the longest message with all its entities.
	maxUpdate = 4 << 20
	// bodyTimeout is how long a request may take to bring it.
	bodyTimeout = 10 * time.Second
	// hookEvery is how often it is looked whether Telegram still brings updates to us.
	hookEvery = time.Minute
)

// hook takes in what Telegram brings. Safe for many goroutines.
type hook struct {
	url    string
	secret string

	mu    sync.Mutex
	shift *shift // nil while no Run is at work
}

// shift is a Run that takes updates in.
type shift struct {
	*intake
	ctx     context.Context // ends with Run
	work    sync.WaitGroup
	mu      sync.Mutex
	failing bool

	moving sync.Mutex // held while what was learned of moves is stored
	cursor int64      // of the poll before
	moved  int        // how much was learned of moves before what is stored
}

// newHook makes the secret of the token: both sides keep it, nothing has to be
// stored, and who knows the token needs no secret any more.
func newHook(cfg Config) *hook {
	mac := hmac.New(sha256.New, []byte(cfg.Token.Reveal()))
	mac.Write([]byte("webhook"))
	return &hook{url: cfg.Webhook, secret: hex.EncodeToString(mac.Sum(nil))}
}

// Hook implements ports.Hooker. An update is answered with 200 once it is stored;
// with anything else Telegram brings it again.
func (c *Channel) Hook() http.Handler {
	if c.hook == nil {
		return nil
	}
	return c.hook
}

// ServeHTTP takes one update in.
func (h *hook) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		http.Error(w, "updates are posted", http.StatusMethodNotAllowed)
		return
	}
	given := sha256.Sum256([]byte(r.Header.Get(secretHeader)))
	want := sha256.Sum256([]byte(h.secret))
	if subtle.ConstantTimeCompare(given[:], want[:]) != 1 {
		http.Error(w, "wrong secret", http.StatusUnauthorized)
		return
	}
	patience := http.NewResponseController(w)
	_ = patience.SetReadDeadline(time.Now().Add(bodyTimeout)) // where the server can
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxUpdate))
	_ = patience.SetReadDeadline(time.Time{}) // else it would end the request while the store works
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		http.Error(w, "too large", http.StatusRequestEntityTooLarge)
		return
	case err != nil || !json.Valid(body):
		http.Error(w, "not an update", http.StatusBadRequest)
		return
	}
	s := h.enter()
	if s == nil {
		http.Error(w, "not ready", http.StatusServiceUnavailable)
		return
	}
	defer s.work.Done()
	if err := s.take(r.Context(), body); err != nil {
		http.Error(w, "not stored", http.StatusInternalServerError)
	}
}

// enter counts a request in; nil while no Run is at work. Call Done.
func (h *hook) enter() *shift {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.shift != nil {
		h.shift.work.Add(1)
	}
	return h.shift
}

// begin lets requests in, until the end of the shift, which waits for them. cursor
// is where a poll would go on.
func (h *hook) begin(ctx context.Context, t *intake, cursor int64) (end func()) {
	ctx, cancel := context.WithCancel(ctx)
	s := &shift{intake: t, ctx: ctx, cursor: cursor, moved: t.channel.moves.learned()}
	h.mu.Lock()
	h.shift = s
	h.mu.Unlock()
	return func() {
		h.mu.Lock()
		h.shift = nil
		h.mu.Unlock()
		cancel()
		s.work.Wait()
	}
}

// take stores an update. One of which nothing can be made counts as taken: it
// would come again and again, and hold up its chat.
func (s *shift) take(ctx context.Context, body []byte) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(s.ctx, cancel)()
	b := s.batch([]json.RawMessage{body})
	err := s.store(ctx, b)
	if ctx.Err() != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if was := s.failing; err != nil || was {
		s.failing = err != nil
		s.report(err)
	}
	if err != nil {
		s.log.Warn("telegram_receive_failed", "kind", ports.KindOf(err), "err", err)
	}
	return err
}

// store delivers an update. Chats are brought side by side and none stands for those
// before it, so that the cursor stays, unless there is news of moves to be kept in it.
func (s *shift) store(ctx context.Context, b received) error {
	b.Cursor = ""
	s.moving.Lock()
	n := s.channel.moves.learned()
	if n == s.moved {
		s.moving.Unlock()
		return s.deliver(ctx, s.ctx, b)
	}
	defer s.moving.Unlock()
	b.Cursor = s.channel.moves.cursor(s.cursor)
	err := s.deliver(ctx, s.ctx, b)
	if err == nil {
		s.moved = n
	}
	return err
}

// serve is Run with a webhook.
func (p *poller) serve(ctx context.Context) error {
	if err := p.each(ctx, p.loadCursor, p.whoAmI); err != nil {
		return err
	}
	end := p.channel.hook.begin(ctx, p.intake, p.cursor)
	defer end()
	if err := p.each(ctx, p.setHook); err != nil {
		return err
	}
	tick := time.NewTicker(hookEvery)
	defer tick.Stop()
	seen := time.Now() // of what Telegram had to say of deliveries
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
		var now webhookInfo
		err := p.persist(ctx, func(ctx context.Context) (err error) {
			now, err = p.channel.webhookInfo(ctx)
			return err
		})
		if err != nil {
			return err
		}
		if err := p.watch(ctx, now, seen); err != nil {
			return err
		}
		seen = time.Now()
	}
}

// watch sets the webhook again where somebody took it away, and tells the admin
// what keeps Telegram from bringing updates.
func (p *poller) watch(ctx context.Context, now webhookInfo, since time.Time) error {
	if now.URL != p.channel.hook.url {
		p.log.Warn("telegram_webhook_lost", "now", host(now.URL))
		return p.each(ctx, p.setHook)
	}
	failed := now.ErrorDate > since.Unix() && now.Pending > 0
	switch was := p.stuck; {
	case failed, was && now.Pending > 0: // Telegram tries again ever more seldom: no news is no good news
		p.stuck = true
		err := ports.Errorf(ports.KindUnavailable, "telegram webhook", "Telegram cannot bring updates: %s", now.Error)
		if failed {
			p.log.Warn("telegram_webhook_failing", "pending", now.Pending, "err", err)
		}
		p.report(err)
	case was:
		p.stuck = false
		p.report(nil)
		p.log.Info("telegram_receive_recovered")
	}
	return nil
}

type webhookParams struct {
	URL     string   `json:"url"`
	Secret  string   `json:"secret_token"`
	Allowed []string `json:"allowed_updates"`
}

func (p *poller) setHook(ctx context.Context) error {
	h := p.channel.hook
	params := webhookParams{URL: h.url, Secret: h.secret, Allowed: wanted[:]}
	err := p.channel.api.post(ctx, "setWebhook", meTimeout, params, nil)
	if err == nil {
		p.log.Info("telegram_webhook_set", "host", host(h.url))
	}
	return wrap("telegram setWebhook", refusedToken(err))
}

// unhook takes away the webhook of an earlier life, which would keep all updates
// from a poll. What waits at Telegram stays there.
func (c *Channel) unhook(ctx context.Context) error {
	err := c.api.post(ctx, "deleteWebhook", meTimeout, struct{}{}, nil)
	return wrap("telegram deleteWebhook", refusedToken(err))
}

// webhookInfo is https://core.telegram.org/bots/api#webhookinfo.
type webhookInfo struct {
	URL       string `json:"url"`
	Pending   int    `json:"pending_update_count"`
	ErrorDate int64  `json:"last_error_date"`
	Error     string `json:"last_error_message"`
}

func (c *Channel) webhookInfo(ctx context.Context) (webhookInfo, error) {
	var info webhookInfo
	err := c.api.post(ctx, "getWebhookInfo", meTimeout, struct{}{}, &info)
	return info, wrap("telegram getWebhookInfo", refusedToken(err))
}

// holder is where the bot's webhook leads to; "" if there is none, or it cannot be told.
func (c *Channel) holder(ctx context.Context) string {
	info, err := c.webhookInfo(ctx)
	if err != nil {
		return ""
	}
	return host(info.URL)
}

// host is the part of a webhook's URL that is no secret.
func host(hook string) string {
	u, err := url.Parse(hook)
	if err != nil {
		return ""
	}
	return u.Host
}
