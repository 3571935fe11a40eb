package ports

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"
)

// Kind says what can be done about a failure. The core branches on it alone.
type Kind uint8

const (
	// KindInternal is a fault of ours, and what an unclassified error counts as.
	KindInternal Kind = iota
	// KindTemporary is a passing fault (network, 5xx): the same call may work later.
	KindTemporary
	// KindRateLimited asks to wait; Error.RetryAfter says how long, if known.
	KindRateLimited
	// KindTimeout is a deadline that passed. The call may have had its effect.
	KindTimeout
	// KindCancelled is a call that was given up because its caller left.
	KindCancelled
	// KindUnauthorized is a key or token that is not accepted. Trying again is no use.
	KindUnauthorized
	// KindForbidden is a refusal for good: blocked by the person, not a member.
	KindForbidden
	// KindNotFound is a thing that is not there: a message, a tool, a row.
	KindNotFound
	// KindInvalid is a request that will never be accepted as it is.
	KindInvalid
	// KindTooLarge is a request or an answer beyond a limit, a context window included.
	KindTooLarge
	// KindUnavailable is a peer that is not connected, or a store that cannot write now.
	KindUnavailable
	// KindProtocol is a peer that answered what its protocol does not allow,
	// a stream that ended without its terminator included.
	KindProtocol
	// KindConflict is a lost race: a record's version moved, another poller is at work.
	KindConflict
	// KindFenced is a Lease that is no longer ours. Leave at once; write and say nothing.
	KindFenced
	// KindRefused is a model that declined to answer (a content filter).
	KindRefused
	// KindUnsure is a send or a call whose outcome is unknown: it may have had its effect.
	KindUnsure
)

var kindNames = [...]string{
	"internal", "temporary", "rate_limited", "timeout", "cancelled", "unauthorized", "forbidden", "not_found",
	"invalid", "too_large", "unavailable", "protocol", "conflict", "fenced", "refused", "unsure",
}

// String is the kind's name in logs.
func (k Kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return fmt.Sprintf("kind(%d)", uint8(k))
}

// MarshalText writes the kind's name, in logs and on wires.
func (k Kind) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// UnmarshalText reads a kind's name. One that this version does not know is KindInternal.
func (k *Kind) UnmarshalText(text []byte) error {
	*k = Kind(max(0, slices.Index(kindNames[:], string(text))))
	return nil
}

// Error is the one error type of the seam. Err is the cause and stays in the
// chain; RetryAfter is set where the peer named a time to wait.
type Error struct {
	Kind       Kind
	Op         string // what was being done, as "telegram sendMessage"
	RetryAfter time.Duration
	Wide       bool // RetryAfter is for every write of the account, not for this chat alone
	Err        error
}

// Error is for logs, never for a chat: a cause may quote a peer.
func (e *Error) Error() string {
	if e.Err == nil {
		return e.Op + ": " + e.Kind.String()
	}
	return e.Op + ": " + e.Err.Error()
}

// Unwrap gives the cause.
func (e *Error) Unwrap() error { return e.Err }

// Errorf is an *Error whose cause is made as fmt.Errorf makes it (%w included).
func Errorf(kind Kind, op, format string, args ...any) *Error {
	return &Error{Kind: kind, Op: op, Err: fmt.Errorf(format, args...)}
}

// KindOf classifies any error: the outermost *Error in the chain decides, then
// a context's end, else KindInternal.
func KindOf(err error) Kind {
	var e *Error
	switch {
	case errors.As(err, &e):
		return e.Kind
	case errors.Is(err, context.DeadlineExceeded):
		return KindTimeout
	case errors.Is(err, context.Canceled):
		return KindCancelled
	}
	return KindInternal
}

// IsKind reports whether err is a failure of the given kind. It is false for nil.
func IsKind(err error, kind Kind) bool { return err != nil && KindOf(err) == kind }

// RetryAfter is the time to wait that the peer named, or 0.
func RetryAfter(err error) time.Duration {
	var e *Error
	if errors.As(err, &e) {
		return e.RetryAfter
	}
	return 0
}

// ErrLeaving is the cause (context.Cause) of a call's end where this process
// leaves and another goes on with the call: work that lives on elsewhere is not
// to be cancelled for it.
var ErrLeaving = errors.New("the gateway is stopping")
