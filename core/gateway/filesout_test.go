package gateway_test

import (
	"context"
	"fmt"
	"io"
	"slices"
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

// What a tool links to on the web is below the answer, unless the answer says it: the
// model is not the only one who is to know.
func TestLinksThatTheAnswerDoesNotNameStandBelowIt(t *testing.T) {
	for what, c := range map[string]struct {
		answer string
		links  int
		want   []string
	}{
		"none is named": {"It is known.", 2, []string{"It is known.", "- [page 0](https://example.org/0)\n- [page 1](https://example.org/1)"}},
		"one is named":  {"See https://example.org/0.", 2, []string{"See https://example.org/0.", "- [page 1](https://example.org/1)"}},
		"a list":        {"There are many.", 6, []string{"There are many."}},
	} {
		t.Run(what, func(t *testing.T) {
			w := newWorld(t)
			var result ports.ToolResult
			for i := range c.links {
				result.Content = append(result.Content, ports.Block{Kind: ports.BlockLink, URI: fmt.Sprint("https://example.org/", i), Name: fmt.Sprint("page ", i)})
			}
			w.tools.results = map[string]ports.ToolResult{"read_a": result}
			w.model.reply = func(ctx context.Context, r ports.ModelRequest) (ports.ModelReply, error) {
				if r.Entries[len(r.Entries)-1].Role == ports.RoleTool {
					return says(c.answer)
				}
				return calls("srv__read_a")(ctx, r)
			}
			w.start()
			w.chat.say(t, "ann", "search")
			w.shown(len(c.want))
			w.settled()
			if got := w.chat.texts(); !slices.Equal(got, c.want) {
				t.Errorf("the chat shows %q, want %q", got, c.want)
			}
			w.end()
			for _, rec := range w.recordings() {
				replayed(t, rec, 0)
			}
		})
	}
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
