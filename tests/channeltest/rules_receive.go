package channeltest

import (
	"errors"
	"fmt"
	"time"

	"dragoman/ports"
)

func receiveRules() []Rule {
	return []Rule{
		{
			"message-fields", "the core knows a message, its person and its chat by these fields alone",
			play(messageFields),
		},
		{
			"text-unharmed", "people paste code, emoji and other scripts, and commands begin with a slash",
			play(textUnharmed),
		},
		{
			"order-kept", "what people typed in a burst is one thought, in that order",
			play(orderKept),
		},
		{
			"events-unique", "Event is the dedupe key: two messages with one key lose the second",
			play(eventsUnique),
		},
		{
			"people-apart", "what one person writes must not show up as another's, nor in their conversation",
			play(peopleApart),
		},
		{
			"stored-before-acknowledged", "a message that was not stored must come again, or a full disk loses it",
			play(storedFirst),
		},
		{
			"same-event-again", "a message that comes again under another Event is answered twice",
			play(sameEventAgain),
		},
		{
			"refusal-is-paced", "a store that fails must not be hammered by every channel at once",
			play(refusalPaced),
		},
		{
			"unstored-survives-restart", "the gateway may die between receiving and storing",
			play(unstoredSurvives),
		},
		{
			"restart-resumes", "what is said while the gateway is down is answered, and what was stored does not come anew",
			play(restartResumes),
		},
		{
			"cursor-fault-waited-out", "a store that is slow to open must not end the channel",
			play(cursorFault),
		},
		{
			"outage-waited-out", "platforms have bad minutes; an admin must not have to restart anything",
			play(outageWaitedOut),
		},
		{
			"noise-blocks-nothing", "platforms add kinds of events at will; one that is not understood must not stop those behind it",
			play(noise),
		},
		{
			"group-addressing", "in a group the bot answers who speaks to it, and keeps out of the rest",
			play(groupAddressing),
		},
	}
}

func messageFields(s *scene) error {
	who, m, err := s.meet("Ann")
	if err != nil {
		return err
	}
	switch {
	case m.Event == "":
		return errors.New("Event is empty")
	case m.ID == "":
		return errors.New("ID is empty")
	case m.In.Chat == "":
		return errors.New("In.Chat is empty")
	case m.In.Channel != "":
		return fmt.Errorf("In.Channel is %q; the gateway stamps it", m.In.Channel)
	case m.From != who.ID():
		return fmt.Errorf("From is %q, want %q", m.From, who.ID())
	case !m.Private:
		return errors.New("Private is false in a private chat")
	case m.Text != "Hello from Ann":
		return fmt.Errorf("Text is %q", m.Text)
	case m.Choice != nil:
		return errors.New("Choice is set though no button was pressed")
	case !m.At.IsZero() && time.Since(m.At).Abs() > time.Hour:
		return fmt.Errorf("At is %v; it was written now", m.At)
	}
	return nil
}

func textUnharmed(s *scene) error {
	who, _, err := s.meet("Ann")
	if err != nil {
		return err
	}
	texts := []string{
		"*not bold* _nor this_ `x` [a](b) <b>&amp;</b> \\n",
		"two\nlines", "😀👨‍👩‍👧 日本語 עברית e\u0301", "/stop", "/remind me in 5 minutes", "a:b:c", "{\"json\": true}",
	}
	for n, text := range texts {
		if err := who.Say(text); err != nil {
			return err
		}
		all, err := s.await(n + 2)
		if err != nil {
			return fmt.Errorf("after %q: %w", text, err)
		}
		if got := all[n+1].Text; got != text {
			return fmt.Errorf("%q came in as %q", text, got)
		}
	}
	return nil
}

func orderKept(s *scene) error {
	const n = 30
	who, err := s.Person("Ann")
	if err != nil {
		return err
	}
	s.run()
	for i := range n {
		if err := who.Say(fmt.Sprint("message ", i)); err != nil {
			return err
		}
	}
	all, err := s.await(n)
	if err != nil {
		return err
	}
	return inOrder(all, n)
}

// inOrder checks that all are "message 0" to "message n-1".
func inOrder(all []ports.Message, n int) error {
	if len(all) != n {
		return fmt.Errorf("%d messages came in, %d were said", len(all), n)
	}
	for i, m := range all {
		if want := fmt.Sprint("message ", i); m.Text != want {
			return fmt.Errorf("place %d has %q, want %q", i, m.Text, want)
		}
	}
	return nil
}

func eventsUnique(s *scene) error {
	who, _, err := s.meet("Ann")
	if err != nil {
		return err
	}
	for range 2 {
		if err := who.Say("again"); err != nil {
			return err
		}
	}
	all, err := s.await(3)
	if err != nil {
		return fmt.Errorf("two equal messages: %w", err)
	}
	events, ids := map[string]bool{}, map[ports.MessageID]bool{}
	for _, m := range all {
		if events[m.Event] {
			return fmt.Errorf("two messages have the event %q", m.Event)
		}
		if ids[m.ID] {
			return fmt.Errorf("two messages have the id %q", m.ID)
		}
		events[m.Event], ids[m.ID] = true, true
	}
	return nil
}

func peopleApart(s *scene) error {
	_, ann, err := s.meet("Ann")
	if err != nil {
		return err
	}
	bob, bobs, err := s.meet("Bob")
	if err != nil {
		return err
	}
	switch {
	case ann.From == bobs.From:
		return fmt.Errorf("two people are both %q", ann.From)
	case bobs.From != bob.ID():
		return fmt.Errorf("From is %q, want %q", bobs.From, bob.ID())
	case ann.In == bobs.In:
		return fmt.Errorf("two private chats are both %v", ann.In)
	case ann.ID == bobs.ID:
		return fmt.Errorf("messages of two chats are both %q", ann.ID)
	}
	return nil
}

func storedFirst(s *scene) error {
	const n = 5
	who, err := s.Person("Ann")
	if err != nil {
		return err
	}
	s.inbox.Refuse(3)
	s.run()
	for i := range n {
		if err := who.Say(fmt.Sprint("message ", i)); err != nil {
			return err
		}
	}
	all, err := s.await(n)
	if err != nil {
		return fmt.Errorf("after Receive failed three times: %w", err)
	}
	return inOrder(all, n)
}

func sameEventAgain(s *scene) error {
	who, err := s.Person("Ann")
	if err != nil {
		return err
	}
	s.inbox.Refuse(2)
	s.run()
	if err := who.Say("message 0"); err != nil {
		return err
	}
	all, err := s.await(1)
	if err != nil {
		return err
	}
	refused, _ := s.inbox.Refused()
	for _, m := range refused {
		if m.Event != all[0].Event {
			return fmt.Errorf("the message came as event %q and then as %q", m.Event, all[0].Event)
		}
	}
	return nil
}

func refusalPaced(s *scene) error {
	const watch, most = 1500 * time.Millisecond, 40
	who, err := s.Person("Ann")
	if err != nil {
		return err
	}
	s.inbox.Refuse(-1)
	began := time.Now()
	s.run()
	if err := who.Say("message 0"); err != nil {
		return err
	}
	if err := s.awaitRefused(1); err != nil {
		return err
	}
	select {
	case <-time.After(watch):
	case <-s.ctx.Done():
		return s.ctx.Err()
	}
	took := time.Since(began) // which is more on a machine that is busy
	if _, n := s.inbox.Refused(); n > int(most*took/watch) {
		return fmt.Errorf("a failing Receive was called %d times in %v", n, took)
	}
	return nil
}
