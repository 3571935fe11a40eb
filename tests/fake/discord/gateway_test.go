package discord

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/coder/websocket"
)

func (c *socket) resume(s *Server, id string, seq int) {
	c.t.Helper()
	c.say(opResume, map[string]any{"token": s.Token(), "session_id": id, "seq": seq})
}

func TestWhoIdentifiesWronglyIsToldWhyByTheCloseCode(t *testing.T) {
	s := start(t, Options{NoMessageContent: true})
	token := s.Token()
	for _, c := range []struct {
		name string
		data map[string]any
		code int
	}{
		{"a bad token", map[string]any{"token": "x", "intents": 1, "properties": map[string]string{}}, CloseBadToken},
		{"no properties", map[string]any{"token": token, "intents": 1}, CloseDecode},
		{"no intents", map[string]any{"token": token, "properties": map[string]string{}}, CloseDecode},
		{"intents that are none", map[string]any{"token": token, "intents": 1 << 30, "properties": map[string]string{}}, CloseBadIntents},
		{"the content of messages", map[string]any{"token": token, "intents": usual, "properties": map[string]string{}}, CloseForbidden},
		{"members", map[string]any{"token": token, "intents": intentMembers, "properties": map[string]string{}}, CloseForbidden},
		{"a shard that is none", map[string]any{"token": token, "intents": 1, "properties": map[string]string{}, "shard": []int{2, 2}}, CloseBadShard},
	} {
		k := dial(t, s)
		k.say(opIdentify, c.data)
		if code := k.closed(); code != c.code {
			t.Errorf("%s: closed with %d, want %d", c.name, code, c.code)
		}
	}
	s.RefuseIdentifies(CloseForbidden, "Disallowed intent(s).")
	k := dial(t, s)
	k.say(opIdentify, map[string]any{"token": token, "intents": 1, "properties": map[string]string{}})
	if code := k.closed(); code != CloseForbidden {
		t.Errorf("refused on purpose: %d", code)
	}
	s.RefuseIdentifies(0, "")
	dial(t, s).enter(s, intentGuilds)
}

func TestNonsenseOverTheGatewayEndsTheConnection(t *testing.T) {
	s := start(t, Options{})
	for name, c := range map[string]struct {
		in   bool
		say  string
		code int
	}{
		"an opcode before identify":  {false, `{"op":3,"d":{}}`, CloseNotAuthenticated},
		"no JSON":                    {false, `{"op":`, CloseDecode},
		"a payload that is too long": {false, `{"op":3,"d":"` + strings.Repeat("x", maxPayload) + `"}`, CloseDecode},
		"an unknown opcode":          {true, `{"op":99,"d":{}}`, CloseUnknownOp},
		"a second identify":          {true, `{"op":2,"d":{"token":"x"}}`, CloseAlreadyIn},
		"a sequence of the future":   {true, `{"op":1,"d":99}`, CloseBadSeq},
	} {
		k := dial(t, s)
		if c.in {
			k.enter(s, intentGuilds)
		}
		if err := k.ws.Write(t.Context(), websocket.MessageText, []byte(c.say)); err != nil {
			t.Fatal(err)
		}
		if code := k.closed(); code != c.code {
			t.Errorf("%s: closed with %d, want %d", name, code, c.code)
		}
	}
	k := dial(t, s)
	for range payloadsEach + 1 {
		if k.ws.Write(t.Context(), websocket.MessageText, []byte(`{"op":1,"d":null}`)) != nil {
			break
		}
	}
	if code := k.closed(); code != CloseFlooded {
		t.Errorf("after a flood: closed with %d", code)
	}
}

func TestAResumedSessionGetsWhatItMissedInOrder(t *testing.T) {
	s := start(t, Options{})
	ann := s.User("ann")
	k := dial(t, s)
	id := k.enter(s, usual)
	ann.Say("0")
	seq := *k.next().Seq
	s.CutGateway()
	k.closed()
	for i := range 3 {
		ann.Say(fmt.Sprint(i + 1))
	}
	k = dial(t, s)
	k.resume(s, id, seq)
	for i := range 3 {
		e := k.next()
		if e.Type != "MESSAGE_CREATE" || *e.Seq != seq+1+i || !strings.Contains(string(e.Data), fmt.Sprintf(`"content":"%d"`, i+1)) {
			t.Errorf("event %d came as %+v %s", i, e, e.Data)
		}
	}
	if e := k.next(); e.Type != "RESUMED" {
		t.Errorf("%+v", e)
	}
	ann.Say("4")
	if m := k.message("MESSAGE_CREATE"); m.Content != "4" {
		t.Errorf("after the resume: %+v", m)
	}
}

