package gateway

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"sync"
	"time"

	"dragoman/core/internal/burst"
	"dragoman/core/internal/guard"
	"dragoman/ports"
)

const (
	settingsScope = "settings"
	settingsKind  = "conversation"
	// settingsKept is how many conversations' settings are in memory.
	settingsKept = 4096
	// settingsFresh is how long what was read holds: another process may change it.
	settingsFresh = 10 * time.Second
	// settingsEvents is how many changes a record remembers, so that a message that
	// comes again changes nothing anew.
	settingsEvents = 32
	// settingsTries is how often a change is made again because another came between.
	settingsTries = 16
)

// settings are what the people of conversations chose for them: records, and what
// was read of them lately. Safe for many goroutines.
type settings struct {
	store ports.Records
	leaks *guard.Leaks

	mu      sync.Mutex
	known   map[ports.Conversation]known
	changes int // so far: what was read before the last one is not kept
}

type known struct {
	ports.Settings
	read time.Time
}

// settingsBody is the body of a record.
type settingsBody struct {
	ports.Settings
	Events []string `json:"events,omitempty"` // of the messages that made the last changes
}

func newSettings(store ports.Records, leaks *guard.Leaks) *settings {
	return &settings{store: store, leaks: leaks, known: map[ports.Conversation]known{}}
}

// get reads what was chosen in a conversation, from memory where it was read lately.
func (s *settings) get(ctx context.Context, in ports.Conversation) (ports.Settings, error) {
	s.mu.Lock()
	k, ok := s.known[in]
	before := s.changes
	s.mu.Unlock()
	if ok && time.Since(k.read) < settingsFresh {
		return k.Settings, nil
	}
	_, body, err := s.read(ctx, in)
	if err == nil {
		s.keep(in, body.Settings, before)
	}
	return body.Settings, err
}

// change changes what was chosen in a conversation, once for an event.
func (s *settings) change(ctx context.Context, in ports.Conversation, event string, apply func(*ports.Settings)) error {
	var err error
	for range settingsTries {
		var r ports.Record
		var body settingsBody
		if r, body, err = s.read(ctx, in); err != nil {
			return err
		}
		if slices.Contains(body.Events, event) {
			return nil
		}
		apply(&body.Settings)
		body.Events = append(body.Events[max(0, len(body.Events)-settingsEvents+1):], event)
		if r.Body, err = json.Marshal(body); err != nil {
			return err
		}
		_, err = guard.Read(ctx, s.leaks, "store_settings", func(ctx context.Context) (ports.Record, error) { return s.store.Put(ctx, r) })
		s.mu.Lock()
		s.changes++
		delete(s.known, in) // also where it is not known whether it was written
		before := s.changes
		s.mu.Unlock()
		if err == nil {
			s.keep(in, body.Settings, before)
			return nil
		}
		if !ports.IsKind(err, ports.KindConflict) && !ports.IsKind(err, ports.KindUnsure) {
			return err
		}
	}
	return err
}

func (s *settings) read(ctx context.Context, in ports.Conversation) (r ports.Record, body settingsBody, err error) {
	r, err = guard.Read(ctx, s.leaks, "store_settings", func(ctx context.Context) (ports.Record, error) {
		return s.store.Get(ctx, settingsScope, settingsKind, in.String())
	})
	if ports.IsKind(err, ports.KindNotFound) {
		return ports.Record{Scope: settingsScope, Kind: settingsKind, Key: in.String()}, body, nil
	}
	if err == nil {
		err = json.Unmarshal(r.Body, &body)
	}
	return r, body, err
}

// keep remembers what was read, unless a change came since.
func (s *settings) keep(in ports.Conversation, read ports.Settings, before int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.changes != before {
		return
	}
	for old := range s.known {
		if len(s.known) < settingsKept {
			break
		}
		delete(s.known, old) // any: it is read again when it is asked for
	}
	s.known[in] = known{read, time.Now()}
}

// chosen is what the people of a conversation chose, as far as its agent has it:
// of a model that the agent no longer has nothing is left.
func (g *Gateway) chosen(ctx context.Context, in ports.Conversation) (ports.Settings, error) {
	a, err := g.agentOf(in)
	if err != nil {
		return ports.Settings{}, err
	}
	s, err := g.settings.get(ctx, in)
	if err == nil && !slices.Contains(modelsOf(a), s.Model) {
		s.Model = ""
	}
	return s, err
}

// modelsOf are the names of an agent's models, in its order.
func modelsOf(a Agent) []string {
	names := make([]string, len(a.Models))
	for i, m := range a.Models {
		names[i] = m.Name
	}
	return names
}

// How long a turn waits for more where its conversation collects.
const (
	collectSilence = burst.Silence // after its person's last message
	collectMost    = burst.Most    // after their first
)

// hold is how long the turn that would begin now waits for more of its person's
// messages: where its conversation collects, and in each for the rest of a burst.
// One that goes on with what came instead of an answer waits for such a rest alone.
// What somebody else has said since ends the wait: nothing that comes behind it
// could join.
func (g *Gateway) hold(ctx context.Context, in ports.Conversation, w ports.Work) time.Duration {
	first, last := w.Waiting[0], w.Waiting[len(w.Waiting)-1]
	for _, m := range w.Waiting {
		if m.Person != first.Person {
			return 0
		}
	}
	rest := burst.Left(w.Waiting)
	if w.Turn != nil || rest > 0 {
		return rest
	}
	a, err := g.agentOf(in)
	if err != nil {
		return 0 // the turn says so
	}
	s, err := g.chosen(ctx, in)
	if err != nil || cmp.Or(s.Busy, a.Busy) != ports.BusyCollect {
		return 0
	}
	return min(collectSilence-time.Since(last.Received), collectMost-time.Since(first.Received))
}
