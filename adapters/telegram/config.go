package telegram

import (
	"net/url"
	"strings"

	"dragoman/ports"
)

// Config of a Telegram channel.
type Config struct {
	// Token of the bot, from @BotFather.
	Token ports.Secret `json:"token" validate:"required"`
	// APIURL of the Bot API server: Telegram's own or a self-hosted one.
	APIURL string `json:"api_url" validate:"required,http_url" default:"https://api.telegram.org"`
	// Mode is how updates come in.
	Mode string `json:"mode" validate:"required,oneof=poll" default:"poll"`
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
