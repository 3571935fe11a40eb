package control

import (
	"context"
	"fmt"

	"dragoman/ports"
)

// lost classifies an error of the connection, where ctx is not its reason.
func lost(ctx context.Context, op string, err error) error {
	if ctx.Err() != nil {
		return wrap(op, err)
	}
	return &ports.Error{Kind: ports.KindUnavailable, Op: op, Err: fmt.Errorf("%w: %w", ports.ErrGone, err)}
}

// wrap classifies an error of the socket; nil stays nil.
func wrap(op string, err error) error {
	if err == nil {
		return nil
	}
	kind := ports.KindOf(err)
	if kind == ports.KindInternal {
		kind = ports.KindUnavailable
	}
	return &ports.Error{Kind: kind, Op: op, Err: err}
}
