package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"
)

// session is one connection with its prepared statements. It connects at its
// first begin, and again after a failure that left it in doubt. One goroutine
// at a time.
type session struct {
	db    *sql.DB
	conn  *sql.Conn
	stmts map[string]*sql.Stmt
}

func newSession(db *sql.DB) *session { return &session{db: db} }

// begin connects if need be and begins a transaction.
func (t *session) begin(ctx context.Context, how string) error {
	if t.conn == nil {
		conn, err := t.db.Conn(ctx)
		if err != nil {
			return fmt.Errorf("connect: %w", err)
		}
		t.conn, t.stmts = conn, map[string]*sql.Stmt{}
	}
	if _, err := t.exec(ctx, how); err != nil {
		return errors.Join(err, t.close())
	}
	return nil
}

// commit ends the transaction, or rolls it back and says why.
func (t *session) commit(ctx context.Context) error {
	_, err := t.exec(ctx, "COMMIT")
	if err != nil {
		t.rollback(ctx)
	}
	return err
}

// rollback ends the transaction. A full disk may have ended it before, in which
// case ROLLBACK fails: such a connection is dropped.
func (t *session) rollback(ctx context.Context) {
	if _, err := t.exec(ctx, "ROLLBACK"); err != nil {
		_ = t.close()
	}
}

func (t *session) close() error {
	if t.conn == nil {
		return nil
	}
	var err error
	for _, st := range t.stmts {
		err = errors.Join(err, st.Close())
	}
	err = errors.Join(err, t.conn.Close())
	t.conn, t.stmts = nil, nil
	return err
}

// exec runs a statement and counts the rows it changed.
func (t *session) exec(ctx context.Context, query string, args ...any) (int64, error) {
	st, err := t.prepare(ctx, query)
	if err != nil {
		return 0, err
	}
	res, err := st.ExecContext(ctx, args...)
	if err != nil {
		return 0, err
	}
	return res.RowsAffected()
}

// get reads the first row into dest. found is false if there is none.
func (t *session) get(ctx context.Context, query string, args []any, dest ...any) (found bool, err error) {
	err = t.each(ctx, query, args, func(scan scanner) error {
		if found {
			return nil
		}
		found = true
		return scan(dest...)
	})
	return found, err
}

// limited is a LIMIT with the number in the text: SQLite looks at the value of a
// bound one while it plans, and plans anew each time it is bound. For the few
// numbers of frequent queries.
func limited(n int) string { return " LIMIT " + strconv.Itoa(n) }

// scanner reads the columns of the present row.
type scanner func(dest ...any) error

// each calls f for every row. f must not use the session.
func (t *session) each(ctx context.Context, query string, args []any, f func(scanner) error) error {
	st, err := t.prepare(ctx, query)
	if err != nil {
		return err
	}
	rows, err := st.QueryContext(ctx, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := f(rows.Scan); err != nil {
			return err
		}
	}
	return rows.Err()
}

func (t *session) prepare(ctx context.Context, query string) (*sql.Stmt, error) {
	if st, ok := t.stmts[query]; ok {
		return st, nil
	}
	if t.conn == nil {
		return nil, sql.ErrConnDone
	}
	st, err := t.conn.PrepareContext(ctx, expand(query))
	if err != nil {
		return nil, fmt.Errorf("prepare: %w", err)
	}
	t.stmts[query] = st
	return st, nil
}
