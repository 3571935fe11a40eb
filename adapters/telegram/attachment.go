package telegram

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"path"
	"strings"
	"time"

	"dragoman/adapters/internal/call"
	"dragoman/ports"
)

var _ ports.Opener = (*Channel)(nil)

// Open reads a file that came with a message, of at most 20 MB
// (https://core.telegram.org/bots/api#getfile). Its link holds the token and lives for
// an hour: it is asked for each time and leaves no trace.
func (c *Channel) Open(ctx context.Context, a ports.Attachment) (io.ReadCloser, error) {
	const op = "telegram getFile"
	var file struct {
		Path string `json:"file_path"`
	}
	p := struct {
		ID string `json:"file_id"`
	}{a.ID}
	err := c.api.post(ctx, "getFile", sendTimeout, p, &file)
	var api *apiError
	switch {
	case errors.As(err, &api) && strings.Contains(api.Description, "file is too big"):
		return nil, &ports.Error{Kind: ports.KindTooLarge, Op: op, Err: err}
	case err != nil:
		return nil, wrap(op, err)
	case file.Path == "" || path.IsAbs(file.Path):
		return nil, ports.Errorf(ports.KindInvalid, op, "the Bot API server keeps the file on its own disk: run it without --local")
	}
	body, err := c.api.download(ctx, file.Path)
	return body, wrap("telegram file", err)
}

// download begins to read a file; whoever reads it closes it.
func (c *client) download(ctx context.Context, file string) (io.ReadCloser, error) {
	own := "bot" + c.token.Reveal() + "/"
	u := strings.TrimSuffix(c.base, own) + "file/" + own + (&url.URL{Path: file}).EscapedPath()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u, nil)
	if err != nil {
		return nil, c.scrub(&call.Error{Err: call.Bare(err), Stage: call.StageBuild})
	}
	res, err := c.http.Do(req)
	if err != nil {
		return nil, c.scrub(&call.Error{Err: call.Bare(err), Stage: call.StageDial, Caller: ctx.Err()})
	}
	if res.StatusCode == http.StatusOK {
		return &download{res.Body, ctx}, nil
	}
	_ = res.Body.Close()
	e := &apiError{Code: res.StatusCode, Description: http.StatusText(res.StatusCode), Foreign: true}
	if res.StatusCode == http.StatusTooManyRequests {
		e.RetryAfter = time.Second
	}
	return nil, e
}

// download is the body of a file, whose errors have a kind.
type download struct {
	io.ReadCloser
	ctx context.Context // of the whole download
}

func (d *download) Read(into []byte) (int, error) {
	n, err := d.ReadCloser.Read(into)
	if err == nil || errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return n, err
	}
	return n, wrap("telegram file", &call.Error{Err: fmt.Errorf("the file broke off: %w", call.Bare(err)), Stage: call.StageSent, Caller: d.ctx.Err()})
}

// attachments lists what came with a message besides text. MIME says what it
// is; what is no file has a MIME of our own and no ID.
func attachments(m *message) []ports.Attachment {
	var out []ports.Attachment
	if n := len(m.Photo); n > 0 {
		out = append(out, m.Photo[n-1].attachment("image/jpeg")) // the largest comes last
	}
	document := m.Document
	if m.Animation != nil {
		// It is repeated as a document, for bots older than animations.
		out, document = append(out, m.Animation.attachment("video/mp4")), nil
	}
	for _, f := range []struct {
		file *file
		mime string
	}{
		{document, "application/octet-stream"},
		{m.Audio, "audio/mpeg"},
		{m.Voice, "audio/ogg"},
		{m.Video, "video/mp4"},
		{m.VideoNote, "video/mp4"},
		{m.Sticker, "image/webp"},
	} {
		if f.file != nil {
			out = append(out, f.file.attachment(f.mime))
		}
	}
	for _, x := range []struct {
		there json.RawMessage
		kind  string
	}{
		{m.Contact, "contact"}, {m.Venue, "venue"}, {m.Location, "location"}, {m.Poll, "poll"},
		{m.Checklist, "checklist"}, {m.Dice, "dice"}, {m.Story, "story"}, {m.PaidMedia, "paid-media"},
	} {
		if len(x.there) > 0 && string(x.there) != "null" {
			out = append(out, ports.Attachment{Name: x.kind, MIME: "application/vnd.telegram." + x.kind})
		}
	}
	return out
}

func (f *file) attachment(mime string) ports.Attachment {
	if f.MIME != "" {
		mime = f.MIME
	}
	return ports.Attachment{ID: f.ID, Name: f.Name, MIME: mime, Size: f.Size}
}
