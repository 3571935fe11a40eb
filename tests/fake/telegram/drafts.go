package telegram

import (
	"context"
	"errors"
	"time"
)

// draftLife is how long a draft is shown unless it is refreshed.
const draftLife = 30 * time.Second

// draft is a message in the making that a person sees.
type draft struct {
	id      int64
	text    string
	formats []Entity
	rich    *richMessage
	canStop bool
	keep    bool
	at      time.Time
	changes int
	stopped bool
}

// Draft is a message in the making as its person sees it.
type Draft struct {
	ID       int64
	Text     string // "" is shown as "Thinking…"
	Rich     string // the Markdown of a rich draft, which has no Text
	Entities []Entity
	CanStop  bool
	Changes  int // how often this draft was sent
}

func (s *Server) sendMessageDraft(_ context.Context, p params) reply {
	s.mu.Lock()
	defer s.mu.Unlock()
	c, no := s.find(p)
	if no != nil {
		return *no
	}
	thread := int(p.int("message_thread_id"))
	if c.info.Type != "private" {
		return badRequest("TEXTDRAFT_PEER_INVALID")
	}
	if no := c.open(thread); no != nil {
		return *no
	}
	if p.int("draft_id") == 0 {
		return badRequest("fake telegram: draft_id must be a number that is not 0")
	}
	what, no := read(p, "text", "entities", maxText, "message is too long")
	if no == nil && p.has("rich_message") {
		what.rich, no = richContent(p.form["rich_message"])
	}
	if no != nil {
		return *no
	}
	if no := s.inFlood(c, "sendMessageDraft"); no != nil {
		return *no
	}
	d := c.drafts[thread]
	if d == nil || d.id != p.int("draft_id") {
		d = &draft{id: p.int("draft_id")}
		c.drafts[thread] = d
	}
	d.text, d.formats, d.rich, d.at = what.text, what.formats, what.rich, time.Now()
	d.canStop, d.keep = p.form["can_stop"] == "true", p.form["keep_on_stop"] == "true"
	d.changes++
	return result(true)
}

// Draft is what the person sees being written now, in a topic or outside (0).
// It is gone 30 seconds after it was sent last, or with the bot's next message there.
func (u *User) Draft(topic int) (Draft, bool) {
	u.s.mu.Lock()
	defer u.s.mu.Unlock()
	d := u.s.chats[u.user.ID].drafts[topic]
	if d == nil || d.stopped && !d.keep || time.Since(d.at) > u.s.opts.DraftLife {
		return Draft{}, false
	}
	return Draft{d.id, d.text, d.rich.markdown(), d.formats, d.canStop && !d.stopped, d.changes}, true
}

// StopDraft presses the stop button of what is being written.
func (u *User) StopDraft(topic int) error {
	if d, ok := u.Draft(topic); !ok || !d.CanStop {
		return errors.New("fake telegram: there is no draft with a stop button")
	}
	u.s.mu.Lock()
	defer u.s.mu.Unlock()
	c := u.s.chats[u.user.ID]
	d := c.drafts[topic]
	d.stopped = true
	stopped := map[string]any{"chat": c.info, "draft_id": d.id}
	if topic != 0 {
		stopped["message_thread_id"] = topic
	}
	u.s.push(c.info.ID, "stopped_message_generation", asJSON(stopped))
	return nil
}
