package inbox

import (
	"context"
	"fmt"
	"slices"

	"dragoman/core/internal/guard"
	"dragoman/ports"
)

// textNotAnswered tells of a command whose answer could not be made.
const textNotAnswered = "I could not do that just now. Please try again in a moment.\n\nReference: %s"

// command has the answer of a command prepared. Its error is the end of ctx alone.
func (x *Inbox) command(ctx context.Context, m ports.Message, v Verdict) (Answer, error) {
	name, _, ok := ports.ParseCommand(m.Text)
	if m.Change != "" { // nothing is done because somebody mends a word of it
		if ok && slices.ContainsFunc(x.parts.Commands, func(c ports.Command) bool { return c.Name == name }) {
			return func(ports.Sight) string { return textNoCommand }, nil
		}
		return nil, nil
	}
	if x.parts.Command == nil || v.Drop || m.Choice != nil || isStop(m) && !v.Welcome || !ok && !v.Welcome {
		return nil, nil
	}
	answer, err := guard.Read(ctx, x.leaks, "command", func(ctx context.Context) (Answer, error) { return x.parts.Command(ctx, m, v) })
	switch {
	case err == nil:
		return answer, nil
	case ctx.Err() != nil:
		return nil, err
	}
	// Its turn has no number yet, so the reference is made of the event.
	ref := ports.Ref(m.In.String() + "!" + m.Event)
	x.log.Error("command_failed", "channel", m.In.Channel, "chat", m.In.Chat, "user", v.Person, "ref", ref, "kind", ports.KindOf(err), "err", err)
	return func(ports.Sight) string { return fmt.Sprintf(textNotAnswered, ref) }, nil
}

// stopPressed reports whether a message is a press of a turn's stop button.
func stopPressed(m ports.Message) bool {
	return m.Choice != nil && m.Choice.Question == ports.StopQuestion
}

// isStop reports whether a message is /stop.
func isStop(m ports.Message) bool {
	name, _, ok := ports.ParseCommand(m.Text)
	return ok && name == "stop"
}
