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

// rendered is Content.Body: a message, and the rich one that it stands in for where
// Telegram refuses that.
type rendered struct {
	page
	Rich string `json:"rich,omitempty"`
}

// page is a message as Send posts it.
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
	pages := paginate(text, maxText, c.rich)
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

// paginate makes pages of at most limit UTF-16 units, with rich forms if they are
// asked for.
func paginate(text string, limit int, rich bool) []rendered {
	text = markdown.Clean(text)
	blocks := markdown.Parse(text)
	if rich {
		if pages, ok := richPages(blocks, limit); ok {
			return pages
		}
	}
	pages := pagesOf(blocks, limit)
	if len(pages) == 0 { // all of it is markup, a lone link reference, say
		pages = pagesOf(markdown.Literal(text), limit)
	}
	if len(pages) == 0 {
		return []rendered{{page: page{Text: nothing}}}
	}
	return pages
}

func pagesOf(blocks []markdown.Block, limit int) []rendered {
	fits := func(bs []markdown.Block) bool { return !write(bs, limit).full }
	var pages []rendered
	for _, piece := range markdown.Split(shownAs(blocks), fits) {
		if p := write(piece, limit).page(); markdown.Visible(p.Text) {
			pages = append(pages, rendered{page: p})
		}
	}
	return pages
}

// shownAs is blocks as a text without rich form shows them.
func shownAs(blocks []markdown.Block) []markdown.Block {
	return markdown.Reword(markdown.Unfold(blocks, gridWidth), spellOut)
}

// richPages are pages that have a rich form where that shows more. Each says all of it
// also without, so that it takes one message whatever Telegram makes of it: that is why
// a rich one is not longer than others. ok is false if it cannot be done, or need not.
func richPages(blocks []markdown.Block, limit int) (pages []rendered, ok bool) {
	if !asksForRich(blocks, false) {
		return nil, false
	}
	plain := func(bs []markdown.Block) *writer { return write(shownAs(bs), limit) }
	pieces := markdown.Split(blocks, func(bs []markdown.Block) bool {
		_, fits := richly(bs)
		return fits && !plain(bs).full
	})
	for _, piece := range pieces {
		w := plain(piece)
		text, fits := richly(piece)
		if w.full || !fits { // of a table's row that no message holds, say
			return nil, false
		}
		p := rendered{page: w.page()}
		if asksForRich(piece, false) {
			p.Rich = text
		}
		if markdown.Visible(p.Text) {
			pages = append(pages, p)
		}
	}
	return pages, len(pages) > 0
}

// write is what comes of blocks. It is full if they are too much.
func write(bs []markdown.Block, limit int) *writer {
	w := &writer{limit: limit}
	w.blocks(bs, false)
	return w
}
