package agent

import (
	"errors"
	"time"

	"dragoman/ports"
)

// Meter counts what turns do. Its methods return at once. Safe for many goroutines.
type Meter interface {
	// Turn is a turn of an agent that ended; took leaves out the time in which it
	// waited for a person.
	Turn(agent string, o ports.Outcome, took time.Duration)
	// Model is one request, by the model's name in the config. outcome is "ok" or
	// the name of an error's kind; cost is 0 where the model's price is not known.
	Model(model, outcome string, used ports.Tokens, cost ports.Money)
	// Result is what became of a call, by the tool's name as the model wrote it.
	Result(tool string, o ports.CallOutcome)
	// Ran is how long a call ran.
	Ran(took time.Duration)
}

// asked is the outcome of a request to a model, for the Meter. A request that
// was given up for another reason than its own is cancelled.
func asked(err error) string {
	var ours *storeFault
	switch {
	case err == nil:
		return "ok"
	case errors.Is(err, errStopped), errors.Is(err, errInterrupted), errors.As(err, &ours):
		return ports.KindCancelled.String()
	}
	return ports.KindOf(err).String()
}
