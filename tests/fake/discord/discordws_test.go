package discord

import (
	"fmt"
	"testing"
	"time"
)

// TestAClientOnDiscordJSWSSeesTheGateway has the newest client of the gateway alone,
// in two shards, come back as it would.
func TestAClientOnDiscordJSWSSeesTheGateway(t *testing.T) {
	s := start(t, Options{Heartbeat: 4 * time.Second})
	ann := s.User("ann")
	rooms := map[int]string{}
	for n := 0; len(rooms) < 2; n++ {
		g := s.Guild(fmt.Sprint("guild", n))
		rooms[shardOf(g.ID(), 2)] = g.Channel("general")
		s.Advance(time.Millisecond) // the next one may be the other shard's
	}
	c := foreignClient(t, s, "ws.mjs")
	ready := map[string]bool{}
	for range 2 { // in whatever order
		ready[fmt.Sprint(c.sees("ready", "user", DefaultUsername)["of"])] = true
	}
	if !ready["[0 2]"] || !ready["[1 2]"] {
		t.Errorf("the shards are %v", ready)
	}
	says := 0
	heard := func() {
		t.Helper()
		for shard := range 2 {
			says++
			ann.SayIn(rooms[shard], fmt.Sprint("message ", says))
			c.sees("message", "text", fmt.Sprint("message ", says), "shard", shard)
		}
		says++
		ann.Say(fmt.Sprint("message ", says))
		c.sees("message", "text", fmt.Sprint("message ", says), "shard", 0)
	}
	heard()
	c.sees("heartbeat")
	before := s.Gateway()
	again := func(what string, done func(GatewayStats) bool) {
		t.Helper()
		waitFor(t, func() bool { g := s.Gateway(); return g.Connected == 2 && done(g) })
		if t.Failed() {
			t.Fatalf("%s: %+v", what, s.Gateway())
		}
		heard()
	}
	s.AskReconnect()
	again("op 7", func(g GatewayStats) bool { return g.Resumes >= before.Resumes+2 })
	before = s.Gateway()
	s.CutGateway()
	again("a cut", func(g GatewayStats) bool { return g.Resumes >= before.Resumes+2 })
	before = s.Gateway()
	s.Invalidate(true)
	again("op 9 that lets it go on", func(g GatewayStats) bool { return g.Resumes >= before.Resumes+2 })
	before = s.Gateway()
	s.LoseAcks(1)
	again("a heartbeat without an answer", func(g GatewayStats) bool { return g.Resumes > before.Resumes })
	before = s.Gateway()
	s.CloseGateway(CloseTimedOut, "Session timed out.")
	again("sessions that timed out", func(g GatewayStats) bool { return g.Identifies >= before.Identifies+2 })
	s.CloseGateway(CloseBadToken, "Authentication failed.")
	c.sees("closed", "code", CloseBadToken)
}
