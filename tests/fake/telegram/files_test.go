package telegram

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"mime/multipart"
	"net/http"
	"strings"
	"testing"
)

// upload calls a method with a multipart form; fields that begin with @ are files.
func upload(t *testing.T, s *Server, method string, files map[string][]byte, form ...string) got {
	t.Helper()
	var body bytes.Buffer
	w := multipart.NewWriter(&body)
	for i := 0; i < len(form); i += 2 {
		_ = w.WriteField(form[i], form[i+1])
	}
	for field, data := range files {
		part, _ := w.CreateFormFile(field, field+".bin")
		_, _ = part.Write(data)
	}
	_ = w.Close()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.URL()+"/bot"+s.Token()+"/"+method, &body)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", w.FormDataContentType())
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	a := got{status: res.StatusCode}
	if err := json.NewDecoder(res.Body).Decode(&a); err != nil {
		t.Fatal(err)
	}
	return a
}

// download gets what getFile names.
func download(ctx context.Context, s *Server, path string) (int, []byte, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.URL()+"/file/bot"+s.Token()+"/"+path, nil)
	if err != nil {
		return 0, nil, err
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, nil, err
	}
	defer func() { _ = res.Body.Close() }()
	body, err := io.ReadAll(res.Body)
	return res.StatusCode, body, err
}

// received are the messages among the updates.
func received(t *testing.T, s *Server) []message {
	t.Helper()
	var us []struct{ Message, Edited_Message *message }
	if err := json.Unmarshal(call(t, s, "getUpdates").Result, &us); err != nil {
		t.Fatal(err)
	}
	var ms []message
	for _, u := range us {
		switch {
		case u.Message != nil:
			ms = append(ms, *u.Message)
		case u.Edited_Message != nil:
			ms = append(ms, *u.Edited_Message)
		}
	}
	return ms
}

func pathOf(t *testing.T, a got) string {
	t.Helper()
	var f struct {
		Path string `json:"file_path"`
	}
	if err := json.Unmarshal(a.Result, &f); err != nil || f.Path == "" {
		t.Fatalf("getFile gave %+v", a)
	}
	return f.Path
}

func TestAFileOfAPersonIsDownloaded(t *testing.T) {
	s := start(t, Options{})
	ann := s.User(7, "Ann")
	ann.Post(Post{Text: "read this", File: Document("a b.txt", "text/plain", []byte("some words"))})
	m := received(t, s)[0]
	if m.Document == nil || m.Document.Name != "a b.txt" || m.Document.Size != 10 || m.Caption != "read this" || m.Text != "" {
		t.Fatalf("a document came as %+v", m)
	}
	path := pathOf(t, call(t, s, "getFile", "file_id", m.Document.ID))
	if status, body, err := download(t.Context(), s, path); status != 200 || string(body) != "some words" {
		t.Errorf("downloaded %d %q, %v", status, body, err)
	}
	s.ExpireLinks()
	if status, _, _ := download(t.Context(), s, path); status != http.StatusNotFound {
		t.Errorf("an old link answers %d", status)
	}
	call(t, s, "getFile", "file_id", m.Document.ID)
	s.Cut("file", 1)
	if status, body, err := download(t.Context(), s, path); err == nil {
		t.Errorf("a download that is cut gives %d %q", status, body)
	}
	if status, _, _ := download(t.Context(), s, path); status != 200 {
		t.Errorf("after the cut: %d", status)
	}
}

func TestGetFileRefuses(t *testing.T) {
	s := start(t, Options{})
	s.User(7, "Ann").Post(Post{File: &File{Kind: "document", Name: "big.iso", Size: 20<<20 + 1}})
	s.User(7, "Ann").Post(Post{File: &File{Kind: "document", Name: "ok.iso", Size: 20 << 20}})
	ms := received(t, s)
	if a := call(t, s, "getFile", "file_id", ms[0].Document.ID); a.Code != 400 || !strings.Contains(a.Description, "file is too big") {
		t.Errorf("20 MB and a byte: %+v", a)
	}
	if a := call(t, s, "getFile", "file_id", ms[1].Document.ID); !a.OK {
		t.Errorf("20 MB: %+v", a)
	}
	if a := call(t, s, "getFile", "file_id", "nonsense"); a.Code != 400 || !strings.Contains(a.Description, "invalid file_id") {
		t.Errorf("an unknown id: %+v", a)
	}
}

