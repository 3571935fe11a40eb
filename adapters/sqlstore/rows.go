package sqlstore

import (
	"context"

	"dragoman/ports"
)

// turnColumns are read into turnRow.dest. Without a row (an outer join) they are empty.
const turnColumns = `COALESCE(t.id, ''), COALESCE(t.person, ''), COALESCE(t.state, ''), COALESCE(t.outcome, ''),
	COALESCE(t.question, ''), COALESCE(t.started, 0), COALESCE(t.steps, 0)`

// turnRow is a turn with what the store alone knows of it. dest does not fill in turn.In.
type turnRow struct {
	turn    ports.Turn
	started int64
	steps   int
}

func (r *turnRow) dest() []any {
	return []any{&r.turn.ID, &r.turn.Person, &r.turn.State, &r.turn.Outcome, &r.turn.Question, &r.started, &r.steps}
}

// unfinished is the turn itself, nil if the row was empty.
func (r *turnRow) unfinished() *ports.Turn {
	if r.turn.ID == "" {
		return nil
	}
	out := r.turn
	out.Started = moment(r.started)
	return &out
}

const inboxColumns = `i.seq, i.person, i.route, COALESCE(i.turn, ''), i.received, i.changed, i.undoes, i.body`

// inboxRows reads messages; rest is what follows SELECT … FROM inbox i.
func inboxRows(ctx context.Context, t *session, rest string, args ...any) ([]ports.Inbox, error) {
	var out []ports.Inbox
	err := t.each(ctx, `SELECT `+inboxColumns+` FROM inbox i `+rest, args, func(scan scanner) error {
		var (
			in       ports.Inbox
			received int64
			body     string
		)
		if err := scan(&in.Seq, &in.Person, &in.Route, &in.Turn, &received, &in.Changed, &in.Undoes, &body); err != nil {
			return err
		}
		in.Received = moment(received)
		var err error
		if in.Message, err = decodeMessage(body); err != nil {
			return err
		}
		out = append(out, in)
		return nil
	})
	return out, err
}

// stepRows reads steps, each given to f with its turn's id; rest is what follows
// SELECT … FROM step s.
func stepRows(ctx context.Context, t *session, f func(turn string, st ports.Step), rest string, args ...any) error {
	return t.each(ctx, `SELECT s.turn, s.idx, s.kind, s.call, s.body FROM step s `+rest, args, func(scan scanner) error {
		var (
			turn, body string
			st         ports.Step
		)
		if err := scan(&turn, &st.Index, &st.Kind, &st.Call, &body); err != nil {
			return err
		}
		st.Body = document(body)
		f(turn, st)
		return nil
	})
}

// document is JSON as it was stored; "" stands for none.
func document(text string) []byte {
	if text == "" {
		return nil
	}
	return []byte(text)
}
