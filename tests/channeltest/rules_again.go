package channeltest

import "fmt"

// What of receiving must outlive a restart or a fault.

// person is somebody whose chat the platform tells of also after a restart. before
// is how many messages came in for that.
func (s *scene) person(name string) (who Person, before int, err error) {
	if !s.Facts().HidesNewChats {
		who, err = s.Person(name)
		return who, 0, err
	}
	if who, _, err = s.meet(name); err != nil {
		return nil, 0, err
	}
	return who, len(s.inbox.Messages()), s.restart()
}

func unstoredSurvives(s *scene) error {
	who, before, err := s.person("Ann")
	if err != nil {
		return err
	}
	s.inbox.Refuse(-1)
	s.run()
	if err := who.Say("message 0"); err != nil {
		return err
	}
	if err := s.awaitRefused(1); err != nil {
		return err
	}
	if err := s.restart(); err != nil {
		return err
	}
	s.inbox.Refuse(0)
	s.run()
	all, err := s.await(before + 1)
	if err != nil {
		return fmt.Errorf("after a restart: %w", err)
	}
	return inOrder(all[before:], 1)
}

func restartResumes(s *scene) error {
	who, before, err := s.person("Ann")
	if err != nil {
		return err
	}
	for i := range 3 {
		if i > 0 {
			if err := s.restart(); err != nil {
				return err
			}
		}
		// The first of each round is said while nobody listens.
		if err := who.Say(fmt.Sprint("message ", 2*i)); err != nil {
			return err
		}
		s.run()
		if _, err := s.await(before + 2*i + 1); err != nil {
			return fmt.Errorf("what was said while the gateway was down: %w", err)
		}
		if err := who.Say(fmt.Sprint("message ", 2*i+1)); err != nil {
			return err
		}
		if _, err := s.await(before + 2*i + 2); err != nil {
			return err
		}
	}
	return inOrder(s.inbox.Messages()[before:], 6)
}

func cursorFault(s *scene) error {
	s.inbox.blindFor(2)
	_, _, err := s.meet("Ann")
	return err
}

func outageWaitedOut(s *scene) error {
	if !s.Break(CallReceive, FaultOutage, 3) {
		return fmt.Errorf("%w: the platform cannot be down", ErrNotApplicable)
	}
	_, _, err := s.meet("Ann")
	return err
}
