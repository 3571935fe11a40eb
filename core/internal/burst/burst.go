// Package burst tells whether what a person sent is all of it: platforms split an
// album, or a text that is too long for one message, and say so of each piece.
package burst

import (
	"time"

	"dragoman/ports"
)

const (
	// Silence after a message ends a burst.
	Silence = time.Second
	// Most is how long a burst is waited for in all.
	Most = 10 * time.Second
)

// Left is how long the last of these messages, which are in order, may still be
// followed by more that belongs to them; 0 or less: not at all.
func Left(list []ports.Inbox) time.Duration {
	more, last := false, len(list)-1
	first := last
	for i := last; i >= 0; i-- {
		if i < last && list[i+1].Received.Sub(list[i].Received) > Silence {
			break
		}
		first, more = i, more || list[i].More
	}
	if !more {
		return 0
	}
	return min(Silence-time.Since(list[last].Received), Most-time.Since(list[first].Received))
}
