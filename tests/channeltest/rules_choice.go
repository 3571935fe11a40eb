package channeltest

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"dragoman/ports"
)

func choiceRules() []Rule {
	return []Rule{
		{
			"press-comes-back", "an approval hangs on the press saying exactly which button of which question",
			play(pressComesBack),
		},
		{
			"longest-choice", "ports.Choice promises room for 56 bytes",
			play(longestChoice),
		},
		{
			"press-events-unique", "two presses of one button are two events; the core decides that the second is late",
			play(pressEvents),
		},
		{
			"press-stored-first", "a press that was not stored must come again, or the person waits for ever",
			play(pressStoredFirst),
		},
	}
}

// needsChoices is nil where the platform has buttons.
func (s *scene) needsChoices() error {
	if !s.ch.Traits().Choices {
		return fmt.Errorf("%w: the platform has no buttons", ErrNotApplicable)
	}
	return nil
}

func yesNo(question string) []ports.Choice {
	return []ports.Choice{
		{Question: question, Field: "ok", Value: "yes", Label: "Yes, go on"},
		{Question: question, Field: "ok", Value: "no", Label: "No"},
		{Question: question, Field: "ok", Value: "always", Label: "Always, in this conversation, until I say otherwise"},
	}
}

func pressComesBack(s *scene) error {
	if err := s.needsChoices(); err != nil {
		return err
	}
	who, m, err := s.meet("Ann")
	if err != nil {
		return err
	}
	choices := yesNo("q1")
	id, err := s.send(m.In, "May I?", choices...)
	if err != nil {
		return err
	}
	if err := s.showsButtons(who, choices...); err != nil {
		return err
	}
	for n, c := range choices {
		if err := who.Press(c.Label); err != nil {
			return err
		}
		all, err := s.await(n + 2)
		if err != nil {
			return fmt.Errorf("pressed %q: %w", c.Label, err)
		}
		if err := isPress(all[n+1], who, id, m.In, c); err != nil {
			return fmt.Errorf("pressed %q: %w", c.Label, err)
		}
	}
	return nil
}

// showsButtons waits until the last message has these buttons.
func (s *scene) showsButtons(who Person, choices ...ports.Choice) error {
	var want []string
	for _, c := range choices {
		want = append(want, c.Label)
	}
	err := s.shows(who, func(got []Shown) bool {
		return len(got) > 0 && slices.Equal(got[len(got)-1].Buttons, want)
	})
	if err != nil {
		return fmt.Errorf("%w; want the buttons %q", err, want)
	}
	return nil
}

func isPress(got ports.Message, who Person, on ports.MessageID, in ports.Conversation, c ports.Choice) error {
	switch {
	case got.Choice == nil:
		return errors.New("the message has no Choice")
	case got.Choice.Question != c.Question || got.Choice.Field != c.Field || got.Choice.Value != c.Value:
		return fmt.Errorf("it came as %+v, want %+v", *got.Choice, c)
	case got.ID != on:
		return fmt.Errorf("ID is %q, want that of the message with the button, %q", got.ID, on)
	case got.In != in:
		return fmt.Errorf("it came in %v, want %v", got.In, in)
	case got.From != who.ID():
		return fmt.Errorf("From is %q, want %q", got.From, who.ID())
	case !got.Private:
		return errors.New("Private is false in a private chat")
	case got.Event == "":
		return errors.New("Event is empty")
	}
	return nil
}

func longestChoice(s *scene) error {
	if err := s.needsChoices(); err != nil {
		return err
	}
	who, m, err := s.meet("Ann")
	if err != nil {
		return err
	}
	c := ports.Choice{Question: strings.Repeat("q", 16), Field: strings.Repeat("f", 20), Value: strings.Repeat("v", 16) + "é-_", Label: "Press me"}
	if n := len(c.Question) + len(c.Field) + len(c.Value); n != 56 {
		return fmt.Errorf("the kit's longest choice has %d bytes", n)
	}
	id, err := s.send(m.In, "Which?", c)
	if err != nil {
		return err
	}
	if err := who.Press(c.Label); err != nil {
		return err
	}
	all, err := s.await(2)
	if err != nil {
		return err
	}
	return isPress(all[1], who, id, m.In, c)
}

func pressEvents(s *scene) error {
	if err := s.needsChoices(); err != nil {
		return err
	}
	who, m, err := s.meet("Ann")
	if err != nil {
		return err
	}
	if _, err := s.send(m.In, "May I?", yesNo("q1")...); err != nil {
		return err
	}
	if err := who.Press("No"); err != nil {
		return err
	}
	all, err := s.await(2)
	if err != nil {
		return err
	}
	if all[1].Event == all[0].Event {
		return fmt.Errorf("a press has the event of a message, %q", all[0].Event)
	}
	if err := who.Press("No"); err != nil {
		return err
	}
	_, err = s.await(3)
	return err
}

func pressStoredFirst(s *scene) error {
	if err := s.needsChoices(); err != nil {
		return err
	}
	who, m, err := s.meet("Ann")
	if err != nil {
		return err
	}
	id, err := s.send(m.In, "May I?", yesNo("q1")...)
	if err != nil {
		return err
	}
	s.inbox.Refuse(2)
	if err := who.Press("No"); err != nil {
		return err
	}
	all, err := s.await(2)
	if err != nil {
		return err
	}
	return isPress(all[1], who, id, m.In, yesNo("q1")[1])
}
