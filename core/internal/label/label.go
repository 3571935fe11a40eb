// Package label says of a file what it is called and how large it is, and of a link
// where it leads. What it gives is one line of characters that can be seen: names come
// from people and from servers.
package label

import (
	"cmp"
	"fmt"
	"path"
	"strings"
	"unicode"
	"unicode/utf8"

	"dragoman/ports"
)

// nameMost is the longest name, in bytes: what a file system takes is 255.
const nameMost = 120

// Name is the last part of a path as one line, without what cannot be seen, cut in
// its middle where it is too long; "" if nothing of it is left.
func Name(s string) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	s = s[strings.LastIndexAny(s, `/\`)+1:]
	s = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case !unicode.IsGraphic(r) && r != '\u200d': // which joins emoji
			return -1
		}
		return r
	}, s)
	s = strings.Join(strings.Fields(s), " ")
	if strings.Trim(s, ".") == "" {
		return ""
	}
	return shorter(s)
}

// shorter keeps the end of a long name, which tells what opens it.
func shorter(s string) string {
	if len(s) <= nameMost {
		return s
	}
	ext := path.Ext(s)
	if len(ext) > nameMost/4 {
		ext = ""
	}
	end := nameMost - len(ext) - len("…")
	for !utf8.RuneStart(s[end]) {
		end--
	}
	return s[:end] + "…" + ext
}

// Markdown is a line about a file.
func Markdown(f ports.File) string {
	name := strings.ReplaceAll(cmp.Or(f.Name, "file"), "`", "'")
	return fmt.Sprintf("`%s` (%s, %s)", name, cmp.Or(f.MIME, "a file"), size(f.Size))
}

// Link is a link as Markdown. The URI is one that url.URL wrote.
func Link(name, uri string) string {
	name = strings.NewReplacer("[", "(", "]", ")", "`", "'", `\`, "/").Replace(cmp.Or(name, uri))
	return fmt.Sprintf("[%s](%s)", name, strings.NewReplacer("(", "%28", ")", "%29").Replace(uri))
}

func size(bytes int64) string {
	switch {
	case bytes >= 1<<20:
		return fmt.Sprintf("%.1f MB", float64(bytes)/(1<<20))
	case bytes >= 1<<10:
		return fmt.Sprintf("%d kB", bytes>>10)
	}
	return fmt.Sprintf("%d bytes", bytes)
}
