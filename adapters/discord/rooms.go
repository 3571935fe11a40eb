package discord

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"sync"
	"time"
)

// rooms is what is known of Discord's channels: of whom they are, and up to where
// their messages are stored. Safe for many goroutines.
type rooms struct {
	mu     sync.Mutex
	known  map[string]room
	direct map[string]bool   // rooms of one person and the bot, which Discord does not list
	last   map[string]string // id of the last message that was stored, of rooms that spoke
	since  uint64            // nothing older is missing, in any room
}

// maxDirect bounds the direct rooms that are remembered: those that spoke last stay.
const maxDirect = 4096

// cursor is rooms in the form that is stored. Last has the rooms that spoke within
// margin of Since: of all others nothing is missing that is older than Since.
type cursor struct {
	Since  uint64            `json:"since,string"`
	Last   map[string]string `json:"last,omitempty"`
	Direct []string          `json:"direct,omitempty"`
}

func newRooms(text string) (*rooms, error) {
	r := &rooms{known: map[string]room{}, direct: map[string]bool{}, last: map[string]string{}}
	if text == "" {
		return r, nil
	}
	var c cursor
	err := json.Unmarshal([]byte(text), &c)
	r.since = c.Since
	maps.Copy(r.last, c.Last)
	for _, id := range c.Direct {
		r.direct[id] = true
	}
	return r, err
}

// get is a room that is known.
func (r *rooms) get(id string) (room, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.direct[id] {
		return room{ID: id, Type: typeDM}, true
	}
	found, ok := r.known[id]
	return found, ok
}

// learn notes what Discord tells of a room.
func (r *rooms) learn(list ...room) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, x := range list {
		switch {
		case !isID(x.ID):
		case x.Type == typeDM && x.Guild == "":
			r.direct[x.ID] = true
		default:
			r.known[x.ID] = x
		}
	}
}

// forget notes that a room is gone.
func (r *rooms) forget(id string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.known, id)
	delete(r.direct, id)
}

// stored notes that a message of a room is stored, and all before it.
func (r *rooms) stored(room, message string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if ordinal(message) > ordinal(r.last[room]) {
		r.last[room] = message
	}
}

// gap is where reading begins: what is older is stored, apart from what Discord is
// late by.
func (r *rooms) gap() gap {
	r.mu.Lock()
	defer r.mu.Unlock()
	since, last := r.since, maps.Clone(r.last)
	return func(room string) uint64 {
		if n := ordinal(last[room]); n > 0 {
			return n
		}
		if since < margin {
			return 0
		}
		return since - margin
	}
}

// begin is the first start, if there was none: what is written from now on is for
// us, also where nothing is stored when the process ends.
func (r *rooms) begin(now time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.since == 0 {
		r.since = idAt(now) + margin
	}
}

// listed are the direct rooms.
func (r *rooms) listed() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Sorted(maps.Keys(r.direct))
}

// caughtUp moves since to the newest message stored: nothing before it is missing.
// It gives the cursor for that.
func (r *rooms) caughtUp() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, id := range r.last {
		r.since = max(r.since, ordinal(id))
	}
	for room, id := range r.last {
		if ordinal(id)+margin < r.since {
			delete(r.last, room)
		}
	}
	return r.text()
}

// text is the cursor. r.mu is held.
func (r *rooms) text() string {
	return cursor{Since: r.since, Last: r.last, Direct: slices.Sorted(maps.Keys(r.direct))}.text()
}

func (c cursor) text() string {
	if len(c.Direct) > maxDirect {
		// Ids grow with time: the oldest rooms go, of those that are silent.
		slices.SortFunc(c.Direct, func(a, b string) int {
			return cmp.Or(cmp.Compare(ordinal(c.Last[b]), ordinal(c.Last[a])), cmp.Compare(ordinal(b), ordinal(a)))
		})
		c.Direct = c.Direct[:maxDirect]
	}
	raw, err := json.Marshal(c)
	if err != nil {
		return "" // strings and numbers alone
	}
	return string(raw)
}
