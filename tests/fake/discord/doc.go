// Package discord is a strict stand-in for Discord (https://docs.discord.com/developers)
// as one bot sees it: the REST API, versions 9 and 10, the gateway and the CDN. It
// keeps the state that matters to a bot that must lose nothing and repeat nothing:
// what happens while nobody listens is only in the history, a session that is
// resumed gets what it missed in order, and a nonce is used once.
//
// It is stricter than the original in these places, to catch what Discord hides: a field
// that a request does not have is refused, texts are counted in UTF-16 units
// (never fewer than Discord counts), and a heartbeat that does not come ends the session.
//
// Tests act as people through [User], and break things through [Server.Fail],
// [Server.Cut], [Server.Hang], [Server.Delay] and the gateway's own faults. The
// state lives in the test's own process, so it outlives a gateway that is killed.
package discord
