package telegram

import (
	"context"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"dragoman/ports"
	fake "dragoman/tests/fake/telegram"
)

func TestAnAnswerFollowsItsGroup(t *testing.T) {
	s := set(t, fake.Options{})
	ann, team := s.server.User(7, "Ann"), s.server.PlainGroup(-5, "Team")
	asked := ann.SayIn(team, "@"+s.server.Username()+" well?")
	id, err := s.ch.Send(t.Context(), text(-5, "wait"))
	if err != nil {
		t.Fatal(err)
	}
	team.Migrate(-100500)
	out := text(-5, "it is 4")
	out.ReplyTo = messageID(-5, int64(asked))
	posted, err := s.ch.Send(t.Context(), out)
	if err != nil {
		t.Fatal(err)
	}
	if sent := s.server.Sent(-100500); len(sent) != 1 || sent[0].Text != "it is 4" || posted != messageID(-100500, int64(sent[0].ID)) {
		t.Errorf("the new group shows %+v, the message is %s", sent, posted)
	}
	if err := s.ch.Edit(t.Context(), id, text(-5, "it is 5")); !ports.IsKind(err, ports.KindNotFound) {
		t.Errorf("an edit in the old group: %v", err)
	}
	before := s.server.Calls("sendMessage")
	if _, err := s.ch.Send(t.Context(), text(-5, "again")); err != nil || s.server.Calls("sendMessage") != before+1 {
		t.Errorf("the next one took %d calls (%v)", s.server.Calls("sendMessage")-before, err)
	}
	if err := s.ch.Typing(t.Context(), ports.Conversation{Chat: "-5"}); err != nil || s.server.Typing(-100500) != 1 {
		t.Errorf("typing in the new group: %v", err)
	}
}

func TestNothingOfATopicThatIsGoneIsPostedElsewhere(t *testing.T) {
	s := set(t, fake.Options{Topics: true})
	ann, team := s.server.User(7, "Ann"), s.server.Group(-100, "Team")
	closed, deleted := team.Topic(), team.Topic()
	own := ann.NewTopic("mine")
	team.CloseTopic(closed)
	team.DeleteTopic(deleted)
	ann.DeleteTopic(own)
	before := len(s.server.Sent(-100)) + len(s.server.Sent(7))
	for _, test := range []struct {
		chat  string
		topic int
		kind  ports.Kind
		says  string
	}{
		{"-100", closed, ports.KindForbidden, "the topic is closed"},
		{"-100", deleted, ports.KindNotFound, "the topic is gone"},
		{"7", own, ports.KindNotFound, "the topic is gone"},
	} {
		in := ports.Conversation{Chat: test.chat, Thread: fmt.Sprint(test.topic)}
		_, err := s.ch.Send(t.Context(), ports.Outgoing{In: in, Content: ports.Content{Text: "x"}})
		if !ports.IsKind(err, test.kind) || !strings.Contains(err.Error(), test.says) {
			t.Errorf("in %v: %v", in, err)
		}
	}
	if after := len(s.server.Sent(-100)) + len(s.server.Sent(7)); after != before {
		t.Errorf("%d messages were posted elsewhere", after-before)
	}
}

func TestTheGeneralTopicIsAConversation(t *testing.T) {
	s := set(t, fake.Options{})
	ann, team := s.server.User(7, "Ann"), s.server.Group(-100, "Team")
	team.Topic()
	ann.SayIn(team, "@"+s.server.Username()+" well?")
	s.run()
	m := s.await(1)[0]
	if m.In.Thread != generalThread {
		t.Fatalf("it is said in %v", m.In)
	}
	if err := s.ch.Typing(t.Context(), m.In); err != nil || s.server.TypingIn(-100, 1) != 1 {
		t.Errorf("typing: %v", err)
	}
	if _, err := s.ch.Send(t.Context(), ports.Outgoing{In: m.In, Content: ports.Content{Text: "4"}, ReplyTo: m.ID}); err != nil {
		t.Error(err)
	}
}

