package e2e

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"image"
	"image/color"
	"image/gif"
	"io"
	"net/http"
	"strings"
	"testing"

	"dragoman/tests/fake/model"
	"dragoman/tests/fake/telegram"
)

// bulkName and bulk are a file that Discord does not take.
const bulkName = "bulk.bin"

func bulk() []byte { return bytes.Repeat([]byte("bulk\x00\xff"), 11<<20/6) }

// moving is a picture with two frames.
func moving() []byte {
	frame := image.NewPaletted(image.Rect(0, 0, 20, 10), color.Palette{color.White, color.Black})
	var b bytes.Buffer
	if err := gif.EncodeAll(&b, &gif.GIF{Image: []*image.Paletted{frame, frame}, Delay: []int{10, 10}}); err != nil {
		panic(err) // of a picture of ours
	}
	return b.Bytes()
}

// serveBulk is the test binary as an MCP server whose tools give them.
func serveBulk() {
	var tools []any
	for _, name := range []string{"bulk", "moving"} {
		tools = append(tools, map[string]any{"name": name, "inputSchema": map[string]any{"type": "object"}})
	}
	serveMCP("bulk", tools, func(name string) any {
		if name == "moving" {
			return map[string]any{"content": []any{map[string]any{"type": "image", "mimeType": "image/gif", "data": moving()}}}
		}
		return map[string]any{"content": []any{map[string]any{"type": "resource",
			"resource": map[string]any{"uri": "file:///tmp/" + bulkName, "mimeType": "application/x-bulk", "blob": bulk()}}}}
	})
}

// The reference server's picture and file are posted behind the answer, once, as what
// they are, and the model is told so.
func TestWhatAToolGivesIsPosted(t *testing.T) {
	t.Parallel()
	onBothPlatforms(t, "", everythingServer(t), func(t *testing.T, r *filesRig) {
		r.ask("call ref__get-tiny-image {}")
		if told := r.v.everything(); !strings.Contains(told, "The person gets this as files behind your answer: get-tiny-image.png.") {
			t.Errorf("the model was told %q", told)
		}
		image := r.behind(1)[0]
		if kind := map[bool]string{true: "photo", false: "image/png"}[r.tg != nil]; image.Kind != kind || !bytes.HasPrefix(image.Data, []byte("\x89PNG")) {
			t.Errorf("the picture came as a %s of %d bytes", image.Kind, len(image.Data))
		}
		if !strings.Contains(image.Text, "image/png") {
			t.Errorf("below the picture stands %q", image.Text)
		}

		r.ask(`call ref__get-resource-reference {"resourceType": "Blob", "resourceId": 7}`)
		file := r.behind(1)[0]
		if r.tg != nil && file.Kind != "document" || !strings.HasPrefix(string(file.Data), "Resource 7: This is a base64 blob") || file.Name != "7.txt" {
			t.Errorf("the file came as the %s %q: %q", file.Kind, file.Name, file.Data)
		}

		r.ask(`call ref__get-resource-reference {"resourceType": "Text", "resourceId": 8}`)
		if result, _ := r.v.told(); !strings.Contains(result, "Resource 8: This is a plaintext resource") {
			t.Errorf("the model was told %q", result)
		}
		r.behind(0) // a text is the model's to tell of
		r.g.Restart()
		r.ask("thanks")
		r.behind(0)
	})
}

// What a tool links to at its own server is read there and posted, and the model can
// read it too.
func TestWhatAToolLinksToIsPosted(t *testing.T) {
	t.Parallel()
	onBothPlatforms(t, "", everythingServer(t), func(t *testing.T, r *filesRig) {
		data := base64.StdEncoding.EncodeToString([]byte(strings.Repeat("to be packed ", 1000)))
		r.ask(`call ref__gzip-file-as-resource {"name": "packed.gz", "data": "data:text/plain;base64,` + data + `", "outputType": "resourceLink"}`)
		file := r.behind(1)[0]
		unpack, err := gzip.NewReader(bytes.NewReader(file.Data))
		if err != nil || file.Name != "packed.gz" {
			t.Fatalf("the file %q came with %q and %d bytes: %v", file.Name, file.Text, len(file.Data), err)
		}
		if text, err := io.ReadAll(unpack); err != nil || string(text) != strings.Repeat("to be packed ", 1000) {
			t.Errorf("the file holds %.100q (%v)", text, err)
		}

		r.ask(`call ref__get-resource-links {"count": 2}`)
		list := r.behind(2)
		for i, want := range []string{"Resource 1: This is a base64 blob", "Resource 2: This is a plaintext resource"} {
			if !strings.HasPrefix(string(list[i].Data), want) {
				t.Errorf("link %d came as %q with %q", i, list[i].Text, list[i].Data)
			}
		}
		if result, _ := r.v.told(); !strings.Contains(result, "demo://resource/dynamic/text/2") || strings.Count(result, "kept as artifact") != 2 {
			t.Errorf("the model was told %q", result)
		}
	})
}

