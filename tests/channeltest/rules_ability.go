package channeltest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"dragoman/ports"
)

func abilityRules() []Rule {
	return []Rule{
		{
			"edit-replaces", "a preview becomes the answer by an edit: one message, not two",
			play(editReplaces),
		},
		{
			"edit-to-the-same", "an edit that is tried again finds the message as it wants it: that is a success",
			play(editSame),
		},
		{
			"edit-takes-buttons-off", "buttons of an answered question must go",
			play(editButtons),
		},
		{
			"edit-after-restart", "an id outlives the process that got it",
			play(editAfterRestart),
		},
		{
			"edit-of-gone", "a message that is gone is sent anew, which the core does on KindNotFound alone",
			play(editGone),
		},
		{
			"typing-works", "people must see that somebody is at work",
			play(typingWorks),
		},
		{
			"draft-then-send", "a draft gives way to the answer",
			play(draftThenSend),
		},
		{
			"react-works", "a receipt on a message that was received is accepted",
			play(reactWorks),
		},
		{
			"render-makes-parts", "what is stored is what is sent: rendered and split before",
			play(renderParts),
		},
		{
			"render-loses-nothing", "the parts together are the answer: a split must not cost a word",
			play(renderWhole),
		},
		{
			"attachment-opens", "a file that came with a message is read later, by its id alone",
			play(attachmentOpens),
		},
	}
}

// editor is the channel's, with a message to edit.
func (s *scene) editor(text string, choices ...ports.Choice) (ports.Editor, Person, ports.Message, ports.MessageID, error) {
	ed, ok := s.ch.(ports.Editor)
	if !ok {
		return nil, nil, ports.Message{}, "", fmt.Errorf("%w: the channel does not edit", ErrNotApplicable)
	}
	who, m, err := s.meet("Ann")
	if err != nil {
		return nil, nil, ports.Message{}, "", err
	}
	id, err := s.send(m.In, text, choices...)
	return ed, who, m, id, err
}

func editReplaces(s *scene) error {
	ed, who, m, id, err := s.editor("draft")
	if err != nil {
		return err
	}
	if _, err := s.send(m.In, "below"); err != nil {
		return err
	}
	if err := ed.Edit(s.ctx, id, s.out(m.In, "final")); err != nil {
		return fmt.Errorf("Edit failed: %w", err)
	}
	return s.showsTexts(who, "final", "below")
}

func editSame(s *scene) error {
	ed, who, m, id, err := s.editor("done", yesNo("q1")...)
	if err != nil {
		return err
	}
	for range 2 {
		if err := ed.Edit(s.ctx, id, s.out(m.In, "done", yesNo("q1")...)); err != nil {
			return fmt.Errorf("Edit to the same failed: %w", err)
		}
	}
	return s.showsTexts(who, "done")
}

func editButtons(s *scene) error {
	if err := s.needsChoices(); err != nil {
		return err
	}
	ed, who, m, id, err := s.editor("May I?", yesNo("q1")...)
	if err != nil {
		return err
	}
	if err := ed.Edit(s.ctx, id, s.out(m.In, "May I?")); err != nil {
		return fmt.Errorf("Edit failed: %w", err)
	}
	if err := s.showsButtons(who); err != nil {
		return err
	}
	return s.showsTexts(who, "May I?")
}

func editAfterRestart(s *scene) error {
	_, who, m, id, err := s.editor("before")
	if err != nil {
		return err
	}
	if err := s.restart(); err != nil {
		return err
	}
	if err := s.ch.(ports.Editor).Edit(s.ctx, id, s.out(m.In, "after")); err != nil {
		return fmt.Errorf("Edit failed: %w", err)
	}
	return s.showsTexts(who, "after")
}

func editGone(s *scene) error {
	ed, who, m, id, err := s.editor("here")
	if err != nil {
		return err
	}
	d, ok := who.(Deleter)
	if !ok {
		return fmt.Errorf("%w: messages never vanish", ErrNotApplicable)
	}
	if err := d.DeleteAll(); err != nil {
		return err
	}
	return classified(ed.Edit(s.ctx, id, s.out(m.In, "and now?")), ports.KindNotFound)
}

func typingWorks(s *scene) error {
	ty, ok := s.ch.(ports.Typer)
	if !ok {
		return fmt.Errorf("%w: the channel does not show typing", ErrNotApplicable)
	}
	who, m, err := s.meet("Ann")
	if err != nil {
		return err
	}
	for range 2 {
		if err := ty.Typing(s.ctx, m.In); err != nil {
			return fmt.Errorf("Typing failed: %w", err)
		}
	}
	if w, ok := who.(Watcher); ok && !w.SeesTyping() {
		return errors.New("the person does not see it")
	}
	got, err := who.Shows()
	if err == nil && len(got) > 0 {
		return fmt.Errorf("typing left %s", brief(got))
	}
	return err
}

