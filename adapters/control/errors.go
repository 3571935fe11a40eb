package control

import (
	"context"
	"errors"
	"fmt"

	"dragoman/ports"
)

// ErrGone is in the chain of an error of the Client that means that the gateway
// went away: whether it had taken the request is not known.
var ErrGone = errors.New("the gateway went away")

// lost classifies an error of the connection, where ctx is not its reason.
func lost(ctx context.Context, op string, err error) error {
	if ctx.Err() != nil {
		return wrap(op, err)
	}
	return &ports.Error{Kind: ports.KindUnavailable, Op: op, Err: fmt.Errorf("%w: %w", ErrGone, err)}
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
