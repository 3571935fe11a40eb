package channeltest

import (
	"errors"
	"fmt"
	"time"

	"dragoman/ports"
)

// What comes in besides private talk: noise and groups.

func noise(s *scene) error {
	n, ok := s.Platform.(Noiser)
	if !ok {
		return fmt.Errorf("%w: the platform makes no noise", ErrNotApplicable)
	}
	if err := n.Noise(); err != nil {
		return err
	}
	if _, _, err := s.meet("Ann"); err != nil {
		return fmt.Errorf("behind events that nobody knows: %w", err)
	}
	if err := n.Noise(); err != nil {
		return err
	}
	if _, _, err := s.meet("Bob"); err != nil {
		return fmt.Errorf("behind events that nobody knows: %w", err)
	}
	if got := len(s.inbox.Messages()); got != 2 {
		return fmt.Errorf("%d messages came in, 2 were said", got)
	}
	return nil
}

func groupAddressing(s *scene) error {
	g, ok := s.Platform.(Grouper)
	if !ok {
		return fmt.Errorf("%w: the platform has no groups", ErrNotApplicable)
	}
	who, private, err := s.meet("Ann")
	if err != nil {
		return err
	}
	group, err := g.Group("Team", who)
	if err != nil {
		return err
	}
	if err := group.Say(who, "just between us"); err != nil {
		return err
	}
	if err := group.Mention(who, "and you?"); err != nil {
		return err
	}
	// Some platforms keep from a bot what is not said to it.
	ctx := s.ctx
	var named *ports.Message
	deadline := time.Now().Add(s.patience)
	for named == nil && time.Now().Before(deadline) && ctx.Err() == nil {
		for _, m := range s.inbox.Messages()[1:] {
			switch {
			case m.Private:
				return fmt.Errorf("%q in a group is Private", m.Text)
			case m.In == private.In:
				return errors.New("the group and a private chat are one conversation")
			case m.From != who.ID():
				return fmt.Errorf("From is %q in the group, want %q", m.From, who.ID())
			case m.Text == "just between us" && m.Addressed:
				return errors.New("Addressed is set on what was not said to the bot")
			case m.Text != "just between us":
				named = &m
			}
		}
		time.Sleep(5 * time.Millisecond)
	}
	if named == nil {
		return errors.New("a mention of the bot did not come in")
	}
	if !named.Addressed {
		return errors.New("Addressed is not set on a mention of the bot")
	}
	return nil
}
