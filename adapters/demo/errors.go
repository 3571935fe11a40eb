package demo

import (
	"context"

	"dragoman/ports"
)

// wrap makes the error of the seam of a context that ended.
func wrap(ctx context.Context) error {
	return &ports.Error{Kind: ports.KindOf(ctx.Err()), Op: "demo reply", Err: ctx.Err()}
}
