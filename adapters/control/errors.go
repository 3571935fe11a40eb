package control

import "dragoman/ports"

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