func TestPhotosComeInSizesAndVoiceAsVoice(t *testing.T) {
	s := start(t, Options{})
	ann := s.User(7, "Ann")
	ann.SendPhoto("look")
	ann.SendVoice()
	ann.Post(Post{File: Audio("song.mp3", 2)})
	ann.Post(Post{File: Video("clip.mp4", 2)})
	ms := received(t, s)
	if p := ms[0].Photo; len(p) != 2 || p[0].Width >= p[1].Width || p[1].Width != 1280 || p[0].ID == p[1].ID || ms[0].Caption != "look" {
		t.Errorf("a photo came as %+v", ms[0])
	}
	if v := ms[1].Voice; v == nil || v.Duration != 3 || v.MIME != "audio/ogg" {
		t.Errorf("a voice message came as %+v", ms[1])
	}
	if ms[2].Audio == nil || ms[2].Audio.Name != "song.mp3" || ms[3].Video == nil || ms[3].Video.Width != 640 {
		t.Errorf("audio and video came as %+v and %+v", ms[2], ms[3])
	}
}

func TestTheBotSendsFiles(t *testing.T) {
	s := start(t, Options{})
	s.User(7, "Ann").Say("hello")
	for kind, f := range map[string]*File{"photo": Photo(40, 30), "voice": Voice(1), "audio": Audio("x", 1), "video": Video("x", 1), "document": Document("x", "", []byte("x"))} {
		a := upload(t, s, "send"+title(kind), map[string][]byte{kind: f.Data}, "chat_id", "7", "caption", "here *it* is",
			"caption_entities", `[{"type":"bold","offset":0,"length":4}]`)
		sent := s.Sent(7)
		last := sent[len(sent)-1]
		if !a.OK || last.File == nil || last.File.Kind != kind || !bytes.Equal(last.File.Data, f.Data) || last.Text != "here *it* is" || len(last.Entities) != 1 {
			t.Errorf("%s: %+v", kind, a)
			continue
		}
		if again := call(t, s, "send"+title(kind), "chat_id", "7", kind, last.File.ID); !again.OK {
			t.Errorf("%s by its id: %+v", kind, again)
		}
	}
	sent := s.Sent(7)
	if sent[0].File == nil || len(sent) != 10 {
		t.Errorf("%d messages", len(sent))
	}
	if a := upload(t, s, "sendDocument", map[string][]byte{"blob": []byte("x")}, "chat_id", "7", "document", "attach://blob"); !a.OK {
		t.Errorf("by attach://: %+v", a)
	}
}

