package discord

import (
	"context"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"dragoman/adapters/internal/call"
	"dragoman/ports"
)

var _ ports.Opener = (*Channel)(nil)

// openTimeout is for a whole file.
const openTimeout = 3 * time.Minute

// attachments are the files of a message, and what else there is to see. What is
// no file has a MIME of our own and no ID.
func attachments(m message) []ports.Attachment {
	var out []ports.Attachment
	for _, f := range m.Attachments {
		if !isID(f.ID) {
			continue
		}
		out = append(out, ports.Attachment{ID: string(messageID(m.Channel, m.ID)) + "/" + f.ID, Name: f.Name, MIME: f.MIME, Size: f.Size})
	}
	for _, s := range m.Stickers {
		out = append(out, ports.Attachment{Name: s.Name, MIME: "application/vnd.discord.sticker"})
	}
	return out
}

// Open reads a file of a message. Links to files are good for a day only, so the
// message is asked for a new one.
func (c *Channel) Open(ctx context.Context, a ports.Attachment) (io.ReadCloser, error) {
	const op = "discord attachment"
	room, rest, _ := strings.Cut(a.ID, "/")
	id, which, _ := strings.Cut(rest, "/")
	if !isID(room) || !isID(id) || !isID(which) {
		return nil, ports.Errorf(ports.KindInvalid, op, "not one of this channel")
	}
	var m message
	r := request{method: http.MethodGet, path: "/channels/" + room + "/messages/" + id, timeout: askTimeout}
	if err := c.api.do(ctx, r, &m); err != nil {
		return nil, wrap(op, false, err)
	}
	_, files := forwarded(m)
	for _, f := range files {
		if f.ID == which {
			return c.api.download(ctx, f.URL)
		}
	}
	return nil, ports.Errorf(ports.KindNotFound, op, "the message does not have it any more")
}

// download reads a file by its link, which needs no token. The link is not put in
// an error: who has it has the file.
func (c *client) download(ctx context.Context, link string) (io.ReadCloser, error) {
	const op = "discord download"
	ctx, cancel := context.WithTimeout(ctx, openTimeout)
	u, err := url.Parse(link)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" {
		cancel()
		return nil, ports.Errorf(ports.KindProtocol, op, "a link that cannot be read")
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), http.NoBody)
	if err != nil {
		cancel()
		return nil, &ports.Error{Kind: ports.KindProtocol, Op: op, Err: call.Bare(err)}
	}
	res, err := c.http.Do(req)
	if err != nil {
		cancel()
		return nil, wrap(op, false, &call.Error{Err: call.Bare(err), Stage: call.StageDial, Caller: ctx.Err()})
	}
	if res.StatusCode != http.StatusOK {
		_ = res.Body.Close()
		cancel()
		return nil, wrap(op, false, &apiError{Status: res.StatusCode, Message: http.StatusText(res.StatusCode)})
	}
	return &download{res.Body, cancel}, nil
}

// download is a file that is being read; closing it ends the request.
type download struct {
	io.ReadCloser
	cancel context.CancelFunc
}

func (d *download) Close() error {
	defer d.cancel()
	return d.ReadCloser.Close()
}
