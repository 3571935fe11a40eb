package telegram

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"mime/multipart"
	"net/http"
	"net/textproto"
	"strconv"
	"strings"
	"time"

	"dragoman/ports"
)

// What Telegram takes (https://core.telegram.org/bots/api#sending-files).
const (
	maxUpload     = 50 << 20
	maxPhoto      = 10 << 20
	maxCaption    = 1024 // UTF-16 units, after entity parsing
	uploadTimeout = 3 * time.Minute
)

var _ ports.Uploader = (*Channel)(nil)

// way is a method that posts a file, and its parameter that is the file.
type way struct{ method, field string }

var asDocument = way{"sendDocument", "document"}

// wayOf is how a file is shown best. What has no way of its own is a document.
func wayOf(f ports.File) way {
	switch f.MIME {
	case "image/jpeg", "image/png", "image/webp":
		if f.Size <= maxPhoto {
			return way{"sendPhoto", "photo"}
		}
	case "image/gif":
		return way{"sendAnimation", "animation"}
	case "audio/ogg", "audio/opus":
		return way{"sendVoice", "voice"}
	case "audio/mpeg", "audio/mp4", "audio/x-m4a":
		return way{"sendAudio", "audio"}
	case "video/mp4":
		return way{"sendVideo", "video"}
	}
	return asDocument
}

// Upload posts a file with what is said of it below, cut at the length of a caption.
// What Telegram does not take as a picture or a sound it gets as a document. Doubles
// are as of Send.
func (c *Channel) Upload(ctx context.Context, m ports.Outgoing, open func(context.Context) (io.ReadCloser, error)) (ports.MessageID, error) {
	f := m.Content.File
	if f == nil {
		return "", ports.Errorf(ports.KindInvalid, "telegram upload", "the content has no file")
	}
	if f.Size > maxUpload {
		return "", ports.Errorf(ports.KindTooLarge, "telegram upload", "the file has %d bytes, bots may send %d", f.Size, maxUpload)
	}
	to, err := targetOf(m.In)
	if err != nil {
		return "", err
	}
	keys, err := keyboardOf(m.Content.Choices)
	if err != nil {
		return "", err
	}
	caption := contentOf(m.Content).page
	if cut(caption.Text, maxCaption) != caption.Text {
		caption = page{Text: cut(caption.Text, maxCaption)}
	}
	for w := wayOf(*f); ; {
		var id int64
		at, err := c.in(ctx, to, func(ctx context.Context, at target) (err error) {
			id, err = c.upload(ctx, w, formOf(at.posting(), caption, keys, replyTo(at, m.ReplyTo)), *f, open)
			return err
		})
		switch {
		case len(caption.Entities) > 0 && isMisformatted(err):
			caption = page{Text: caption.Text}
		case w != asDocument && isRefusedFile(err):
			w = asDocument
		case err != nil:
			return "", c.wrapUpload("telegram "+w.method, at.Chat, err)
		default:
			c.pace.wrote(at.Chat, 0)
			c.drafts.sent(to)
			return messageID(at.Chat, id), nil
		}
		c.log.Warn("telegram_file_refused", "chat", to.Chat, ports.TurnAttr(ports.TurnOf(m.Nonce)), "mime", f.MIME, "size", f.Size, "err", err)
	}
}

// formOf are the parameters beside the file, as text.
func formOf(to target, caption page, keys *keyboard, reply *replyParams) map[string]string {
	form := map[string]string{"chat_id": strconv.FormatInt(to.Chat, 10)}
	if to.Thread != 0 {
		form["message_thread_id"] = strconv.FormatInt(to.Thread, 10)
	}
	if caption.Text != "" {
		form["caption"] = caption.Text
	}
	if len(caption.Entities) > 0 {
		form["caption_entities"] = asJSON(caption.Entities)
	}
	if keys != nil {
		form["reply_markup"] = asJSON(keys)
	}
	if reply != nil {
		form["reply_parameters"] = asJSON(reply)
	}
	return form
}

// asJSON writes plain values of ours, which always works.
func asJSON(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		return ""
	}
	return string(b)
}

// sourceError is a fault of the file that was to be sent, and not of the platform:
// what it broke off posted nothing.
type sourceError struct{ error }

func (e *sourceError) Unwrap() error { return e.error }

// upload makes one call. The file is read while it is sent.
func (c *Channel) upload(ctx context.Context, w way, form map[string]string, f ports.File, open func(context.Context) (io.ReadCloser, error)) (int64, error) {
	file, err := open(ctx)
	if err != nil {
		return 0, &sourceError{err}
	}
	body, into := io.Pipe()
	parts := multipart.NewWriter(into)
	wrote := make(chan error, 1)
	go func() {
		source, err := writeForm(parts, w, form, f, file)
		_ = file.Close() // before the call is over
		_ = into.CloseWithError(err)
		wrote <- source
	}()
	var posted struct {
		ID int64 `json:"message_id"`
	}
	err = c.api.call(ctx, w.method, uploadTimeout, parts.FormDataContentType(), body, &posted)
	_ = body.Close() // the writer leaves, also where nobody read it to its end
	if source := <-wrote; source != nil {
		return 0, &sourceError{source}
	}
	return posted.ID, err
}

// writeForm writes the whole body. source is what was wrong with the file itself.
func writeForm(parts *multipart.Writer, w way, form map[string]string, f ports.File, file io.Reader) (source, err error) {
	for name, value := range form {
		if err := parts.WriteField(name, value); err != nil {
			return nil, err
		}
	}
	head := textproto.MIMEHeader{}
	head.Set("Content-Disposition", `form-data; name="`+w.field+`"; filename="`+fileName(f)+`"`)
	head.Set("Content-Type", "application/octet-stream")
	part, err := parts.CreatePart(head)
	if err != nil {
		return nil, err
	}
	from := &watched{Reader: file}
	if _, err := io.Copy(part, from); err != nil {
		return from.err, err
	}
	return nil, parts.Close()
}

// watched tells a fault of what is read from one of where it is written.
type watched struct {
	io.Reader
	err error
}

func (r *watched) Read(into []byte) (int, error) {
	n, err := r.Reader.Read(into)
	if err != nil && !errors.Is(err, io.EOF) {
		r.err = err
	}
	return n, err
}

// fileName is a name that can stand in the header of a part and that Telegram shows.
func fileName(f ports.File) string {
	name := strings.Map(func(r rune) rune {
		if r < ' ' || strings.ContainsRune(`"\/`, r) {
			return '_'
		}
		return r
	}, cut(strings.TrimSpace(f.Name), 120))
	if name == "" {
		return "file"
	}
	return name
}

// wrapUpload is wrapWrite for an upload: a fault of the file keeps its own kind.
func (c *Channel) wrapUpload(op string, chat int64, err error) error {
	var source *sourceError
	if errors.As(err, &source) {
		return &ports.Error{Kind: ports.KindOf(source.error), Op: op, Err: source.error}
	}
	return c.wrapWrite(op, chat, err)
}

// isRefusedFile: it is the file that is refused, as what it was sent as.
func isRefusedFile(err error) bool {
	var api *apiError
	return errors.As(err, &api) && !api.Foreign && api.Code == http.StatusBadRequest && api.MigrateTo == 0 && !isGone(api.Description)
}
