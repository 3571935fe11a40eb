package telegram

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"dragoman/ports"
	"dragoman/tests/channeltest"
	fake "dragoman/tests/fake/telegram"
)

func TestConformanceByWebhook(t *testing.T) {
	channeltest.Run(t, channeltest.Harness{
		Start: func(context.Context) (channeltest.Platform, error) {
			p := &hookPlatform{platform: platform{server: fake.New(fake.Options{WebhookPause: 20 * time.Millisecond})}}
			p.front = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { (*p.hook.Load()).ServeHTTP(w, r) }))
			return p, nil
		},
	})
}

// hookPlatform has its channel's hook at a front that outlives it.
type hookPlatform struct {
	platform
	front *httptest.Server
	hook  atomic.Pointer[http.Handler]
}

func (p *hookPlatform) Channel(log *slog.Logger) (ports.ChannelPort, error) {
	cfg := configOf(p.server)
	cfg.Mode, cfg.Webhook = "webhook", p.front.URL+"/hook/tg"
	c, err := New(cfg, log)
	if err == nil {
		hook := c.Hook()
		p.hook.Store(&hook)
	}
	return c, err
}

// Break does nothing to receiving: it is Telegram that calls.
func (p *hookPlatform) Break(call channeltest.Call, f channeltest.Fault, times int) bool {
	return call != channeltest.CallReceive && p.platform.Break(call, f, times)
}

func (p *hookPlatform) Close() {
	p.platform.Close()
	p.front.Close()
}
