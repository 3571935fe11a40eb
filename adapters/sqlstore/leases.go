package sqlstore

import (
	"context"

	"dragoman/ports"
)

// Acquire takes a name that nobody holds. See ports.Leases.
func (s *Store) Acquire(ctx context.Context, name string) (epoch int64, err error) {
	err = s.update(ctx, "store acquire", func(ctx context.Context, t *session) error {
		found, err := t.get(ctx, `INSERT INTO lease (name, holder, epoch) VALUES ($1, $2, 1)
			ON CONFLICT (name) DO UPDATE SET holder = excluded.holder, epoch = lease.epoch + 1 WHERE lease.holder IS NULL
			RETURNING epoch`, []any{name, s.node}, &epoch)
		if err == nil && !found {
			return fail(ports.KindConflict, "%q is held", name)
		}
		return err
	})
	return epoch, err
}

// Renew says that the holder is alive. In SQLite the folder's lock says so all
// the time: it is a read. See ports.Leases.
func (s *Store) Renew(ctx context.Context, name string, epoch int64) error {
	return s.view(ctx, "store renew", func(ctx context.Context, t *session) error {
		held, err := holds(ctx, t, name, epoch, s.node)
		if err == nil && !held {
			return fail(ports.KindFenced, "%q is no longer held with epoch %d", name, epoch)
		}
		return err
	})
}

// Release gives the name back. See ports.Leases.
func (s *Store) Release(ctx context.Context, name string, epoch int64) error {
	return s.update(ctx, "store release", func(ctx context.Context, t *session) error {
		_, err := t.exec(ctx, `UPDATE lease SET holder = NULL WHERE name = $1 AND epoch = $2 AND holder = $3`, name, epoch, s.node)
		return err
	})
}

func holds(ctx context.Context, t *session, name string, epoch int64, node string) (bool, error) {
	return t.get(ctx, `SELECT 1 FROM lease WHERE name = $1 AND epoch = $2 AND holder = $3`, []any{name, epoch, node}, new(int))
}
