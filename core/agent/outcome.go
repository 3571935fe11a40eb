package agent

import (
	"errors"
	"strconv"
	"strings"

	"dragoman/ports"
)

// What the person reads, and what the model reads of calls that did not run.
const (
	textIdle          = "Nothing is running."
	textStopped       = "Stopped."
	textInterruptedBy = "Interrupted: I go on with your next message."
	textFellBack      = "\n\n*(Answered by %s: the model that I ask first did not answer.)*"
	textOverridden    = "The person wrote something new while this ran, which ended it. It is not known whether it had an effect."
	textNotBegun      = "Not run: the person wrote something new."
	textCut           = "\n\n*(The answer is cut off here: it reached the model's length limit.)*"
	textCancelled     = "The person stopped the turn while this ran. It is not known whether it had an effect."
	textNotStarted    = "Not run: the person stopped the turn."
	textInterrupted   = "The gateway was interrupted while this ran. It is not known whether it had an effect. It was not run again."
	textTimeOver      = "The turn's time was over before this had a result. It is not known whether it had an effect."
	textGivenUp       = "The turn was given up before this had a result. It is not known whether it had an effect."
	textCutOff        = "This has no result. It is not known whether it had an effect."
	textNotWanted     = "Not run: what the person wrote was too old, and they did not say that they still want it."
	textSaidNo        = "Not run: the person said no."
	textLeftAlone     = "I have left your earlier message alone."
	textNotAnswered   = "Not run: the person did not answer the question whether it may run."
	textInternal      = "Something went wrong on my side. Please try again; if it happens again, tell the admin."
)

var (
	errTooManySteps = errors.New("too many steps")
	errTooLong      = errors.New("too long")
	errToolFailed   = errors.New("a tool failed")
	errDeadly       = errors.New("the process died too often while this turn ran")
)

// sentences is all that a person is told of a failed turn: the first row that
// fits the failure, by its cause or by its kind. Nothing of the error itself is
// shown. A row with a cause also says which kind the failure is journalled as.
// {steps} and {time} are the agent's limits, {tool} is the tool that failed.
var sentences = []struct {
	cause error
	kind  ports.Kind
	text  string
}{
	{errTooManySteps, ports.KindInternal, "I stopped after {steps} steps without coming to an end. Try a smaller question, or ask me to go on."},
	{errTooLong, ports.KindTimeout, "I stopped because this took longer than {time}. Try a smaller question, or ask me to go on."},
	{errDeadly, ports.KindInternal, "I was interrupted too often while I worked on this, and have given up. Please ask me again."},

	{errOverspent, ports.KindForbidden, "The budget for today is used up. It begins anew at midnight; the admin can raise it."},
	{errUnpriced, ports.KindForbidden, "There is a spending limit, but the price of the language model is not known, so I may not use it. The admin has to set the price."},
	{errAllThought, ports.KindProtocol, "The language model thought about this for so long that nothing was left for its answer. Try a smaller question; the admin can raise max_output_tokens."},
	{errToolFailed, ports.KindUnavailable, "I stopped because a tool that I needed failed: {tool}. Please try again later."},

	{nil, ports.KindTemporary, "The language model cannot be reached at the moment. Please try again in a while."},
	{nil, ports.KindUnavailable, "The language model cannot be reached at the moment. Please try again in a while."},
	{nil, ports.KindRateLimited, "The language model is overloaded at the moment. Please try again in a few minutes."},
	{nil, ports.KindTimeout, "The language model took too long to answer. Please try again."},
	// An account that is used up is refused like a bad key, and it is for the admin too.
	{nil, ports.KindUnauthorized, "The language model refused this gateway's key, or the account behind it is used up. The admin has to look at it."},
	{nil, ports.KindForbidden, "The language model refused this gateway's key, or the account behind it is used up. The admin has to look at it."},
	{nil, ports.KindNotFound, "The configured language model does not exist. The admin has to look at it."},
	{nil, ports.KindInvalid, "The language model did not accept the request. The admin has to look at it."},
	{nil, ports.KindTooLarge, "This conversation has become too long for the language model. With /new a new one begins."},
	{nil, ports.KindProtocol, "The language model's answer broke off or made no sense. Please try again."},
	{nil, ports.KindRefused, "The language model's provider declined to answer this."},

	// No person can do anything about these but try again.
	{nil, ports.KindInternal, textInternal},
	{nil, ports.KindCancelled, textInternal},
	{nil, ports.KindConflict, textInternal},
	{nil, ports.KindFenced, textInternal},
	{nil, ports.KindUnsure, textInternal},
}

// toolFailure ends a turn whose agent is to stop when a tool fails.
type toolFailure struct{ name string }

func (f *toolFailure) Error() string { return "tool " + f.name + " failed" }
func (f *toolFailure) Unwrap() error { return errToolFailed }

// sentence is what the person is told of a failure, and its kind.
func (t *turn) sentence(failure error) (kind ports.Kind, text string) {
	kind, text = ports.KindOf(failure), textInternal
	for _, s := range sentences {
		if s.cause != nil && errors.Is(failure, s.cause) || s.cause == nil && s.kind == kind {
			kind, text = s.kind, s.text
			break
		}
	}
	tool := ""
	if f := (*toolFailure)(nil); errors.As(failure, &f) {
		tool = f.name
	}
	limits := strings.NewReplacer("{steps}", strconv.Itoa(t.cfg.MaxSteps), "{time}", t.cfg.TurnTimeout.String(), "{tool}", tool)
	return kind, limits.Replace(text) + "\n\nReference: " + ports.Ref(t.id)
}

// failed ends the turn plainly. The cause goes to the log, under the reference
// that the person reads, and before the person reads it: a crash in between must
// not leave a reference that nobody knows.
func (t *turn) failed(cause error) ending {
	kind, text := t.sentence(cause)
	t.log.Error("turn_failed", "kind", kind, "err", cause)
	return ending{outcome: ports.OutcomeFailed, kind: kind.String(), text: text}
}
