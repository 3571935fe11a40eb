package discord

import (
	"bytes"
	"context"
	"io"
	"testing"

	"dragoman/ports"
	fake "dragoman/tests/fake/discord"
)

func bytesOf(data []byte) func(context.Context) (io.ReadCloser, error) {
	return func(context.Context) (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(data)), nil }
}

func TestAFileIsPostedOnce(t *testing.T) {
	t.Parallel()
	r := newRig(t, fake.Options{})
	ann := r.server.User("Ann")
	r.run()
	ann.Say("a picture, please")
	m := r.await(1)[0]
	data := []byte("\x89PNG\r\n\x1a\n and more")
	o := out(m, "Here *it* is")
	o.Content.File = &ports.File{Name: "a \"cat\".png", MIME: "image/png", Size: int64(len(data))}
	r.server.Cut(fake.CreateMessage, 1)
	if _, err := r.channel.Upload(t.Context(), o, bytesOf(data)); !ports.IsKind(err, ports.KindUnsure) {
		t.Fatalf("an answer that was lost gave %v", err)
	}
	if _, err := r.channel.Upload(t.Context(), o, bytesOf(data)); err != nil {
		t.Fatal(err)
	}
	got := r.server.Sent(ann.DM())
	if len(got) != 1 || len(got[0].Files) != 1 || !bytes.Equal(got[0].Files[0].Content, data) || got[0].Files[0].Name != "a__cat_.png" {
		t.Errorf("the chat shows %+v", got)
	}
}

func TestAFileThatIsTooLargeIsNotSent(t *testing.T) {
	t.Parallel()
	r := newRig(t, fake.Options{})
	ann := r.server.User("Ann")
	r.run()
	ann.Say("all of it")
	o := out(r.await(1)[0], "")
	for _, size := range []int64{maxUpload + 1, 0} { // 0: nobody knows
		o.Content.File = &ports.File{Name: "all", Size: size}
		_, err := r.channel.Upload(t.Context(), o, bytesOf(make([]byte, maxUpload+1)))
		if !ports.IsKind(err, ports.KindTooLarge) {
			t.Errorf("%d bytes gave %v", size, err)
		}
	}
	if n := r.server.Calls(fake.CreateMessage); n != 0 {
		t.Errorf("%d requests were made", n)
	}
}

func TestAFileOfADeletedMessageIsNotFound(t *testing.T) {
	t.Parallel()
	r := newRig(t, fake.Options{})
	ann := r.server.User("Ann")
	r.run()
	id := ann.Post(ann.DM(), fake.Post{Files: []fake.File{{Name: "a.txt", Content: []byte("a")}}})
	m := r.await(1)[0]
	ann.Delete(ann.DM(), id)
	if _, err := r.channel.Open(t.Context(), m.Attachments[0]); !ports.IsKind(err, ports.KindNotFound) {
		t.Errorf("Open gave %v", err)
	}
}
