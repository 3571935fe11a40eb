package files

import (
	"bytes"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"image/png"
	"strings"
	"testing"

	"dragoman/ports"
)

// picture is one of a size, in a format.
func picture(t *testing.T, format string, width, height int) []byte {
	t.Helper()
	img := image.NewPaletted(image.Rect(0, 0, width, height), color.Palette{color.White, color.Black})
	var b bytes.Buffer
	var err error
	switch format {
	case "png":
		err = png.Encode(&b, img)
	case "jpeg":
		err = jpeg.Encode(&b, img, nil)
	default:
		err = gif.Encode(&b, img, nil)
	}
	if err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// What a model is shown is what a provider takes: it refuses the whole prompt for a
// picture that is none, or too large.
func TestAModelIsShownWhatProvidersTake(t *testing.T) {
	t.Parallel()
	small := picture(t, "png", 3, 2)
	pad := func(data []byte, size int) []byte { return append(bytes.Clone(data), make([]byte, size-len(data))...) }
	webp := []byte("RIFF\x1a\x00\x00\x00WEBPVP8L")
	wav := []byte("RIFF\x24\x00\x00\x00WAVEfmt ")
	for what, c := range map[string]struct {
		said string
		data []byte
		mime string
		show ports.BlockKind
	}{
		"a png":                                {"image/png", small, "image/png", ports.BlockImage},
		"a jpeg":                               {"image/jpeg", picture(t, "jpeg", 3, 2), "image/jpeg", ports.BlockImage},
		"a gif":                                {"image/gif", picture(t, "gif", 3, 2), "image/gif", ports.BlockImage},
		"a webp":                               {"image/webp", webp, "image/webp", ports.BlockImage},
		"a wav":                                {"audio/x-wav", wav, "audio/wav", ports.BlockAudio},
		"an mp3 with a tag":                    {"audio/mpeg", []byte("ID3\x04"), "audio/mpeg", ports.BlockAudio},
		"an mp3 without one":                   {"audio/mpeg", []byte("\xff\xfb\x90\x00"), "audio/mpeg", ports.BlockAudio},
		"a voice message":                      {"audio/ogg", []byte("OggS\x00\x02"), "audio/ogg", ""},
		"a picture that is said to be text":    {"text/plain", small, "image/png", ports.BlockImage},
		"a picture of which nothing is said":   {"", small, "image/png", ports.BlockImage},
		"text that is said to be a picture":    {"image/png", []byte("no picture"), "text/plain", ""},
		"text that is said to be a sound":      {"audio/mpeg", []byte("no sound"), "text/plain", ""},
		"half a picture":                       {"image/png", small[:16], "image/png", ""},
		"nothing":                              {"image/png", nil, "text/plain", ""},
		"what nobody can read":                 {"a/b/c; d", []byte("text"), "text/plain", ""},
		"a type with parameters":               {"text/csv; charset=utf-8", []byte("a,b"), "text/csv", ""},
		"the longest side":                     {"", picture(t, "png", mostSide, 1), "image/png", ports.BlockImage},
		"a longer side":                        {"", picture(t, "png", mostSide+1, 1), "image/png", ""},
		"a longer side down":                   {"", picture(t, "png", 1, mostSide+1), "image/png", ""},
		"the largest picture":                  {"", pad(small, MostShown), "image/png", ports.BlockImage},
		"a larger one":                         {"", pad(small, MostShown+1), "image/png", ""},
		"the largest sound":                    {"", pad(wav, MostShown), "audio/wav", ports.BlockAudio},
		"a larger sound":                       {"", pad(wav, MostShown+1), "audio/wav", ""},
		"a page":                               {"", []byte("<html>" + strings.Repeat("x", 1000)), "text/html", ""},
		"a page that is said to be a document": {"application/pdf", []byte("<html>"), "application/pdf", ""},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			d := newDesk(t)
			d.data = c.data
			for _, when := range []string{"when it is fetched", "when it was there"} {
				f, show, err := d.Keep(t.Context(), room, 7, "a", ports.Attachment{ID: "x", Name: "../a\nb", MIME: c.said})
				if err != nil || f.MIME != c.mime || show != c.show || f.Size != int64(len(c.data)) || f.Name != "a b" {
					t.Errorf("%s it is %+v, shown as %q (%v); want %s, %q", when, f, show, err, c.mime, c.show)
				}
			}
			if kept := d.kept["a"]; kept.Message != 7 || kept.Name != "a b" || kept.MIME != c.mime || !bytes.Equal(kept.Data, c.data) {
				t.Errorf("it keeps for message %d %q, %q, %d bytes", kept.Message, kept.Name, kept.MIME, len(kept.Data))
			}
		})
	}
}
