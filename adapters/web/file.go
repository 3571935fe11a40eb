package web

import (
	"context"
	"html"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"time"

	"dragoman/ports"
)

const (
	filesPath = "/api/files/"
	filePage  = 256 << 10 // of a file that is in memory at once, for each reader
)

// pictures are the media types that the page shows. Nothing else of a file is shown
// by a browser: it could be a page that acts as ours.
var pictures = []string{"image/png", "image/jpeg", "image/gif", "image/webp"}

// linkTo is what the page shows of a file below what is said of it.
func linkTo(f ports.File) string {
	at := html.EscapeString(filesPath + url.PathEscape(f.Artifact))
	name := f.Name
	if name == "" {
		name = "file"
	}
	name = html.EscapeString(name)
	shown := name
	if slices.Contains(pictures, f.MIME) {
		shown = `<img src="` + at + `" alt="` + name + `">`
	}
	return `<p><a class="file" href="` + at + `" download="` + name + `">` + shown + `</a></p>`
}

// getFile gives a file of the person's own conversation, to be saved.
func (c *Channel) getFile(w http.ResponseWriter, r *http.Request) {
	ctx, _, leave, ok := c.enter(r.Context())
	if !ok {
		refuse(w, http.StatusServiceUnavailable, "The gateway is not ready yet.")
		return
	}
	defer leave()
	chat := c.user(ctx, w, r)
	if chat == "" {
		return
	}
	id := r.PathValue("id")
	page, err := c.page(ctx, chat, id, 0)
	switch {
	case ports.IsKind(err, ports.KindNotFound):
		refuse(w, http.StatusNotFound, "This file is not there, or not there any more.")
		return
	case err != nil:
		c.warn("file_not_readable", chat, err)
		refuse(w, http.StatusServiceUnavailable, "The file cannot be read at the moment.")
		return
	}
	h := w.Header()
	h.Set("Content-Type", "application/octet-stream")
	if slices.Contains(pictures, page.MIME) {
		h.Set("Content-Type", page.MIME)
	}
	h.Set("Content-Disposition", "attachment") // its name is the link's
	h.Set("Content-Length", strconv.FormatInt(page.Size, 10))
	out := http.NewResponseController(w)
	for offset := int64(0); ; {
		_ = out.SetWriteDeadline(time.Now().Add(writeTimeout))
		if _, err := w.Write(page.Data); err != nil {
			return
		}
		if offset += int64(len(page.Data)); offset >= page.Size {
			return
		}
		if page, err = c.page(ctx, chat, id, offset); err != nil || len(page.Data) == 0 {
			c.warn("file_broke_off", chat, err)
			return // the reader sees that it is not whole
		}
	}
}

// page reads a part of a file. KindNotFound: the chat has none of that id.
func (c *Channel) page(ctx context.Context, chat, id string, offset int64) (ports.Artifact, error) {
	if c.files == nil {
		return ports.Artifact{}, ports.Errorf(ports.KindNotFound, "web file", "there are no files")
	}
	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	a, err := c.files(ctx, chat, id, offset, filePage)
	return a, wrap("file", err)
}