func TestASessionIsGoneAfterAGoodbyeAndAfterTooLong(t *testing.T) {
	s := start(t, Options{ResumeFor: time.Minute})
	refused := func(id string) {
		t.Helper()
		k := dial(t, s)
		k.resume(s, id, 1)
		if e := k.next(); e.Op != opInvalid || string(e.Data) != "false" {
			t.Errorf("%+v %s", e, e.Data)
		}
		k.enter(s, intentGuilds) // on the same connection, as Discord allows
		s.CutGateway()
		k.closed()
	}
	refused("nonsense")
	k := dial(t, s)
	id := k.enter(s, intentGuilds)
	_ = k.ws.Close(websocket.StatusNormalClosure, "bye")
	waitFor(t, func() bool { return s.Gateway().Sessions == 1 })
	refused(id)
	k = dial(t, s)
	id = k.enter(s, intentGuilds)
	s.CutGateway()
	k.closed()
	waitConnected(t, s, 0)
	s.Advance(2 * time.Minute)
	refused(id)
}

func TestAResumeIsRefusedWhenATestWantsIt(t *testing.T) {
	s := start(t, Options{})
	ann := s.User("ann")
	k := dial(t, s)
	id := k.enter(s, usual)
	s.RefuseResumes(1)
	s.CutGateway()
	k.closed()
	ann.Say("missed")
	k = dial(t, s)
	k.resume(s, id, 1)
	if e := k.next(); e.Op != opInvalid || string(e.Data) != "false" {
		t.Fatalf("%+v", e)
	}
	if k.enter(s, usual) == id {
		t.Error("the session is the old one")
	}
	ann.Say("heard")
	if m := k.message("MESSAGE_CREATE"); m.Content != "heard" {
		t.Errorf("a new session begins with %q", m.Content)
	}
	if g := s.Gateway(); g.RefusedResumes != 1 || g.Resumes != 0 || g.Identifies != 2 || g.Connected != 1 {
		t.Errorf("%+v", g)
	}
}

func TestAReconnectCanComeAtAnyMomentAndFirst(t *testing.T) {
	s := start(t, Options{})
	ann := s.User("ann")
	k := dial(t, s)
	id := k.enter(s, usual)
	s.AskReconnect()
	if e := k.next(); e.Op != opReconnect {
		t.Fatalf("%+v", e)
	}
	ann.Say("still heard")
	k.message("MESSAGE_CREATE")
	s.AskReconnectFirst(2)
	s.CutGateway()
	k.closed()
	ann.Say("missed")
	k = dial(t, s)
	k.resume(s, id, 2)
	if e := k.next(); e.Op != opReconnect {
		t.Fatalf("the first after a resume: %+v", e)
	}
	if s.Gateway().Connected != 0 {
		t.Error("nobody is connected who was told to go away")
	}
	k = dial(t, s)
	k.say(opIdentify, map[string]any{"token": s.Token(), "intents": usual, "properties": map[string]string{}})
	if e := k.next(); e.Op != opReconnect {
		t.Fatalf("the first after an identify: %+v", e)
	}
	k = dial(t, s)
	k.resume(s, id, 2)
	if m := k.message("MESSAGE_CREATE"); m.Content != "missed" {
		t.Errorf("%+v", m)
	}
}

func TestASessionCanBeInvalidatedForGoodOrNot(t *testing.T) {
	s := start(t, Options{})
	for _, resumable := range []bool{true, false} {
		k := dial(t, s)
		id := k.enter(s, usual)
		s.Invalidate(resumable)
		if e := k.next(); e.Op != opInvalid || string(e.Data) != fmt.Sprint(resumable) {
			t.Fatalf("%+v %s", e, e.Data)
		}
		k = dial(t, s)
		k.resume(s, id, 1)
		e := k.next()
		if resumed := e.Type == "RESUMED"; resumed != resumable {
			t.Errorf("resumable %v, and it came %+v", resumable, e)
		}
		s.CutGateway()
		k.closed()
	}
}

