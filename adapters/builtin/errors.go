package builtin

import (
	"fmt"

	"dragoman/ports"
)

// invalidError is arguments that the tool does not take.
type invalidError struct{ what string }

func (e *invalidError) Error() string { return e.what }

func invalid(format string, args ...any) error {
	return &invalidError{what: fmt.Sprintf(format, args...)}
}

// wrap makes err the *ports.Error of a call; a store's error keeps its kind.
func wrap(op string, err error) error {
	kind := ports.KindOf(err)
	if _, ok := err.(*invalidError); ok {
		kind = ports.KindInvalid
	}
	return &ports.Error{Kind: kind, Op: "builtin " + op, Err: err}
}
