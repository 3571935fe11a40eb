package telegram

import (
	"context"
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"time"
)

// update is one that the bot has not acknowledged.
type update struct {
	id   int64
	chat int64 // 0 if it is of none
	body json.RawMessage
}

// Kinds that are delivered only if allowed_updates names them.
var optIn = map[string]bool{"chat_member": true, "message_reaction": true, "message_reaction_count": true}

// updateKinds are all that Bot API 10.3 knows.
var updateKinds = []string{
	"message", "edited_message", "channel_post", "edited_channel_post", "business_connection", "business_message",
	"edited_business_message", "deleted_business_messages", "guest_message", "stopped_message_generation",
	"message_reaction", "message_reaction_count", "inline_query", "chosen_inline_result", "callback_query",
	"shipping_query", "pre_checkout_query", "purchased_paid_media", "poll", "poll_answer", "my_chat_member",
	"chat_member", "chat_join_request", "chat_boost", "removed_chat_boost", "managed_bot", "subscription",
}

const conflictPoller = "Conflict: terminated by other getUpdates request; make sure that only one bot instance is running"

const conflictSet = "Conflict: terminated by setWebhook request"

const conflictWebhook = "Conflict: can't use getUpdates method while webhook is active; use deleteWebhook to delete the webhook first"

// Pending is how many updates the bot has not acknowledged.
func (s *Server) Pending() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.queue)
}

// Offset is the highest that the bot asked for: all updates below it are forgotten.
func (s *Server) Offset() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.offset
}

// Raw delivers an update of any kind, known or not, for which fields is a JSON
// value under the key kind. It returns the update's id.
func (s *Server) Raw(kind, value string) int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.push(0, kind, json.RawMessage(value))
}

// Renumber makes the next update have an id of its own, as Telegram does after a
// week without any: it may be lower than all before.
func (s *Server) Renumber(next int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.nextID = next
}

// push appends an update if the bot wants such. s.mu is held.
func (s *Server) push(chat int64, kind string, value json.RawMessage) int64 {
	if wanted := s.allowed[kind]; len(s.allowed) > 0 && !wanted || len(s.allowed) == 0 && optIn[kind] {
		return 0
	}
	id := s.nextID
	s.nextID++
	body := asJSON(map[string]json.RawMessage{"update_id": asJSON(id), kind: value})
	s.queue = append(s.queue, update{id, chat, body})
	close(s.wake)
	s.wake = make(chan struct{})
	s.hook.poke()
	return id
}

func (s *Server) getUpdates(ctx context.Context, p params) reply {
	limit := p.int("limit")
	if limit < 1 || limit > 100 {
		limit = 100
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.hook != nil {
		return refuse(http.StatusConflict, conflictWebhook)
	}
	s.endPoll(conflictPoller)
	mine := &poll{ended: make(chan struct{})}
	s.poller = mine
	defer func() {
		if s.poller == mine {
			s.poller = nil
		}
	}()
	if a := s.allow(p.form["allowed_updates"]); a != nil {
		return *a
	}
	s.forget(p.int("offset"))
	deadline := time.NewTimer(time.Duration(min(max(p.int("timeout"), 0), 50)) * time.Second)
	defer deadline.Stop()
	for {
		if n := min(int(limit), len(s.queue)); n > 0 || p.int("timeout") <= 0 {
			s.handOut(s.queue[:n])
			return result(bodies(s.queue[:n]))
		}
		wake := s.wake
		s.mu.Unlock()
		a, over := s.waitUpdate(ctx, mine, wake, deadline.C)
		s.mu.Lock()
		if over {
			return a
		}
	}
}

// poll is a call of getUpdates that waits.
type poll struct {
	ended chan struct{} // closed to end it
	why   string        // set before
}

// endPoll ends the poll in progress. s.mu is held.
func (s *Server) endPoll(why string) {
	if s.poller == nil {
		return
	}
	s.poller.why = why
	close(s.poller.ended)
	s.poller = nil
}

// waitUpdate waits for an update; over says that the poll ended without one.
func (s *Server) waitUpdate(ctx context.Context, mine *poll, wake chan struct{}, deadline <-chan time.Time) (a reply, over bool) {
	select {
	case <-wake:
		select {
		case <-mine.ended: // both: the newer poller is to have it
			return refuse(http.StatusConflict, mine.why), true
		default:
			return reply{}, false
		}
	case <-mine.ended:
		return refuse(http.StatusConflict, mine.why), true
	case <-deadline:
	case <-ctx.Done():
	case <-s.done:
	}
	return result([]json.RawMessage{}), true
}

// allow stores allowed_updates; absent means "as before". s.mu is held.
func (s *Server) allow(list string) *reply {
	if list == "" {
		return nil
	}
	var kinds []string
	if json.Unmarshal([]byte(list), &kinds) != nil {
		a := badRequest("can't parse allowed_updates: expected an Array of String")
		return &a
	}
	for _, k := range kinds {
		if !slices.Contains(updateKinds, k) {
			a := badRequest("fake telegram: there are no updates of the kind " + k)
			return &a
		}
	}
	s.allowed = map[string]bool{}
	for _, k := range kinds {
		s.allowed[k] = true
	}
	return nil
}

// kinds are the updates that the bot asked for; nil means the usual ones. s.mu is held.
func (s *Server) kinds() []string { return slices.Sorted(maps.Keys(s.allowed)) }

// forget drops what offset acknowledges; a negative one keeps the last -offset. s.mu is held.
func (s *Server) forget(offset int64) {
	if offset < 0 {
		s.queue = s.queue[max(0, len(s.queue)+int(offset)):]
		return
	}
	s.offset = max(s.offset, offset)
	for len(s.queue) > 0 && s.queue[0].id < offset {
		s.queue = s.queue[1:]
	}
}

func bodies(us []update) []json.RawMessage {
	out := make([]json.RawMessage, len(us))
	for i, u := range us {
		out[i] = u.body
	}
	return out
}