func TestHeartbeatsAreAnsweredUnlessTheyAreLost(t *testing.T) {
	s := start(t, Options{})
	k := dial(t, s)
	k.say(opHeartbeat, nil)
	if e := k.next(); e.Op != opHeartbeatAck {
		t.Fatalf("%+v", e)
	}
	k.enter(s, usual)
	s.LoseAcks(2)
	for range 3 {
		k.say(opHeartbeat, 1)
	}
	if e := k.next(); e.Op != opHeartbeatAck {
		t.Fatalf("%+v", e)
	}
	s.User("ann").Say("and no other ack before this")
	k.message("MESSAGE_CREATE")
	if n := s.Gateway().Heartbeats; n != 4 {
		t.Errorf("%d heartbeats", n)
	}
}

func TestAClientWithoutAHeartbeatIsPutOut(t *testing.T) {
	s := start(t, Options{Heartbeat: 2 * time.Second})
	k := dial(t, s)
	k.enter(s, intentGuilds)
	if code := k.closed(); code != CloseTimedOut {
		t.Errorf("closed with %d", code)
	}
}

func TestAZombieIsSilentWithoutBeingClosed(t *testing.T) {
	s := start(t, Options{})
	ann := s.User("ann")
	k := dial(t, s)
	id := k.enter(s, usual)
	s.Zombify()
	ann.Say("into the void")
	k.say(opHeartbeat, 1)
	waitFor(t, func() bool { return s.Gateway().Heartbeats == 0 && s.Gateway().Connected == 1 })
	other := dial(t, s)
	other.resume(s, id, 1)
	if m := other.message("MESSAGE_CREATE"); m.Content != "into the void" {
		t.Errorf("%+v", m)
	}
}

func TestWhileTheGatewayIsDownLifeGoesOn(t *testing.T) {
	s := start(t, Options{})
	ann := s.User("ann")
	k := dial(t, s)
	id := k.enter(s, usual)
	s.GatewayDown()
	k.closed()
	missed := ann.Say("missed")
	if ws, _, err := websocket.Dial(t.Context(), s.gatewayURL()+"/?v=10&encoding=json", nil); err == nil {
		_ = ws.CloseNow()
		t.Error("the gateway took a connection")
	}
	var list []message
	ask(t, s, "GET", "/channels/"+ann.DM()+"/messages", "").into(t, &list)
	if len(list) != 1 || list[0].ID != missed {
		t.Errorf("%+v", list)
	}
	s.GatewayUp(false)
	k = dial(t, s)
	k.resume(s, id, 1)
	if e := k.next(); e.Op != opInvalid {
		t.Errorf("a gateway that forgot resumed: %+v", e)
	}
}

func TestTheBudgetOfIdentifiesIsKept(t *testing.T) {
	s := start(t, Options{IdentifyBudget: 2, IdentifyEvery: time.Hour})
	remaining := func() int {
		var b struct {
			Limit struct{ Remaining int } `json:"session_start_limit"`
		}
		ask(t, s, "GET", "/gateway/bot", "").into(t, &b)
		return b.Limit.Remaining
	}
	if n := remaining(); n != 2 {
		t.Errorf("%d", n)
	}
	dial(t, s).enter(s, intentGuilds)
	k := dial(t, s)
	id := map[string]any{"token": s.Token(), "intents": 1, "properties": map[string]string{}}
	k.say(opIdentify, id)
	if e := k.next(); e.Op != opInvalid || remaining() != 0 {
		t.Errorf("the second within five seconds: %+v, %d left", e, remaining())
	}
	k = dial(t, s)
	k.say(opIdentify, id)
	if code := k.closed(); code != CloseBadToken {
		t.Errorf("one too many: closed with %d", code)
	}
	if a := ask(t, s, "GET", "/users/@me", ""); a.status != 401 {
		t.Errorf("the token is still good: %d", a.status)
	}
}

// waitFor polls until what is asked for is so.
func waitFor(t *testing.T, so func() bool) {
	t.Helper()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	late := time.After(time.Minute)
	for !so() {
		select {
		case <-tick.C:
		case <-late:
			t.Fatal("it did not come to that")
		}
	}
}

func waitConnected(t *testing.T, s *Server, n int) {
	t.Helper()
	waitFor(t, func() bool { return s.Gateway().Connected == n })
}
