package e2e

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode"

	"dragoman/tests/fake/discord"
	"dragoman/tests/fake/telegram"
)

// dataURI is how a picture stands on the model's wire.
func dataURI(mime string, data []byte) string {
	return "data:" + mime + ";base64," + base64.StdEncoding.EncodeToString(data)
}

// A person sends a file of each kind: the model is told its type and size, and shown
// what it takes, as the person sent it.
func TestTheModelIsToldWhatAPersonSends(t *testing.T) {
	t.Parallel()
	onBothPlatforms(t, `, "audio": true`, "", func(t *testing.T, r *filesRig) {
		photo, song := telegram.Photo(40, 30), telegram.Audio("song.mp3", 3)
		photo.MIME = "image/png" // where the platform tells
		for _, c := range []struct {
			what           string
			file           *telegram.File
			told           string
			images, sounds []string
		}{
			{"a photo", photo, fmt.Sprintf("image/png, %d bytes", len(photo.Data)), []string{dataURI("image/png", photo.Data)}, nil},
			{"a voice message", telegram.Voice(2), "audio/ogg, 2004 bytes", nil, nil},
			{"a song", song, "song.mp3, audio/mpeg, 3003 bytes", nil, []string{"mp3:" + base64.StdEncoding.EncodeToString(song.Data)}},
			{"a video", telegram.Video("clip.mp4", 1), "clip.mp4, video/mp4, 1012 bytes", nil, nil},
			{"a document", telegram.Document("plan.pdf", "application/pdf", []byte("%PDF-1.7\x00\xff")), "plan.pdf, application/pdf, 10 bytes", nil, nil},
			{"a picture as a document", telegram.Document("cat.png", "image/png", photo.Data), fmt.Sprintf("cat.png, image/png, %d bytes", len(photo.Data)), []string{dataURI("image/png", photo.Data)}, nil},
		} {
			got := r.ask(c.what, c.file)
			if !strings.Contains(got.Text, c.what) || !strings.Contains(got.Text, c.told) || !strings.Contains(got.Text, `kept as artifact "m`) {
				t.Errorf("of %s the model was told %q, want %q", c.what, got.Text, c.told)
			}
			if !slices.Equal(got.Images, c.images) || !slices.Equal(got.Sounds, c.sounds) {
				t.Errorf("of %s the model was shown %.100q and %.100q", c.what, got.Images, got.Sounds)
			}
		}
		r.ask("read it", telegram.Document("list.txt", "text/plain", []byte("milk\nand honey")))
		if result, _ := r.v.told(); !strings.Contains(result, "milk\nand honey") {
			t.Errorf("read_artifact gave the model %q", result)
		}
	})
}

func TestAModelThatSeesNothingIsToldOfPictures(t *testing.T) {
	t.Parallel()
	onBothPlatforms(t, `, "images": false`, "", func(t *testing.T, r *filesRig) {
		got := r.ask("look", telegram.Photo(40, 30), telegram.Photo(30, 40))
		if len(got.Images) > 0 || strings.Count(got.Text, "you cannot see or hear it") != 2 {
			t.Errorf("the model was told %q and shown %d pictures", got.Text, len(got.Images))
		}
	})
}

// Ten files at once are one question, and a model that sees is shown them all, in
// their order.
func TestTenFilesAtOnceAreOneQuestion(t *testing.T) {
	t.Parallel()
	onBothPlatforms(t, "", "", func(t *testing.T, r *filesRig) {
		var files []*telegram.File
		var want []string
		for i := range 10 {
			f := telegram.Photo(30+i, 20)
			f.MIME = "image/png"
			files, want = append(files, f), append(want, dataURI("image/png", f.Data))
		}
		got := r.ask("which is best?", files...)
		if !slices.Equal(got.Images, want) || strings.Count(got.Text, "kept as artifact") != 10 || !strings.HasPrefix(got.Text, "which is best?") {
			t.Errorf("the model was told %q and shown %d pictures", got.Text, len(got.Images))
		}
		r.v.mu.Lock()
		defer r.v.mu.Unlock()
		if len(r.v.said) != 1 {
			t.Errorf("the model was asked %d times: %q", len(r.v.said), r.v.said)
		}
	})
}

// What cannot be had fails no turn: the model is told, and answers.
func TestAFileThatCannotBeHadIsToldOf(t *testing.T) {
	t.Parallel()
	gone := telegram.Response{Code: http.StatusBadRequest, Description: "Bad Request: wrong file_id or the file is temporarily unavailable"}
	const message, cdn = "GET /channels/{channel}/messages/{message}", "GET /cdn"
	onBothPlatforms(t, "", "", func(t *testing.T, r *filesRig) {
		file := func() *telegram.File {
			return telegram.Document("report.txt", "text/plain", []byte(strings.Repeat("word ", 2000)))
		}
		large := telegram.Document("film.mkv", "video/x-matroska", []byte("x"))
		large.Size = 20<<20 + 1
		for _, c := range []struct {
			what string
			file *telegram.File
			tg   func(*telegram.Server)
			dc   func(*discord.Server)
			told string
		}{
			{"too large", large, func(*telegram.Server) {}, func(*discord.Server) {}, "larger than the 20 MB that can be fetched"},
			{"gone", file(), func(s *telegram.Server) { s.Fail("getFile", -1, gone) },
				func(s *discord.Server) {
					s.Fail(message, -1, discord.Response{Status: http.StatusNotFound, Code: 10008, Message: "Unknown Message"})
				}, "could not be fetched"},
			{"404", file(), func(s *telegram.Server) {
				s.Fail("file", -1, telegram.Response{Code: http.StatusNotFound, Description: "Not Found"})
			},
				func(s *discord.Server) {
					s.Fail(cdn, -1, discord.Response{Status: http.StatusNotFound, Body: "This content is no longer available."})
				}, "could not be fetched"},
			{"cut in the middle each time", file(), func(s *telegram.Server) { s.Cut("file", -1) }, func(s *discord.Server) { s.Cut(cdn, -1) }, "could not be fetched"},
			{"cut in the middle once", file(), func(s *telegram.Server) { s.Cut("file", 1) }, func(s *discord.Server) { s.Cut(cdn, 1) }, `report.txt, text/plain, 10000 bytes. It is kept as artifact "m`},
		} {
			if r.tg != nil {
				c.tg(r.tg)
			} else {
				c.dc(r.dc)
			}
			got := r.ask(c.what, c.file)
			if !strings.Contains(got.Text, c.told) || strings.Contains(got.Text, "could not be fetched") && strings.Contains(got.Text, "kept as artifact") {
				t.Errorf("of what is %s the model was told %q, want %q", c.what, got.Text, c.told)
			}
			if r.tg != nil {
				r.tg.Mend("getFile")
				r.tg.Mend("file")
			} else {
				r.dc.Mend(message)
				r.dc.Mend(cdn)
			}
		}
	})
}

