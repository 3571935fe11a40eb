package telegram

import (
	"bytes"
	"context"
	"errors"
	"image"
	"image/color"
	"image/gif"
	"io"
	"log/slog"
	"strconv"
	"strings"
	"testing"

	"dragoman/ports"
	fake "dragoman/tests/fake/telegram"
)

// desk is a channel with one person, and a file to post.
type desk struct {
	t      *testing.T
	server *fake.Server
	ch     *Channel
	user   *fake.User
	opened int
	closed int
}

func newDesk(t *testing.T) *desk {
	s := fake.New(fake.Options{})
	t.Cleanup(s.Close)
	ch, err := New(configOf(s), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	u := s.User(7, "Ann")
	u.Say("/start")
	return &desk{t: t, server: s, ch: ch, user: u}
}

// closing counts whether the file is closed.
type closing struct {
	io.Reader
	d *desk
}

func (c closing) Close() error {
	c.d.closed++
	return nil
}

// post uploads what r reads.
func (d *desk) post(f ports.File, text string, r func() (io.Reader, error)) (ports.MessageID, error) {
	return d.ch.Upload(d.t.Context(), ports.Outgoing{In: ports.Conversation{Chat: "7"}, Content: ports.Content{Text: text, File: &f}},
		func(context.Context) (io.ReadCloser, error) {
			from, err := r()
			if err != nil {
				return nil, err
			}
			d.opened++
			return closing{from, d}, nil
		})
}

func (d *desk) data(f ports.File, data []byte) (ports.MessageID, error) {
	f.Size = int64(len(data))
	return d.post(f, "said of it", func() (io.Reader, error) { return bytes.NewReader(data), nil })
}

func TestAFileIsPostedAsWhatItIs(t *testing.T) {
	for mime, c := range map[string]struct {
		data []byte
		want string
	}{
		"image/png":       {fake.Photo(30, 20).Data, "photo"},
		"audio/ogg":       {fake.Voice(1).Data, "voice"},
		"audio/mpeg":      {fake.Audio("a", 1).Data, "audio"},
		"video/mp4":       {fake.Video("a", 1).Data, "video"},
		"image/gif":       {moving(t), "animation"},
		"application/pdf": {[]byte("%PDF-1.7\x00\xff"), "document"},
		"":                {[]byte("?"), "document"},
		// What Telegram does not take as what it says it is.
		"image/jpeg": {fake.Photo(2000, 10).Data, "document"},
		"audio/mp4":  {[]byte("no sound"), "document"},
		"image/webp": {[]byte("no picture"), "document"},
	} {
		t.Run(mime, func(t *testing.T) {
			d := newDesk(t)
			id, err := d.data(ports.File{Name: `a "b"/é.bin`, MIME: mime}, c.data)
			if err != nil {
				t.Fatal(err)
			}
			sent := d.server.Sent(7)
			if len(sent) != 1 || sent[0].File == nil || id != ports.MessageID("7/"+strconv.Itoa(sent[0].ID)) {
				t.Fatalf("as %s the chat shows %+v", id, sent)
			}
			if f := sent[0].File; f.Kind != c.want || !bytes.Equal(f.Data, c.data) || sent[0].Text != "said of it" {
				t.Errorf("the chat shows a %s of %d bytes with %q, want a %s of %d", f.Kind, len(f.Data), sent[0].Text, c.want, len(c.data))
			}
			if c.want == "document" && sent[0].File.Name != "a _b__é.bin" {
				t.Errorf("its name is %q", sent[0].File.Name)
			}
			if d.opened == 0 || d.opened != d.closed {
				t.Errorf("it was opened %d times and closed %d times", d.opened, d.closed)
			}
		})
	}
}

// moving is a GIF with two frames.
func moving(t *testing.T) []byte {
	t.Helper()
	frame := image.NewPaletted(image.Rect(0, 0, 20, 10), color.Palette{color.White, color.Black})
	var b bytes.Buffer
	if err := gif.EncodeAll(&b, &gif.GIF{Image: []*image.Paletted{frame, frame}, Delay: []int{10, 10}}); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestAFileThatCannotBeReadIsNotPosted(t *testing.T) {
	gone := &ports.Error{Kind: ports.KindUnavailable, Op: "store", Err: errors.New("no disk")}
	for what, r := range map[string]func() (io.Reader, error){
		"from the beginning": func() (io.Reader, error) { return nil, gone },
		"in the middle": func() (io.Reader, error) {
			return io.MultiReader(strings.NewReader(strings.Repeat("x", 100_000)), failing{gone}), nil
		},
	} {
		t.Run(what, func(t *testing.T) {
			d := newDesk(t)
			_, err := d.post(ports.File{Name: "a", Size: 200_000}, "", r)
			if !ports.IsKind(err, ports.KindUnavailable) || !errors.Is(err, gone.Err) {
				t.Errorf("the error is %v", err)
			}
			if n := len(d.server.Sent(7)); n > 0 || d.opened != d.closed {
				t.Errorf("%d messages were posted; opened %d, closed %d", n, d.opened, d.closed)
			}
		})
	}
}

type failing struct{ error }

func (b failing) Read([]byte) (int, error) { return 0, b.error }

func TestAnUploadThatFailsSaysHow(t *testing.T) {
	for what, c := range map[string]struct {
		fault func(*fake.Server)
		size  int64
		want  ports.Kind
		shown int
	}{
		"limited":  {func(s *fake.Server) { s.Fail("sendDocument", 1, fake.TooManyRequests(9)) }, 9, ports.KindRateLimited, 0},
		"ill":      {func(s *fake.Server) { s.Fail("sendDocument", 1, fake.BadGateway) }, 9, ports.KindTemporary, 0},
		"blocked":  {func(s *fake.Server) { s.Fail("sendDocument", 1, fake.Blocked) }, 9, ports.KindForbidden, 0},
		"gone":     {func(s *fake.Server) { s.Fail("sendDocument", 1, fake.ChatNotFound) }, 9, ports.KindNotFound, 0},
		"cut":      {func(s *fake.Server) { s.Cut("sendDocument", 1) }, 9, ports.KindUnsure, 1},
		"too long": {func(*fake.Server) {}, maxUpload + 1, ports.KindTooLarge, 0},
	} {
		t.Run(what, func(t *testing.T) {
			d := newDesk(t)
			c.fault(d.server)
			_, err := d.post(ports.File{Size: c.size}, "", func() (io.Reader, error) { return strings.NewReader("some data"), nil })
			if !ports.IsKind(err, c.want) {
				t.Errorf("the error is %v, want %v", err, c.want)
			}
			if n := len(d.server.Sent(7)); n != c.shown {
				t.Errorf("the chat shows %d messages, want %d", n, c.shown)
			}
			if strings.Contains(err.Error(), d.server.Token()) || d.opened != d.closed {
				t.Errorf("opened %d, closed %d, and the error %v", d.opened, d.closed, err)
			}
		})
	}
}

func TestALongCaptionIsCut(t *testing.T) {
	d := newDesk(t)
	text := strings.Repeat("é", maxCaption+10)
	if _, err := d.post(ports.File{Name: "a"}, text, func() (io.Reader, error) { return strings.NewReader("x"), nil }); err != nil {
		t.Fatal(err)
	}
	if got := d.server.Sent(7)[0].Text; got != text[:2*maxCaption] {
		t.Errorf("the caption has %d bytes", len(got))
	}
}

// received is the attachment of the person's message as the bot gets it.
func (d *desk) received(f *fake.File) ports.Attachment {
	d.t.Helper()
	d.user.Post(fake.Post{File: f})
	var list []update
	if err := d.ch.api.post(d.t.Context(), "getUpdates", sendTimeout, struct{}{}, &list); err != nil {
		d.t.Fatal(err)
	}
	all := attachments(list[len(list)-1].Message)
	if len(all) != 1 {
		d.t.Fatalf("the message has %d attachments", len(all))
	}
	return all[0]
}

func (d *desk) read(a ports.Attachment) ([]byte, error) {
	file, err := d.ch.Open(d.t.Context(), a)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	return io.ReadAll(file)
}

func TestWhatPeopleSendIsReadWhole(t *testing.T) {
	for _, f := range []*fake.File{fake.Photo(800, 600), fake.Voice(3), fake.Audio("song.mp3", 2), fake.Video("v.mp4", 2), fake.Document("a b é.pdf", "application/pdf", []byte("\x00\xff\r\n"))} {
		t.Run(f.Kind, func(t *testing.T) {
			d := newDesk(t)
			a := d.received(f)
			if got, err := d.read(a); err != nil || !bytes.Equal(got, f.Data) {
				t.Errorf("it reads as %d bytes (%v), it has %d", len(got), err, len(f.Data))
			}
		})
	}
}

func TestAFileThatCannotBeHadSaysWhy(t *testing.T) {
	big := fake.Document("big.iso", "", []byte("x"))
	big.Size = 21 << 20
	small := func() *fake.File { return fake.Document("a.txt", "text/plain", bytes.Repeat([]byte("x"), 100_000)) }
	for what, c := range map[string]struct {
		file  *fake.File
		fault func(*fake.Server)
		want  ports.Kind
	}{
		"too big":          {big, func(*fake.Server) {}, ports.KindTooLarge},
		"ill":              {small(), func(s *fake.Server) { s.Fail("getFile", 1, fake.BadGateway) }, ports.KindTemporary},
		"limited":          {small(), func(s *fake.Server) { s.Fail("getFile", 1, fake.TooManyRequests(3)) }, ports.KindRateLimited},
		"the file is ill":  {small(), func(s *fake.Server) { s.Fail("file", 1, fake.BadGateway) }, ports.KindTemporary},
		"it breaks off":    {small(), func(s *fake.Server) { s.Cut("file", 1) }, ports.KindTemporary},
		"of another token": {small(), func(s *fake.Server) { s.Fail("getFile", 1, fake.Unauthorized) }, ports.KindUnauthorized},
	} {
		t.Run(what, func(t *testing.T) {
			d := newDesk(t)
			a := d.received(c.file)
			c.fault(d.server)
			_, err := d.read(a)
			if !ports.IsKind(err, c.want) || strings.Contains(err.Error(), d.server.Token()) {
				t.Errorf("the error is %v, want %v", err, c.want)
			}
		})
	}
}
