package toolbox

import (
	"context"
	"encoding/json"
	"slices"

	"dragoman/core/internal/guard"
	"dragoman/ports"
)

const (
	// kindFound is the kind of the record of what was found in a conversation: its
	// scope is the conversation, its key the agent.
	kindFound = "found_tools"
	// foundMax bounds how many tools it names, those included that are gone.
	foundMax = 64
	// keepTries is how often a write is tried that another one came before.
	keepTries = 20
)

// foundTools are the tools that were found or called in a conversation, in the order
// in which they came.
type foundTools struct {
	V     int         `json:"v"`
	Now   int         `json:"now"` // twice the number of finds
	Tools []foundTool `json:"tools"`
}

type foundTool struct {
	Name string `json:"name"`
	Used int    `json:"used"` // Now of when it was found last, or one more: it was called since
}

// kept are the names of what was found in a conversation. A store that cannot be
// read costs their show, and not the turn: the model can search, or call by name.
func (v *View) kept(ctx context.Context, in ports.Conversation) (names []string) {
	_, found, err := v.recorded(ctx, in)
	if err != nil {
		v.box.log.Warn("found_tools_not_read", "channel", in.Channel, "chat", in.Chat, "kind", ports.KindOf(err), "err", err)
	}
	for _, t := range found.Tools {
		names = append(names, t.Name)
	}
	return names
}

// keep notes what a search found.
func (v *View) keep(ctx context.Context, in ports.Conversation, names []string) error {
	return v.change(ctx, in, func(f *foundTools) bool { f.find(names); return true })
}

// called notes a call of a tool in a conversation that searches: it counts as found.
func (v *View) called(ctx context.Context, c ports.ToolCall, t *tool) {
	if !v.finds() || t.source.Name == "" || c.Turn == "" || !v.shows(t) {
		return
	}
	if _, size := v.seen(); size <= v.room() {
		return
	}
	if err := v.change(ctx, c.In, func(f *foundTools) bool { return f.use(t.spec.Name) }); err != nil {
		v.box.log.Warn("found_tools_not_kept", ports.TurnAttr(c.Turn), "kind", ports.KindOf(err), "err", err)
	}
}

// change writes what was found, as edit leaves it; edit reports whether there is
// anything to write. It may be called several times.
func (v *View) change(ctx context.Context, in ports.Conversation, edit func(*foundTools) bool) error {
	if v.records == nil {
		return nil
	}
	for try := 1; ; try++ {
		r, found, err := v.recorded(ctx, in)
		if err != nil || !edit(&found) {
			return err
		}
		found.trim(v.sizes(), v.room())
		if r.Body, err = json.Marshal(found); err != nil {
			return err
		}
		_, err = guard.Read(ctx, v.box.leaks, "store_write", func(ctx context.Context) (ports.Record, error) { return v.records.Put(ctx, r) })
		if !ports.IsKind(err, ports.KindConflict) || try == keepTries {
			return err
		}
	}
}

// recorded reads the record of a conversation. One that makes no sense is as good
// as none.
func (v *View) recorded(ctx context.Context, in ports.Conversation) (ports.Record, foundTools, error) {
	scope := in.String()
	if v.records == nil {
		return ports.Record{}, foundTools{V: 1}, nil
	}
	r, err := guard.Read(ctx, v.box.leaks, "store_read", func(ctx context.Context) (ports.Record, error) {
		return v.records.Get(ctx, scope, kindFound, v.agent)
	})
	if ports.IsKind(err, ports.KindNotFound) {
		return ports.Record{Scope: scope, Kind: kindFound, Key: v.agent}, foundTools{V: 1}, nil
	}
	found := foundTools{V: 1}
	if err == nil && (json.Unmarshal(r.Body, &found) != nil || found.V != 1) {
		found = foundTools{V: 1}
	}
	return r, found, err
}

// sizes are what the tools take that may be shown.
func (v *View) sizes() map[string]int {
	sizes := map[string]int{}
	all, _ := v.seen()
	for _, t := range all {
		sizes[t.spec.Name] = tokens(t.spec)
	}
	return sizes
}

// find adds tools, or makes them the last used where they are. Those that are there
// keep their place.
func (f *foundTools) find(names []string) {
	f.Now += 2
	for _, name := range names {
		if i := f.at(name); i >= 0 {
			f.Tools[i].Used = f.Now
		} else {
			f.Tools = append(f.Tools, foundTool{name, f.Now})
		}
	}
}

// use notes a call, and reports whether that changes anything: nothing, where no
// find came since the last one of that tool.
func (f *foundTools) use(name string) bool {
	i := f.at(name)
	switch {
	case i < 0:
		f.find([]string{name})
		i = f.at(name)
	case f.Tools[i].Used > f.Now:
		return false
	}
	f.Tools[i].Used = f.Now + 1
	return true
}

func (f *foundTools) at(name string) int {
	return slices.IndexFunc(f.Tools, func(t foundTool) bool { return t.Name == name })
}

// trim lets those fall out that were not found or called for longest, of one find
// the last first, until the rest fit into the room and the record. What was found last
// stays: a search finds no more than fits.
func (f *foundTools) trim(sizes map[string]int, room int) {
	for {
		size := 0
		for _, t := range f.Tools {
			size += sizes[t.Name]
		}
		full, crowded := size > room, len(f.Tools) > foundMax
		oldest := -1
		for i, t := range f.Tools {
			helps := crowded || full && sizes[t.Name] > 0 // what is gone takes no room
			if helps && t.Used < f.Now && (oldest < 0 || t.Used <= f.Tools[oldest].Used) {
				oldest = i
			}
		}
		if oldest < 0 {
			return
		}
		f.Tools = slices.Delete(f.Tools, oldest, oldest+1)
	}
}
