package channeltest

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"dragoman/ports"
)

func faultRules() []Rule {
	return []Rule{
		{
			"rate-limit-kind", "the outbox waits as long as the platform asks, no less",
			play(rateLimit),
		},
		{
			"wide-limit-is-wide", "a limit of the whole account is waited out by every chat, or each runs into it and makes it longer",
			play(wideLimit),
		},
		{
			"forbidden-kind", "a person who blocked the bot is not tried again",
			play(faultIs(FaultForbidden, ports.KindForbidden)),
		},
		{
			"gone-kind", "a chat that is gone is not tried again",
			play(faultIs(FaultGone, ports.KindNotFound, ports.KindForbidden)),
		},
		{
			"unauthorized-kind", "a refused token is for the admin; trying again is no use",
			play(faultIs(FaultUnauthorized, ports.KindUnauthorized)),
		},
		{
			"outage-kind", "a send that the platform was too ill to take is tried again",
			play(faultIs(FaultOutage, ports.KindTemporary, ports.KindUnavailable)),
		},
		{
			"cut-is-unsure", "a send whose answer is lost may have been seen: only an honest unsure lets the core avoid doubles",
			play(cutIsUnsure),
		},
		{
			"works-after-faults", "one failed send must not spoil the next",
			play(worksAfterFaults),
		},
		{
			"secrets-kept", "errors and logs are copied into bug reports",
			play(secretsKept),
		},
		{
			"texts-kept", "what people write is theirs: it is logged at debug only",
			play(textsKept),
		},
	}
}

// fail breaks the next send and returns its error.
func (s *scene) fail(in ports.Conversation, f Fault) error {
	if !s.Break(CallSend, f, 1) {
		return fmt.Errorf("%w: the platform cannot fail with %s", ErrNotApplicable, f)
	}
	ctx, cancel := context.WithTimeout(s.ctx, s.patience)
	defer cancel()
	_, err := s.ch.Send(ctx, s.out(in, "broken by "+string(f)))
	if err == nil {
		return fmt.Errorf("Send succeeded under %s", f)
	}
	return failure{err}
}

// failure is the error of a channel, as opposed to one of the kit.
type failure struct{ error }

func (f failure) Unwrap() error { return f.error }

// failsAs checks the kind and the form of a failure.
func (s *scene) failsAs(in ports.Conversation, f Fault, kinds ...ports.Kind) (*ports.Error, error) {
	err := s.fail(in, f)
	var failed failure
	if !errors.As(err, &failed) {
		return nil, err
	}
	if err := classified(failed.error, kinds...); err != nil {
		return nil, err
	}
	var e *ports.Error
	switch {
	case !errors.As(failed.error, &e):
		return nil, fmt.Errorf("the error is no *ports.Error: %v", failed.error)
	case e.Op == "":
		return nil, fmt.Errorf("the error does not say what was being done: %v", e)
	case e.Err == nil:
		return nil, fmt.Errorf("the error lost its cause: %v", e)
	case e.Wide && (e.Kind != ports.KindRateLimited || e.RetryAfter <= 0):
		return nil, fmt.Errorf("the error is Wide, which only a rate limit with a time to wait can be: %v", e)
	}
	return e, nil
}

func faultIs(f Fault, kinds ...ports.Kind) func(*scene) error {
	return func(s *scene) error {
		_, m, err := s.meet("Ann")
		if err != nil {
			return err
		}
		_, err = s.failsAs(m.In, f, kinds...)
		return err
	}
}

func rateLimit(s *scene) error {
	_, err := s.limitedBy(FaultRateLimit)
	return err
}

func wideLimit(s *scene) error {
	e, err := s.limitedBy(FaultWideLimit)
	if err == nil && !e.Wide {
		return fmt.Errorf("the limit is the account's, and the error is not Wide: %v", e)
	}
	return err
}

// limitedBy is the error of a send that the platform limits.
func (s *scene) limitedBy(f Fault) (*ports.Error, error) {
	_, m, err := s.meet("Ann")
	if err != nil {
		return nil, err
	}
	e, err := s.failsAs(m.In, f, ports.KindRateLimited)
	if err == nil && e.RetryAfter != RetryAfter {
		return nil, fmt.Errorf("RetryAfter is %v, the platform asked for %v", e.RetryAfter, RetryAfter)
	}
	return e, err
}

func cutIsUnsure(s *scene) error {
	who, m, err := s.meet("Ann")
	if err != nil {
		return err
	}
	if _, err := s.failsAs(m.In, FaultCut, ports.KindUnsure); err != nil {
		return err
	}
	return s.showsTexts(who, "broken by "+string(FaultCut))
}

// faults that a send may meet.
func faults() []Fault {
	return []Fault{FaultRateLimit, FaultWideLimit, FaultForbidden, FaultGone, FaultUnauthorized, FaultOutage, FaultCut}
}

func worksAfterFaults(s *scene) error {
	_, m, err := s.meet("Ann")
	if err != nil {
		return err
	}
	tried := 0
	for _, f := range faults() {
		switch err := s.fail(m.In, f); {
		case errors.Is(err, ErrNotApplicable):
			continue
		case !errors.As(err, new(failure)):
			return err
		}
		tried++
		if _, err := s.send(m.In, "fine again"); err != nil {
			return fmt.Errorf("after %s: %w", f, err)
		}
	}
	if tried == 0 {
		return fmt.Errorf("%w: the platform never fails", ErrNotApplicable)
	}
	return nil
}

func secretsKept(s *scene) error {
	secrets := s.Facts().Secrets
	if len(secrets) == 0 {
		return fmt.Errorf("%w: the channel has no secrets", ErrNotApplicable)
	}
	_, m, err := s.meet("Ann")
	if err != nil {
		return err
	}
	var seen []string
	for _, f := range faults() {
		if err := s.fail(m.In, f); errors.As(err, new(failure)) {
			seen = append(seen, err.Error(), fmt.Sprintf("%#v", err))
		}
	}
	if err := s.halt(); err != nil {
		return err
	}
	// With nobody at the other end the error is the HTTP client's own, which likes to quote URLs.
	s.run()
	s.Platform.Close()
	_, err = s.ch.Send(s.ctx, s.out(m.In, "nobody there"))
	if err != nil {
		seen = append(seen, err.Error(), fmt.Sprintf("%#v", err))
	}
	if err := s.halt(); err != nil {
		return err
	}
	seen = append(seen, s.book.String())
	for _, secret := range secrets {
		for _, text := range seen {
			if strings.Contains(text, secret) {
				return fmt.Errorf("a secret is in %q", strings.ReplaceAll(text, secret, "[here]"))
			}
		}
	}
	return nil
}

func textsKept(s *scene) error {
	const said, answered = "my-doctor-said", "you-should-rest"
	who, m, err := s.meet("Ann")
	if err != nil {
		return err
	}
	if err := who.Say(said); err != nil {
		return err
	}
	if _, err := s.await(2); err != nil {
		return err
	}
	if _, err := s.send(m.In, answered); err != nil {
		return err
	}
	if err := s.halt(); err != nil {
		return err
	}
	for line := range strings.Lines(s.book.String()) {
		if strings.Contains(line, "level=DEBUG") {
			continue
		}
		if strings.Contains(line, said) || strings.Contains(line, answered) {
			return fmt.Errorf("a text is logged above debug: %s", line)
		}
	}
	return nil
}
