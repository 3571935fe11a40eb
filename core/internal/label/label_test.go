package label

import (
	"strings"
	"testing"
	"unicode/utf8"

	"dragoman/ports"
)

func TestANameIsOneLineOfWhatCanBeSeen(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"plan.pdf":              "plan.pdf",
		"":                      "",
		".":                     "",
		"..":                    "",
		"...":                   "",
		"   ":                   "",
		"/":                     "",
		"../../etc/passwd":      "passwd",
		`C:\Users\Ann\a b.txt`:  "a b.txt",
		"/etc/":                 "",
		".profile":              ".profile",
		"a\x00b.txt":            "ab.txt",
		"a\r\n\tb.txt":          "a b.txt",
		"\x1b[31mred\x7f.txt":   "[31mred.txt",
		"invoice\u202etxt.exe":  "invoicetxt.exe",
		"zero\u200bwidth\ufeff": "zerowidth",
		"a\u2028b\u2029c":       "a b c",
		"👩\u200d🚀 größe 世界.md":  "👩\u200d🚀 größe 世界.md",
		"bad\xff.txt":           "bad\uFFFD.txt",
	} {
		if got := Name(name); got != want {
			t.Errorf("of %q the name is %q, want %q", name, got, want)
		}
	}
}

func TestALongNameKeepsItsEnd(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, end string }{
		{strings.Repeat("n", 5000) + ".tar.gz", "….gz"},
		{strings.Repeat("世", 500) + ".txt", "….txt"},
		{"a." + strings.Repeat("x", 5000), "…"},
		{strings.Repeat("n", 5000), "…"},
	} {
		got := Name(c.name)
		if len(got) > nameMost || len(got) < nameMost-4 || !strings.HasSuffix(got, c.end) || !utf8.ValidString(got) {
			t.Errorf("of %.10q… the name is %q of %d bytes", c.name, got, len(got))
		}
	}
	if exact := strings.Repeat("n", nameMost); Name(exact) != exact {
		t.Errorf("a name that fits became %q", Name(exact))
	}
}

func TestALinkIsOneWhateverItsName(t *testing.T) {
	t.Parallel()
	for want, link := range map[string][2]string{
		"[a page](https://example.org/a)":                            {"a page", "https://example.org/a"},
		"[(x)(javascript:1) 'y/](https://example.org/%28b%29)":       {"[x](javascript:1) `y\\", "https://example.org/(b)"},
		"[https://example.org/(b)](https://example.org/%28b%29?a=b)": {"https://example.org/(b)", "https://example.org/(b)?a=b"},
		"[https://example.org](https://example.org)":                 {"", "https://example.org"},
	} {
		if got := Link(link[0], link[1]); got != want {
			t.Errorf("it says %q, want %q", got, want)
		}
	}
}

func TestALineAboutAFileHasItsNameTypeAndSize(t *testing.T) {
	t.Parallel()
	for want, f := range map[string]ports.File{
		"`a'b.png` (image/png, 3 kB)": {Name: "a`b.png", MIME: "image/png", Size: 3 << 10},
		"`file` (a file, 12 bytes)":   {Size: 12},
		"`c` (video/mp4, 1.5 MB)":     {Name: "c", MIME: "video/mp4", Size: 3 << 19},
	} {
		if got := Markdown(f); got != want {
			t.Errorf("it says %q, want %q", got, want)
		}
	}
}
