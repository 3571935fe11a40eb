package oauth

import (
	"fmt"
	"html"
	"net/http"
	"net/url"
)

// page is all that a person sees of a login here: a title, twice, and a text.
// Nothing of an answer is quoted.
const page = `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>%[1]s</title></head>
<body><h1>%[1]s</h1><p>%[2]s</p></body></html>
`

// outcome is what came of a callback, in words.
type outcome struct {
	Status      int
	Title, Text string
}

const askAgain = ` A new link is in the gateway's log and in "dragoman servers".`

func failed(status int, text string) outcome {
	return outcome{Status: status, Title: "Not logged in", Text: text + askAgain}
}

// callback takes the answer of an authorization server.
func (d *Desk) callback(w http.ResponseWriter, r *http.Request) {
	out := outcome{Status: http.StatusMethodNotAllowed, Title: "Not logged in", Text: "This address is for browsers."}
	if r.Method == http.MethodGet { // a HEAD, of a link checker say, uses nothing up
		out = d.settle(r)
	}
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")
	h.Set("Referrer-Policy", "no-referrer") // the address has the code
	h.Set("Cache-Control", "no-store")
	h.Set("X-Content-Type-Options", "nosniff")
	w.WriteHeader(out.Status)
	fmt.Fprintf(w, page, html.EscapeString(out.Title), html.EscapeString(out.Text))
}

// settle finishes the login that the request answers to.
func (d *Desk) settle(r *http.Request) outcome {
	q, err := url.ParseQuery(r.URL.RawQuery)
	state := q.Get("state")
	client := d.byState(state)
	if err != nil || client == nil {
		return failed(http.StatusBadRequest, "This is no answer to a login that the gateway began, or the link is too old or was used already.")
	}
	p, err := client.take(r.Context(), state)
	switch {
	case err != nil:
		client.log.Error("mcp_login_failed", "err", err)
		return failed(http.StatusInternalServerError, "The gateway could not look up its link. Its log says more.")
	case p == nil:
		return failed(http.StatusBadRequest, "This link is too old, or it was used already.")
	}
	defer client.tell()
	if why := wrongIssuer(p, q); why != "" {
		client.log.Warn("mcp_login_failed", "err", why)
		return failed(http.StatusBadRequest, "The answer comes from another authorization server than the one that was asked. Nothing of it was used.")
	}
	if code := q.Get("error"); code != "" {
		client.log.Warn("mcp_login_failed", "err", tidy(code), "said", tidy(q.Get("error_description")))
		return failed(http.StatusForbidden, refusalWords(code))
	}
	code := q.Get("code")
	if code == "" || len(q["code"]) != 1 {
		return failed(http.StatusBadRequest, "The authorization server's answer is not complete.")
	}
	if err := client.finish(r.Context(), p, code); err != nil {
		client.log.Warn("mcp_login_failed", "issuer", p.Grant.Client.Issuer, "err", err)
		return failed(http.StatusBadGateway, "The authorization server gave no token for this login. The gateway's log says why.")
	}
	client.log.Info("mcp_login_done", "issuer", p.Grant.Client.Issuer)
	return outcome{Status: http.StatusOK, Title: "Logged in", Text: "The gateway is logged in to the server now. You can close this window."}
}

// wrongIssuer checks who answers, before anything of the answer is believed (RFC
// 9207, 2.4): byte by byte; "" if it is right.
func wrongIssuer(p *pending, q url.Values) string {
	iss, given := q["iss"]
	switch {
	case !given && p.WantsIss:
		return "the answer does not say which authorization server it is of, although that says that it does"
	case given && (len(iss) != 1 || iss[0] != p.Grant.Client.Issuer):
		return "the answer is of another authorization server"
	}
	return ""
}

// refusalWords are the errors of RFC 6749, 4.1.2.1 and RFC 8707, 2 for people.
func refusalWords(code string) string {
	words, ok := map[string]string{
		"access_denied":             "The login was declined.",
		"invalid_scope":             "The authorization server does not know what the gateway asked for, or may not give it (see scopes in the config).",
		"unauthorized_client":       "The authorization server does not let this gateway log in this way.",
		"unsupported_response_type": "The authorization server does not offer this kind of login.",
		"invalid_request":           "The authorization server did not understand the gateway.",
		"invalid_target":            "The authorization server gives no tokens for this MCP server.",
		"server_error":              "The authorization server has a fault.",
		"temporarily_unavailable":   "The authorization server cannot be used just now.",
		"login_required":            "The authorization server wants you to log in there first.",
		"consent_required":          "The authorization server wants you to agree first.",
		"interaction_required":      "The authorization server wants you to do something there first.",
	}[code]
	if !ok {
		return "The authorization server refused the login. The gateway's log says more."
	}
	return words
}
