package outbox

import (
	"log/slog"
	"testing"

	"dragoman/core/internal/guard"
	"dragoman/ports"
)

// rendering is a channel whose renderer panics.
type rendering struct{ ports.ChannelPort }

func (rendering) Traits() ports.Traits { return ports.Traits{} }

func (rendering) Render(ports.Content) ([]ports.Content, error) { panic("boom") }

func TestARendererThatPanicsCostsTheFormAlone(t *testing.T) {
	o := New(t.Context(), nil, new(guard.Leaks), slog.New(slog.DiscardHandler))
	o.Add("chat", rendering{}, 1)
	defer func() {
		if r := recover(); r != nil {
			t.Errorf("a panic of the renderer reaches the turn, whose end it then prevents for ever: %v", r)
		}
	}()
	got := o.Render(ports.Conversation{Channel: "chat"}, ports.Content{Text: "hello"})
	if len(got) != 1 || got[0].Text != "hello" {
		t.Errorf("rendered as %+v", got)
	}
}
