package discord

import (
	"flag"
	"fmt"
	"html"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"dragoman/adapters/internal/markdown"
)

var picture = flag.String("picture", "", "draw samples into this PNG file, as Discord shows them; takes Chromium")

// shownSamples are those that tell most.
var shownSamples = []string{"answer", "headings", "list-mixed", "tasks", "table-too-wide", "quote-with-code", "quote-nested",
	"math-latex", "nested-emphasis", "html-inline", "links", "footnotes", "bold-lines", "escapes", "list-code"}

// TestPicture draws what render makes, by what the viewer sees of it.
// go test ./adapters/discord -run TestPicture -args -picture FILE.png
func TestPicture(t *testing.T) {
	if *picture == "" {
		t.Skip("no -picture was asked for")
	}
	var b strings.Builder
	b.WriteString(discordStyle)
	for _, name := range shownSamples {
		source, err := os.ReadFile(filepath.Join("testdata", "render", name+".md"))
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range paginate(string(source), maxMessage) {
			fmt.Fprintf(&b, "<div class=m>%s</div>\n", drawn(view(p)))
		}
	}
	page := filepath.Join(t.TempDir(), "page.html")
	if err := os.WriteFile(page, []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command("chromium", "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--window-size=1240,1010", "--screenshot="+*picture, page).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}

const discordStyle = `<!doctype html><meta charset=utf-8><style>
body { margin: 12px; background: #313338; color: #dbdee1; columns: 3; column-gap: 24px; font: 15px/1.375 "gg sans", "Noto Sans", "DejaVu Sans", sans-serif }
.m { border-left: 24px solid #5865f2; padding: 2px 0 2px 10px; margin: 0 0 14px; white-space: pre-wrap; overflow-wrap: anywhere; break-inside: avoid }
.fence { display: block; margin: 4px 0; padding: 7px; background: #2b2d31; border: 1px solid #1e1f22; border-radius: 4px; font: 13px/1.3 "DejaVu Sans Mono", monospace }
.mono { background: #1e1f22; border-radius: 3px; padding: 1px 3px; font: 13px "DejaVu Sans Mono", monospace }
.quote { display: block; border-left: 4px solid #4e5058; padding-left: 10px }
.heading { font-size: 19px; font-weight: 700; color: #f2f3f5 }
.b { font-weight: 700 } .i { font-style: italic } .s { text-decoration: line-through } .link { color: #00a8fc }
</style>`

// drawn is what a person sees of a message as HTML: runs of one look.
func drawn(seen []seenRune) string {
	var b strings.Builder
	quote := false
	for i := 0; i < len(seen); {
		n := i + 1
		for n < len(seen) && seen[n].look == seen[i].look {
			n++
		}
		at := seen[i].look
		var text strings.Builder
		for _, s := range seen[i:n] {
			text.WriteRune(s.r)
		}
		words := text.String()
		if at.quote != quote {
			b.WriteString(map[bool]string{true: "<span class=quote>", false: "</span>"}[at.quote])
			quote = at.quote
		}
		if i > 0 && seen[i-1].look.fence && !at.fence {
			words = strings.TrimPrefix(words, "\n") // a block's own line end
		}
		if n < len(seen) && (seen[n].look.fence && !at.fence || seen[n].look.quote != at.quote) {
			words = strings.TrimSuffix(words, "\n")
		}
		var classes []string
		for _, c := range []struct {
			name string
			is   bool
		}{{"fence", at.fence}, {"heading", at.heading}, {"link", at.link != ""}, {"b", at.style&markdown.Bold != 0}, {"i", at.style&markdown.Italic != 0},
			{"s", at.style&markdown.Strike != 0}, {"mono", at.style&markdown.Monospace != 0 && !at.fence}} {
			if c.is {
				classes = append(classes, c.name)
			}
		}
		fmt.Fprintf(&b, "<span class=%q>%s</span>", strings.Join(classes, " "), html.EscapeString(words))
		i = n
	}
	return b.String()
}
