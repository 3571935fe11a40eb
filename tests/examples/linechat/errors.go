package linechat

import (
	"errors"
	"net"

	"dragoman/ports"
)

// wrap makes the seam's error of any other. Nothing here talks to a remote
// platform, so kinds come from the store and from contexts; a network fault
// passes. An append whose outcome is unknown may be tried again: its nonce lets
// it count once.
func wrap(op string, err error) error {
	if err == nil {
		return nil
	}
	kind := ports.KindOf(err)
	if kind == ports.KindUnsure || kind == ports.KindInternal && isNetwork(err) {
		kind = ports.KindTemporary
	}
	return &ports.Error{Kind: kind, Op: "linechat " + op, RetryAfter: ports.RetryAfter(err), Err: err}
}

func isNetwork(err error) bool {
	_, ok := errors.AsType[net.Error](err)
	return ok
}
