package sqlstore

import (
	"context"

	"dragoman/ports"
)

// Append adds an entry to the audit. See ports.Audit.
func (s *Store) Append(ctx context.Context, e ports.AuditEntry) error {
	return s.update(ctx, "store append audit", func(ctx context.Context, t *session) error {
		return appendAudit(ctx, t, e, s.now())
	})
}

// Entries reads the last entries, newest first. See ports.Audit.
func (s *Store) Entries(ctx context.Context, limit int) ([]ports.AuditEntry, error) {
	var out []ports.AuditEntry
	err := s.view(ctx, "store audit entries", func(ctx context.Context, t *session) error {
		return t.each(ctx, `SELECT at, actor, what, ref, detail FROM audit ORDER BY id DESC LIMIT $1`, []any{limit}, func(scan scanner) error {
			var (
				e      ports.AuditEntry
				at     int64
				detail string
			)
			if err := scan(&at, &e.Actor, &e.What, &e.Ref, &detail); err != nil {
				return err
			}
			e.At, e.Detail = moment(at), document(detail)
			out = append(out, e)
			return nil
		})
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

func appendAudit(ctx context.Context, t *session, e ports.AuditEntry, now int64) error {
	_, err := t.exec(ctx, `INSERT INTO audit (at, actor, what, ref, detail) VALUES ($1, $2, $3, $4, $5)`,
		now, e.Actor, e.What, e.Ref, string(e.Detail))
	return err
}
