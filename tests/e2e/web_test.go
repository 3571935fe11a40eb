package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/cookiejar"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// browser is a tab of a real Chromium with a profile of its own.
type browser struct {
	t   testing.TB
	ctx context.Context
}

// newBrowser starts Chromium, headless, with a window of this size.
func newBrowser(t testing.TB, width, height int) *browser {
	t.Helper()
	path := installed(t, "/usr/bin/chromium")
	_, env := sandbox(t)
	ctx, stop := chromedp.NewExecAllocator(t.Context(), chromedp.ExecPath(path), chromedp.Headless, chromedp.NoSandbox, chromedp.DisableGPU,
		chromedp.NoFirstRun, chromedp.NoDefaultBrowserCheck, chromedp.NoInheritEnv, chromedp.Env(env...), chromedp.UserDataDir(t.TempDir()),
		chromedp.WindowSize(width, height), chromedp.WSURLReadTimeout(answerWithin), chromedp.Flag("disable-quic", true), chromedp.Flag("disable-sync", true),
		chromedp.Flag("disable-background-networking", true), chromedp.Flag("disable-component-update", true))
	ctx, cancel := chromedp.NewContext(ctx)
	t.Cleanup(func() {
		cancel()
		stop()
	})
	if err := chromedp.Do(ctx, chromedp.EmulateViewport(int64(width), int64(height))); err != nil {
		t.Fatal(err)
	}
	return &browser{t, ctx}
}

func (b *browser) open(url string) {
	b.t.Helper()
	if err := chromedp.Do(b.ctx, chromedp.Navigate(url)); err != nil {
		b.t.Fatal(err)
	}
}

// eval runs a script that gives a value.
func eval[T any](b *browser, script string) T {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, answerWithin)
	defer cancel()
	v, err := chromedp.Run(ctx, chromedp.Evaluate[T](script))
	if err != nil {
		b.t.Fatalf("%s: %v", script, err)
	}
	return v
}

// until waits until a script is true.
func (b *browser) until(what, script string) {
	b.t.Helper()
	eventually(b.t, answerWithin, what, func() error {
		if !eval[bool](b, script) {
			return fmt.Errorf("the page shows %q", eval[string](b, `document.body?.innerText ?? "nothing"`))
		}
		return nil
	})
}

// say types into the box as a person does, once the page has come to life, and sends.
func (b *browser) say(text string) {
	b.t.Helper()
	b.until("the page is alive", `!!document.getElementById("text") && (document.getElementById("empty")?.hidden === false || !!document.querySelector("#log > li"))`)
	if err := chromedp.Do(b.ctx, chromedp.SendKeys("#text", text), chromedp.Click("#send")); err != nil {
		b.t.Fatal(err)
	}
}

// press presses the button with this label.
func (b *browser) press(label string) {
	b.t.Helper()
	script := fmt.Sprintf(`(() => { const b = [...document.querySelectorAll("#log button")].find(b => b.innerText.trim() === %q && !b.disabled); b?.click(); return !!b })()`, label)
	b.until("there is a button "+label, script)
}

// shows waits until the log contains a text.
func (b *browser) shows(text string) {
	b.t.Helper()
	b.until("the chat shows "+text, fmt.Sprintf(`document.getElementById("log")?.innerText.includes(%q) ?? false`, text))
}

// picture keeps a screenshot where SCREENSHOTS says, for people to look at.
func (b *browser) picture(name string) {
	dir := os.Getenv("SCREENSHOTS")
	if dir == "" {
		return
	}
	png, err := chromedp.Run(b.ctx, chromedp.CaptureScreenshot())
	if err != nil {
		b.t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, name+".png"), png, 0o644); err != nil {
		b.t.Fatal(err)
	}
}

var sizes = map[string][2]int{"desktop": {1280, 800}, "phone": {390, 844}}

func webConfig(t testing.TB, mock *aimock, files string) string {
	t.Helper()
	script := nodePackage(t, "@modelcontextprotocol", "server-filesystem", "dist", "index.js")
	return `{
	"version": 1, "listen": "${LISTEN}",
	"models": {"main": {"type": "openai", "base_url": ` + quoted(mock.URL+"/v1") + `, "model": "m"}},
	"channels": {"web": {"type": "web"}},
	"mcp_servers": {"files": {"command": ` + quoted(node(t)) + `, "args": [` + quoted(script) + `, ` + quoted(files) + `]}},
	"tools": {"policy": {"files__read_*": "allow"}}
}`
}