func TestADraftGrowsAndBecomesTheAnswer(t *testing.T) {
	s := set(t, fake.Options{Topics: true})
	ann := s.server.User(7, "Ann")
	topic := ann.NewTopic("sums")
	for _, in := range []ports.Conversation{{Chat: "7"}, {Chat: "7", Thread: fmt.Sprint(topic)}} {
		thread := 0
		if in.Thread != "" {
			thread = topic
		}
		ann.Post(fake.Post{Text: "well?", Topic: thread})
		for _, words := range []string{"It", "It **is"} {
			if err := s.ch.Draft(t.Context(), in, words); err != nil {
				t.Fatal(err)
			}
		}
		first, ok := ann.Draft(thread)
		if !ok || first.Changes != 2 || !strings.HasPrefix(first.Text, "It") || !first.CanStop {
			t.Errorf("the draft in %v is %+v", in, first)
		}
		if _, err := s.ch.Send(t.Context(), ports.Outgoing{In: in, Content: ports.Content{Text: "It is 4."}}); err != nil {
			t.Fatal(err)
		}
		if d, ok := ann.Draft(thread); ok {
			t.Errorf("behind the answer the draft %+v is left", d)
		}
		if err := s.ch.Draft(t.Context(), in, "Next"); err != nil {
			t.Fatal(err)
		}
		if next, _ := ann.Draft(thread); next.ID == first.ID {
			t.Errorf("the next answer is drafted as %d again", next.ID)
		}
	}
	if err := s.ch.Draft(t.Context(), ports.Conversation{Chat: "7"}, strings.Repeat("word ", 2000)+"end"); err != nil {
		t.Error(err)
	}
	if d, _ := ann.Draft(0); !strings.HasSuffix(d.Text, "end") {
		t.Errorf("of a long draft the end is %.20q", d.Text)
	}
}

func TestTheStopButtonOfADraftComesIn(t *testing.T) {
	s := set(t, fake.Options{})
	ann := s.server.User(7, "Ann")
	ann.Say("well?")
	s.run()
	in := s.await(1)[0].In
	if err := s.ch.Draft(t.Context(), in, "Let me see"); err != nil {
		t.Fatal(err)
	}
	if err := ann.StopDraft(0); err != nil {
		t.Fatal(err)
	}
	if m := s.await(2)[1]; m.Text != "/stop" || m.In != in || m.From != "7" || !m.Private {
		t.Errorf("it came in as %+v", m)
	}
}

func TestAReactionIsPutOnAndTakenOff(t *testing.T) {
	s := set(t, fake.Options{})
	id := s.server.User(7, "Ann").Say("well?")
	for _, emoji := range []string{"👀", ""} {
		if err := s.ch.React(t.Context(), ports.Conversation{Chat: "7"}, messageID(7, int64(id)), emoji); err != nil || s.server.Reaction(7, id) != emoji {
			t.Errorf("%q: the message has %q, %v", emoji, s.server.Reaction(7, id), err)
		}
	}
}

func TestEachWayOfStreamingHasItsTraits(t *testing.T) {
	for streaming, want := range map[string]ports.Traits{
		"off":   {Drafts: ports.DraftsNowhere},
		"edit":  {Drafts: ports.DraftsNowhere, EditEvery: 1500 * time.Millisecond},
		"draft": {Drafts: ports.DraftsPrivate, EditEvery: 1500 * time.Millisecond, DraftLife: 30 * time.Second},
	} {
		got := (&Channel{streaming: streaming}).Traits()
		if got.Drafts != want.Drafts || got.EditEvery != want.EditEvery || got.DraftLife != want.DraftLife {
			t.Errorf("%s: %+v", streaming, got)
		}
	}
}

func TestAFileGoesWhereAMessageWould(t *testing.T) {
	s := set(t, fake.Options{})
	forum, plain := s.server.Group(-100, "Forum"), s.server.PlainGroup(-5, "Team")
	forum.Topic()
	plain.Migrate(-100500)
	for _, in := range []ports.Conversation{{Chat: "-100", Thread: generalThread}, {Chat: "-5"}} {
		out := ports.Outgoing{In: in, Content: ports.Content{Text: "the sums", File: &ports.File{Name: "sums.txt", MIME: "text/plain", Size: 4}}}
		open := func(context.Context) (io.ReadCloser, error) { return io.NopCloser(strings.NewReader("2+2=")), nil }
		id, err := s.ch.Upload(t.Context(), out, open)
		if err != nil {
			t.Errorf("into %v: %v", in, err)
		}
		if in.Chat == "-5" && !strings.HasPrefix(string(id), "-100500/") {
			t.Errorf("in the group that moved the file is %s", id)
		}
	}
}
