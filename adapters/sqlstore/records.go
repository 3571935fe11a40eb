package sqlstore

import (
	"context"
	"time"

	"dragoman/ports"
)

// Get reads one record. See ports.Records.
func (s *Store) Get(ctx context.Context, scope, kind, key string) (ports.Record, error) {
	r := ports.Record{Scope: scope, Kind: kind, Key: key}
	err := s.view(ctx, "store get", func(ctx context.Context, t *session) error {
		var (
			body    string
			expires int64
		)
		found, err := t.get(ctx, `SELECT version, body, expires FROM record
			WHERE scope = $1 AND kind = $2 AND key = $3 AND (expires = 0 OR expires > $4)`,
			[]any{scope, kind, key, s.now()}, &r.Version, &body, &expires)
		if err == nil && !found {
			return fail(ports.KindNotFound, "there is no %s %q in %q", kind, key, scope)
		}
		r.Body, r.Expires = document(body), moment(expires)
		return err
	})
	if err != nil {
		return ports.Record{}, err
	}
	return r, nil
}

// List reads all records of a kind, by key. See ports.Records.
func (s *Store) List(ctx context.Context, scope, kind string) ([]ports.Record, error) {
	var out []ports.Record
	err := s.view(ctx, "store list", func(ctx context.Context, t *session) error {
		return t.each(ctx, `SELECT key, version, body, expires FROM record
			WHERE scope = $1 AND kind = $2 AND (expires = 0 OR expires > $3) ORDER BY key`,
			[]any{scope, kind, s.now()}, func(scan scanner) error {
				var (
					r       = ports.Record{Scope: scope, Kind: kind}
					body    string
					expires int64
				)
				if err := scan(&r.Key, &r.Version, &body, &expires); err != nil {
					return err
				}
				r.Body, r.Expires = document(body), moment(expires)
				out = append(out, r)
				return nil
			})
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// Put writes r if the stored version is r.Version. A version is never used
// twice for one key, also after the record was deleted: a new record's is made
// of the clock. See ports.Records.
func (s *Store) Put(ctx context.Context, r ports.Record) (ports.Record, error) {
	version := r.Version
	err := s.update(ctx, "store put", func(ctx context.Context, t *session) error {
		if _, err := t.exec(ctx, `DELETE FROM record WHERE expires > 0 AND expires <= $1`, s.now()); err != nil {
			return err
		}
		var (
			n   int64
			err error
		)
		if version == 0 {
			r.Version = time.Now().UnixMicro()
			n, err = t.exec(ctx, `INSERT INTO record (scope, kind, key, version, body, expires) VALUES ($1, $2, $3, $4, $5, $6)
				ON CONFLICT (scope, kind, key) DO NOTHING`, r.Scope, r.Kind, r.Key, r.Version, string(r.Body), millis(r.Expires))
		} else {
			r.Version = version + 1
			n, err = t.exec(ctx, `UPDATE record SET version = $5, body = $6, expires = $7
				WHERE scope = $1 AND kind = $2 AND key = $3 AND version = $4`,
				r.Scope, r.Kind, r.Key, version, r.Version, string(r.Body), millis(r.Expires))
		}
		if err == nil && n == 0 {
			return fail(ports.KindConflict, "%s %q in %q is not of version %d", r.Kind, r.Key, r.Scope, version)
		}
		return err
	})
	if err != nil {
		return ports.Record{}, err
	}
	r.Expires = moment(millis(r.Expires))
	return r, nil
}

// Delete removes r if the stored version is r.Version. See ports.Records.
func (s *Store) Delete(ctx context.Context, r ports.Record) error {
	return s.update(ctx, "store delete", func(ctx context.Context, t *session) error {
		n, err := t.exec(ctx, `DELETE FROM record WHERE scope = $1 AND kind = $2 AND key = $3 AND (version = $4 OR (expires > 0 AND expires <= $5))`,
			r.Scope, r.Kind, r.Key, r.Version, s.now())
		if err != nil || n == 1 {
			return err
		}
		another, err := t.get(ctx, `SELECT 1 FROM record WHERE scope = $1 AND kind = $2 AND key = $3`, []any{r.Scope, r.Kind, r.Key}, new(int))
		if err == nil && another {
			return fail(ports.KindConflict, "%s %q in %q is not of version %d", r.Kind, r.Key, r.Scope, r.Version)
		}
		return err
	})
}
