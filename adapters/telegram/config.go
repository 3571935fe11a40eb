package telegram

import (
	"net/url"
	"strings"

	"dragoman/ports"
)

// Config of a Telegram channel.
type Config struct {
	Token     ports.Secret `json:"token" validate:"required" doc:"Token of the bot, from @BotFather"`
	APIURL    string       `json:"api_url" validate:"required,http_url" default:"https://api.telegram.org" doc:"Bot API server: Telegram's own or a self-hosted one"`
	Mode      string       `json:"mode" validate:"required,oneof=poll" default:"poll" doc:"How updates come in"`
	Streaming string       `json:"streaming" validate:"required,oneof=off edit" default:"edit" doc:"edit: an answer shows while it is made, by edits of one message; off: once it is whole"`
}

// base is the URL that a method's name is appended to. It holds the token.
func (c Config) base() (string, error) {
	const op = "telegram config"
	u, err := url.Parse(c.APIURL)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.RawQuery != "" || u.Fragment != "" {
		return "", ports.Errorf(ports.KindInvalid, op, "api_url is not an http or https URL")
	}
	token := c.Token.Reveal()
	if token == "" || strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > '~' || strings.ContainsRune(`/?#%\"`, r) }) {
		return "", ports.Errorf(ports.KindInvalid, op, "token is not one that @BotFather gives")
	}
	if c.Mode != "poll" {
		return "", ports.Errorf(ports.KindInvalid, op, "mode must be poll")
	}
	return strings.TrimRight(c.APIURL, "/") + "/bot" + token + "/", nil
}