func TestUploadsAreRefused(t *testing.T) {
	s := start(t, Options{})
	s.User(7, "Ann").Say("hello")
	upload(t, s, "sendDocument", map[string][]byte{"document": []byte("x")}, "chat_id", "7")
	id := s.Sent(7)[0].File.ID
	for name, test := range map[string]struct {
		kind string
		data []byte
		form []string
		code int
		want string
	}{
		"nothing":              {"document", nil, nil, 400, "no document in the request"},
		"empty":                {"document", []byte{}, nil, 400, "non-empty"},
		"too large":            {"document", make([]byte, maxUpload+1), nil, 413, "Too Large"},
		"far too large":        {"document", make([]byte, maxRequest+1), nil, 413, "Too Large"},
		"a photo too large":    {"photo", make([]byte, maxPhoto+1), nil, 400, "too big for a photo"},
		"no picture":           {"photo", []byte("text"), nil, 400, "IMAGE_PROCESS_FAILED"},
		"too wide":             {"photo", Photo(9990, 500).Data, nil, 400, "PHOTO_INVALID_DIMENSIONS"},
		"too flat":             {"photo", Photo(2100, 100).Data, nil, 400, "PHOTO_INVALID_DIMENSIONS"},
		"voice that is none":   {"voice", []byte("RIFF"), nil, 400, "shown as a document"},
		"audio that is none":   {"audio", []byte("OggS"), nil, 400, "shown as a document"},
		"a GIF that is none":   {"animation", []byte("\x89PNG"), nil, 400, "shown as a document"},
		"video that is none":   {"video", []byte("\x1aE\xdf\xa3"), nil, 400, "shown as a document"},
		"caption too long":     {"document", []byte("x"), []string{"caption", strings.Repeat("😀", 513)}, 400, "caption is too long"},
		"bad entities":         {"document", []byte("x"), []string{"caption", "x", "caption_entities", `[{"type":"bold","offset":0,"length":2}]`}, 400, "can't parse entities"},
		"an id of another":     {"photo", nil, []string{"photo", id}, 400, "can't use file of type Document as Photo"},
		"an unknown id":        {"photo", nil, []string{"photo", "nonsense"}, 400, "wrong file identifier"},
		"a URL":                {"photo", nil, []string{"photo", "https://example.org/a.png"}, 400, "not fetched"},
		"entities of the text": {"document", []byte("x"), []string{"entities", "[]"}, 400, "no parameter entities"},
	} {
		files := map[string][]byte{}
		if test.data != nil {
			files[test.kind] = test.data
		}
		a := upload(t, s, "send"+title(test.kind), files, append([]string{"chat_id", "7"}, test.form...)...)
		if a.Code != test.code || a.status != test.code || !strings.Contains(a.Description, test.want) {
			t.Errorf("%s: %+v", name, a)
		}
	}
	if a := upload(t, s, "sendDocument", map[string][]byte{"document": []byte("x"), "stray": []byte("y")}, "chat_id", "7"); !strings.Contains(a.Description, "no parameter stray") {
		t.Errorf("an upload that nothing names: %+v", a)
	}
	if n := len(s.Sent(7)); n != 1 {
		t.Errorf("%d messages, want 1: what is refused is not shown", n)
	}
}

func TestAlbums(t *testing.T) {
	s := start(t, Options{})
	ann := s.User(7, "Ann")
	ids := ann.Album(Post{Text: "my trip"}, Photo(10, 10), Photo(20, 20), Video("a.mp4", 1))
	ms := received(t, s)
	if len(ids) != 3 || len(ms) != 3 || ms[0].Album == "" || ms[0].Album != ms[2].Album || ms[0].Caption != "my trip" || ms[1].Caption != "" {
		t.Errorf("an album came as %+v", ms)
	}
	item := func(kind, name string) string {
		return `{"type":"` + kind + `","media":"attach://` + name + `","caption":"` + name + `"}`
	}
	files := map[string][]byte{"a": Photo(10, 10).Data, "b": Photo(10, 10).Data}
	a := upload(t, s, "sendMediaGroup", files, "chat_id", "7", "media", "["+item("photo", "a")+","+item("photo", "b")+"]")
	var back []message
	if err := json.Unmarshal(a.Result, &back); err != nil || len(back) != 2 || back[0].Album == "" || back[0].Album != back[1].Album {
		t.Errorf("sendMediaGroup answered %+v", a)
	}
	if sent := s.Sent(7); len(sent) != 2 || sent[1].Text != "b" || sent[1].Album != sent[0].Album {
		t.Errorf("the chat shows %+v", sent)
	}
	for media, want := range map[string]string{
		`[` + item("photo", "a") + `]`:                                              "2-10",
		`[` + strings.Repeat(item("photo", "a")+",", 10) + item("photo", "b") + `]`: "2-10",
		`[` + item("photo", "a") + "," + item("document", "b") + `]`:                "mixed",
		`[` + item("photo", "a") + "," + item("voice", "b") + `]`:                   "must be one of",
		`[` + item("photo", "a") + "," + item("photo", "c") + `]`:                   "no photo in the request",
		`{}`: "can't parse media",
	} {
		if a := upload(t, s, "sendMediaGroup", files, "chat_id", "7", "media", media); a.Code != 400 || !strings.Contains(a.Description, want) && !strings.Contains(a.Description, "no parameter") {
			t.Errorf("%s: %+v", media, a)
		}
	}
	if n := len(s.Sent(7)); n != 2 {
		t.Errorf("%d messages: an album is sent whole or not", n)
	}
}
