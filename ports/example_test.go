package ports_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"dragoman/ports"
)

// An adapter says what kind of failure it is, and keeps the cause.
func ExampleError() {
	cause := errors.New("429 Too Many Requests: retry after 7")
	var err error = &ports.Error{Kind: ports.KindRateLimited, Op: "wall send", RetryAfter: 7 * time.Second, Err: cause}

	fmt.Println(err)
	fmt.Println(ports.KindOf(err), ports.RetryAfter(err), errors.Is(err, cause))
	// Output:
	// wall send: 429 Too Many Requests: retry after 7
	// rate_limited 7s true
}

// The core looks at the kind alone, never at a text. This is how it decides on a
// message that was not sent.
func ExampleKindOf() {
	next := func(err error) string {
		switch ports.KindOf(err) {
		case ports.KindRateLimited:
			return fmt.Sprint("again in ", ports.RetryAfter(err))
		case ports.KindTemporary, ports.KindUnavailable, ports.KindTimeout:
			return "again, in a while"
		case ports.KindUnsure:
			return "again, with the same Nonce: it may have been posted"
		case ports.KindUnauthorized:
			return "again, when the admin has mended the key"
		case ports.KindFenced:
			return "leave: the conversation has another owner"
		}
		return "given up; the conversation goes on"
	}
	for _, err := range []error{
		&ports.Error{Kind: ports.KindRateLimited, Op: "wall send", RetryAfter: 7 * time.Second},
		ports.Errorf(ports.KindTemporary, "wall send", "502 Bad Gateway"),
		ports.Errorf(ports.KindUnsure, "wall send", "the connection broke before the answer came"),
		ports.Errorf(ports.KindUnauthorized, "wall send", "401 Unauthorized"),
		ports.Errorf(ports.KindForbidden, "wall send", "Ann has blocked the bot"),
		fmt.Errorf("wall send: %w", context.DeadlineExceeded), // a context's end needs no kind
		errors.New("index out of range"),                      // what nobody classified is a fault of ours
	} {
		fmt.Printf("%-12s %s\n", ports.KindOf(err), next(err))
	}
	// Output:
	// rate_limited again in 7s
	// temporary    again, in a while
	// unsure       again, with the same Nonce: it may have been posted
	// unauthorized again, when the admin has mended the key
	// forbidden    given up; the conversation goes on
	// timeout      again, in a while
	// internal     given up; the conversation goes on
}
