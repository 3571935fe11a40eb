package telegram

import (
	"encoding/json"
	"strings"
	"unicode"
	"unicode/utf8"

	"dragoman/adapters/internal/markdown"
	"dragoman/ports"
)

var _ ports.Renderer = (*Channel)(nil)

const (
	gridWidth = 60  // columns of a table that are still readable on a phone turned sideways
	nothing   = "…" // shown where there is nothing to show: Telegram refuses an empty message
)

// page is a message as Send posts it: Content.Body.
type page struct {
	Text     string   `json:"text"`
	Entities []format `json:"entities,omitempty"`
}

// format marks a part of a text; offset and length are UTF-16 units
// (https://core.telegram.org/bots/api#messageentity).
type format struct {
	Type     string `json:"type"`
	Offset   int    `json:"offset"`
	Length   int    `json:"length"`
	URL      string `json:"url,omitempty"`
	Language string `json:"language,omitempty"`
}

// Render makes messages of Markdown. Entities and not parse_mode carry the
// formatting: there is nothing to escape, and no text that cannot be parsed.
// Nothing that is there to read is lost; what Telegram cannot show is shown by
// other means. There is always one message, and something to see in each.
func (c *Channel) Render(content ports.Content) ([]ports.Content, error) {
	pages := paginate(content.Text, maxText)
	parts := make([]ports.Content, len(pages))
	for i, p := range pages {
		body, err := json.Marshal(p)
		if err != nil {
			return nil, ports.Errorf(ports.KindInternal, "telegram render", "%w", err)
		}
		parts[i] = ports.Content{Text: p.Text, Body: body}
	}
	parts[len(parts)-1].Choices = content.Choices
	return parts, nil
}

// paginate makes pages of at most limit UTF-16 units.
func paginate(text string, limit int) []page {
	text = clean(text)
	pages := pagesOf(markdown.Parse(text), limit)
	if len(pages) == 0 { // all of it is markup, a lone link reference, say
		pages = pagesOf(markdown.Literal(text), limit)
	}
	if len(pages) == 0 {
		return []page{{Text: nothing}}
	}
	return pages
}

func pagesOf(blocks []markdown.Block, limit int) []page {
	fits := func(bs []markdown.Block) bool {
		w := writer{limit: limit}
		w.blocks(bs, false)
		return !w.full
	}
	var pages []page
	for _, piece := range markdown.Split(readable(blocks), fits) {
		w := writer{limit: limit}
		w.blocks(piece, false)
		if p := w.page(); visible(p.Text) {
			pages = append(pages, p)
		}
	}
	return pages
}

// readable turns tables that a grid would spoil into records, before anything is
// cut, so that a table looks the same in all its pieces.
func readable(blocks []markdown.Block) []markdown.Block {
	var out []markdown.Block
	for _, b := range blocks {
		switch b := b.(type) {
		case markdown.Table:
			if b.Width() > gridWidth || b.Linked() || hasLongLine(b.Grid()) {
				out = append(out, b.Records()...)
				continue
			}
		case markdown.Quote:
			out = append(out, markdown.Quote{Blocks: readable(b.Blocks)})
			continue
		case markdown.List:
			items := make([]markdown.Item, len(b.Items))
			for i, item := range b.Items {
				item.Blocks = readable(item.Blocks)
				items[i] = item
			}
			b.Items = items
			out = append(out, b)
			continue
		}
		out = append(out, b)
	}
	return out
}

// hasLongLine: marks that take no room make a line too long to be cut off
// between rows.
func hasLongLine(grid string) bool {
	for line := range strings.SplitSeq(grid, "\n") {
		if utf8.RuneCountInString(line) > 2*gridWidth {
			return true
		}
	}
	return false
}

// clean takes out what Telegram takes out: were it left to Telegram, texts would
// be shorter than the offsets think. Direction overrides go for good reason:
// they make a text read as another.
func clean(text string) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	text = strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(text)
	return strings.Map(cleanRune, text)
}

func cleanRune(r rune) rune {
	switch {
	case r == '\u2028', r == '\u2029':
		return '\n'
	case r >= '\u202A' && r <= '\u202E':
		return -1
	case r < ' ' && r != '\n' && r != '\t':
		return ' '
	}
	return r
}

// visible: there is something to see, also by Telegram's own measure.
func visible(text string) bool {
	return strings.ContainsFunc(text, func(r rune) bool {
		switch r {
		case '\u2800', '\u115F', '\u1160', '\u3164', '\uFFA0', '\u034F', '\u17B4', '\u17B5': // blanks that pass as letters or marks
			return false
		}
		return unicode.IsGraphic(r) && !unicode.IsSpace(r) && !unicode.Is(unicode.Variation_Selector, r)
	})
}
