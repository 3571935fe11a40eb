package storetest

import (
	"slices"

	"dragoman/ports"
)

// quoting is a reply to m that quotes it.
func (t *trial) quoting(in ports.Conversation, m ports.Message, text string) ports.Message {
	q := t.message(in, text)
	q.ReplyTo, q.Quote = m.ID, &ports.Quote{Text: m.Text, Name: "Ann"}
	return q
}

// deletes accepts the deletion of m.
func (t *trial) deletes(m ports.Message) ports.Accepted {
	d := t.message(m.In, "")
	d.ID, d.Change = m.ID, ports.ChangeDelete
	return t.accept(forgets, d)
}

func deletedRules() []Rule {
	return []Rule{
		rule("deleted/its files are gone with it", "who deletes a picture does not want it read by its id", func(t *trial) {
			in, other := room("a"), room("b")
			m := []ports.Message{t.message(in, "1"), t.message(in, "2")}
			t.accept(always(ports.RouteLane), append(slices.Clone(m), t.message(other, "1"))...)
			t.accept(always(ports.RouteLane), t.edit(m[0], "1!"))
			kept := []ports.Artifact{{In: in, ID: "of 1", Message: 1}, {In: in, ID: "of its edit", Message: 3},
				{In: in, ID: "of 2", Message: 2}, {In: in, ID: "of none"}, {In: other, ID: "of 1", Message: 1}}
			for _, a := range kept {
				a.Data = []byte(a.ID)
				t.ok(t.Save(t.ctx, a), "save the file "+a.ID)
			}
			t.deletes(m[0])
			for life := range 2 {
				for i, a := range kept {
					got, err := t.Read(t.ctx, a.In, a.ID, 0, 100)
					if i < 2 {
						t.kind(err, ports.KindNotFound, "read the file "+a.ID+", which is deleted")
						continue
					}
					t.want(err == nil && string(got.Data) == a.ID, "the file %s, which is not deleted, reads %q (%v)", a.ID, got.Data, err)
				}
				if life == 0 {
					t.crash()
				}
			}
		}),
		rule("deleted/no file comes after it", "a picture may be fetched while its message is deleted", func(t *trial) {
			in := room("a")
			m := t.message(in, "1")
			t.accept(always(ports.RouteLane), m)
			t.deletes(m)
			for _, seq := range []int64{1, 99} {
				t.kind(t.Save(t.ctx, ports.Artifact{In: in, ID: "late", Message: seq, Data: []byte("x")}), ports.KindNotFound, "save a file of a message that is not there")
				_, err := t.Read(t.ctx, in, "late", 0, 100)
				t.kind(err, ports.KindNotFound, "read a file that was not to be saved")
			}
		}),
		rule("deleted/nobody quotes it", "what a person deletes must not come back by the words of another", func(t *trial) {
			in := room("a")
			m, plain := t.message(in, "secret"), t.message(in, "plain")
			m.ID = `m%_"\` // an id is opaque
			before := t.quoting(in, m, "what do you mean?")
			l := t.accept(always(ports.RouteLane), m, plain, before, t.quoting(in, plain, "and that?"), t.quoting(in, m, "who waits")).Leases[0]
			for seq := range int64(4) {
				t.finish(l, t.begin(l, seq+1), 1)
			}
			t.deletes(m)
			want := func(what string, got ports.Inbox, quoted bool) {
				t.want((got.Quote != nil) == quoted, "%s quotes %+v", what, got.Quote)
				t.want(got.Text != "" && got.ReplyTo != "" && got.Change != ports.ChangeDelete, "%s is %+v", what, got)
			}
			t.crash()
			l = t.takeOver(in)
			h, err := t.History(t.ctx, l, 10)
			t.want(err == nil && len(h) == 4, "the history is %+v (%v)", h, err)
			want("an answered reply to it", h[2].Inbox[0], false)
			want("a reply to another message", h[3].Inbox[0], true)
			t.want(h[2].Gone == 1 && h[2].Inbox[0].Changed == 6, "the turn of the reply lost what is told as %d, changed by %d", h[2].Gone, h[2].Inbox[0].Changed)
			want("a reply that waits", t.load(l).Waiting[0], false)
			late, edit := t.quoting(in, m, "again"), t.quoting(in, m, "what did you mean?")
			edit.ID, edit.Change = before.ID, ports.ChangeEdit
			t.accept(func(s ports.Sight) ports.Route {
				t.want(s.Message.Quote == nil, "route sees a quote of what is deleted: %+v", s.Message.Quote)
				return ports.Route{Kind: ports.RouteLane, Person: ann}
			}, late, edit)
			t.accept(always(ports.RouteLane), t.quoting(in, plain, "still that"))
			w := t.load(l)
			t.want(len(w.Waiting) == 4, "waiting are %v", seqs(w.Waiting))
			want("a reply that came later", w.Waiting[1], false)
			want("an edit that came later", w.Waiting[2], false)
			want("a later reply to another message", w.Waiting[3], true)
		}),
	}
}
