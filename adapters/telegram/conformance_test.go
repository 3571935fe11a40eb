package telegram

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"strconv"
	"sync/atomic"
	"testing"

	"dragoman/ports"
	"dragoman/tests/channeltest"
	fake "dragoman/tests/fake/telegram"
)

func TestConformance(t *testing.T) {
	channeltest.Run(t, channeltest.Harness{
		Start: func(context.Context) (channeltest.Platform, error) {
			return &platform{server: fake.New(fake.Options{})}, nil
		},
	})
}

// platform plays Telegram for the kit.
type platform struct {
	server *fake.Server
	people atomic.Int64
}

var (
	_ channeltest.Grouper  = (*platform)(nil)
	_ channeltest.Noiser   = (*platform)(nil)
	_ channeltest.Deleter  = person{}
	_ channeltest.Watcher  = person{}
	_ channeltest.Viewer   = person{}
	_ channeltest.Attacher = person{}
)

func (p *platform) Facts() channeltest.Facts {
	return channeltest.Facts{Secrets: []string{p.server.Token()}}
}

func (p *platform) Channel(log *slog.Logger) (ports.ChannelPort, error) {
	return New(configOf(p.server), log)
}

func (p *platform) Person(name string) (channeltest.Person, error) {
	return person{p.server.User(1000+p.people.Add(1), name), p.server}, nil
}

func (p *platform) Break(call channeltest.Call, f channeltest.Fault, times int) bool {
	method := "sendMessage"
	if call == channeltest.CallReceive {
		method = "getUpdates"
	}
	answers := map[channeltest.Fault]fake.Response{
		channeltest.FaultRateLimit:    fake.TooManyRequests(int(channeltest.RetryAfter.Seconds())),
		channeltest.FaultWideLimit:    fake.TooManyRequests(int(channeltest.RetryAfter.Seconds())), // a chat that was quiet is not what is limited
		channeltest.FaultForbidden:    fake.Blocked,
		channeltest.FaultGone:         fake.ChatNotFound,
		channeltest.FaultUnauthorized: fake.Unauthorized,
		channeltest.FaultOutage:       fake.BadGateway,
	}
	switch answer, ok := answers[f]; {
	case ok:
		p.server.Fail(method, times, answer)
	case f == channeltest.FaultCut:
		p.server.Cut(method, times)
	case f == channeltest.FaultHang:
		p.server.Hang(method, times)
	default:
		return false
	}
	return true
}

func (p *platform) Close() { p.server.Close() }

func (p *platform) Group(name string, _ ...channeltest.Person) (channeltest.Group, error) {
	return group{p.server.Group(-100_000, name), p.server}, nil
}

func (p *platform) Noise() error {
	p.server.Raw("message", `"not an object"`)
	p.server.Raw("callback_query", `{"id":"1","from":{"id":5,"first_name":"X"},"data":"not ours"}`)
	p.server.Raw("message", `{"message_id":7,"chat":{"id":-5,"type":"channel"},"date":1,"text":"from nobody"}`)
	p.server.Raw("message", `{"message_id":8,"from":{"id":6,"is_bot":true},"chat":{"id":-5,"type":"group"},"date":1,"text":"I am a bot"}`)
	return nil
}

type person struct {
	user   *fake.User
	server *fake.Server
}

func (p person) ID() string { return strconv.FormatInt(p.user.ID(), 10) }

func (p person) Say(text string) error {
	p.user.Say(text)
	return nil
}

func (p person) Press(label string) error {
	for _, m := range slices.Backward(p.server.Sent(p.user.ID())) {
		if slices.Contains(m.Buttons(), label) {
			return p.user.Press(m.ID, label)
		}
	}
	return errors.New("no such button")
}

func (p person) Shows() ([]channeltest.Shown, error) {
	var out []channeltest.Shown
	for _, m := range p.server.Sent(p.user.ID()) {
		out = append(out, channeltest.Shown{Text: m.Text, Buttons: m.Buttons()})
	}
	return out, nil
}

func (p person) DeleteAll() error {
	for _, m := range p.server.Sent(p.user.ID()) {
		p.server.Delete(p.user.ID(), m.ID)
	}
	return nil
}

func (p person) SeesTyping() bool { return p.server.Typing(p.user.ID()) > 0 }

type group struct {
	group  *fake.Group
	server *fake.Server
}

func (g group) Say(p channeltest.Person, text string) error {
	p.(person).user.SayIn(g.group, text)
	return nil
}

func (g group) Mention(p channeltest.Person, text string) error {
	return g.Say(p, "Hey @"+g.server.Username()+" "+text)
}

func configOf(s *fake.Server) Config {
	return Config{Token: ports.Secret(s.Token()), APIURL: s.URL(), Mode: "poll"}
}

func (p person) Attach(name string, data []byte) error {
	p.user.Post(fake.Post{File: fake.Document(name, "", data)})
	return nil
}

func (p person) Files() ([]channeltest.ShownFile, error) {
	var out []channeltest.ShownFile
	for _, m := range p.server.Sent(p.user.ID()) {
		if m.File != nil {
			out = append(out, channeltest.ShownFile{Name: m.File.Name, Data: m.File.Data, Text: m.Text})
		}
	}
	return out, nil
}
