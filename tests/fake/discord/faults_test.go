package discord

import (
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"
)

func TestARouteFailsIsCutHangsAndIsMended(t *testing.T) {
	s := start(t, Options{})
	dm := s.User("ann").DM()
	path := "/channels/" + dm + "/messages"
	const body = `{"content":"x","nonce":"1","enforce_nonce":true}`
	s.Fail(CreateMessage, 1, TooManyRequests(1.5))
	a := ask(t, s, "POST", path, body)
	if a.status != 429 || a.header.Get("Retry-After") != "2" || !strings.Contains(string(a.body), `"retry_after":1.5`) {
		t.Errorf("%d %s", a.status, a.body)
	}
	s.Fail(CreateMessage, 1, BadGateway)
	if a := ask(t, s, "POST", path, body); a.status != 502 || len(s.Sent(dm)) != 0 {
		t.Errorf("%d", a.status)
	}
	s.Cut(CreateMessage, 1)
	req, err := http.NewRequestWithContext(t.Context(), "POST", s.URL()+"/api/v10"+path, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("User-Agent", "DiscordBot (x, 1)")
	req.Header.Set("Authorization", "Bot "+s.Token())
	req.Header.Set("Content-Type", "application/json")
	if res, err := http.DefaultClient.Do(req); err == nil {
		_ = res.Body.Close()
		t.Error("a connection that was cut answered")
	}
	if sent := s.Sent(dm); len(sent) != 1 {
		t.Fatalf("what was cut had no effect: %+v", sent)
	}
	if a := ask(t, s, "POST", path, body); a.status != 200 || a.ID != s.Sent(dm)[0].ID || len(s.Sent(dm)) != 1 {
		t.Errorf("the nonce after the cut: %d %s", a.status, a.body)
	}
	s.Fail(Typing, -1, MissingAccess)
	for range 3 {
		if a := ask(t, s, "POST", "/channels/"+dm+"/typing", ""); !a.is(403, 50001) {
			t.Errorf("%d %s", a.status, a.body)
		}
	}
	s.Mend(Typing)
	if a := ask(t, s, "POST", "/channels/"+dm+"/typing", ""); a.status != 204 || s.Typings(dm) != 1 || s.Calls(Typing) != 4 {
		t.Errorf("%d, %d typings, %d calls", a.status, s.Typings(dm), s.Calls(Typing))
	}
	s.Hang(ListMessages, 1)
	client := &http.Client{Timeout: 50 * time.Millisecond}
	defer client.CloseIdleConnections()
	req, err = http.NewRequestWithContext(t.Context(), "GET", s.URL()+"/api/v10"+path, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("User-Agent", "DiscordBot (x, 1)")
	req.Header.Set("Authorization", "Bot "+s.Token())
	if res, err := client.Do(req); err == nil {
		_ = res.Body.Close()
		t.Error("what hangs answered")
	}
	defer func() {
		if recover() == nil {
			t.Error("a route that is none was taken")
		}
	}()
	s.Fail("GET /nothing", 1, BadGateway)
}

func TestARouteHasItsOwnLimitAndSaysSo(t *testing.T) {
	limited := make(chan string, 10)
	s := start(t, Options{PerRoute: Rate{2, time.Hour}, Watch: Watch{Limited: func(route string) { limited <- route }}})
	ann, bob := s.User("ann").DM(), s.User("bob").DM()
	post := func(ch string) got { return ask(t, s, "POST", "/channels/"+ch+"/messages", `{"content":"x"}`) }
	if a := post(ann); a.status != 200 || a.header.Get("X-RateLimit-Remaining") != "1" || a.header.Get("X-RateLimit-Bucket") == "" {
		t.Errorf("%d %v", a.status, a.header)
	}
	post(ann)
	a := post(ann)
	if a.status != 429 || a.header.Get("X-RateLimit-Scope") != "user" || !strings.Contains(string(a.body), `"global":false`) || len(limited) != 1 {
		t.Errorf("%d %s", a.status, a.body)
	}
	if a := post(bob); a.status != 200 {
		t.Errorf("another channel: %d", a.status)
	}
	if a := ask(t, s, "POST", "/channels/"+ann+"/typing", ""); a.status != 204 {
		t.Errorf("another route: %d", a.status)
	}
	s.Advance(time.Hour)
	if a := post(ann); a.status != 200 || s.Invalid() != 1 {
		t.Errorf("later: %d, %d held against the bot", a.status, s.Invalid())
	}
}

func TestAllRoutesTogetherHaveALimitButInteractions(t *testing.T) {
	s := start(t, Options{Overall: Rate{2, time.Hour}})
	ann, question := asked(t, s)
	ask(t, s, "GET", "/users/@me", "")
	a := ask(t, s, "GET", "/users/@me", "")
	if a.status != 429 || a.header.Get("X-RateLimit-Global") != "true" || !strings.Contains(string(a.body), `"global":true`) {
		t.Errorf("%d %s", a.status, a.body)
	}
	if a := answer(t, s, press(t, ann, question), `{"type":6}`); a.status != 204 {
		t.Errorf("%d %s", a.status, a.body)
	}
}

func TestAFloodEndsByItself(t *testing.T) {
	s := start(t, Options{})
	ann, bob := s.User("ann").DM(), s.User("bob").DM()
	post := func(ch string) got { return ask(t, s, "POST", "/channels/"+ch+"/messages", `{"content":"x"}`) }
	const d = time.Hour
	for how, headers := range map[Telling]string{TellAll: "3600 0", TellBody: " ", TellHeader: "3600 "} {
		s.Flood(ann, d, how)
		a := post(ann)
		// A minute may have gone by on a machine that is busy.
		if after, err := strconv.Atoi(a.header.Get("Retry-After")); err == nil && after > 3540 && after < 3600 {
			a.header.Set("Retry-After", "3600")
		}
		if got := a.header.Get("Retry-After") + " " + a.header.Get("X-RateLimit-Remaining"); a.status != 429 || got != headers {
			t.Errorf("%v: %d with headers %q", how, a.status, got)
		}
		if strings.Contains(string(a.body), `"retry_after":3`) != (how != TellHeader) {
			t.Errorf("%v: the body is %s", how, a.body)
		}
		if a := post(bob); a.status != 200 {
			t.Errorf("another channel: %d", a.status)
		}
		if n := s.Refused(ann); n != 1 {
			t.Errorf("%d were refused", n)
		}
		s.Advance(d)
		if a := post(ann); a.status != 200 {
			t.Errorf("%v: after its time it goes on: %d", how, a.status)
		}
	}
	s.Flood("", d, TellAll)
	if a := post(bob); a.status != 429 || a.header.Get("X-RateLimit-Global") != "true" || s.Refused("") != 1 {
		t.Errorf("%d %s %v", a.status, a.body, a.header)
	}
}

func TestWhatPassesIsWatched(t *testing.T) {
	type shown struct {
		text   string
		edited bool
	}
	var texts []shown
	calls := map[string]int{}
	s := start(t, Options{Watch: Watch{
		Called: func(route string) { calls[route]++ },
		Shown:  func(_, text string, edited bool) { texts = append(texts, shown{text, edited}) },
	}})
	ann := s.User("ann")
	ann.Say("not the bot's")
	path := "/channels/" + ann.DM() + "/messages"
	a := ask(t, s, "POST", path, `{"content":"a"}`)
	ask(t, s, "PATCH", path+"/"+a.ID, `{"content":"b"}`)
	if len(texts) != 2 || texts[0] != (shown{"a", false}) || texts[1] != (shown{"b", true}) || calls[CreateMessage] != 1 || calls[EditMessage] != 1 {
		t.Errorf("%v %v", texts, calls)
	}
}

func TestPeopleSeeTheChannelAsItIs(t *testing.T) {
	s := start(t, Options{})
	ann := s.User("ann")
	said := ann.Say("May it?")
	gone := ann.Say("never mind")
	path := "/channels/" + ann.DM() + "/messages"
	a := ask(t, s, "POST", path, `{"content":"Shall I?","message_reference":{"message_id":"`+said+`"},"components":[{"type":1,"components":[{"type":2,"style":1,"label":"Yes","custom_id":"y"},{"type":2,"style":1,"label":"No","custom_id":"n"}]}]}`)
	ask(t, s, "PATCH", path+"/"+a.ID, `{"content":"Shall I\nnow?"}`)
	ask(t, s, "PUT", path+"/"+said+"/reactions/%F0%9F%91%80/@me", "")
	ann.Post(ann.DM(), Post{Text: "see", ReplyTo: gone, Files: []File{{Name: "a.txt", Content: []byte("abc")}}})
	ann.Delete(ann.DM(), gone)
	want := `ann: May it?
    👀 1
  ┌ ann: May it?
dragoman-test: Shall I
    now? (edited)
    [Yes] [No]
  ┌ original message was deleted
ann: see
    [file a.txt, 3 bytes]
`
	if got := s.Transcript(ann.DM()); got != want {
		t.Errorf("people see\n%s", got)
	}
}
