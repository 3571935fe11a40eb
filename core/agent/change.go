package agent

import (
	"context"
	"errors"
	"slices"

	"dragoman/core/internal/guard"
	"dragoman/ports"
)

// errReworded ends an activation whose model was asked with words that their person
// has changed since. Nothing of it is recorded: the lane begins it anew.
var errReworded = errors.New("a message was edited before its turn had a row")

// refresh brings the messages that are not recorded as the turn's up to date, and
// reports whether one of them had changed that the model may have been asked with.
func (t *turn) refresh(w ports.Work) (reworded bool) {
	if w.Changed == t.changed {
		return false
	}
	now := func(list, from []ports.Inbox) (changed bool) {
		for i, m := range list {
			at := slices.IndexFunc(from, func(n ports.Inbox) bool { return n.Seq == m.Seq && n.Changed > t.changed })
			if at >= 0 {
				list[i], changed = from[at], true
			}
		}
		return changed
	}
	t.taken, t.joining = slices.Clone(t.taken), slices.Clone(t.joining) // they may share their rows with what was loaded
	now(t.joining, w.Waiting)
	now(t.taken, w.Taken) // somebody deleted what one of them quotes
	reworded = now(t.taken, w.Waiting)
	t.changed, t.pending.Changed = w.Changed, w.Changed
	t.gone, t.outdated = w.Gone, true
	return reworded
}

// deletedWhole reports whether all that was said in a turn was deleted.
func deletedWhole(inbox []ports.Inbox) bool {
	deleted := false
	for _, m := range inbox {
		if m.Route != ports.RouteLane {
			continue
		}
		if m.Change != ports.ChangeDelete {
			return false
		}
		deleted = true
	}
	return deleted
}

// isStop reports whether a control message is a /stop, and no deletion.
func isStop(m ports.Inbox) bool {
	name, _, ok := ports.ParseCommand(m.Text)
	return ok && name == "stop" && m.Change == ""
}

// reread follows a commit that was refused because a message it takes was changed.
// What a model said to the old words is as good as never said; everything else in
// the commit happened, and stands beside the new ones.
func (t *turn) reread(ctx context.Context) error {
	w, err := guard.Read(ctx, t.leaks, "store_load", func(ctx context.Context) (ports.Work, error) { return t.store.Load(ctx, t.lease) })
	if err != nil {
		return &storeFault{err}
	}
	was := t.changed
	t.refresh(w)
	if t.changed == was {
		return &storeFault{ports.Errorf(ports.KindInternal, "commit", "turn %s goes by change %d, and there is none after it", t.id, was)}
	}
	asksOnly := t.pending.Ask != nil && len(t.pending.Steps) == 0 // with the old words
	if asksOnly || slices.ContainsFunc(t.pending.Steps, func(s ports.Step) bool { return s.Kind == ports.StepReply }) {
		return errReworded
	}
	return nil
}
