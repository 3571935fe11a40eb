package discord

import (
	"net/url"
	"regexp"
	"strings"

	"dragoman/ports"
)

const discordURL = "https://discord.com"

// botToken is what tokens of Discord's own look like.
var botToken = regexp.MustCompile(`^[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+$`)

// apiPath is the end of an address that is put behind api_url.
var apiPath = regexp.MustCompile(`/api(/v[0-9]+)?/*$`)

// Config of a Discord channel.
type Config struct {
	Token     ports.Secret `json:"token" validate:"required" doc:"Token of the bot, from https://discord.com/developers/applications"`
	APIURL    string       `json:"api_url" validate:"required,http_url" default:"https://discord.com" doc:"Discord, or a server that speaks its protocols"`
	Streaming string       `json:"streaming" validate:"required,oneof=off edit" default:"edit" doc:"edit: an answer shows while it is made, by edits of one message; off: once it is whole"`
	Threads   bool         `json:"threads" doc:"Whether each question in a server's channel opens a thread, which is a conversation of its own"`
}

// base is the URL that a path of the API is appended to.
func (c Config) base() (string, error) {
	const op = "discord config"
	u, err := url.Parse(c.APIURL)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.RawQuery != "" || u.Fragment != "" || u.User != nil {
		return "", ports.Errorf(ports.KindInvalid, op, "api_url is not an http or https URL")
	}
	switch host := strings.ToLower(u.Hostname()); {
	case (host == "discord.com" || host == "discordapp.com" || strings.HasSuffix(host, ".discord.com")) && strings.TrimRight(c.APIURL, "/") != discordURL:
		return "", ports.Errorf(ports.KindInvalid, op, "api_url is not Discord's (must be %s with nothing behind it)", discordURL)
	case apiPath.MatchString(u.Path):
		return "", ports.Errorf(ports.KindInvalid, op, "api_url must end before /api, which is put behind it")
	}
	token := c.Token.Reveal()
	if strings.TrimRight(c.APIURL, "/") == discordURL && !botToken.MatchString(token) || token == "" || strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return "", ports.Errorf(ports.KindInvalid, op, "token is not one of a bot (must be three parts with dots between them, as \"Reset Token\" under Bot shows it, and nothing before it)")
	}
	return strings.TrimRight(c.APIURL, "/") + "/api/v10", nil
}
