package channeltest

import (
	"context"
	"errors"
	"fmt"
	"runtime/pprof"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"dragoman/ports"
)

func sendRules() []Rule {
	return []Rule{
		{
			"send-shows", "an answer that is sent must be there to read, in the right chat",
			play(sendShows),
		},
		{
			"send-as-it-is", "text without Body is shown as it is: no markup is eaten, none takes effect",
			play(sendAsItIs),
		},
		{
			"send-without-run", "after a restart the outbox sends before the channel receives again",
			play(sendWithoutRun),
		},
		{
			"send-in-parallel", "conversations do not wait for one another",
			play(sendInParallel),
		},
		{
			"longest-text-whole", "the core splits at MaxText and trusts it",
			play(longestText),
		},
		{
			"longer-text-cut", "a text beyond MaxText must still arrive, cut, and no character halved",
			play(longerText),
		},
		{
			"reply-accepted", "an answer that names what it answers is posted like any other",
			play(replyAccepted),
		},
		{
			"ended-context-sends-nothing", "a caller that has left must not cause effects",
			play(endedContext),
		},
		{
			"cancel-ends-send", "a drain cancels what hangs",
			play(cancelEndsSend),
		},
		{
			"send-leaves-nothing", "each answer that is given up would leave something behind, for months",
			play(sendLeavesNothing),
		},
		{
			"nonce-drops-doubles", "a delivery is tried again when its outcome is unknown; the nonce is there so that people see it once",
			play(nonceDropsDoubles),
		},
	}
}

func sendShows(s *scene) error {
	ann, toAnn, err := s.meet("Ann")
	if err != nil {
		return err
	}
	bob, _, err := s.meet("Bob")
	if err != nil {
		return err
	}
	first, err := s.send(toAnn.In, "one")
	if err != nil {
		return err
	}
	second, err := s.send(toAnn.In, "two")
	if err != nil {
		return err
	}
	if first == second {
		return fmt.Errorf("two messages have the id %q", first)
	}
	if err := s.showsTexts(ann, "one", "two"); err != nil {
		return err
	}
	got, err := bob.Shows()
	if err == nil && len(got) > 0 {
		return fmt.Errorf("somebody else's chat shows %s", brief(got))
	}
	return err
}

func sendAsItIs(s *scene) error {
	who, m, err := s.meet("Ann")
	if err != nil {
		return err
	}
	texts := []string{
		"*a* _b_ `c` ~d~ ||e|| [f](http://example.org) <b>g</b> &amp; \\ #", "two\nlines", "😀👨‍👩‍👧 日本語 עברית", "unclosed ** ` < [",
	}
	for _, text := range texts {
		if _, err := s.send(m.In, text); err != nil {
			return fmt.Errorf("%q: %w", text, err)
		}
	}
	return s.showsTexts(who, texts...)
}

func sendWithoutRun(s *scene) error {
	who, m, err := s.meet("Ann")
	if err != nil {
		return err
	}
	if err := s.restart(); err != nil {
		return err
	}
	if _, err := s.send(m.In, "still here"); err != nil {
		return err
	}
	return s.showsTexts(who, "still here")
}

func sendInParallel(s *scene) error {
	const n = 40
	who, m, err := s.meet("Ann")
	if err != nil {
		return err
	}
	ids, errs := make([]ports.MessageID, n), make([]error, n)
	var group sync.WaitGroup
	for i := range n {
		out := s.out(m.In, fmt.Sprint("message ", i))
		group.Go(func() {
			ctx, cancel := context.WithTimeout(s.ctx, s.patience)
			defer cancel()
			ids[i], errs[i] = s.ch.Send(ctx, out)
		})
	}
	group.Wait()
	if err := errors.Join(errs...); err != nil {
		return err
	}
	slices.Sort(ids)
	if ids = slices.Compact(ids); len(ids) != n {
		return fmt.Errorf("%d messages have %d ids", n, len(ids))
	}
	return s.shows(who, func(got []Shown) bool {
		texts := map[string]bool{}
		for _, m := range got {
			texts[m.Text] = true
		}
		return len(got) == n && len(texts) == n
	})
}

// limit is MaxText, or a long text's length where there is no limit.
func (s *scene) limit() int {
	if n := s.ch.Traits().MaxText; n > 0 {
		return n
	}
	return 20_000
}

func longestText(s *scene) error {
	who, m, err := s.meet("Ann")
	if err != nil {
		return err
	}
	text := strings.Repeat("abcdefghi ", s.limit()/10+1)[:s.limit()-1] + "."
	if _, err := s.send(m.In, text); err != nil {
		return err
	}
	return s.showsTexts(who, text)
}