func TestTheWebChatInABrowser(t *testing.T) {
	t.Parallel()
	for name, size := range sizes {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			files := notes(t, "the password is swordfish-4711\n")
			target := filepath.Join(files, "new.txt")
			mock := startAimock(t,
				wants("read notes.txt", "files__read_text_file", map[string]any{"path": filepath.Join(files, "notes.txt")}),
				seen("read notes.txt", "swordfish-4711", "It says:\n\n> the password is **swordfish-4711**\n\n| file | size |\n|---|---|\n| notes.txt | 31 |\n\n```go\nfmt.Println(\"swordfish\")\n```"),
				wants("write new.txt", "files__write_file", map[string]any{"path": target, "content": "alpha"}),
				seen("write new.txt", "Successfully wrote", "Written."))
			g := startGateway(t, webConfig(t, mock, files))
			link := g.WaitLine(`http://\S+/login\?code=\S+`, answerWithin)[0]

			b := newBrowser(t, size[0], size[1])
			b.open(link)
			b.shows("You are this bot's admin")
			b.picture(name + "-welcome")
			b.say("please read notes.txt")
			b.shows("the password is swordfish-4711")
			b.picture(name + "-answer")
			if n := eval[int](b, `document.querySelectorAll("#log strong").length`); n == 0 {
				t.Error("Markdown is not rendered")
			}
			if over := eval[bool](b, `document.documentElement.scrollWidth > innerWidth`); over {
				t.Error("the page is wider than the window")
			}

			b.say("write new.txt")
			b.shows("May I run files__write_file?")
			b.picture(name + "-question")
			g.Restart()
			strangersPress(t, g, eval[string](b, `document.querySelector("#log .choices button").dataset.choice`))
			if _, err := os.Stat(target); err == nil {
				t.Fatal("a stranger's press ran the tool")
			}
			b.press("Yes, run it")
			b.shows("Written.")
			b.picture(name + "-done")
			if got, err := os.ReadFile(target); err != nil || string(got) != "alpha" {
				t.Errorf("the file holds %q (%v)", got, err)
			}
			b.open(g.URL)
			b.shows("Written.")
			if n := eval[int](b, `[...document.querySelectorAll("#log > li")].filter(e => e.innerText.includes("Written.")).length`); n != 1 {
				t.Errorf("after a reload the answer is there %d times", n)
			}
		})
	}
}

// strangersPress presses somebody else's button from a session of its own.
func strangersPress(t *testing.T, g *gateway, choice string) {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	client := &http.Client{Jar: jar, Timeout: answerWithin}
	post := func(path, kind, body string) int {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, g.URL+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", kind)
		req.Header.Set("Origin", g.URL)
		resp, err := client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		return resp.StatusCode
	}
	if code := post("/login/guest", "application/x-www-form-urlencoded", ""); code != http.StatusOK {
		t.Fatalf("/login/guest: %d", code)
	}
	var key []string // question, field, value
	if err := json.Unmarshal([]byte(choice), &key); err != nil || len(key) != 3 {
		t.Fatalf("the button's choice is %s (%v)", choice, err)
	}
	body, err := json.Marshal(map[string]string{"id": "stranger-1", "message": "1", "question": key[0], "field": key[1], "value": key[2]})
	if err != nil {
		t.Fatal(err)
	}
	if code := post("/api/press", "application/json", string(body)); code >= 500 {
		t.Fatalf("/api/press: %d", code)
	}
}

func TestTheWebChatKeepsStrangersOut(t *testing.T) {
	t.Parallel()
	mock := startAimock(t, says("hello", "Hello yourself."))
	g := startGateway(t, webConfig(t, mock, notes(t, "")))
	b := newBrowser(t, 390, 844)
	b.open(g.URL)
	b.until("the door is shown", `document.body?.innerText.includes("This chat is private") ?? false`)
	b.picture("phone-door")
	if err := chromedp.Do(b.ctx, chromedp.Click(`form[action="/login/guest"] button`)); err != nil {
		t.Fatal(err)
	}
	b.say("hello")
	b.shows("Your code is")
	b.picture("phone-stranger")
	if n := len(mock.Journal(nil)); n != 0 {
		t.Errorf("a stranger caused %d model calls", n)
	}
	list, _, _ := g.CLI("pair", "list", "--json")
	var waiting []struct{ Code string }
	if err := json.Unmarshal([]byte(list), &waiting); err != nil || len(waiting) != 1 {
		t.Fatalf("pair list says %s (%v)", list, err)
	}
	if _, stderr, exit := g.CLI("pair", "approve", waiting[0].Code); exit != 0 {
		t.Fatalf("pair approve: %s", stderr)
	}
	b.shows("You are in")
	b.say("hello again")
	b.shows("Hello yourself.")
}

// The embedded default, as a newcomer gets it: no config, no key, no Node.
// Its port is 7420, so it runs alone.
func TestTheEmbeddedDefaultInABrowser(t *testing.T) {
	g := startGateway(t, embeddedDefault)
	link := g.WaitLine(`http://\S+/login\?code=\S+`, answerWithin)[0]
	b := newBrowser(t, 1280, 800)
	b.open(link)
	b.shows("You are this bot's admin")
	b.say("what time is it in Tokyo?")
	b.shows("JST")
	b.picture("default-tokyo")
	b.say(`call desk__calculate {"expression": "6*7"}`)
	b.shows("42")
	b.picture("default-call")
}

func quoted(s string) string {
	b, err := json.Marshal(s)
	if err != nil {
		panic(err) // a string always marshals
	}
	return string(b)
}
