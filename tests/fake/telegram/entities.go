package telegram

import (
	"encoding/json"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"unicode/utf16"
)

// maxEntities is how many a message may have; Telegram drops what is beyond.
const maxEntities = 100

// Entity marks a part of a text; offset and length are UTF-16 units
// (https://core.telegram.org/bots/api#messageentity).
type Entity struct {
	Type     string `json:"type"`
	Offset   int    `json:"offset"`
	Length   int    `json:"length"`
	URL      string `json:"url,omitempty"`
	Language string `json:"language,omitempty"`
}

// Kinds that a bot may ask for by entities; text_mention and custom_emoji need
// people and emoji that the fake does not have.
var entityTypes = []string{
	"mention", "hashtag", "cashtag", "bot_command", "url", "email", "phone_number", "bold", "italic", "underline",
	"strikethrough", "spoiler", "blockquote", "expandable_blockquote", "code", "pre", "text_link",
}

// formatting reads the entities parameter of a text that is not trimmed yet.
func formatting(list, text string) ([]Entity, *reply) {
	no := func(what string, args ...any) ([]Entity, *reply) {
		a := badRequest("can't parse entities: " + fmt.Sprintf(what, args...))
		return nil, &a
	}
	if list == "" {
		return nil, nil
	}
	var es []Entity
	if err := json.Unmarshal([]byte(list), &es); err != nil {
		return no("expected an Array of MessageEntity")
	}
	if len(es) > maxEntities {
		return no("fake telegram: %d entities, only %d would be kept", len(es), maxEntities)
	}
	units := utf16.Encode([]rune(text))
	for i, e := range es {
		switch {
		case !slices.Contains(entityTypes, e.Type):
			return no("unsupported entity type %q", e.Type)
		case e.Offset < 0 || e.Length <= 0 || e.Offset > len(units) || e.Length > len(units)-e.Offset:
			return no("entity %d is outside of the text", i)
		case splits(units, e.Offset) || splits(units, e.Offset+e.Length):
			return no("entity %d begins or ends inside of a surrogate pair", i)
		case e.Type == "text_link" && !linkable(e.URL):
			return no("entity %d has no usable URL: %q", i, e.URL)
		case e.Type != "text_link" && e.URL != "":
			return no("fake telegram: a %s with a URL", e.Type)
		case e.Type != "pre" && e.Language != "":
			return no("fake telegram: a %s with a language", e.Type)
		}
		for _, other := range es[:i] {
			if why := clash(other, e); why != "" {
				return no("fake telegram: entity %d: %s", i, why)
			}
		}
	}
	return es, nil
}

// splits: at is inside of a surrogate pair.
func splits(units []uint16, at int) bool {
	return at > 0 && at < len(units) && units[at-1]>>10 == 0xD800>>10 && units[at]>>10 == 0xDC00>>10
}

var host = regexp.MustCompile(`^[\pL\pN._~%:@\[\]-]+$`)

func linkable(link string) bool {
	u, err := url.Parse(link)
	if err != nil || !slices.Contains([]string{"http", "https", "tg", "ton", "tonsite"}, u.Scheme) {
		return false
	}
	return u.Scheme == "tg" || host.MatchString(u.Host)
}

// clash says what Telegram would silently mend in two entities.
func clash(a, b Entity) string {
	if b.Offset < a.Offset || b.Offset == a.Offset && b.Length > a.Length {
		a, b = b, a
	}
	quote := func(e Entity) bool { return e.Type == "blockquote" || e.Type == "expandable_blockquote" }
	whole := func(e Entity) bool { return e.Type == "pre" || e.Type == "code" }
	switch {
	case b.Offset >= a.Offset+a.Length:
		return ""
	case b.Offset+b.Length > a.Offset+a.Length:
		return fmt.Sprintf("%s and %s overlap without nesting", a.Type, b.Type)
	case quote(a) && quote(b):
		return "a quote in a quote"
	case whole(a) || whole(b) && !quote(a):
		return fmt.Sprintf("%s in %s", b.Type, a.Type)
	}
	return ""
}

// trimmed is what stays of a text and of its entities once white space around
// the text is gone.
func trimmed(text string, es []Entity) (string, []Entity) {
	const white = " \t\r\n\v\f"
	start, end := 0, len(text)
	for start < end && isOneOf(text[start], white) {
		start++
	}
	for end > start && isOneOf(text[end-1], white) {
		end--
	}
	text = text[start:end]
	var kept []Entity
	for _, e := range es {
		from, to := max(e.Offset-start, 0), min(e.Offset+e.Length-start, units(text))
		if from < to {
			e.Offset, e.Length = from, to-from
			kept = append(kept, e)
		}
	}
	return text, kept
}

func isOneOf(c byte, set string) bool { return slices.Contains([]byte(set), c) }
