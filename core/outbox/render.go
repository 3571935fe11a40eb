package outbox

import (
	"runtime/debug"
	"strings"
	"unicode/utf8"

	"dragoman/ports"
)

// Render makes the platform's messages of content: by the channel's own
// renderer, else as plain text split at the platform's limit.
func (o *Outbox) Render(in ports.Conversation, c ports.Content) []ports.Content {
	return o.RenderFor("", in, c)
}

// RenderFor is Render for something that a turn says.
func (o *Outbox) RenderFor(turn string, in ports.Conversation, c ports.Content) []ports.Content {
	ch := o.channels[in.Channel]
	if ch == nil {
		return []ports.Content{c}
	}
	if c.File != nil {
		return o.renderFile(turn, in, c)
	}
	c, files := o.withFiles(ch, turn, in, c)
	parts := o.renderText(ch, turn, in, c)
	for _, f := range files {
		parts = append(parts, o.renderFile(turn, in, f)...)
	}
	return parts
}

// renderText makes messages of what is said.
func (o *Outbox) renderText(ch *channel, turn string, in ports.Conversation, c ports.Content) []ports.Content {
	if !ch.traits.Choices && len(c.Choices) > 0 {
		c = choicesAsText(c)
	}
	if ch.renderer != nil {
		parts, err := ch.render(c)
		if err == nil && len(parts) > 0 {
			return parts
		}
		o.log.Warn("render_failed", "channel", in.Channel, "chat", in.Chat, ports.TurnAttr(turn), "err", err)
	}
	texts := split(c.Text, ch.traits.MaxText)
	parts := make([]ports.Content, len(texts))
	for i, t := range texts {
		parts[i] = ports.Content{Text: t}
	}
	parts[len(parts)-1].Choices = c.Choices
	return parts
}

// renderFile makes one message of a file: what is said of it stands in its first.
func (o *Outbox) renderFile(turn string, in ports.Conversation, c ports.Content) []ports.Content {
	file := c.File
	c.File = nil
	parts := o.RenderFor(turn, in, c)
	parts[0].File = file
	return parts
}

// render asks the adapter; one that panics costs the form, not the answer.
func (ch *channel) render(c ports.Content) (parts []ports.Content, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = ports.Errorf(ports.KindInternal, "render", "panic: %v\n%s", r, debug.Stack())
		}
	}()
	return ch.renderer.Render(c)
}

// choicesAsText lists the choices for a channel without buttons.
func choicesAsText(c ports.Content) ports.Content {
	labels := make([]string, len(c.Choices))
	for i, ch := range c.Choices {
		labels[i] = ch.Value
	}
	return ports.Content{Text: c.Text + "\n\nAnswer with: " + strings.Join(labels, " / ")}
}

// split cuts text into pieces of at most limit UTF-16 units (every platform's
// own unit counts the same or less), at a paragraph, a line or a space where one
// stands in the second half, and never inside a rune. limit 0 = one piece.
func split(text string, limit int) []string {
	text = strings.TrimSpace(text)
	if limit <= 0 {
		return []string{text}
	}
	var parts []string
	for {
		end := prefix(text, limit)
		if end == len(text) {
			return append(parts, text)
		}
		cut := end
		for _, sep := range []string{"\n\n", "\n", " "} {
			if i := strings.LastIndex(text[:end], sep); i >= end/2 {
				cut = i
				break
			}
		}
		parts = append(parts, strings.TrimRight(text[:cut], " \n"))
		text = strings.TrimLeft(text[cut:], " \n")
	}
}

// prefix is the length in bytes of the longest beginning of text that has at
// most limit UTF-16 units.
func prefix(text string, limit int) int {
	units := 0
	for i, r := range text {
		n := 1
		if r > 0xFFFF {
			n = 2
		}
		if units+n > limit {
			return firstRune(text, i)
		}
		units += n
	}
	return len(text)
}

// firstRune keeps a limit below one rune from cutting nothing for ever.
func firstRune(text string, i int) int {
	if i > 0 {
		return i
	}
	_, n := utf8.DecodeRuneInString(text)
	return n
}
