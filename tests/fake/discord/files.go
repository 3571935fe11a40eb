package discord

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"image"
	_ "image/gif" // the sizes of pictures
	_ "image/jpeg"
	_ "image/png"
	"mime"
	"net/http"
	"path"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// linkFor is how long a link to a file is good.
const linkFor = 24 * time.Hour

// cdnRoute is the download of a file, for Fail and Calls. One that is cut is so in
// the middle of the file.
const cdnRoute = "GET /cdn"

// File is one that a person sends.
type File struct {
	Name    string
	Type    string // guessed by the name if empty
	Content []byte
}

type attachmentBody struct {
	ID          json.RawMessage `json:"id"`
	Filename    string          `json:"filename"`
	Description *string         `json:"description"`
}

// attach gives the message its files: those of the body, and of an edit those of before that
// it still names.
func (s *Server) attach(f *form, c *call, ch *channel, m *message, b *messageBody) {
	var kept []*attachment
	if !c.has("attachments") {
		kept = m.Attachments
	}
	about := map[int]attachmentBody{}
	for i, a := range b.Attachments {
		id := strings.Trim(string(a.ID), `"`)
		if old := find(m.Attachments, id); old != nil {
			kept = append(kept, old)
			continue
		}
		n, err := strconv.Atoi(id)
		if _, sent := c.files[n]; err != nil || !sent {
			f.bad("ATTACHMENT_NOT_FOUND", "Attachment data not found for attachment index: "+id, "attachments", i)
			continue
		}
		about[n] = a
	}
	if len(kept)+len(c.files) > maxFiles {
		f.longerThan(maxFiles, "attachments")
		return
	}
	for n := range maxFiles * 10 {
		up, sent := c.files[n]
		if !sent {
			continue
		}
		if a := about[n]; a.Filename != "" {
			up.name = a.Filename
		}
		kept = append(kept, s.file(ch, File{up.name, up.kind, up.content}, about[n].Description))
	}
	m.Attachments = kept
}

func find(list []*attachment, id string) *attachment {
	for _, a := range list {
		if a.ID == id {
			return a
		}
	}
	return nil
}

var badName = regexp.MustCompile(`[^A-Za-z0-9._-]`)

// file stores a file. s.mu is held.
func (s *Server) file(ch *channel, in File, description *string) *attachment {
	name := badName.ReplaceAllString(strings.ReplaceAll(path.Base("/"+in.Name), " ", "_"), "")
	if in.Type == "" || in.Type == "application/octet-stream" {
		in.Type = mime.TypeByExtension(path.Ext(name))
	}
	a := &attachment{ID: s.newID(), Filename: name, Description: description, ContentType: in.Type, Size: len(in.Content), content: in.Content}
	if size, _, err := image.DecodeConfig(bytes.NewReader(in.Content)); err == nil {
		a.Width, a.Height = size.Width, size.Height
	}
	a.URL = s.link(fmt.Sprintf("/cdn/attachments/%s/%s/%s", ch.info.ID, a.ID, name))
	a.ProxyURL = a.URL
	return a
}

// link is signed and good for a day (https://docs.discord.com/developers/reference#signed-attachment-cdn-urls).
func (s *Server) link(path string) string {
	now := s.now()
	return s.url + path + "?ex=" + hexTime(now.Add(linkFor)) + "&is=" + hexTime(now) + "&hm=" + s.sign(path, hexTime(now.Add(linkFor))) + "&"
}

func hexTime(t time.Time) string { return strconv.FormatInt(t.Unix(), 16) }

func (s *Server) sign(path, until string) string {
	h := hmac.New(sha256.New, []byte(s.opts.Token))
	h.Write([]byte(path + "?" + until))
	return hex.EncodeToString(h.Sum(nil))
}

// serveCDN gives out a file whose link is still good.
func (s *Server) serveCDN(w http.ResponseWriter, r *http.Request) {
	defer s.begin(cdnRoute)()
	f := s.takeFault(cdnRoute)
	switch {
	case f == nil:
	case f.response != nil:
		f.response.write(w, s)
		return
	case f.hang:
		s.pause(r.Context(), -1)
		cut(w)
		return
	}
	q := r.URL.Query()
	s.mu.Lock()
	until, err := strconv.ParseInt(q.Get("ex"), 16, 64)
	good := err == nil && hmac.Equal([]byte(q.Get("hm")), []byte(s.sign(r.URL.Path, q.Get("ex")))) && s.now().Before(time.Unix(until, 0))
	var found *attachment
	if part := strings.Split(r.URL.Path, "/"); good && len(part) == 6 && s.channels[part[3]] != nil {
		for _, m := range s.channels[part[3]].messages {
			if a := find(m.Attachments, part[4]); a != nil && !m.deleted {
				found = a
			}
		}
	}
	s.mu.Unlock()
	switch {
	case r.Method != http.MethodGet && r.Method != http.MethodHead:
		w.WriteHeader(http.StatusMethodNotAllowed)
	case r.Header.Get("Authorization") != "":
		// The bot's token is not for a store of files.
		http.Error(w, "fake discord: the CDN was sent a token", http.StatusBadRequest)
	case found == nil:
		http.Error(w, "This content is no longer available.", http.StatusNotFound)
	case f != nil: // cut
		w.Header().Set("Content-Length", strconv.Itoa(len(found.content)))
		_, _ = w.Write(found.content[:len(found.content)/2])
		_ = http.NewResponseController(w).Flush()
		cut(w)
	default:
		w.Header().Set("Content-Type", found.ContentType)
		http.ServeContent(w, r, found.Filename, time.Time{}, bytes.NewReader(found.content))
	}
}
