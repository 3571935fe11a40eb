package outbox

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"dragoman/ports"
)

// drawing is a stage whose renderer notes what it is told.
type drawing struct{ *stage }

func (drawing) Render(c ports.Content) ([]ports.Content, error) {
	return []ports.Content{{Text: fmt.Sprintf("%s, partial: %v", c.Text, c.Partial)}}, nil
}

func TestAPreviewIsRenderedAsTheBeginningThatItIs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStage(t)
		s.box.Add("chat", drawing{s}, 2)
		v := s.live(ports.Preview{})
		v.Text("a **b")
		time.Sleep(time.Second)
		v.Close()
		s.want("700ms send a **b …, partial: true", "700ms stored t/0/preview as 55")
		if got := s.box.Render(s.lease.In, ports.Content{Text: "a **b"}); got[0].Text != "a **b, partial: false" {
			t.Errorf("an answer is rendered as %q", got[0].Text)
		}
	})
}
