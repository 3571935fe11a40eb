package telegram

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"dragoman/ports"
	fake "dragoman/tests/fake/telegram"
)

func TestSendIntoTopicAndReply(t *testing.T) {
	s := set(t, fake.Options{})
	ann, team := s.server.User(7, "Ann"), s.server.Group(-100, "Team")
	topic := team.Topic()
	asked := ann.SayInTopic(team, topic, "@"+s.server.Username()+" what now?")
	s.run()
	m := s.await(1)[0]
	if !m.Addressed || m.In.Thread != fmt.Sprint(topic) {
		t.Fatalf("got %+v", m)
	}
	for _, reply := range []ports.MessageID{m.ID, "-100/999", "5/1", "nonsense"} {
		out := ports.Outgoing{In: m.In, Content: ports.Content{Text: "this"}, ReplyTo: reply}
		if _, err := s.ch.Send(t.Context(), out); err != nil {
			t.Errorf("a reply to %q: %v", reply, err)
		}
	}
	sent := s.server.Sent(-100)[1:] // the first made the topic
	if len(sent) != 4 || sent[0].Thread != topic || sent[0].ReplyTo != asked || sent[1].ReplyTo != 0 {
		t.Errorf("sent %+v", sent)
	}
}

func TestLinksDoNotUnfold(t *testing.T) {
	s := set(t, fake.Options{})
	s.server.User(7, "Ann").Say("hello")
	id, err := s.ch.Send(t.Context(), text(7, "https://example.org"))
	if err != nil || s.server.Sent(7)[0].Preview {
		t.Errorf("sent %+v, %v", s.server.Sent(7), err)
	}
	if err := s.ch.Edit(t.Context(), id, text(7, "https://example.com")); err != nil || s.server.Sent(7)[0].Preview {
		t.Errorf("edited to %+v, %v", s.server.Sent(7), err)
	}
}

func TestSendFaults(t *testing.T) {
	s := set(t, fake.Options{})
	ann := s.server.User(7, "Ann")
	ann.Say("hello")
	s.server.Group(-100, "Team")
	tests := []struct {
		name string
		out  ports.Outgoing
		want ports.Kind
	}{
		{"unknown chat", text(999, "x"), ports.KindNotFound},
		{"never wrote", text(s.server.User(8, "Bob").ID(), "x"), ports.KindForbidden},
		{"nothing to say", text(7, " \n "), ports.KindInvalid},
		{"unknown topic", ports.Outgoing{In: ports.Conversation{Chat: "-100", Thread: "77"}, Content: ports.Content{Text: "x"}}, ports.KindNotFound},
	}
	for _, test := range tests {
		if _, err := s.ch.Send(t.Context(), test.out); !ports.IsKind(err, test.want) {
			t.Errorf("%s: %v, kind %v, want %v", test.name, err, ports.KindOf(err), test.want)
		}
	}
	ann.Block()
	if _, err := s.ch.Send(t.Context(), text(7, "x")); !ports.IsKind(err, ports.KindForbidden) || !strings.Contains(err.Error(), "the person blocked the bot") {
		t.Errorf("blocked: %v", err)
	}
}

func TestNobodyAtTheOtherEnd(t *testing.T) {
	s := set(t, fake.Options{})
	s.server.Close()
	_, err := s.ch.Send(t.Context(), text(7, "x"))
	if !ports.IsKind(err, ports.KindTemporary) {
		t.Errorf("kind %v (%v): nothing can have been sent", ports.KindOf(err), err)
	}
	if strings.Contains(err.Error(), s.server.Token()) {
		t.Errorf("the token is in %q", err)
	}
}

func TestTokenNeverShows(t *testing.T) {
	token := "1:very-secret"
	quoting := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case strings.HasSuffix(r.URL.Path, "sendMessage"):
			http.Redirect(w, r, "/elsewhere"+r.URL.Path, http.StatusTemporaryRedirect)
		case strings.HasSuffix(r.URL.Path, "editMessageText"):
			w.WriteHeader(http.StatusBadRequest)
			_, _ = fmt.Fprintf(w, `{"ok":false,"error_code":400,"description":"no route %s"}`, r.URL.Path)
		default:
			t.Errorf("unexpected request for %s", r.URL.Path)
		}
	}))
	defer quoting.Close()
	c, err := New(Config{Token: ports.Secret(token), APIURL: quoting.URL, Mode: "poll"}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	defer c.api.http.CloseIdleConnections()
	_, sent := c.Send(t.Context(), text(7, "x"))
	if !ports.IsKind(sent, ports.KindTemporary) {
		t.Errorf("a redirect: %v", sent)
	}
	for _, err := range []error{sent, c.Edit(t.Context(), "7/1", text(7, "x"))} {
		if shown := fmt.Sprintf("%v %+v %#v", err, err, errors.Unwrap(err)); err == nil || strings.Contains(shown, token) {
			t.Errorf("the token is in %q", shown)
		}
	}
}

func TestSendsDoNotWaitForOneAnother(t *testing.T) {
	s := set(t, fake.Options{})
	s.server.User(7, "Ann").Say("hello")
	s.server.Delay("sendMessage", time.Second)
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			if _, err := s.ch.Send(t.Context(), text(7, "x")); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	if n := s.server.Peak("sendMessage"); n < 2 {
		t.Errorf("at most %d sends were under way at once; they must not wait for one another", n)
	}
}
