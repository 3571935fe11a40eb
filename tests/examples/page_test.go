package examples

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// fence is a fenced block with its language.
var fence = regexp.MustCompile("(?ms)^```(\\w*)\n(.*?)^```$")

// TestPageShowsWhatIsThere holds each block of code on the page to a file of the
// examples: the same lines, next to one another.
func TestPageShowsWhatIsThere(t *testing.T) {
	page := read(t, "../../adapters/README.md")
	sources := map[string]string{}
	for _, pattern := range []string{"linechat/*.go", "gomcp/*.go", "python/*.py"} {
		files, err := filepath.Glob(pattern)
		if err != nil || len(files) == 0 {
			t.Fatalf("no files in %s (%v)", pattern, err)
		}
		for _, file := range files {
			sources[file] = "\n" + read(t, file)
		}
	}
	found := map[string]int{}
	for _, block := range fence.FindAllStringSubmatch(page, -1) {
		language, code := block[1], block[2]
		if language != "go" && language != "python" {
			continue
		}
		if strings.HasPrefix(strings.TrimSpace(code), `"linechat": `) {
			found["wire.go"]++ // tests/e2e builds a gateway with it
			continue
		}
		in := ""
		for file, source := range sources {
			if strings.Contains(source, "\n"+code) {
				in = file
			}
		}
		if in == "" {
			t.Errorf("no file of the examples has this block of the page:\n%s", code)
		}
		found[language]++
	}
	if line := `"telegram": logged[ports.ChannelPort](telegram.New),`; !strings.Contains(page, line) || !strings.Contains(read(t, "../../cmd/dragoman/wire.go"), line) {
		t.Errorf("the page and wire.go do not both have the line %s", line)
	}
	if found["go"] < 5 || found["python"] < 2 || found["wire.go"] != 1 || strings.Count(page, "\n```")%2 != 0 {
		t.Errorf("the page has %v blocks of code: this test looks for them in a wrong way", found)
	}
}

// TestPageNamesFilesThatAreThere follows the page's links.
func TestPageNamesFilesThatAreThere(t *testing.T) {
	text := fence.ReplaceAllString(read(t, "../../adapters/README.md"), "")
	text = regexp.MustCompile("`[^`\n]*`").ReplaceAllString(text, "")
	links := regexp.MustCompile(`\]\(([^)#]+)\)`).FindAllStringSubmatch(text, -1)
	if len(links) == 0 {
		t.Error("the page has no links")
	}
	for _, link := range links {
		if _, err := os.Stat(filepath.Join("../../adapters", link[1])); err != nil {
			t.Error(err)
		}
	}
}

func read(t *testing.T, file string) string {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
