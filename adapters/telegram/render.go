package telegram

import (
	"encoding/json"

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
	text := content.Text
	if content.Partial {
		text = markdown.Complete(text)
	}
	pages := paginate(text, maxText)
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
	text = markdown.Clean(text)
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
	for _, piece := range markdown.Split(markdown.Unfold(blocks, gridWidth), fits) {
		w := writer{limit: limit}
		w.blocks(piece, false)
		if p := w.page(); markdown.Visible(p.Text) {
			pages = append(pages, p)
		}
	}
	return pages
}
