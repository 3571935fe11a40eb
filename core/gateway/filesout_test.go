package gateway_test

import (
	"context"
	"fmt"
	"io"
	"testing"

	"dragoman/ports"
)

// gallery is a chat that shows files.
type gallery struct{ *chat }

func (g *gallery) Upload(ctx context.Context, m ports.Outgoing, open func(context.Context) (io.ReadCloser, error)) (ports.MessageID, error) {
	file, err := open(ctx)
	if err != nil {
		return "", err
	}
	defer func() { _ = file.Close() }()
	data, err := io.ReadAll(file)
	if err != nil {
		return "", err
	}
	m.Content.Text = fmt.Sprintf("%s %s %d bytes: %s", m.Content.File.Name, m.Content.File.MIME, len(data), m.Content.Text)
	return g.Send(ctx, m)
}

func TestThePictureOfAToolIsPostedOnceBehindTheAnswer(t *testing.T) {
	for what, c := range map[string]struct {
		plug func(*world)
		want string
	}{
		"as a file": {func(w *world) { w.plug = &gallery{w.chat} }, fmt.Sprintf("read_a.png image/png %d bytes: `read_a.png` (image/png, %d bytes)", len(picture(1)), len(picture(1)))},
		"in words":  {func(*world) {}, fmt.Sprintf("`read_a.png` (image/png, %d bytes)", len(picture(1)))},
	} {
		t.Run(what, func(t *testing.T) {
			w := newWorld(t)
			c.plug(w)
			w.tools.results = map[string]ports.ToolResult{"read_a": {Content: []ports.Block{{Kind: ports.BlockImage, MIME: "image/png", Data: picture(1)}}}}
			w.model.reply = calls("srv__read_a")
			w.start()
			w.chat.say(t, "ann", "draw")
			got := w.shown(2)
			w.settled()
			w.restart() // and nothing is posted again
			w.chat.say(t, "ann", "thanks")
			w.model.becomes(echo)
			w.shown(3)
			if got[1] != c.want {
				t.Errorf("the chat shows %q, want %q behind the answer", got, c.want)
			}
			w.end()
			for _, rec := range w.recordings() {
				replayed(t, rec, 0)
			}
		})
	}
}