// The answer arrives, and the person learns what they do not get.
func TestAFileThatIsTooLargeToPostIsToldOf(t *testing.T) {
	t.Parallel()
	onBothPlatforms(t, "", standInServer("E2E_BULK"), func(t *testing.T, r *filesRig) {
		if r.tg != nil { // it takes 50 MB
			r.tg.Fail("sendDocument", -1, telegram.Response{Code: http.StatusRequestEntityTooLarge, Description: "Request Entity Too Large"})
		}
		r.ask("call own__bulk {}")
		note := r.behind(1)[0]
		if note.Kind != "" || !strings.Contains(strings.ReplaceAll(note.Text, "`", ""), "bulk.bin (application/x-bulk, 11.0 MB) is too large to be posted here.") {
			t.Errorf("the person reads %q (%s)", note.Text, note.Kind)
		}
		r.ask("and now?")
		r.behind(0)
	})
}

func TestAMovingPictureMoves(t *testing.T) {
	t.Parallel()
	onBothPlatforms(t, "", standInServer("E2E_BULK"), func(t *testing.T, r *filesRig) {
		r.ask("call own__moving {}")
		picture := r.behind(1)[0]
		if kind := map[bool]string{true: "animation", false: "image/gif"}[r.tg != nil]; picture.Kind != kind || picture.Name != "moving.gif" || !bytes.Equal(picture.Data, moving()) {
			t.Errorf("it came as a %s, %q, of %d bytes", picture.Kind, picture.Name, len(picture.Data))
		}
	})
}

// The page of the web chat shows a picture, and links to a file, behind the login.
func TestTheWebChatShowsWhatAToolGives(t *testing.T) {
	t.Parallel()
	v := new(viewer)
	m := model.New(model.Options{Answer: v.answer})
	t.Cleanup(m.Close)
	g := startGateway(t, `{"listen": "${LISTEN}", "models": {"main": {"type": "openai", "base_url": `+quoted(m.URL())+`, "model": "gpt-4o", "api_key": "k"}},
		"channels": {"web": {"type": "web"}}, "tools": {"default": "allow"}`+everythingServer(t)+`}`)
	g.WaitLine("mcp_server_connected", readyWithin)
	link := g.WaitLine(`http://\S+/login\?code=\S+`, answerWithin)[0]
	b := newBrowser(t, 1280, 800)
	b.open(link)
	b.shows("You are this bot's admin")
	b.say("call ref__get-tiny-image {}")
	b.until("the picture shows", `(document.querySelector("#log a.file[download='get-tiny-image.png'] img")?.naturalWidth ?? 0) > 0`)
	b.picture("web-picture")
	b.say(`call ref__get-resource-reference {"resourceType": "Blob", "resourceId": 7}`)
	b.until("the file is linked", `!!document.querySelector("#log a.file[download='7.txt']")`)
	path := eval[string](b, `document.querySelector("#log a.file[download='7.txt']").getAttribute("href")`)
	data := eval[string](b, `(() => { const r = new XMLHttpRequest(); r.open("GET", `+quoted(path)+`, false); r.send(); return r.responseText })()`)
	if !strings.HasPrefix(data, "Resource 7: This is a base64 blob") {
		t.Errorf("the file holds %q", data)
	}
	if status, err := g.status(path); err != nil || status != http.StatusUnauthorized {
		t.Errorf("without a login it is %d (%v)", status, err)
	}
}
