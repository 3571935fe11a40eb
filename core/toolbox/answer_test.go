package toolbox

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"

	"dragoman/core/internal/guard"
	"dragoman/ports"
)

// shelf keeps artifacts in memory, as a store does.
type shelf struct {
	mu   sync.Mutex
	kept []ports.Artifact
	full bool
}

func (s *shelf) Save(_ context.Context, a ports.Artifact) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.full {
		return ports.Errorf(ports.KindUnavailable, "shelf save", "disk full")
	}
	if !slices.ContainsFunc(s.kept, func(b ports.Artifact) bool { return b.In == a.In && b.ID == a.ID }) {
		s.kept = append(s.kept, a)
	}
	return nil
}

func (s *shelf) Read(context.Context, ports.Conversation, string, int64, int64) (ports.Artifact, error) {
	return ports.Artifact{}, ports.Errorf(ports.KindNotFound, "shelf read", "not asked for in these tests")
}

// gives is a tool that gives a result.
type gives struct {
	still
	result ports.ToolResult
}

func (g gives) Call(context.Context, ports.ToolCall, ports.Host) (ports.ToolResult, error) {
	return g.result, nil
}

var (
	png  = []byte("\x89PNG\r\n\x1a\n and the rest of it")
	room = ports.Conversation{Channel: "c", Chat: "1"}
)

func words(s string) ports.Block { return ports.Block{Kind: ports.BlockText, Text: s} }

// trial is a toolbox with one tool, t of the server s.
type trial struct {
	*testing.T
	box  *Toolbox
	kept *shelf
	logs strings.Builder
}

func newTrial(t *testing.T, cfg Config, outputSchema string, r ports.ToolResult) *trial {
	cfg.Default = ports.PolicyAllow
	w := &trial{T: t, kept: new(shelf)}
	w.box = New(cfg, w.kept, new(guard.Leaks), slog.New(slog.NewTextHandler(&w.logs, &slog.HandlerOptions{Level: slog.LevelDebug})))
	spec := still{Name: "t", InputSchema: json.RawMessage(`{"type":"object"}`), OutputSchema: json.RawMessage(outputSchema)}
	w.box.Add(Source{Name: "s"}).Register(ports.Catalog{Tools: []ports.ToolPort{gives{spec, r}}})
	return w
}

// call is a turn's call of the tool.
func (w *trial) call() ports.CallResult {
	c := ports.ToolCall{Call: ports.Call{Name: "s__t", Arguments: json.RawMessage("{}")}, Turn: "turn", In: room, Key: "turn/1/0"}
	return w.box.View(Filter{}, nil).Call(w.Context(), c, nil)
}

