package telegram

import (
	"bytes"
	"context"
	"fmt"
	"image"
	_ "image/gif"  // photos may be GIF
	_ "image/jpeg" // or JPEG
	_ "image/png"  // or PNG
	"net/http"
	"strconv"
	"strings"
)

// Telegram's limits, https://core.telegram.org/bots/api#sending-files and #getfile.
const (
	maxUpload   = 50 << 20
	maxRequest  = maxUpload + 1<<20
	maxPhoto    = 10 << 20
	maxDownload = 20 << 20
	maxSides    = 10000 // of a photo, together
	maxRatio    = 20    // of a photo's sides
)

// File is what people and the bot send each other.
type File struct {
	ID   string // file_id, given by the server
	Kind string // photo, voice, audio, video, animation, document; given by the server
	Name string
	MIME string
	Data []byte
	// Size is the file's size if it is more than Data: what a bot cannot download
	// need not be there.
	Size          int64
	Width, Height int // of a photo or a video
	Seconds       int // of a voice message, audio or video

	path   string
	linked bool // getFile was asked, and the link is still good
}

// size is what the file is said to have.
func (f *File) size() int64 { return max(f.Size, int64(len(f.Data))) }

// media are the fields of a message that hold a file.
type media struct {
	Photo     []photoSize `json:"photo,omitempty"`
	Voice     *voice      `json:"voice,omitempty"`
	Audio     *audio      `json:"audio,omitempty"`
	Video     *video      `json:"video,omitempty"`
	Animation *video      `json:"animation,omitempty"`
	Document  *document   `json:"document,omitempty"`
	file      *File
}

type fileIDs struct {
	ID     string `json:"file_id"`
	Unique string `json:"file_unique_id"`
	Size   int64  `json:"file_size,omitempty"`
}

type named struct {
	Name string `json:"file_name,omitempty"`
	MIME string `json:"mime_type,omitempty"`
}

type photoSize struct {
	fileIDs
	Width  int `json:"width"`
	Height int `json:"height"`
}

type voice struct {
	fileIDs
	Duration int    `json:"duration"`
	MIME     string `json:"mime_type,omitempty"`
}

type audio struct {
	fileIDs
	named
	Duration int `json:"duration"`
}

type video struct {
	fileIDs
	named
	Width    int `json:"width"`
	Height   int `json:"height"`
	Duration int `json:"duration"`
}

type document struct {
	fileIDs
	named
}

// keep stores a file under a new id. s.mu is held.
func (s *Server) keep(kind string, f File) *File {
	n := len(s.files) + 1
	f.ID, f.Kind = fmt.Sprintf("AgACFake%s%04d", kind, n), kind
	folder := map[string]string{"photo": "photos", "voice": "voice", "audio": "music", "video": "videos", "animation": "animations", "document": "documents"}[kind]
	f.path = folder + "/file_" + strconv.Itoa(n)
	if at := strings.LastIndexByte(f.Name, '.'); at >= 0 && !strings.ContainsAny(f.Name[at:], "/\\?#%") {
		f.path += f.Name[at:]
	}
	s.files = append(s.files, &f)
	return &f
}

// stored is the file with an id, or nil. s.mu is held.
func (s *Server) stored(id string) *File {
	for _, f := range s.files {
		if f.ID == id {
			return f
		}
	}
	return nil
}

// mediaOf is how a message shows a file. A photo comes in two sizes, the small
// one being a file of its own; an animation is a document too. s.mu is held.
func (s *Server) mediaOf(f *File) media {
	ids := func(f *File) fileIDs { return fileIDs{f.ID, "u" + f.ID[len("AgACFake"):], f.size()} }
	m := media{file: f}
	switch f.Kind {
	case "photo":
		small := s.keep("photo", File{Name: f.Name, Data: f.Data, Width: max(f.Width/10, 1), Height: max(f.Height/10, 1)})
		m.Photo = []photoSize{{ids(small), small.Width, small.Height}, {ids(f), f.Width, f.Height}}
	case "voice":
		m.Voice = &voice{ids(f), f.Seconds, f.MIME}
	case "audio":
		m.Audio = &audio{ids(f), named{f.Name, f.MIME}, f.Seconds}
	case "video":
		m.Video = &video{ids(f), named{f.Name, f.MIME}, f.Width, f.Height, f.Seconds}
	case "animation":
		m.Animation = &video{ids(f), named{f.Name, f.MIME}, f.Width, f.Height, f.Seconds}
		m.Document = &document{ids(f), named{f.Name, f.MIME}}
	default:
		m.Document = &document{ids(f), named{f.Name, f.MIME}}
	}
	return m
}

func (s *Server) getFile(_ context.Context, p params) reply {
	s.mu.Lock()
	defer s.mu.Unlock()
	f := s.stored(p.form["file_id"])
	switch {
	case f == nil:
		return badRequest("invalid file_id")
	case f.size() > maxDownload:
		return badRequest("file is too big")
	}
	f.linked = true
	return result(map[string]any{
		"file_id": f.ID, "file_unique_id": "u" + f.ID[len("AgACFake"):], "file_size": f.size(), "file_path": f.path,
	})
}

