package sqlstore

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"slices"
	"strings"

	"dragoman/ports"
)

// recordedPast is how many finished turns before it a recording has at most, and
// recordedLeast how many where no memo stands for those before them: what a prompt
// says of more is seldom more than that they are left out.
const (
	recordedPast  = 4096
	recordedLeast = 256
)

// Recorded reads the recording of a turn, by its id or by the reference that
// people see (ports.Ref). It takes no lock and no lease and cannot write, so that
// it works beside a gateway that runs, on one snapshot. KindNotFound: there is no
// such turn, or no database.
func Recorded(ctx context.Context, cfg Config, name string) (ports.Recording, error) {
	out, err := recorded(ctx, cfg, name)
	return out, wrap("read the recording", err)
}

func recorded(ctx context.Context, cfg Config, name string) (out ports.Recording, err error) {
	dir, err := cfg.folder()
	if err != nil {
		return out, err
	}
	file, err := cfg.file(dir)
	if err != nil {
		return out, err
	}
	if _, err := os.Stat(file); errors.Is(err, fs.ErrNotExist) {
		return out, fail(ports.KindNotFound, "there is no turn %q: %s is not there", name, file)
	}
	how := "immutable=1" // SQLite would put files of its own beside even what it only reads
	if _, err := os.Stat(file + "-wal"); err == nil {
		how = "mode=ro"
	}
	db, err := openSQLite(file, how, 1, "query_only(1)")
	if err != nil {
		return out, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	empty, err := examine(ctx, db, file)
	if err != nil || empty {
		return out, cmp.Or(err, fail(ports.KindNotFound, "there is no turn %q: %s is empty", name, file))
	}
	t := newSession(db)
	defer func() { err = errors.Join(err, t.close()) }()
	if err := t.begin(ctx, beginRead); err != nil {
		return out, err
	}
	id, err := turnNamed(ctx, t, name)
	if err == nil {
		out, err = recording(ctx, t, id)
	}
	if err != nil {
		t.rollback(ctx)
		return ports.Recording{}, err
	}
	return out, t.commit(ctx)
}

// turnNamed finds the id of a turn by its id or its reference.
func turnNamed(ctx context.Context, t *session, name string) (string, error) {
	found, err := t.get(ctx, `SELECT 1 FROM turn WHERE id = $1`, []any{name}, new(int))
	if err != nil || found {
		return name, err
	}
	var ids []string
	err = t.each(ctx, `SELECT id FROM turn`, nil, func(scan scanner) error {
		var id string
		err := scan(&id)
		if err == nil && ports.Ref(id) == strings.ToLower(name) {
			ids = append(ids, id)
		}
		return err
	})
	switch {
	case err != nil:
		return "", err
	case len(ids) > 1:
		return "", fail(ports.KindConflict, "the reference %s is that of %d turns: %s", name, len(ids), strings.Join(ids, ", "))
	case len(ids) == 0:
		return "", fail(ports.KindNotFound, "there is no turn %q (a turn is named by the reference that a failure shows in the chat, or by the \"turn\" of a log line)", name)
	}
	return ids[0], nil
}

func recording(ctx context.Context, t *session, id string) (ports.Recording, error) {
	turn, seq, err := recordedTurn(ctx, t, id)
	if err != nil {
		return ports.Recording{}, err
	}
	out := ports.Recording{Version: ports.RecordingVersion, Turn: turn, Steps: []ports.RecordedStep{}}
	if out.Inbox, out.Steps, err = recordedRows(ctx, t, id); err != nil {
		return out, err
	}
	err = t.each(ctx, `SELECT body FROM question WHERE turn = $1 ORDER BY id`, []any{id}, func(scan scanner) error {
		var body string
		if err := scan(&body); err != nil {
			return err
		}
		q, err := decodeQuestion(&body)
		if err == nil && q.Kind != ports.QuestionRedo { // it was offered once the turn was over
			out.Questions = append(out.Questions, *q)
		}
		return err
	})
	if err != nil {
		return out, err
	}
	before, err := recordedBefore(ctx, t, turn.In.String(), seq)
	if err != nil {
		return out, err
	}
	for _, id := range before {
		var p ports.RecordedPast
		if p.Turn, _, err = recordedTurn(ctx, t, id); err != nil {
			return out, err
		}
		if p.Inbox, p.Steps, err = recordedRows(ctx, t, id); err != nil {
			return out, err
		}
		out.Past = append(out.Past, p)
	}
	return out, nil
}

// recordedBefore are the finished turns before a turn, oldest first, as far back as
// its prompts can look: to the latest memo of one of them, and beyond it to the
// turn that the memo stands for up to.
func recordedBefore(ctx context.Context, t *session, conv string, seq int64) (ids []string, err error) {
	var upto *string
	known := false
	err = t.each(ctx, `SELECT t.id, (SELECT s.body FROM step s WHERE s.turn = t.id AND s.kind = 'memo' ORDER BY s.idx DESC LIMIT 1) FROM turn t
		WHERE t.conv = $1 AND t.state = 'done' AND t.lane = 1 AND t.seq < $2 AND `+notUndone(" AND r.seq <= $2")+` ORDER BY t.seq DESC`+limited(recordedPast), []any{conv, seq}, func(scan scanner) error {
		var id string
		var body *string
		if err := scan(&id, &body); err != nil || known {
			return err
		}
		if upto == nil && body != nil {
			var memo struct{ Upto string }
			if err := json.Unmarshal([]byte(*body), &memo); err != nil {
				return err
			}
			upto = &memo.Upto
		}
		ids = append(ids, id)
		known = upto != nil && *upto == id || upto == nil && len(ids) == recordedLeast
		return nil
	})
	slices.Reverse(ids)
	return ids, err
}

func recordedTurn(ctx context.Context, t *session, id string) (out ports.RecordedTurn, seq int64, err error) {
	var started, finished int64
	found, err := t.get(ctx, `SELECT t.id, t.seq, c.channel, c.chat, c.thread, t.person, t.state, t.outcome, t.question, t.started, t.finished
		FROM turn t JOIN conv c ON c.id = t.conv WHERE t.id = $1`, []any{id},
		&out.ID, &seq, &out.In.Channel, &out.In.Chat, &out.In.Thread, &out.Person, &out.State, &out.Outcome, &out.Question, &started, &finished)
	if err == nil && !found {
		err = fail(ports.KindNotFound, "there is no turn %q", id)
	}
	out.Started, out.Finished = moment(started), moment(finished)
	return out, seq, err
}

// recordedRows reads a turn's messages and its journal.
func recordedRows(ctx context.Context, t *session, turn string) ([]ports.RecordedMessage, []ports.RecordedStep, error) {
	messages, err := inboxRows(ctx, t, `WHERE i.turn = $1 ORDER BY i.seq`, turn)
	if err != nil {
		return nil, nil, err
	}
	list := make([]ports.RecordedMessage, len(messages))
	for i, m := range messages {
		list[i] = ports.RecordedMessage{Seq: m.Seq, Person: m.Person, Route: m.Route, Received: m.Received, Undoes: m.Undoes, Message: m.Message}
	}
	steps := []ports.RecordedStep{}
	err = t.each(ctx, `SELECT idx, kind, call, body, at FROM step WHERE turn = $1 ORDER BY idx`, []any{turn}, func(scan scanner) error {
		var (
			st   ports.RecordedStep
			body string
			at   int64
		)
		if err := scan(&st.Index, &st.Kind, &st.Call, &body, &at); err != nil {
			return err
		}
		st.Body, st.At = document(body), moment(at)
		steps = append(steps, st)
		return nil
	})
	return list, steps, err
}