func TestAStructuredResultIsReadOnce(t *testing.T) {
	long := base64.StdEncoding.EncodeToString([]byte(strings.Repeat("why??? 123 ", 200)))
	for name, test := range map[string]struct {
		texts      []string
		structured string
		want       string
	}{
		"the same":                          {[]string{`{"a":1,"b":[true,null]}`}, `{"a":1,"b":[true,null]}`, `{"a":1,"b":[true,null]}`},
		"indented, reordered":               {[]string{"{\n  \"b\": 1.0,\n  \"a\": \"x<y\"\n}"}, `{"a":"x\u003cy","b":1}`, `{"b":1.0,"a":"x<y"}`},
		"with a preface":                    {[]string{"Found one:", `{"a":1}`}, `{"a":1}`, "Found one:\n{\"a\":1}"},
		"as prose":                          {[]string{"It is 7 degrees."}, `{"degrees":7}`, "It is 7 degrees.\n{\"degrees\":7}"},
		"wrapped text":                      {[]string{"hello"}, `{"result":"hello"}`, "hello"},
		"wrapped value":                     {[]string{`{"a": 1}`}, `{"result":{"a":1}}`, `{"a":1}`},
		"wrapped list":                      {[]string{"1", `{"a": 2}`, "three"}, `{"result":[1,{"a":2},"three"]}`, "1\n{\"a\":2}\nthree"},
		"list":                              {[]string{"a", "b"}, `["a","b"]`, "a\nb"},
		"another list":                      {[]string{"a", "b"}, `["a","c"]`, "a\nb\n[\"a\",\"c\"]"},
		"empty list":                        {nil, `{"result": []}`, `{"result":[]}`},
		"scalar":                            {[]string{"7"}, `7`, "7"},
		"other number":                      {[]string{"9007199254740993"}, `9007199254740992`, "9007199254740993\n9007199254740992"},
		"two members":                       {[]string{"a"}, `{"result":"a","more":1}`, "a\n{\"result\":\"a\",\"more\":1}"},
		"half a JSON":                       {[]string{`{"a":`}, `{"a":1}`, "{\"a\":\n{\"a\":1}"},
		"blob in both":                      {[]string{`{"data": "` + long + `"}`}, `{"data":"` + long + `"}`, `{"data":"NOTE"}`},
		"blob as data URI":                  {[]string{"ok"}, `{"data":"data:image/png;base64,` + long + `"}`, "ok\n{\"data\":\"NOTE\"}"},
		"blob, slashes written as PHP does": {[]string{"ok"}, `{"data":"` + strings.ReplaceAll(long, "/", `\/`) + `"}`, "ok\n{\"data\":\"NOTE\"}"},
		"long text":                         {[]string{"ok"}, `{"a":"` + strings.Repeat("a Word 7 ", 300) + `"}`, "ok\n{\"a\":\"" + strings.Repeat("a Word 7 ", 300) + "\"}"},
		"long genome":                       {[]string{"ok"}, `{"a":"` + strings.Repeat("ACGT", 300) + `"}`, "ok\n{\"a\":\"" + strings.Repeat("ACGT", 300) + "\"}"},
	} {
		r := ports.ToolResult{Structured: json.RawMessage(test.structured)}
		for _, text := range test.texts {
			r.Content = append(r.Content, words(text))
		}
		w := newTrial(t, Config{}, "", r)
		got := w.call()
		for _, a := range w.kept.kept {
			note := fmt.Sprintf(`[base64, text/plain, %d bytes, kept as artifact \"%s\": read it with read_artifact]`, len(a.Data), a.ID)
			got.Text = strings.ReplaceAll(got.Text, note, "NOTE")
		}
		if got.Text != test.want || string(got.Structured) != test.structured {
			t.Errorf("%s: the model reads %.300q, want %.300q", name, got.Text, test.want)
		}
	}
}

func TestAnImageThatIsThereTwiceEntersThePromptOnce(t *testing.T) {
	picture := append(slices.Clone(png), strings.Repeat("\x00\xffpixels", 200)...)
	encoded := base64.StdEncoding.EncodeToString(picture)
	structured := `{"image":{"mimeType":"image/png","data":"` + encoded + `"},"width":3}`
	w := newTrial(t, Config{ResultBytes: 512}, "", ports.ToolResult{
		Content:    []ports.Block{{Kind: ports.BlockImage, MIME: "image/png", Data: picture}, words(structured)},
		Structured: json.RawMessage(structured),
	})
	got := w.call()
	note := fmt.Sprintf("[image, image/png, %d bytes]", len(picture))
	if want := note + "\n" + `{"image":{"mimeType":"image/png","data":"` + note + `"},"width":3}`; got.Text != want {
		t.Errorf("the model reads %.400q, want %q", got.Text, want)
	}
	if len(got.Blocks) != 1 || len(w.kept.kept) != 1 || len(got.Files) != 1 { // one for the person
		t.Errorf("%d images and %d artifacts", len(got.Blocks), len(w.kept.kept))
	}
	if !strings.Contains(string(got.Structured), encoded) {
		t.Error("the admin does not get the structured content whole")
	}
}

