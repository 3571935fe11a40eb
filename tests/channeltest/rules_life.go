package channeltest

import (
	"context"
	"errors"
	"fmt"
	"time"

	"dragoman/ports"
)

func lifeRules() []Rule {
	return []Rule{
		{
			"traits-fixed", "the core reads Traits once, before anything runs",
			play(traitsFixed),
		},
		{
			"traits-agree", "the core paces previews by Traits and makes them through Editor: one without the other shows nothing, or too much",
			play(traitsAgree),
		},
		{
			"run-ends-idle", "a drain waits for Run: it must end with its context, and everything that it started with it",
			play(runEndsIdle),
		},
		{
			"run-ends-while-refused", "a gateway whose store is broken must still be able to stop",
			play(runEndsRefused),
		},
		{
			"run-ends-in-outage", "a gateway whose platform is away must still be able to stop",
			play(runEndsOutage),
		},
		{
			"run-again", "a lease may be lost and won back: the gateway then calls Run anew",
			play(runAgain),
		},
		{
			"refused-token-ends-run", "a wrong token is for the admin to mend; trying for ever hides it",
			play(refusedToken),
		},
	}
}

func runEndsIdle(s *scene) error {
	if _, _, err := s.meet("Ann"); err != nil {
		return err
	}
	return s.halt()
}

func runEndsRefused(s *scene) error {
	who, err := s.Person("Ann")
	if err != nil {
		return err
	}
	s.inbox.Refuse(-1)
	s.run()
	if err := who.Say("message 0"); err != nil {
		return err
	}
	if err := s.awaitRefused(2); err != nil {
		return err
	}
	return s.halt()
}

func runEndsOutage(s *scene) error {
	if !s.Break(CallReceive, FaultOutage, -1) {
		return fmt.Errorf("%w: the platform cannot be down", ErrNotApplicable)
	}
	s.run()
	select { // a moment, so that Run meets the outage
	case <-time.After(200 * time.Millisecond):
	case <-s.ctx.Done():
	}
	return s.halt()
}

func runAgain(s *scene) error {
	for i := range 3 {
		if _, _, err := s.meet(fmt.Sprint("Ann ", i)); err != nil {
			return fmt.Errorf("in run %d: %w", i+1, err)
		}
		if err := s.halt(); err != nil {
			return err
		}
	}
	return nil
}

func refusedToken(s *scene) error {
	if !s.Break(CallReceive, FaultUnauthorized, -1) {
		return fmt.Errorf("%w: the platform has no token to refuse", ErrNotApplicable)
	}
	ctx, cancel := context.WithTimeout(s.ctx, s.patience)
	defer cancel()
	err := s.ch.Run(ctx, s.inbox)
	if ctx.Err() != nil {
		return errors.New("Run goes on with a token that the platform refuses")
	}
	return classified(err, ports.KindUnauthorized)
}
