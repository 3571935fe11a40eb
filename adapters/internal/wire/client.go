package wire

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/url"
	"time"

	"dragoman/ports"
)

// Options are what a Client is made of.
type Options struct {
	Op        string            // of its errors, as "openai chat"
	Name      string            // of the model, for the log
	Endpoint  *url.URL          // what is posted to
	Key       ports.Secret      // what errors must not tell; the Header holds it
	Header    http.Header       // sent with each request, beside those of the wire
	Mark      string            // what the provider calls the end of a reply, as "finish_reason"
	Transport http.RoundTripper // nil: one of its own
	Limits    Limits
}

// Client asks one model behind one endpoint. Safe for many goroutines.
type Client struct {
	o      Options
	client *http.Client
	slots  chan struct{} // one element per request under way
	log    *slog.Logger
}

// NewClient makes a Client. It does no I/O; the Limits were checked.
func NewClient(o Options, log *slog.Logger) *Client {
	if o.Transport == nil {
		transport := http.DefaultTransport.(*http.Transport).Clone()
		transport.MaxIdleConnsPerHost = min(o.Limits.MaxConcurrency, transport.MaxIdleConns)
		o.Transport = transport
	}
	return &Client{
		o:      o,
		client: &http.Client{Transport: o.Transport, CheckRedirect: sameOrigin},
		slots:  make(chan struct{}, o.Limits.MaxConcurrency),
		log:    log.With(slog.String("model", o.Name)),
	}
}

// ParseBase reads a base_url, and says what is wrong with it.
func ParseBase(text string) (*url.URL, error) {
	base, err := url.Parse(text)
	switch {
	case err != nil || base.Host == "" || (base.Scheme != "http" && base.Scheme != "https"):
		return nil, errors.New("base_url is not an http(s) URL")
	case base.User != nil:
		return nil, errors.New("base_url carries a user or a password: use api_key")
	}
	return base, nil
}

// Reader makes a reply of the events of one answer. It serves one answer, and
// one goroutine.
type Reader interface {
	// Read takes an event, whose data is valid until it returns. io.EOF says that
	// nothing that follows is of interest; another error ends the answer: one of
	// Broken, Failed or Declined.
	Read(e Event) error
	// Full reports whether the reply is larger than any can be. A Draft has it.
	Full() bool
	// Reply is the whole reply; false as long as the provider has not marked its
	// end. It is called once, after the last event.
	Reply() (reply ports.ModelReply, ended bool, err error)
}

// Generate makes one reply: it posts the body and has the answer read. Its
// deadlines start once it is its turn among MaxConcurrency; until then ctx alone
// bounds the wait. An error of body is KindInternal.
func (c *Client) Generate(ctx context.Context, body func() ([]byte, error), to Reader) (ports.ModelReply, error) {
	if err := c.acquire(ctx); err != nil {
		return ports.ModelReply{}, c.wrap(ctx, err)
	}
	defer c.release()

	ctx, cancel := context.WithTimeoutCause(ctx, c.o.Limits.Timeout, errTotal)
	defer cancel()
	ctx, watch := watchSilence(ctx, c.o.Limits.IdleTimeout)
	defer watch.stop()

	start := time.Now()
	reply, err := c.ask(ctx, watch, body, to)
	if err != nil {
		return ports.ModelReply{}, c.wrap(ctx, err)
	}
	c.log.DebugContext(ctx, "model_replied",
		slog.Duration("dur", time.Since(start)),
		slog.String("stop", string(reply.Stop)),
		slog.Int("calls", len(reply.Calls)),
		slog.Int("input", reply.Usage.Input),
		slog.Int("output", reply.Usage.Output))
	return reply, nil
}

func (c *Client) acquire(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	select {
	case c.slots <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (c *Client) release() { <-c.slots }
