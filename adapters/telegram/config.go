package telegram

import (
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"dragoman/ports"
)

const (
	telegramHost = "api.telegram.org"
	telegramURL  = "https://" + telegramHost
)

// botToken is what tokens of Telegram's own look like: the bot's id and a key.
var botToken = regexp.MustCompile(`^[0-9]+:[A-Za-z0-9_-]+$`)

// webhookPorts are those that Telegram goes to
// (https://core.telegram.org/bots/api#setwebhook); "" is 443.
var webhookPorts = []string{"", "443", "80", "88", "8443"}

// Config of a Telegram channel.
type Config struct {
	Token     ports.Secret `json:"token" validate:"required" doc:"Token of the bot, from @BotFather"`
	APIURL    string       `json:"api_url" validate:"required,http_url" default:"https://api.telegram.org" doc:"Bot API server: Telegram's own or a self-hosted one"`
	Mode      string       `json:"mode" validate:"required,oneof=poll webhook" default:"poll" doc:"How updates come in: poll asks Telegram for them; webhook has Telegram bring them, over listen"`
	Webhook   string       `json:"webhook_url" validate:"omitempty,http_url" doc:"Where Telegram brings updates with mode webhook: what leads to /hook/NAME of listen from outside; absent: public_url with that path"`
	Streaming string       `json:"streaming" validate:"required,oneof=off edit draft" default:"edit" doc:"edit: an answer shows while it is made, by edits of one message; draft: as a draft in private chats, by edits in groups; off: once it is whole"`
	Rich      bool         `json:"rich" doc:"true: headings, tables, formulas, task lists and nested lists go out as rich messages, which clients older than June 2026 do not show"`
}

// base is the URL that a method's name is appended to. It holds the token.
func (c Config) base() (string, error) {
	const op = "telegram config"
	u, err := url.Parse(c.APIURL)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.RawQuery != "" || u.Fragment != "" {
		return "", ports.Errorf(ports.KindInvalid, op, "api_url is not an http or https URL")
	}
	if strings.EqualFold(u.Hostname(), telegramHost) && !c.official() { // also http: it would carry the token
		return "", ports.Errorf(ports.KindInvalid, op, "api_url is not Telegram's (must be %s with nothing behind it, or a server of your own)", telegramURL)
	}
	token := c.Token.Reveal()
	if c.official() && !botToken.MatchString(token) || token == "" || strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > '~' || strings.ContainsRune(`/?#%\"`, r) }) {
		return "", ports.Errorf(ports.KindInvalid, op, "token is not one that @BotFather gives (must be like 123456789:AAE…)")
	}
	if c.Mode != "poll" && c.Mode != "webhook" {
		return "", ports.Errorf(ports.KindInvalid, op, "mode must be poll or webhook")
	}
	return strings.TrimRight(c.APIURL, "/") + "/bot" + token + "/", nil
}

// checkWebhook is what is wrong with where Telegram is to bring updates. Telegram
// itself wants https on one of four ports; a server of one's own takes what it can reach.
func (c Config) checkWebhook() error {
	const op = "telegram config"
	if c.Webhook == "" {
		return ports.Errorf(ports.KindInvalid, op, "is \"webhook\", and nothing says where Telegram reaches this gateway (it needs webhook_url, or public_url)")
	}
	u, err := url.Parse(c.Webhook)
	switch {
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.User != nil || u.Fragment != "":
		return ports.Errorf(ports.KindInvalid, op, "webhook_url is not an http or https URL")
	case !c.official():
	case u.Scheme != "https":
		return ports.Errorf(ports.KindInvalid, op, "webhook_url must be https: Telegram takes nothing else")
	case !slices.Contains(webhookPorts, u.Port()):
		return ports.Errorf(ports.KindInvalid, op, "webhook_url must be on port 443, 80, 88 or 8443: Telegram goes to no other")
	case isInside(u.Hostname()):
		return ports.Errorf(ports.KindInvalid, op, "webhook_url must lead here from outside: Telegram does not reach %s", u.Hostname())
	}
	return nil
}

// official: it is Telegram's own server, and not one of somebody's own.
func (c Config) official() bool { return strings.TrimRight(c.APIURL, "/") == telegramURL }

// isInside reports whether a host is one of this machine or of a network of one's own.
func isInside(host string) bool {
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && (ip.IsLoopback() || ip.IsPrivate() || ip.IsUnspecified() || ip.IsLinkLocalUnicast())
}
