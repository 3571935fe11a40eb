package discord

import (
	"bytes"
	"fmt"
	"image"
	"image/png"
	"io"
	"mime/multipart"
	"net/http"
	"net/textproto"
	"strings"
	"testing"
	"time"
)

// formOf is a multipart body: payload_json, and files by their field.
func formOf(t *testing.T, payload string, files map[string][]byte) (kind string, body []byte) {
	t.Helper()
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	if err := w.WriteField("payload_json", payload); err != nil {
		t.Fatal(err)
	}
	for field, content := range files {
		h := textproto.MIMEHeader{}
		h.Set("Content-Disposition", `form-data; name="`+field+`"; filename="my file.png"`)
		h.Set("Content-Type", "image/png")
		p, err := w.CreatePart(h)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := p.Write(content); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return w.FormDataContentType(), b.Bytes()
}

func TestFilesAreSentAndFetchedByLinksThatExpire(t *testing.T) {
	s := start(t, Options{})
	ann := s.User("ann")
	path := "/channels/" + ann.DM() + "/messages"
	var picture bytes.Buffer
	if err := png.Encode(&picture, image.NewGray(image.Rect(0, 0, 3, 2))); err != nil {
		t.Fatal(err)
	}
	kind, body := formOf(t, `{"content":"look","attachments":[{"id":0,"description":"a picture"}]}`, map[string][]byte{"files[0]": picture.Bytes()})
	a := send(t, s, "POST", path, kind, body)
	var m message
	a.into(t, &m)
	if a.status != 200 || len(m.Attachments) != 1 || m.Attachments[0].Filename != "my_file.png" || m.Attachments[0].Width != 3 {
		t.Fatalf("%d %s", a.status, a.body)
	}
	if sent := s.Sent(ann.DM()); len(sent[0].Files) != 1 || !bytes.Equal(sent[0].Files[0].Content, picture.Bytes()) {
		t.Errorf("%+v", sent)
	}
	fetch := func(url, auth string) (int, []byte) {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), "GET", url, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		if auth != "" {
			req.Header.Set("Authorization", auth)
		}
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = res.Body.Close() }()
		got, err := io.ReadAll(res.Body)
		if err != nil {
			t.Fatal(err)
		}
		return res.StatusCode, got
	}
	url := m.Attachments[0].URL
	if status, got := fetch(url, ""); status != 200 || !bytes.Equal(got, picture.Bytes()) {
		t.Errorf("%d %s", status, got)
	}
	if status, _ := fetch(url, "Bot "+s.Token()); status != 400 {
		t.Errorf("the CDN took a token: %d", status)
	}
	if status, _ := fetch(strings.Split(url, "?")[0], ""); status != 404 {
		t.Errorf("a link without its signature: %d", status)
	}
	s.Advance(linkFor + time.Minute)
	if status, _ := fetch(url, ""); status != 404 {
		t.Errorf("a link of yesterday: %d", status)
	}
	ask(t, s, "GET", path+"/"+m.ID, "").into(t, &m)
	if status, _ := fetch(m.Attachments[0].URL, ""); status != 200 {
		t.Errorf("a fresh link: %d", status)
	}
}

func TestFilesAreHeldToTheirLimits(t *testing.T) {
	s := start(t, Options{})
	path := "/channels/" + s.User("ann").DM() + "/messages"
	many := map[string][]byte{}
	for i := range 11 {
		many[fmt.Sprintf("files[%d]", i)] = []byte("x")
	}
	kind, body := formOf(t, `{}`, many)
	if a := send(t, s, "POST", path, kind, body); !a.fault("attachments", "BASE_TYPE_MAX_LENGTH") {
		t.Errorf("%d %s", a.status, a.body)
	}
	kind, body = formOf(t, `{}`, map[string][]byte{"files[0]": make([]byte, maxFile+1)})
	if a := send(t, s, "POST", path, kind, body); !a.is(413, 40005) {
		t.Errorf("%d %s", a.status, a.body)
	}
	kind, body = formOf(t, `{}`, map[string][]byte{"file": []byte("x")})
	if a := send(t, s, "POST", path, kind, body); !a.fault("file", "FAKE_UNKNOWN_FIELD") {
		t.Errorf("%d %s", a.status, a.body)
	}
	room := s.Guild("Team").Channel("general")
	s.Deny(room, AttachFiles)
	kind, body = formOf(t, `{"content":"x"}`, map[string][]byte{"files[0]": []byte("x")})
	if a := send(t, s, "POST", "/channels/"+room+"/messages", kind, body); !a.is(403, 50013) {
		t.Errorf("%d %s", a.status, a.body)
	}
}
