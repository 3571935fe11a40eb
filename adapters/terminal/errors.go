package terminal

import "dragoman/ports"

// wrap makes the seam's error. An append whose outcome is unknown counts as
// passing: its nonce lets it be made again.
func wrap(op string, err error) error {
	if err == nil {
		return nil
	}
	kind := ports.KindOf(err)
	if kind == ports.KindUnsure {
		kind = ports.KindTemporary
	}
	return &ports.Error{Kind: kind, Op: "terminal " + op, RetryAfter: ports.RetryAfter(err), Err: err}
}
