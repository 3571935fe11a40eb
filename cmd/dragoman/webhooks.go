package main

import (
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strconv"
	"strings"

	"dragoman/adapters/discord"
	"dragoman/adapters/telegram"
	"dragoman/config"
	"dragoman/ports"
)

// hooked is a channel's section with the address of its webhook, where public_url
// tells it.
func hooked(cfg *config.Config, name string) config.Section {
	s := cfg.Channels[name].Section
	if cfg.PublicURL == "" {
		return s
	}
	return s.With("webhook_url", strings.TrimRight(cfg.PublicURL, "/")+"/hook/"+name)
}

// checkBots refuses bots that could not be, and webhooks that no update could come
// through. It builds the channel: New finds what is wrong between keys.
func checkBots(cfg *config.Config) error {
	var errs []error
	first := map[string]string{} // the channel of a bot
	for _, name := range slices.Sorted(maps.Keys(cfg.Channels)) {
		c := cfg.Channels[name]
		bot, key, why := "", "", ""
		switch c.Type {
		case "telegram":
			bot, key, why = checkTelegram(cfg, name)
		case "discord":
			bot, key, why = checkDiscord(c.Section)
		}
		if c.Type == "telegram" || c.Type == "discord" {
			errs = append(errs, cfg.WrongIDs(name, isNumber, textNoNumber))
		}
		if before, twice := first[bot]; bot != "" && twice {
			key, why = "token", fmt.Sprintf("is that of channel %q too (each channel needs a bot of its own; chats gives single chats another agent)", before)
		}
		if why != "" {
			errs = append(errs, c.Fault(key, why))
		}
		first[bot] = name
	}
	return config.Join(errs...)
}

// textNoNumber is said of an id that is a name: nobody would ever have it.
const textNoNumber = "is no id of this platform, which gives numbers (/status tells that of a chat, dragoman pair list that of a person)"

func isNumber(id string) bool {
	_, err := strconv.ParseInt(id, 10, 64)
	return err == nil
}

// checkTelegram names the bot, and the first key that is wrong with why.
func checkTelegram(cfg *config.Config, name string) (bot, key, why string) {
	var given, c telegram.Config
	if cfg.Channels[name].Decode(&given) != nil || hooked(cfg, name).Decode(&c) != nil {
		return "", "", "" // it is told already
	}
	switch {
	case c.Mode == "webhook" && cfg.Listen == "":
		return "", "mode", `is "webhook", but nothing is listened on (set listen, or mode to "poll")`
	case c.Mode == "poll" && given.Webhook != "":
		return "", "webhook_url", `is for mode "webhook", and mode is "poll" (set mode, or leave it out)`
	}
	if _, err := telegram.New(c, slog.New(slog.DiscardHandler)); err != nil {
		key, why = faultOf(err, "mode")
	}
	return c.APIURL + " " + c.Token.Reveal(), key, why
}

// checkDiscord is the same for Discord.
func checkDiscord(s config.Section) (bot, key, why string) {
	var c discord.Config
	if s.Decode(&c) != nil {
		return "", "", ""
	}
	if _, err := discord.New(c, slog.New(slog.DiscardHandler)); err != nil {
		key, why = faultOf(err, "token")
	}
	return c.APIURL + " " + c.Token.Reveal(), key, why
}

// faultOf is what an adapter found wrong between its keys: the key that its words
// begin with, or another, and the words for a person.
func faultOf(err error, other string) (key, why string) {
	var e *ports.Error
	if errors.As(err, &e) {
		err = e.Err
	}
	for _, key := range []string{"token", "api_url"} {
		if why, ok := strings.CutPrefix(err.Error(), key+" "); ok {
			return key, why
		}
	}
	return other, err.Error()
}
