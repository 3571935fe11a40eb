package agent

import (
	"errors"
	"fmt"

	"dragoman/ports"
)

// What the person reads, and what the model reads of calls that did not run.
const (
	textIdle        = "Nothing is running."
	textStopped     = "Stopped."
	textCut         = "\n\n*(The answer is cut off here: it reached the model's length limit.)*"
	textCancelled   = "The person stopped the turn while this ran. It is not known whether it had an effect."
	textNotStarted  = "Not run: the person stopped the turn."
	textInterrupted = "The gateway was interrupted while this ran. It is not known whether it had an effect. It was not run again."
	textTimeOver    = "The turn's time was over before this had a result. It is not known whether it had an effect."
	textGivenUp     = "The turn was given up before this had a result. It is not known whether it had an effect."
	textCutOff      = "This has no result. It is not known whether it had an effect."
	textSaidNo      = "Not run: the person said no."
	textNotAnswered = "Not run: the person did not answer the question whether it may run."
)

var (
	errTooManySteps = errors.New("too many steps")
	errTooLong      = errors.New("too long")
	errResumed      = errors.New("the process died too often while this turn ran")
)

// sentences is what a person is told, by the kind of the failure. Nothing of the
// error itself is shown.
var sentences = map[ports.Kind]string{
	ports.KindTemporary:    "The language model cannot be reached at the moment. Please try again in a while.",
	ports.KindUnavailable:  "The language model cannot be reached at the moment. Please try again in a while.",
	ports.KindRateLimited:  "The language model is overloaded at the moment. Please try again in a few minutes.",
	ports.KindTimeout:      "The language model took too long to answer. Please try again.",
	ports.KindUnauthorized: "The language model refused this gateway's key. The admin has to look at it.",
	ports.KindForbidden:    "The language model refused this gateway's key. The admin has to look at it.",
	ports.KindNotFound:     "The configured language model does not exist. The admin has to look at it.",
	ports.KindInvalid:      "The language model did not accept the request. The admin has to look at it.",
	ports.KindTooLarge:     "This conversation has become too long for the language model.",
	ports.KindProtocol:     "The language model's answer broke off or made no sense. Please try again.",
	ports.KindRefused:      "The language model's provider declined to answer this.",
}

const sentenceInternal = "Something went wrong on my side. Please try again; if it happens again, tell the admin."

// failed ends the turn plainly. The cause goes to the log, under the reference
// that the person reads.
func (t *turn) failed(cause error) ending {
	kind, text := ports.KindOf(cause), ""
	switch {
	case errors.Is(cause, errTooManySteps):
		text = fmt.Sprintf("I stopped after %d steps without coming to an end. Try a smaller question, or ask me to go on.", t.cfg.MaxSteps)
	case errors.Is(cause, errTooLong):
		text = fmt.Sprintf("I stopped because this took longer than %s. Try a smaller question, or ask me to go on.", t.cfg.TurnTimeout)
		kind = ports.KindTimeout
	case errors.Is(cause, errResumed):
		text = "I was interrupted too often while I worked on this, and have given up. Please ask me again."
	default:
		text = sentences[kind]
	}
	if text == "" {
		text = sentenceInternal
	}
	t.log.Error("turn_failed", "kind", kind, "err", cause)
	return ending{outcome: ports.OutcomeFailed, kind: kind.String(), text: fmt.Sprintf("%s\n\nReference: %s", text, Ref(t.id))}
}
