package inbox

import (
	"context"
	"slices"

	"dragoman/core/internal/guard"
	"dragoman/ports"
)

// admitChange admits an edit. Whoever is a stranger by now is told nothing: what
// they edit is not a message that they wrote just now. In a group it speaks to the
// bot if the message did.
func (x *Inbox) admitChange(ctx context.Context, m ports.Message) (Verdict, error) {
	m.Addressed = true
	known, err := guard.Read(ctx, x.leaks, "known", func(ctx context.Context) (bool, error) { return x.parts.Known(ctx, m) })
	if err != nil || !known {
		return Verdict{Drop: true}, err
	}
	return guard.Read(ctx, x.leaks, "admit", func(ctx context.Context) (Verdict, error) { return x.parts.Admit(ctx, m) })
}

// edited routes an edit: a message that waits reads so from now on. One that the
// lane never had, that is another person's, or that the edit leaves as it was, is
// left alone.
func edited(s ports.Sight, v Verdict) ports.Route {
	e, m := s.Earlier, s.Message
	switch {
	case e == nil, e.Person != v.Person, e.From != m.From, sameWords(e.Now, m):
		return ports.Route{Drop: true}
	case e.Turn == "":
		return ports.Route{Kind: ports.RouteReply, Person: v.Person, Replace: true}
	}
	return ports.Route{Drop: true}
}

// sameWords reports whether two forms of a message say the same.
func sameWords(a, b ports.Message) bool {
	return a.Text == b.Text && slices.Equal(a.Attachments, b.Attachments)
}
