package telegram

import (
	"flag"
	"fmt"
	"html"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf16"
)

var picture = flag.String("picture", "", "draw samples into this PNG file, as a phone shows them; takes Chromium")

// shownSamples are those that tell most.
var shownSamples = []string{"answer", "headings", "list-mixed", "tasks", "table-too-wide", "quote-with-code", "quote-nested",
	"math-latex", "nested-emphasis", "html-inline", "links", "footnotes", "bold-lines", "right-to-left"}

// TestPicture draws what Render makes. go test ./adapters/telegram -run TestPicture -args -picture FILE.png
func TestPicture(t *testing.T) {
	if *picture == "" {
		t.Skip("no -picture was asked for")
	}
	var b strings.Builder
	b.WriteString(telegramStyle)
	for _, name := range shownSamples {
		source, err := os.ReadFile(filepath.Join("testdata", "render", name+".md"))
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range paginate(string(source), maxText, false) {
			fmt.Fprintf(&b, "<div class=m dir=auto>%s</div>\n", drawn(p.page))
		}
	}
	page := filepath.Join(t.TempDir(), "page.html")
	if err := os.WriteFile(page, []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command("chromium", "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", "--window-size=1240,980", "--screenshot="+*picture, page).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}

const telegramStyle = `<!doctype html><meta charset=utf-8><style>
body { margin: 12px; background: #8fb48a; columns: 3; column-gap: 12px; font: 15px/1.35 Roboto, "Noto Sans", "DejaVu Sans", sans-serif }
.m { background: #fff; border-radius: 12px; padding: 7px 10px; margin: 0 0 10px; white-space: pre-wrap; overflow-wrap: break-word; break-inside: avoid }
.m pre { margin: 2px 0; padding: 5px 8px; background: #eef2f5; border-left: 3px solid #3390ec; border-radius: 4px; white-space: pre-wrap; font: 13px/1.35 "DejaVu Sans Mono", monospace; overflow-wrap: anywhere }
.m pre::before { content: attr(data-language); display: block; color: #3390ec; font-weight: 600 }
.m pre:not([data-language])::before { display: none }
.m code { font: 13px "DejaVu Sans Mono", monospace; color: #0a7d3b }
.m blockquote { display: block; margin: 0; padding: 2px 8px; background: #eef5fc; border-left: 3px solid #3390ec; border-radius: 4px }
.m a { color: #3390ec; text-decoration: none }
</style>`

// drawn is a message as HTML.
func drawn(p page) string {
	units := utf16.Encode([]rune(p.Text))
	tags := map[string][2]string{
		"bold": {"<b>", "</b>"}, "italic": {"<i>", "</i>"}, "strikethrough": {"<s>", "</s>"}, "code": {"<code>", "</code>"},
		"blockquote": {"<blockquote>", "</blockquote>"}, "pre": {"<pre>", "</pre>"}, "text_link": {"<a>", "</a>"},
	}
	opens, closes := map[int]string{}, map[int]string{}
	block := map[int]bool{} // a line end here is the block's own
	for _, f := range p.Entities {
		tag := tags[f.Type]
		if f.Language != "" {
			tag[0] = `<pre data-language="` + html.EscapeString(f.Language) + `">`
		}
		if f.Type == "pre" || f.Type == "blockquote" {
			block[f.Offset+f.Length] = true
			block[f.Offset-1] = true
		}
		opens[f.Offset] += tag[0]
	}
	for _, f := range slices.Backward(p.Entities) {
		closes[f.Offset+f.Length] += tags[f.Type][1]
	}
	var b strings.Builder
	for i := 0; i <= len(units); i++ {
		b.WriteString(closes[i] + opens[i])
		if i == len(units) || block[i] && units[i] == '\n' {
			continue
		}
		n := 1
		if utf16.IsSurrogate(rune(units[i])) && i+1 < len(units) {
			n = 2
		}
		b.WriteString(html.EscapeString(string(utf16.Decode(units[i : i+n]))))
		i += n - 1
	}
	return b.String()
}
