package discord

import (
	"encoding/json"
	"strings"
	"unicode/utf8"

	"dragoman/adapters/internal/markdown"
	"dragoman/ports"
)

const (
	gridWidth  = 60  // columns of a table that are still readable
	maxAddress = 400 // letters of a link's; a link cannot be cut
	nothing    = "…" // shown where there is nothing to show: Discord refuses an empty message
)

// render makes messages of at most limit UTF-16 units of Markdown: each has its
// text in Discord's own dialect (https://support.discord.com/hc/en-us/articles/210298617)
// as Body, which written reads. Nothing that is there to read is lost; what
// Discord cannot show is shown by other means, and what is no markup in the
// source is none in Discord. A file goes with the first message, choices go with
// the last. There is always one, and something to see in each that has no file.
func render(c ports.Content, limit int) ([]ports.Content, error) {
	text := c.Text
	if c.Partial {
		text = markdown.Complete(text)
	}
	pages := paginate(text, limit)
	switch {
	case len(pages) > 0:
	case c.File != nil:
		pages = []string{""}
	default:
		pages = []string{nothing}
	}
	parts := make([]ports.Content, len(pages))
	for i, p := range pages {
		body, err := json.Marshal(p)
		if err != nil {
			return nil, ports.Errorf(ports.KindInternal, "discord render", "%w", err)
		}
		parts[i] = ports.Content{Text: p, Body: body}
	}
	parts[0].File = c.File
	parts[len(parts)-1].Choices = c.Choices
	return parts, nil
}

// written is what Send posts of a message: what render made of it, else the
// beginning of its Text as it is.
func written(c ports.Content, limit int) string {
	var text string
	if err := json.Unmarshal(c.Body, &text); err == nil && text != "" {
		return text
	}
	text = strings.TrimSpace(strings.ToValidUTF8(c.Text, string(utf8.RuneError)))
	left := limit
	for i, r := range text {
		if left -= units(r); left < 0 {
			return text[:i]
		}
	}
	return text
}

// paginate makes texts of at most limit UTF-16 units; none of blank text.
// Discord counts characters, of which there are never more.
func paginate(text string, limit int) []string {
	text = markdown.Clean(text)
	pages := pagesOf(markdown.Parse(text), limit)
	if len(pages) == 0 { // all of it is markup, a lone link reference, say
		pages = pagesOf(markdown.Literal(text), limit)
	}
	return pages
}

func pagesOf(blocks []markdown.Block, limit int) []string {
	fits := func(bs []markdown.Block) bool {
		w := writer{limit: limit}
		w.blocks(bs)
		return !w.full
	}
	blocks = markdown.Reword(markdown.Unfold(blocks, gridWidth), unlinked)
	var pages []string
	for _, piece := range markdown.Split(blocks, fits) {
		w := writer{limit: limit}
		w.blocks(piece)
		// Discord trims too, and what it trims must not be what makes a list nest.
		if p := strings.TrimSpace(w.text.String()); markdown.Visible(p) {
			pages = append(pages, p)
		}
	}
	return pages
}

// units of UTF-16 that a character takes.
func units(r rune) int {
	if r > 0xFFFF {
		return 2
	}
	return 1
}