// ExpireLinks ends all links of getFile, as Telegram may after an hour.
func (s *Server) ExpireLinks() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, f := range s.files {
		f.linked = false
	}
}

// serveFile answers /file/bot<token>/<path>.
func (s *Server) serveFile(w http.ResponseWriter, r *http.Request) {
	token, path, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/file/bot"), "/")
	if token != s.opts.Token {
		write(w, refuse(http.StatusUnauthorized, "Unauthorized"))
		return
	}
	defer s.begin("file")()
	f := s.takeFault("file")
	switch {
	case f == nil:
	case f.response != nil:
		f.response.write(w)
		return
	case f.hang:
		s.pause(r.Context(), -1)
		cut(w)
		return
	}
	data, ok := s.linkedFile(path)
	if !ok {
		write(w, refuse(http.StatusNotFound, "Not Found"))
		return
	}
	w.Header().Set("Content-Type", "application/octet-stream")
	if f != nil && f.cut {
		cutHalf(w, data)
		return
	}
	w.Header().Set("Content-Length", strconv.Itoa(len(data)))
	_, _ = w.Write(data)
}

func (s *Server) linkedFile(path string) ([]byte, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, f := range s.files {
		if f.path == path && f.linked {
			return f.Data, true
		}
	}
	return nil, false
}

// input is the file that a parameter names: an upload, attach://<field>, or the id
// of one that the server has. s.mu is held.
func (s *Server) input(p params, kind, value, field string) (*File, *reply) {
	no := func(what string, args ...any) (*File, *reply) {
		a := badRequest(fmt.Sprintf(what, args...))
		return nil, &a
	}
	if name, ok := strings.CutPrefix(value, "attach://"); ok {
		field, value = name, ""
	}
	up, ok := p.uploads[field]
	switch {
	case ok && value == "":
		if no := checkUpload(kind, &up); no != nil {
			return nil, no
		}
		up.Seconds = int(p.int("duration"))
		return s.keep(kind, up), nil
	case value == "":
		return no("there is no %s in the request", kind)
	case strings.Contains(value, "://"):
		return no("fake telegram: files are not fetched from a URL")
	}
	f := s.stored(value)
	switch {
	case f == nil:
		return no("wrong file identifier/HTTP URL specified")
	case f.Kind != kind:
		return no("can't use file of type %s as %s", title(f.Kind), title(kind))
	}
	return f, nil
}

func title(word string) string { return strings.ToUpper(word[:1]) + word[1:] }

// checkUpload holds a file to what Telegram takes as one of its kind.
func checkUpload(kind string, f *File) *reply {
	no := func(what string, args ...any) *reply {
		a := badRequest(fmt.Sprintf(what, args...))
		return &a
	}
	head := f.Data[:min(len(f.Data), 16)]
	mp3 := bytes.HasPrefix(head, []byte("ID3")) || len(head) > 1 && head[0] == 0xFF && head[1]&0xE0 == 0xE0
	mp4 := len(head) > 8 && string(head[4:8]) == "ftyp"
	switch {
	case len(f.Data) == 0:
		return no("file must be non-empty")
	case len(f.Data) > maxUpload:
		a := refuse(http.StatusRequestEntityTooLarge, "Request Entity Too Large")
		return &a
	case kind == "photo":
		return checkPhoto(f)
	case kind == "voice" && !bytes.HasPrefix(head, []byte("OggS")) && !mp3 && !mp4:
		return no("fake telegram: a voice message that is neither OGG nor MP3 nor M4A is shown as a document")
	case kind == "audio" && !mp3 && !mp4:
		return no("fake telegram: audio that is neither MP3 nor M4A is shown as a document")
	case kind == "video" && !mp4:
		return no("fake telegram: a video that is not MPEG-4 is shown as a document")
	case kind == "animation":
		return checkAnimation(f, mp4)
	}
	return nil
}

func checkAnimation(f *File, mp4 bool) *reply {
	c, format, err := image.DecodeConfig(bytes.NewReader(f.Data))
	if !mp4 && (err != nil || format != "gif") {
		a := badRequest("fake telegram: an animation that is neither GIF nor MPEG-4 is shown as a document")
		return &a
	}
	f.Width, f.Height = max(c.Width, f.Width), max(c.Height, f.Height)
	return nil
}

func checkPhoto(f *File) *reply {
	no := func(what string, args ...any) *reply {
		a := badRequest(fmt.Sprintf(what, args...))
		return &a
	}
	if len(f.Data) > maxPhoto {
		return no("file of size %d bytes is too big for a photo; the maximum size is %d bytes", len(f.Data), maxPhoto)
	}
	if len(f.Data) > 12 && string(f.Data[:4]) == "RIFF" && string(f.Data[8:12]) == "WEBP" {
		f.Width, f.Height = 512, 512 // std cannot read it
		return nil
	}
	c, _, err := image.DecodeConfig(bytes.NewReader(f.Data))
	if err != nil {
		return no("IMAGE_PROCESS_FAILED")
	}
	if c.Width+c.Height > maxSides || max(c.Width, c.Height) > maxRatio*min(c.Width, c.Height) {
		return no("PHOTO_INVALID_DIMENSIONS")
	}
	f.Width, f.Height = c.Width, c.Height
	return nil
}
