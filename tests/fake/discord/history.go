package discord

import (
	"cmp"
	"slices"
	"strconv"
)

func (s *Server) getMessage(c *call) reply {
	ch, m, refused := s.messageOf(c)
	if refused != nil {
		return *refused
	}
	if ch.denies(ReadMessageHistory) {
		return missingRight
	}
	return ok(s.fetched(m))
}

// fetched is a message as it is read later: its nonce was only in the answer to who
// posted it, and in the event
// (https://discord.js.org/docs/packages/discord.js/main/Message:Class#nonce).
func (s *Server) fetched(m *message) message {
	out := s.view(m, viewREST)
	out.Nonce = nil
	return out
}

// listMessages answers the newest first, whatever is asked for
// (https://docs.discord.com/developers/resources/message#get-channel-messages).
func (s *Server) listMessages(c *call) reply {
	ch, refused := s.channelOf(c)
	if refused != nil {
		return *refused
	}
	q := c.r.URL.Query()
	var f form
	limit := 50
	if q.Has("limit") {
		n, err := strconv.Atoi(q.Get("limit"))
		if err != nil || n < 1 || n > 100 {
			f.bad("NUMBER_TYPE_MAX", "int value should be between 1 and 100.", "limit")
		}
		limit = n
	}
	var at [3]snowflake
	for i, name := range []string{"after", "before", "around"} {
		if !q.Has(name) {
			continue
		}
		id, isID := parseID(q.Get(name))
		if !isID && !(name == "after" && q.Get(name) == "0") {
			f.bad("NUMBER_TYPE_COERCE", `Value "`+q.Get(name)+`" is not snowflake.`, name)
		}
		at[i] = id
	}
	if a := f.reply(); a != nil {
		return *a
	}
	if ch.denies(ReadMessageHistory) {
		return ok([]any{})
	}
	list := []any{}
	for _, m := range ch.page(limit, q.Has("after"), at[0], at[1], at[2]) {
		list = append(list, s.fetched(m))
	}
	return ok(list)
}

// page is what the history shows, newest first: the first ones after an id, else the last
// ones (before an id).
func (c *channel) page(limit int, fromAfter bool, after, before, around snowflake) []*message {
	var list []*message
	for _, m := range c.messages {
		id, _ := parseID(m.ID)
		if m.deleted || m.ephemeral != "" || id <= after || before > 0 && id >= before {
			continue
		}
		list = append(list, m)
	}
	switch {
	case around > 0:
		i, _ := slices.BinarySearchFunc(list, around, func(m *message, n snowflake) int {
			at, _ := parseID(m.ID)
			return cmp.Compare(at, n)
		})
		from := max(0, min(i-limit/2, len(list)-limit))
		list = list[from:min(len(list), from+limit)]
	case fromAfter && before == 0:
		list = list[:min(limit, len(list))]
	default:
		list = list[max(0, len(list)-limit):]
	}
	slices.Reverse(list)
	return list
}