func TestEachKindOfContentIsToldToTheModel(t *testing.T) {
	svg := "<svg xmlns='http://www.w3.org/2000/svg'/>"
	w := newTrial(t, Config{}, "", ports.ToolResult{Content: []ports.Block{
		words("hello"),
		{Kind: ports.BlockImage, MIME: "IMAGE/JPG", Data: png}, // it is a PNG, whatever its server says
		{Kind: ports.BlockImage, MIME: "image/svg+xml", Data: []byte(svg)},
		{Kind: ports.BlockImage, MIME: "image/png", Data: []byte("\xff\xfeno image")},
		{Kind: ports.BlockImage, MIME: "image/png"},
		{Kind: ports.BlockAudio, MIME: "audio/mpeg; rate=1", Data: []byte("\xff\xfb\x90\x00sound")},
		{Kind: ports.BlockAudio, MIME: "audio/ogg", Data: []byte("OggS\x00\xff")},
		{Kind: ports.BlockResource, URI: "file:///a.txt", MIME: "text/plain", Text: "inside"},
		{Kind: ports.BlockResource, URI: "file:///a.csv", MIME: "text/csv", Data: []byte("a,b\n")},
		{Kind: ports.BlockResource, URI: "file:///a.zip", Data: []byte("PK\x03\x04\xff\xff")},
		{Kind: ports.BlockResource, URI: "file:///a.png", Data: append(slices.Clone(png), 1)},
		{Kind: ports.BlockLink, URI: "file:///b", Name: "B", Text: "the other", MIME: "text/x-rust", Size: 12},
		{Kind: ports.BlockLink, URI: "file:///c"},
	}})
	got := w.call()
	text := got.Text
	for _, a := range w.kept.kept {
		text = strings.ReplaceAll(text, fmt.Sprintf("artifact %q", a.ID), "artifact ID of "+a.Name+" "+a.MIME)
	}
	want := `hello
[image, image/png, 27 bytes]
[image, image/svg+xml, 41 bytes, kept as artifact ID of t image/svg+xml: read it with read_artifact]
[image, image/png, 10 bytes, kept as artifact ID of t image/png, which is not text]
[image, image/png, 0 bytes]
[audio, audio/mpeg, 9 bytes]
[audio, audio/ogg, 6 bytes, kept as artifact ID of t audio/ogg, which is not text]
[resource file:///a.txt]
inside
[resource file:///a.csv, text/csv, 4 bytes, kept as artifact ID of file:///a.csv text/csv: read it with read_artifact]
[resource file:///a.zip, application/zip, 6 bytes, kept as artifact ID of file:///a.zip application/zip, which is not text]
[resource file:///a.png, image/png, 28 bytes]
[B](file:///b) the other (text/x-rust, 12 bytes)
[](file:///c)`
	if text != want {
		t.Errorf("the model reads\n%s\nwant\n%s", text, want)
	}
	var shown []string
	for _, b := range got.Blocks {
		shown = append(shown, string(b.Kind)+" "+b.MIME)
	}
	if list := strings.Join(shown, ", "); list != "image image/png, audio audio/mpeg, image image/png" {
		t.Errorf("the model is shown %s", list)
	}
}

func TestWhatHasNoRoomInThePromptIsKept(t *testing.T) {
	var r ports.ToolResult
	for i := range 3 {
		r.Content = append(r.Content, ports.Block{Kind: ports.BlockImage, MIME: "image/png", Data: append(slices.Clone(png), make([]byte, blocksMax/2-100+i)...)})
	}
	r.Content = append(r.Content, ports.Block{Kind: ports.BlockImage, MIME: "image/png", Data: png}) // and this still has room
	w := newTrial(t, Config{}, "", r)
	got := w.call()
	if len(got.Blocks) != 3 || len(w.kept.kept) != 4 || !strings.Contains(got.Text, w.kept.kept[2].ID) { // all of it for the person
		t.Errorf("%d images and %d artifacts: %s", len(got.Blocks), len(w.kept.kept), got.Text)
	}
	if again := w.call(); again.Text != got.Text || len(w.kept.kept) != 4 {
		t.Errorf("a call that is made again keeps %d artifacts: %s", len(w.kept.kept), again.Text)
	}
}

func TestThePersonGetsThePicturesAndFilesOfAResult(t *testing.T) {
	r := ports.ToolResult{Content: []ports.Block{
		words("two files"),
		{Kind: ports.BlockImage, MIME: "image/png", Data: png},
		{Kind: ports.BlockResource, URI: "file:///tmp/a%20report.pdf?x", MIME: "application/pdf", Data: []byte("%PDF\xff")},
		{Kind: ports.BlockResource, URI: "file:///a.txt", MIME: "text/plain", Text: "only read"},
		{Kind: ports.BlockLink, URI: "https://example.org", Name: "a link"},
		{Kind: ports.BlockLink, URI: "notes://7", Name: "Notes: on/off", MIME: "text/plain", Data: []byte("what was noted")},
		{Kind: ports.BlockResource, URI: "files:///x/%0a%e2%80%aedata", Data: []byte("\xff\xfe"), MIME: "application/gzip"},
	}}
	w := newTrial(t, Config{}, "", r)
	got := w.call()
	if want := `[Notes: on/off](notes://7) (text/plain)` + "\n" + `[link notes://7, text/plain, 14 bytes, kept as artifact "` + w.kept.kept[2].ID + `": read it with read_artifact]`; !strings.Contains(got.Text, want) {
		t.Errorf("the model reads %q, want %q", got.Text, want)
	}
	var names []string
	for i, f := range got.Files {
		names = append(names, f.Name+" "+f.MIME)
		if k := w.kept.kept[i]; k.ID != f.Artifact || int64(len(k.Data)) != f.Size {
			t.Errorf("file %d is %+v, kept as %s of %d bytes", i, f, k.ID, len(k.Data))
		}
	}
	if want := []string{"t.png image/png", "a report.pdf application/pdf", "off.txt text/plain", "data.gz application/gzip"}; !slices.Equal(names, want) {
		t.Errorf("the person gets %q, want %q", names, want)
	}
	if want := []ports.Block{{Kind: ports.BlockLink, URI: "https://example.org", Name: "a link"}}; !slices.EqualFunc(got.Links, want, func(a, b ports.Block) bool { return a.URI == b.URI && a.Name == b.Name }) {
		t.Errorf("the person gets the links %+v, want %+v", got.Links, want)
	}
	r.IsError = true
	if got := newTrial(t, Config{}, "", r).call(); len(got.Files)+len(got.Links) > 0 {
		t.Errorf("of a call that failed the person gets %+v and %+v", got.Files, got.Links)
	}
	for n, want := range map[int]int{linksMax: linksMax, linksMax + 1: 0} {
		r := ports.ToolResult{Content: slices.Repeat([]ports.Block{{Kind: ports.BlockLink, URI: "HTTPS://example.org/a b"}}, n)}
		if got := newTrial(t, Config{}, "", r).call().Links; len(got) != want || want > 0 && got[0].URI != "https://example.org/a%20b" {
			t.Errorf("of %d links the person gets %+v", n, got)
		}
	}
}