func draftThenSend(s *scene) error {
	dr, ok := s.ch.(ports.Drafter)
	if !ok {
		return fmt.Errorf("%w: the channel has no drafts", ErrNotApplicable)
	}
	who, m, err := s.meet("Ann")
	if err != nil {
		return err
	}
	for _, text := range []string{"The", "The ans", "The answer **is"} {
		if err := dr.Draft(s.ctx, m.In, text); err != nil {
			return fmt.Errorf("Draft failed: %w", err)
		}
	}
	if _, err := s.send(m.In, "The answer is 42."); err != nil {
		return err
	}
	return s.showsTexts(who, "The answer is 42.")
}

func reactWorks(s *scene) error {
	re, ok := s.ch.(ports.Reactor)
	if !ok {
		return fmt.Errorf("%w: the channel does not react", ErrNotApplicable)
	}
	_, m, err := s.meet("Ann")
	if err != nil {
		return err
	}
	if err := re.React(s.ctx, m.In, m.ID, "👀"); err != nil {
		return fmt.Errorf("React failed: %w", err)
	}
	return nil
}

func renderParts(s *scene) error {
	re, ok := s.ch.(ports.Renderer)
	if !ok {
		return fmt.Errorf("%w: the channel does not render", ErrNotApplicable)
	}
	_, m, err := s.meet("Ann")
	if err != nil {
		return err
	}
	contents := []ports.Content{
		{Text: "plain", Choices: yesNo("q1")},
		{Text: "# Head\n\n* a\n* b\n\n| x | y |\n|---|---|\n| 1 | 2 |\n\n```go\nfunc main() {}\n```\n"},
		{Text: strings.Repeat("A sentence of some length, again and again. ", s.limit()/20), Choices: yesNo("q2")},
		{Text: "<b>raw</b> & unclosed ** ` ["},
	}
	for _, c := range contents {
		parts, err := re.Render(c)
		if err != nil || len(parts) == 0 {
			return fmt.Errorf("Render gave %d parts and the error %v", len(parts), err)
		}
		for i, part := range parts {
			last := i == len(parts)-1
			if last != (len(part.Choices) > 0) && len(c.Choices) > 0 {
				return fmt.Errorf("part %d of %d has %d choices; they go with the last", i+1, len(parts), len(part.Choices))
			}
			if err := s.sendPart(m.In, part); err != nil {
				return fmt.Errorf("part %d of %d: %w", i+1, len(parts), err)
			}
		}
	}
	return nil
}

func renderWhole(s *scene) error {
	re, ok := s.ch.(ports.Renderer)
	if !ok {
		return fmt.Errorf("%w: the channel does not render", ErrNotApplicable)
	}
	who, m, err := s.meet("Ann")
	if err != nil {
		return err
	}
	var long strings.Builder
	for i := range s.limit() / 10 {
		fmt.Fprintf(&long, "word%d of many. ", i)
	}
	parts, err := re.Render(ports.Content{Text: long.String()})
	if err != nil {
		return fmt.Errorf("Render failed: %w", err)
	}
	for i, part := range parts {
		if err := s.sendPart(m.In, part); err != nil {
			return fmt.Errorf("part %d of %d: %w", i+1, len(parts), err)
		}
	}
	want := strings.Join(strings.Fields(long.String()), "")
	err = s.shows(who, func(got []Shown) bool {
		var all strings.Builder
		for _, m := range got {
			all.WriteString(strings.Join(strings.Fields(m.Text), ""))
		}
		return len(got) == len(parts) && all.String() == want
	})
	if err != nil {
		return fmt.Errorf("the parts are not the whole: %w", err)
	}
	return nil
}

func attachmentOpens(s *scene) error {
	who, _, err := s.meet("Ann")
	if err != nil {
		return err
	}
	at, ok := who.(Attacher)
	if !ok {
		return fmt.Errorf("%w: people send no files", ErrNotApplicable)
	}
	data := []byte("\x00\xffa file\r\n")
	if err := at.Attach("notes.bin", data); err != nil {
		return err
	}
	all, err := s.await(2)
	if err != nil {
		return err
	}
	if n := len(all[1].Attachments); n != 1 {
		return fmt.Errorf("one file was sent, %d came in", n)
	}
	if err := s.restart(); err != nil {
		return err
	}
	op, ok := s.ch.(ports.Opener)
	if !ok {
		return fmt.Errorf("%w: the channel opens no files", ErrNotApplicable)
	}
	file, err := op.Open(s.ctx, all[1].Attachments[0])
	if err != nil {
		return fmt.Errorf("Open failed: %w", err)
	}
	defer func() { _ = file.Close() }()
	got, err := io.ReadAll(file)
	if err != nil || !bytes.Equal(got, data) {
		return fmt.Errorf("the file reads as %q (%v), it is %q", got, err, data)
	}
	return nil
}

func (s *scene) sendPart(in ports.Conversation, part ports.Content) error {
	if len(part.Body) == 0 {
		return errors.New("it has no Body")
	}
	ctx, cancel := context.WithTimeout(s.ctx, s.patience)
	defer cancel()
	out := s.out(in, "")
	out.Content = part
	if _, err := s.ch.Send(ctx, out); err != nil {
		return fmt.Errorf("Send failed: %w", err)
	}
	return nil
}
