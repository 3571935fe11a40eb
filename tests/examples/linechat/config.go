package linechat

import (
	"strings"

	"dragoman/ports"
)

// Config of a linechat channel.
type Config struct {
	Listen   string       `json:"listen" validate:"required,hostname_port" default:"127.0.0.1:7421" doc:"Host and port that people connect to"`
	Password ports.Secret `json:"password" validate:"required,min=8,printascii" doc:"What everybody gives after their name"`
}

// check finds what the tags cannot say.
func (c Config) check() error {
	if strings.HasSuffix(c.Password.Reveal(), `\`) {
		return ports.Errorf(ports.KindInvalid, "linechat config", `password cannot end with \, which joins lines`)
	}
	return nil
}
