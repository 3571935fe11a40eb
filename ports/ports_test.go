package ports_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"dragoman/ports"
)

func TestASecretIsNeverPrinted(t *testing.T) {
	s := ports.Secret("sk-very-secret")
	config := struct{ Key ports.Secret }{s}
	var log bytes.Buffer
	slog.New(slog.NewJSONHandler(&log, nil)).Info("config", "key", s, "config", config)
	body, err := json.Marshal(config)
	if err != nil {
		t.Fatal(err)
	}
	for _, shown := range []string{fmt.Sprint(s), fmt.Sprintf("%v %+v %#v %q %s", s, config, config, s, s), log.String(), string(body)} {
		if strings.Contains(shown, "very-secret") {
			t.Errorf("printed: %s", shown)
		}
	}
	if s.Reveal() != "sk-very-secret" {
		t.Error("Reveal does not give it")
	}
}

func TestKindOf(t *testing.T) {
	cause := errors.New("cause")
	limited := &ports.Error{Kind: ports.KindRateLimited, Op: "send", RetryAfter: time.Second, Err: cause}
	for _, c := range []struct {
		err  error
		want ports.Kind
	}{
		{limited, ports.KindRateLimited},
		{fmt.Errorf("wrapped: %w", limited), ports.KindRateLimited},
		{ports.Errorf(ports.KindUnsure, "send", "%w", limited), ports.KindUnsure},
		{fmt.Errorf("x: %w", context.Canceled), ports.KindCancelled},
		{context.DeadlineExceeded, ports.KindTimeout},
		{cause, ports.KindInternal},
	} {
		if got := ports.KindOf(c.err); got != c.want {
			t.Errorf("%v is %s, want %s", c.err, got, c.want)
		}
	}
	body, err := json.Marshal(map[string]ports.Kind{"kind": ports.KindUnsure})
	var back map[string]ports.Kind
	if err != nil || string(body) != `{"kind":"unsure"}` || json.Unmarshal(body, &back) != nil || back["kind"] != ports.KindUnsure {
		t.Errorf("a kind is written %s and read %v (%v)", body, back, err)
	}
	if !errors.Is(limited, cause) || ports.RetryAfter(fmt.Errorf("x: %w", limited)) != time.Second {
		t.Error("the cause or the time to wait is lost")
	}
	if ports.IsKind(nil, ports.KindInternal) {
		t.Error("no error has a kind")
	}
}

func TestConversationsHaveDistinctNames(t *testing.T) {
	seen := map[string]ports.Conversation{}
	for _, c := range []ports.Conversation{
		{Channel: "a", Chat: "b"}, {Channel: "a", Chat: "b", Thread: "c"}, {Channel: "a", Chat: "b:c"}, {Channel: "a:b", Chat: "c"},
		{Channel: "a", Chat: "b#1"}, {Channel: "a", Chat: "b/1"}, {Channel: "a", Chat: "-100"},
	} {
		if other, twice := seen[c.String()]; twice {
			t.Errorf("%+v and %+v are both %s", c, other, c)
		}
		seen[c.String()] = c
		turn := ports.TurnID(c, 7)
		if got := ports.TurnOf(ports.DeliveryID(turn, 2, 0)); got != turn {
			t.Errorf("a delivery of turn %s is taken for one of %q", turn, got)
		}
	}
	if a, b := ports.Ref("chat:ann#1"), ports.Ref("chat:ann#2"); len(a) != 6 || a == b || a != ports.Ref("chat:ann#1") || ports.Ref("") != "" {
		t.Errorf("the references of two turns are %q and %q", a, b)
	}
	var log bytes.Buffer
	lines := slog.New(slog.NewJSONHandler(&log, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}}))
	lines.Info("a", ports.TurnAttr("chat:ann#1"))
	lines.Info("b", ports.TurnAttr(""))
	want := fmt.Sprintf("{\"level\":\"INFO\",\"msg\":\"a\",\"turn\":\"chat:ann#1\",\"ref\":%q}\n{\"level\":\"INFO\",\"msg\":\"b\"}\n", ports.Ref("chat:ann#1"))
	if log.String() != want {
		t.Errorf("log lines of a turn and of none are\n%swant\n%s", &log, want)
	}
	if got := ports.TurnOf("notice:code/a:b/X/0/0"); got != "" {
		t.Errorf("a notice is taken for a delivery of turn %q", got)
	}
}

func TestACommandEndsWhereItsNameDoes(t *testing.T) {
	for text, want := range map[string][2]string{
		"/new":                   {"new", ""},
		" /New  hello \n there ": {"new", "hello \n there"},
		"/new\nhello":            {"new", "hello"},
		"/stop\tnow":             {"stop", "now"},
		"/stop\r\nplease":        {"stop", "please"},
	} {
		if name, args, ok := ports.ParseCommand(text); !ok || name != want[0] || args != want[1] {
			t.Errorf("%q is %q with %q (%v), want %q", text, name, args, ok, want)
		}
	}
	for _, text := range []string{"", "/", "//", "/ new", "/\nnew", "/new@other", "/etc/passwd", "new", "a /new"} {
		if name, _, ok := ports.ParseCommand(text); ok {
			t.Errorf("%q is the command %q", text, name)
		}
	}
}