func longerText(s *scene) error {
	if s.ch.Traits().MaxText == 0 {
		return fmt.Errorf("%w: the platform has no limit", ErrNotApplicable)
	}
	who, m, err := s.meet("Ann")
	if err != nil {
		return err
	}
	for i, unit := range []string{"abcdefghij", "日", "😀", "a😀"} {
		text := strings.Repeat(unit, s.limit()+7)
		if _, err := s.send(m.In, text); err != nil {
			return fmt.Errorf("a text of many %q: %w", unit, err)
		}
		err := s.shows(who, func(got []Shown) bool {
			if len(got) != i+1 {
				return false
			}
			shown := strings.TrimSuffix(got[i].Text, "…")
			return len(shown) >= s.limit()/2 && utf8.ValidString(shown) && strings.HasPrefix(text, shown)
		})
		if err != nil {
			return fmt.Errorf("a text of many %q is not shown up to the limit: %w", unit, err)
		}
	}
	return nil
}

func replyAccepted(s *scene) error {
	who, m, err := s.meet("Ann")
	if err != nil {
		return err
	}
	out := s.out(m.In, "as you asked")
	out.ReplyTo, out.Reply = m.ID, m.Reply
	if _, err := s.ch.Send(s.ctx, out); err != nil {
		return fmt.Errorf("Send failed: %w", err)
	}
	return s.showsTexts(who, "as you asked")
}

func endedContext(s *scene) error {
	who, m, err := s.meet("Ann")
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(s.ctx)
	cancel()
	_, err = s.ch.Send(ctx, s.out(m.In, "too late"))
	if err := endedBy(err, ports.KindCancelled, context.Canceled); err != nil {
		return err
	}
	if _, err := s.send(m.In, "in time"); err != nil {
		return err
	}
	return s.showsTexts(who, "in time")
}

func cancelEndsSend(s *scene) error {
	_, m, err := s.meet("Ann")
	if err != nil {
		return err
	}
	if !s.Break(CallSend, FaultHang, 2) {
		return fmt.Errorf("%w: the platform cannot hang", ErrNotApplicable)
	}
	ctx, cancel := context.WithCancel(s.ctx)
	defer time.AfterFunc(100*time.Millisecond, cancel).Stop()
	if err := s.endsSoon(ctx, m.In, ports.KindCancelled, context.Canceled); err != nil {
		return fmt.Errorf("a cancelled Send: %w", err)
	}
	late, cancel := context.WithTimeout(s.ctx, 100*time.Millisecond)
	defer cancel()
	if err := s.endsSoon(late, m.In, ports.KindTimeout, context.DeadlineExceeded); err != nil {
		return fmt.Errorf("a Send past its deadline: %w", err)
	}
	return nil
}

// endsSoon checks that a Send that hangs ends with its context.
func (s *scene) endsSoon(ctx context.Context, in ports.Conversation, kind ports.Kind, cause error) error {
	began := time.Now()
	_, err := s.ch.Send(ctx, s.out(in, "hangs"))
	if took := time.Since(began); took > s.soon {
		return fmt.Errorf("it took %v to end", took)
	}
	return endedBy(err, kind, cause)
}

// endedBy checks the error of a call whose context ended.
func endedBy(err error, kind ports.Kind, cause error) error {
	if err := classified(err, kind); err != nil {
		return err
	}
	if !errors.Is(err, cause) {
		return fmt.Errorf("the error lost its cause, %q: %v", cause, err)
	}
	return nil
}

// sendLeavesNothing counts goroutines by label. A connection that is kept for the
// next Send may be made by one, so that less than one a Send is nothing. A client
// keeps 16 at most, of two goroutines each: all of them where the machine is so busy
// that no Send lives to see its own.
func sendLeavesNothing(s *scene) error {
	const sends = 40
	_, m, err := s.meet("Ann")
	if err != nil {
		return err
	}
	if !s.Break(CallSend, FaultHang, sends) {
		return fmt.Errorf("%w: the platform cannot hang", ErrNotApplicable)
	}
	label := fmt.Sprintf("send-%p", s)
	pprof.Do(s.ctx, pprof.Labels("channeltest", label), func(ctx context.Context) {
		for range sends {
			ctx, cancel := context.WithTimeout(ctx, 20*time.Millisecond)
			_, _ = s.ch.Send(ctx, s.out(m.In, "hangs"))
			cancel()
		}
	})
	if err := s.fewer(label, sends); err != nil {
		return fmt.Errorf("%d calls of Send were given up: %w", sends, err)
	}
	return nil
}

func nonceDropsDoubles(s *scene) error {
	if !s.Facts().DropsDoubles {
		return fmt.Errorf("%w: the platform shows doubles", ErrNotApplicable)
	}
	who, m, err := s.meet("Ann")
	if err != nil {
		return err
	}
	out := s.out(m.In, "once")
	first, err := s.ch.Send(s.ctx, out)
	if err != nil {
		return err
	}
	if err := s.restart(); err != nil {
		return err
	}
	second, err := s.ch.Send(s.ctx, out)
	if err != nil {
		return err
	}
	if first != second {
		return fmt.Errorf("the same delivery has the ids %q and %q", first, second)
	}
	return s.showsTexts(who, "once")
}
