package sqlstore

import (
	"context"

	"dragoman/ports"
)

// Save stores an artifact; the same id again, in its conversation, is left as
// it is. That of a message that was deleted meanwhile is not stored. See ports.Artifacts.
func (s *Store) Save(ctx context.Context, a ports.Artifact) error {
	data := a.Data
	if data == nil {
		data = []byte{} // nil would be NULL
	}
	return s.update(ctx, "store save", func(ctx context.Context, t *session) error {
		if a.Message != 0 {
			of, err := inboxRows(ctx, t, `WHERE i.conv = $1 AND i.seq = $2`, a.In.String(), a.Message)
			switch {
			case err != nil:
				return err
			case len(of) == 0 || of[0].Change == ports.ChangeDelete:
				return fail(ports.KindNotFound, "message %d of conversation %s is deleted", a.Message, a.In)
			}
		}
		_, err := t.exec(ctx, `INSERT INTO artifact (conv, id, name, mime, size, data, at, message) VALUES ($1, $2, $3, $4, $5, $6, $7, $8)
			ON CONFLICT (conv, id) DO NOTHING`, a.In.String(), a.ID, a.Name, a.MIME, len(data), data, s.now(), a.Message)
		return err
	})
}

// Read reads a piece of an artifact; Size is the whole's. See ports.Artifacts.
func (s *Store) Read(ctx context.Context, in ports.Conversation, id string, offset, limit int64) (ports.Artifact, error) {
	const op = "store read"
	if offset < 0 || limit < 0 {
		return ports.Artifact{}, ports.Errorf(ports.KindInvalid, op, "offset %d, limit %d", offset, limit)
	}
	a := ports.Artifact{In: in, ID: id}
	err := s.view(ctx, op, func(ctx context.Context, t *session) error {
		found, err := t.get(ctx, `SELECT name, mime, size, substr(data, $3, $4) FROM artifact WHERE conv = $1 AND id = $2`,
			[]any{in.String(), id, offset + 1, limit}, &a.Name, &a.MIME, &a.Size, &a.Data)
		if err == nil && !found {
			return fail(ports.KindNotFound, "conversation %s has no artifact %q", in, id)
		}
		return err
	})
	if err != nil {
		return ports.Artifact{}, err
	}
	return a, nil
}
