package discord

import (
	"regexp"
	"slices"
)

// allowedMentions says who a message may ping
// (https://docs.discord.com/developers/resources/message#allowed-mentions-object).
type allowedMentions struct {
	Parse   []string `json:"parse"`
	Users   []string `json:"users"`
	Roles   []string `json:"roles"`
	Replied *bool    `json:"replied_user"`
}

var (
	userMention = regexp.MustCompile(`<@!?(\d{15,20})>`)
	roleMention = regexp.MustCompile(`<@&(\d{15,20})>`)
	everyone    = regexp.MustCompile(`@(?:everyone|here)\b`)
)

// checkMentions is the rule for a message; absent means that everything pings.
func checkMentions(f *form, a *allowedMentions) allowedMentions {
	if a == nil {
		yes := true
		return allowedMentions{Parse: []string{"users", "roles", "everyone"}, Replied: &yes}
	}
	for i, kind := range a.Parse {
		if !slices.Contains([]string{"users", "roles", "everyone"}, kind) {
			f.choices(`('users', 'roles', 'everyone')`, "allowed_mentions", "parse", i)
		}
	}
	for kind, ids := range map[string][]string{"users": a.Users, "roles": a.Roles} {
		if len(ids) > 100 {
			f.longerThan(100, "allowed_mentions", kind)
		}
		if len(ids) > 0 && slices.Contains(a.Parse, kind) {
			f.bad("MESSAGE_ALLOWED_MENTIONS_PARSE_EXCLUSIVE", `parse:["`+kind+`"] and `+kind+`: [ids...] are mutually exclusive.`, "allowed_mentions")
		}
	}
	return *a
}

// mention sets who the message pings.
func (s *Server) mention(ch *channel, m *message, a allowedMentions) {
	m.Mentions, m.Roles, m.Everyone = []user{}, []string{}, false
	ping := func(id string) {
		u := s.users[id]
		if u != nil && !slices.ContainsFunc(m.Mentions, func(have user) bool { return have.ID == id }) {
			m.Mentions = append(m.Mentions, *u)
		}
	}
	for _, found := range userMention.FindAllStringSubmatch(m.Content, -1) {
		if slices.Contains(a.Parse, "users") || slices.Contains(a.Users, found[1]) {
			ping(found[1])
		}
	}
	for _, found := range roleMention.FindAllStringSubmatch(m.Content, -1) {
		if slices.Contains(a.Parse, "roles") || slices.Contains(a.Roles, found[1]) {
			m.Roles = append(m.Roles, found[1])
		}
	}
	m.Everyone = ch.guild != nil && slices.Contains(a.Parse, "everyone") && everyone.MatchString(m.Content) && !ch.denies(MentionEveryone)
	if m.Referenced != nil && a.Replied != nil && *a.Replied {
		ping(m.Referenced.Author.ID)
	}
}
