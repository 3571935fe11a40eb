package sqlstore

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"dragoman/ports"
)

var errClosed = &ports.Error{Kind: ports.KindUnavailable, Err: errors.New("the store is closed")}

// wrap makes err an *ports.Error that says what was being done. An error that
// has its kind already keeps it. The cause is shared by all writes of a batch,
// so it is copied, never changed.
func wrap(op string, err error) error {
	if err == nil {
		return nil
	}
	var known *ports.Error
	if errors.As(err, &known) {
		if known.Op != "" {
			return err
		}
		e := *known
		e.Op = op
		return &e
	}
	kind, words := classify(err)
	if words != "" {
		err = fmt.Errorf("%s: %w", words, err)
	}
	return &ports.Error{Kind: kind, Op: op, Err: err}
}

func classify(err error) (ports.Kind, string) {
	switch {
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return ports.KindOf(err), ""
	case errors.Is(err, sql.ErrConnDone):
		return ports.KindUnavailable, "the store is closed"
	}
	return classifySQLite(err)
}

// fail is an error of a known kind, to be given its op by wrap.
func fail(kind ports.Kind, format string, args ...any) error {
	return ports.Errorf(kind, "", format, args...)
}