func TestAFloodOfFilesIsNotKept(t *testing.T) {
	var r ports.ToolResult
	for i := range 2 * artifactsMax {
		r.Content = append(r.Content, ports.Block{Kind: ports.BlockResource, URI: fmt.Sprint("file:///", i), Data: []byte{0xff, byte(i)}})
	}
	w := newTrial(t, Config{}, "", r)
	if got := w.call(); len(w.kept.kept) != artifactsMax || strings.Count(got.Text, "left out: the result has too many files") != artifactsMax {
		t.Errorf("%d artifacts: %s", len(w.kept.kept), got.Text)
	}
}

func TestAFileThatCannotBeKeptIsNotPromised(t *testing.T) {
	w := newTrial(t, Config{ResultBytes: 100}, "", ports.ToolResult{Content: []ports.Block{
		{Kind: ports.BlockResource, URI: "file:///a", Data: []byte{0xff}}, words(strings.Repeat("long ", 100))}})
	w.kept.full = true
	if got := w.call(); !strings.Contains(got.Text, "could not be kept") || strings.Contains(got.Text, "read_artifact") {
		t.Errorf("the model reads %s", got.Text)
	}
}

func TestALongTextIsCutBetweenCharacters(t *testing.T) {
	whole := strings.Repeat("Grüße, 世界! 🎲 ", 300)
	for limit := 97; limit < 120; limit++ {
		w := newTrial(t, Config{ResultBytes: limit}, "", ports.ToolResult{Content: []ports.Block{words(whole)}})
		got := w.call()
		head, rest, _ := strings.Cut(got.Text, "\n\n[")
		_, tail, _ := strings.Cut(rest, "]\n\n")
		if !strings.HasPrefix(whole, head) || !strings.HasSuffix(whole, tail) || len(head)+len(tail) > limit || len(head)+len(tail) < limit-8 {
			t.Errorf("of a text that may have %d bytes the model reads %q", limit, got.Text)
		}
		if string(w.kept.kept[0].Data) != whole || w.kept.kept[0].In != room {
			t.Errorf("the whole is kept as %+v", w.kept.kept[0])
		}
	}
}

func TestAnAdminsCallLeavesNothingBehind(t *testing.T) {
	r := ports.ToolResult{Content: []ports.Block{{Kind: ports.BlockResource, URI: "file:///a", Data: []byte{0xff}}, words(strings.Repeat("long ", 100))},
		Structured: json.RawMessage(`{"a":1}`)}
	w := newTrial(t, Config{ResultBytes: 100}, "", r)
	info, got := w.box.Call(t.Context(), "s__t", json.RawMessage("{}"), ports.ToolCall{Person: "admin", Key: "admin/1"}, nil)
	if len(w.kept.kept) != 0 || len(got.Content) != 2 || string(got.Structured) != `{"a":1}` || info.Tool != "t" {
		t.Errorf("%d artifacts, %+v", len(w.kept.kept), got)
	}
	if !strings.HasPrefix(got.Text, "[resource file:///a, application/octet-stream, 1 bytes]\nlong long") || len(got.Text) < 500 {
		t.Errorf("the text is %q", got.Text)
	}
}
