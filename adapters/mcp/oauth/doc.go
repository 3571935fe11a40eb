// Package oauth logs the gateway in to MCP servers that want it: OAuth 2.1 as
// MCP uses it (basic/authorization of the revisions up to 2026-07-28), with the
// extensions for machines (client credentials) and for bound tokens (DPoP).
//
// A Desk is shared by all servers of a gateway. It serves the page that people
// come back to from a login, and keeps what has to last. A Client is one server's
// part: it wraps the http.RoundTripper that talks to the server.
//
// What it promises:
//
//   - A request never waits for a person. Without a token that the server takes,
//     RoundTrip fails at once with a *LoginError, whose URL an admin opens; the
//     same URL is given until it is used or too old. Client.Changed tells that a
//     login was completed.
//   - A token goes to the origin of its server and nowhere else, and was issued
//     for that server (RFC 8707) by an authorization server that it named. When it
//     names another one, tokens and client credentials of the old one are not
//     used there.
//   - Tokens, verifiers, client secrets and keys are sealed with the gateway's
//     secret key wherever they are stored. With another key they are as good as
//     absent: a login is offered anew.
//   - A refresh token is spent once, by one of all the processes that share the
//     records; the others take what it got. A refresh goes on when the request
//     that wanted it is given up.
//   - What a server or an authorization server answers is bounded in size and
//     time, and cannot make the gateway speak to addresses that only the gateway
//     can reach, unless the server itself is at such an address.
//
// The order of a login: 401 → discovery (discover.go) → a client id
// (register.go) → a link (login.go) → the callback (desk.go) → tokens
// (token.go) → refreshing (grant.go).
package oauth