// Who deletes a message has its file deleted too: the model reads it no more, and what
// a later reply quotes of the message is not told.
func TestAFileIsDeletedWithItsMessage(t *testing.T) {
	t.Parallel()
	onBothPlatforms(t, "", "", func(t *testing.T, r *filesRig) {
		id := r.send("read it: swordfish", telegram.Document("secret.txt", "text/plain", []byte("the password is swordfish")))
		question := r.answered()
		if result, _ := r.v.told(); !strings.Contains(result, "the password is swordfish") {
			t.Fatalf("read_artifact gave the model %q", result)
		}
		artifact := toldArtifact.FindStringSubmatch(question.Text)[1]
		if r.tg != nil {
			to, err := strconv.Atoi(id)
			if err != nil {
				t.Fatal(err)
			}
			r.onTG.Reply(to, "/forget")
			eventually(t, answerWithin, "it is forgotten", func() error {
				if list := r.shows(); !strings.Contains(list[len(list)-1].Text, "I have forgotten that message.") {
					return fmt.Errorf("the chat shows %v", list)
				}
				return nil
			})
			r.onTG.Reply(to, "what was that?") // the platform still has it
		} else {
			r.onDC.Delete(r.onDC.DM(), id)
			r.send("what was that?")
		}
		r.answered()
		r.ask(`call read_artifact {"id": ` + quoted(artifact) + `}`)
		if result, _ := r.v.told(); !strings.Contains(result, "This conversation has no artifact") {
			t.Errorf("read_artifact gave the model %q", result)
		}
		if told := r.v.everything(); strings.Contains(told, "swordfish") || strings.Contains(told, "secret.txt") {
			t.Errorf("the model was told %q", told)
		}
	})
}

// What a person's client says of a file counts only where its data does not tell.
func TestAFileIsWhatItsDataSays(t *testing.T) {
	t.Parallel()
	onBothPlatforms(t, "", "", func(t *testing.T, r *filesRig) {
		photo := telegram.Photo(40, 30)
		for _, c := range []struct {
			file   *telegram.File
			told   string
			images int
		}{
			{telegram.Document("cat.png", "image/png", []byte("no cat at all")), "cat.png, text/plain, 13 bytes", 0},
			{telegram.Document("cat.txt", "text/plain", photo.Data), fmt.Sprintf("cat.txt, image/png, %d bytes", len(photo.Data)), 1},
			{telegram.Document("half.png", "image/png", photo.Data[:20]), "half.png, image/png, 20 bytes", 0},
			{telegram.Document("empty.txt", "text/plain", nil), "empty.txt, text/plain, empty", 0},
			{telegram.Document("empty.png", "image/png", nil), "empty.png, text/plain, empty", 0},
		} {
			got := r.ask("what is it?", c.file)
			if !strings.Contains(got.Text, c.told) || len(got.Images) != c.images {
				t.Errorf("the model was told %q and shown %d pictures, want %q and %d", got.Text, len(got.Images), c.told, c.images)
			}
		}
	})
}

// A name is one line of what can be seen, and no path.
func TestTheNameOfAFileIsNoMoreThanAName(t *testing.T) {
	t.Parallel()
	r := newFilesRig(t, "telegram", "", "") // Discord keeps nothing but letters of a name
	for _, c := range []struct{ name, want string }{
		{"../../etc/passwd", ": passwd, text/plain"},
		{`C:\Users\Ann\notes.txt`, ": notes.txt, text/plain"},
		{"a\x00b\x1b[31m\r\nc.txt", ": ab[31m c.txt, text/plain"},
		{"invoice\u202etxt.exe", ": invoicetxt.exe, text/plain"},
		{strings.Repeat("n", 5000) + ".txt", strings.Repeat("n", 50)},
		{"größe 世界 👧.txt", ": größe 世界 👧.txt, text/plain"},
		{"..", "attached a file: text/plain, 4 bytes"},
	} {
		got := r.ask("what is it?", telegram.Document(c.name, "text/plain", []byte("text")))
		if !strings.Contains(got.Text, c.want) || len(got.Text) > 600 || strings.ContainsFunc(got.Text, func(c rune) bool { return unicode.IsControl(c) && c != '\n' }) {
			t.Errorf("of %.50q the model was told %q, want %q", c.name, got.Text, c.want)
		}
	}
}
