package discord

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"mime/multipart"
	"net/http"
	"net/textproto"
	"strings"
	"time"

	"dragoman/ports"
)

var _ ports.Uploader = (*Channel)(nil)

const (
	// maxUpload is what Discord takes of a file where nobody pays for more
	// (https://discord.com/developers/docs/reference#uploading-files).
	maxUpload     = 10 << 20
	uploadTimeout = 3 * time.Minute
)

// Upload posts a file with what is said of it. Doubles are as of Send.
func (c *Channel) Upload(ctx context.Context, m ports.Outgoing, open func(context.Context) (io.ReadCloser, error)) (ports.MessageID, error) {
	const op = "discord upload"
	f := m.Content.File
	if f == nil {
		return "", ports.Errorf(ports.KindInvalid, op, "the content has no file")
	}
	if f.Size > maxUpload {
		return "", ports.Errorf(ports.KindTooLarge, op, "the file has %d bytes, bots may send %d", f.Size, maxUpload)
	}
	p, err := payloadOf(m)
	if err != nil {
		return "", err
	}
	data, err := readAll(ctx, open)
	if err != nil {
		return "", err
	}
	return c.post(ctx, m, p, func(m ports.Outgoing, room string) (request, error) {
		raw, kind, err := formOf(p.posted(m, room), *f, data)
		if err != nil {
			return request{}, &ports.Error{Kind: ports.KindInternal, Op: op, Err: err}
		}
		return request{method: http.MethodPost, path: "/channels/" + room + "/messages", raw: raw, kind: kind, timeout: uploadTimeout}, nil
	})
}

// readAll reads a file, which is no larger than what Discord takes: a request that
// breaks off is made anew, and a limit that was not known is found before it.
func readAll(ctx context.Context, open func(context.Context) (io.ReadCloser, error)) ([]byte, error) {
	r, err := open(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { _ = r.Close() }()
	data, err := io.ReadAll(io.LimitReader(r, maxUpload+1))
	if err != nil {
		return nil, err
	}
	if len(data) > maxUpload {
		return nil, ports.Errorf(ports.KindTooLarge, "discord upload", "the file has more than %d bytes", maxUpload)
	}
	return data, nil
}

// formOf is a message with a file, as multipart.
func formOf(p payload, f ports.File, data []byte) (raw []byte, kind string, err error) {
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	about, err := json.Marshal(struct {
		payload
		Attachments []attached `json:"attachments"`
	}{p, []attached{{ID: 0, Name: fileName(f.Name)}}})
	if err != nil {
		return nil, "", err
	}
	for _, part := range []struct {
		header string
		kind   string
		data   []byte
	}{
		{`form-data; name="payload_json"`, "application/json", about},
		{`form-data; name="files[0]"; filename="` + fileName(f.Name) + `"`, f.MIME, data},
	} {
		h := textproto.MIMEHeader{"Content-Disposition": {part.header}}
		if part.kind != "" && !strings.ContainsAny(part.kind, "\r\n") {
			h.Set("Content-Type", part.kind)
		}
		to, err := w.CreatePart(h)
		if err == nil {
			_, err = to.Write(part.data)
		}
		if err != nil {
			return nil, "", err
		}
	}
	if err := w.Close(); err != nil {
		return nil, "", err
	}
	return b.Bytes(), w.FormDataContentType(), nil
}

// attached names a file of the form.
type attached struct {
	ID   int    `json:"id"`
	Name string `json:"filename"`
}

// fileName is a name that a header and a disk can bear.
func fileName(name string) string {
	name = strings.Map(func(r rune) rune {
		if r < ' ' || strings.ContainsRune(`"\/:*?<>|`, r) {
			return '_'
		}
		return r
	}, strings.ToValidUTF8(name, "_"))
	if name = cut(strings.TrimSpace(name), 200); name == "" {
		return "file"
	}
	return name
}
