package discord

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"dragoman/ports"
	"dragoman/tests/channeltest"
	fake "dragoman/tests/fake/discord"
)

func TestConformance(t *testing.T) {
	channeltest.Run(t, channeltest.Harness{
		Start: func(context.Context) (channeltest.Platform, error) {
			return &platform{server: fake.New(fake.Options{})}, nil
		},
	})
}

// Routes of the fake that the kit breaks.
const (
	routeSend    = "POST /channels/{channel}/messages"
	routeGateway = "GET /gateway/bot"
)

// platform plays Discord for the kit.
type platform struct{ server *fake.Server }

var (
	_ channeltest.Grouper  = (*platform)(nil)
	_ channeltest.Noiser   = (*platform)(nil)
	_ channeltest.Deleter  = person{}
	_ channeltest.Watcher  = person{}
	_ channeltest.Attacher = person{}
)

func (p *platform) Facts() channeltest.Facts {
	return channeltest.Facts{Secrets: []string{p.server.Token()}, DropsDoubles: true, HidesNewChats: true}
}

func (p *platform) Channel(log *slog.Logger) (ports.ChannelPort, error) {
	c, err := New(configOf(p.server), log)
	return leaving{c, p.server}, err
}

// leaving is a channel whose Run ends once Discord knows that nobody listens: until
// then it takes the next one for listening already.
type leaving struct {
	*Channel
	server *fake.Server
}

func (l leaving) Run(ctx context.Context, in ports.Receiver) error {
	err := l.Channel.Run(ctx, in)
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for l.server.Gateway().Connected > 0 {
		<-tick.C
	}
	return err
}

func (p *platform) Person(name string) (channeltest.Person, error) {
	return person{p.server.User(name), p.server, new(atomic.Bool)}, nil
}

func (p *platform) Break(call channeltest.Call, f channeltest.Fault, times int) bool {
	route := routeSend
	if call == channeltest.CallReceive {
		route = routeGateway
	}
	wide := fake.TooManyRequests(channeltest.RetryAfter.Seconds())
	wide.Global = true
	answers := map[channeltest.Fault]fake.Response{
		channeltest.FaultRateLimit:    fake.TooManyRequests(channeltest.RetryAfter.Seconds()),
		channeltest.FaultWideLimit:    wide,
		channeltest.FaultForbidden:    fake.CannotDM,
		channeltest.FaultGone:         {Status: 404, Code: codeUnknownChannel, Message: "Unknown Channel"},
		channeltest.FaultUnauthorized: fake.Unauthorized,
		channeltest.FaultOutage:       fake.BadGateway,
	}
	switch answer, ok := answers[f]; {
	case ok:
		p.server.Fail(route, times, answer)
	case f == channeltest.FaultCut:
		p.server.Cut(route, times)
	case f == channeltest.FaultHang:
		p.server.Hang(route, times)
	default:
		return false
	}
	return true
}

func (p *platform) Close() { p.server.Close() }

func (p *platform) Group(name string, _ ...channeltest.Person) (channeltest.Group, error) {
	return group{p.server, p.server.Guild(name).Channel("general")}, nil
}

func (p *platform) Noise() error {
	for _, n := range [][2]string{
		{"MESSAGE_CREATE", `"not an object"`},
		{"MESSAGE_CREATE", `{"id":"7","channel_id":"5","content":"from nobody"}`},
		{"MESSAGE_CREATE", `{"id":"8","channel_id":"5","author":null,"content":"from nobody"}`},
		{"MESSAGE_CREATE", `{"id":"9","channel_id":"5","author":{"id":"4","bot":true},"content":"I am a bot"}`},
		{"MESSAGE_UPDATE", `{"id":"9","channel_id":"5","embeds":[{}]}`},
		{"INTERACTION_CREATE", `{"id":"10","type":3,"token":"t","channel_id":"5","user":{"id":"6"},"data":{"custom_id":"not ours"}}`},
		{"INTERACTION_CREATE", `{"id":"11","type":77}`},
		{"UNHEARD_OF", `{}`},
	} {
		p.server.Inject(n[0], json.RawMessage(n[1]))
	}
	return nil
}

type person struct {
	user   *fake.User
	server *fake.Server
	heard  *atomic.Bool
}

func (p person) ID() string { return p.user.ID() }

// Say waits with the first words until somebody listens: of a private chat that
// began before that, Discord never tells.
func (p person) Say(text string) error {
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for end := time.Now().Add(patience); !p.heard.Load() && p.server.Gateway().Connected == 0; <-tick.C {
		if time.Now().After(end) {
			return errors.New("nobody listens")
		}
	}
	p.heard.Store(true)
	p.user.Say(text)
	return nil
}

func (p person) Press(label string) error {
	for _, m := range slices.Backward(p.server.Sent(p.user.DM())) {
		if slices.Contains(m.Buttons(), label) {
			_, err := p.user.Press(p.user.DM(), m.ID, label)
			return err
		}
	}
	return errors.New("no such button")
}

func (p person) Shows() ([]channeltest.Shown, error) {
	var out []channeltest.Shown
	for _, m := range p.server.Sent(p.user.DM()) {
		out = append(out, channeltest.Shown{Text: seen(m.Text), Buttons: m.Buttons()})
	}
	return out, nil
}

// seen is a text as a person reads it.
func seen(text string) string {
	var b strings.Builder
	for _, r := range view(text) {
		b.WriteRune(r.r)
	}
	return b.String()
}

func (p person) DeleteAll() error {
	for _, m := range p.server.Sent(p.user.DM()) {
		p.user.Delete(p.user.DM(), m.ID)
	}
	return nil
}

func (p person) Attach(name string, data []byte) error {
	p.user.Post(p.user.DM(), fake.Post{Files: []fake.File{{Name: name, Content: data}}})
	return nil
}

func (p person) SeesTyping() bool { return p.server.Typings(p.user.DM()) > 0 }

type group struct {
	server *fake.Server
	room   string
}

func (g group) Say(p channeltest.Person, text string) error {
	p.(person).user.SayIn(g.room, text)
	return nil
}

func (g group) Mention(p channeltest.Person, text string) error {
	return g.Say(p, "Hey "+g.server.Mention()+" "+text)
}

func configOf(s *fake.Server) Config {
	return Config{Token: ports.Secret(s.Token()), APIURL: s.URL(), Streaming: "edit"}
}
