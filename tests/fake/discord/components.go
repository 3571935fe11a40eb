package discord

import (
	"encoding/json"
	"net/url"
)

// Limits of components and embeds, https://docs.discord.com/developers/components/reference.
const (
	maxRows      = 5
	maxInRow     = 5
	maxCustomID  = 100
	maxLabel     = 80
	maxParts     = 40
	maxOptions   = 25
	maxEmbeds    = 10
	maxEmbedText = 6000
)

// Component types.
const (
	compRow     = 1
	compButton  = 2
	compSelect  = 3
	compUsers   = 5
	compMention = 8  // the last of the kinds of select
	compSection = 9  // the first that needs the flag
	compText    = 10 // Markdown
)

type component struct {
	Type       int             `json:"type"`
	ID         int             `json:"id,omitempty"`
	CustomID   *string         `json:"custom_id,omitempty"`
	Label      string          `json:"label,omitempty"`
	Style      int             `json:"style,omitempty"`
	Emoji      json.RawMessage `json:"emoji,omitempty"`
	URL        *string         `json:"url,omitempty"`
	Disabled   bool            `json:"disabled,omitempty"`
	Components []component     `json:"components,omitempty"`
	Options    []option        `json:"options,omitempty"`
	Holder     string          `json:"placeholder,omitempty"`
	Min        *int            `json:"min_values,omitempty"`
	Max        *int            `json:"max_values,omitempty"`
	Content    string          `json:"content,omitempty"`
	Accessory  *component      `json:"accessory,omitempty"`
	Color      *int            `json:"accent_color,omitempty"`
	Spoiler    bool            `json:"spoiler,omitempty"`
	Divider    *bool           `json:"divider,omitempty"`
	Spacing    int             `json:"spacing,omitempty"`
}

type option struct {
	Label       string          `json:"label"`
	Value       string          `json:"value"`
	Description string          `json:"description,omitempty"`
	Emoji       json.RawMessage `json:"emoji,omitempty"`
	Default     bool            `json:"default,omitempty"`
}

// checker walks a message's components.
type checker struct {
	f    *form
	v2   bool
	next int // id
	ids  map[string]bool
	text int
}

// checkComponents is the list with the ids that Discord gives.
func checkComponents(f *form, list []component, v2 bool) []component {
	c := &checker{f: f, v2: v2, ids: map[string]bool{}}
	if !v2 && len(list) > maxRows {
		f.longerThan(maxRows, "components")
	}
	list = c.walk(list, 0, "components")
	if c.next > maxParts {
		f.bad("BASE_TYPE_MAX_LENGTH", "The total number of components cannot exceed 40.", "components")
	}
	if c.text > 4000 {
		f.bad("COMPONENT_MAX_TOTAL_TEXT_SIZE_EXCEEDED", "Total text size of all text displays cannot exceed 4000.", "components")
	}
	return list
}

func (c *checker) walk(list []component, within int, path ...any) []component {
	out := make([]component, len(list))
	for i, one := range list {
		c.next++
		one.ID = c.next
		at := append(append([]any{}, path...), i)
		c.check(&one, within, at)
		one.Components = c.walk(one.Components, one.Type, append(at, "components")...)
		if len(one.Components) == 0 {
			one.Components = nil
		}
		out[i] = one
	}
	return out
}

// check looks at one component that stands in one of the type within, 0 for the message.
func (c *checker) check(one *component, within int, at []any) {
	path := func(field string) []any { return append(append([]any{}, at...), field) }
	switch {
	case within == 0 && !c.v2 && one.Type != compRow:
		c.f.bad("UNION_TYPE_CHOICES", `Value of field "type" must be one of (1,).`, path("type")...)
	case within == 0 && c.v2 && one.Type != compRow && (one.Type < compSection || one.Type > 17):
		c.f.bad("UNION_TYPE_CHOICES", `Value of field "type" must be one of (1, 9, 10, 12, 13, 14, 17).`, path("type")...)
	case within == compRow && (one.Type < compButton || one.Type > compMention || one.Type == 4):
		c.f.bad("UNION_TYPE_CHOICES", `Value of field "type" must be one of (2, 3, 5, 6, 7, 8).`, path("type")...)
	case one.Type == compRow:
		c.row(one, path)
	case one.Type == compButton:
		c.button(one, path)
	case one.Type >= compSelect && one.Type <= compMention:
		c.selection(one, path)
	case one.Type == compText:
		c.text += units(one.Content)
		if one.Content == "" {
			c.f.between(0, 1, 4000, path("content")...)
		}
	}
}

func (c *checker) row(one *component, path func(string) []any) {
	c.f.between(len(one.Components), 1, maxInRow, path("components")...)
	for _, in := range one.Components {
		if in.Type != compButton && len(one.Components) > 1 {
			c.f.bad("COMPONENT_LAYOUT_WIDTH_EXCEEDED", "The specified component exceeds the maximum width", path("components")...)
			return
		}
	}
}

func (c *checker) button(b *component, path func(string) []any) {
	const link, premium = 5, 6
	if b.Style < 1 || b.Style >= premium {
		c.f.choices("(1, 2, 3, 4, 5)", path("style")...)
	}
	if units(b.Label) > maxLabel {
		c.f.longerThan(maxLabel, path("label")...)
	}
	if b.Label == "" && len(b.Emoji) == 0 {
		c.f.bad("BUTTON_COMPONENT_LABEL_REQUIRED", "A button must have a label or an emoji", path("label")...)
	}
	if b.Style != link {
		c.custom(b, path)
		if b.URL != nil {
			c.f.bad("BUTTON_COMPONENT_URL_NOT_ALLOWED", "A url may not be specified for this button", path("url")...)
		}
		return
	}
	if b.CustomID != nil {
		c.f.bad("BUTTON_COMPONENT_CUSTOM_ID_AND_URL", "A custom id and url cannot both be specified", path("custom_id")...)
	}
	if b.URL == nil {
		c.f.required(path("url")...)
		return
	}
	if u, err := url.Parse(*b.URL); err != nil || u.Host == "" && u.Scheme != "discord" || len(*b.URL) > 512 {
		c.f.bad("URL_TYPE_INVALID_URL", "Not a well formed URL.", path("url")...)
	}
}

func (c *checker) selection(b *component, path func(string) []any) {
	c.custom(b, path)
	if b.Type != compSelect {
		return
	}
	c.f.between(len(b.Options), 1, maxOptions, path("options")...)
	seen := map[string]bool{}
	for i, o := range b.Options {
		at := append(path("options"), i)
		c.f.between(units(o.Label), 1, 100, append(at, "label")...)
		c.f.between(units(o.Value), 1, 100, append(at, "value")...)
		if seen[o.Value] {
			c.f.bad("SELECT_COMPONENT_OPTION_VALUE_DUPLICATED", "The specified option value is already used", append(at, "value")...)
		}
		seen[o.Value] = true
	}
}

// custom holds the id of what can be pressed to its rules.
func (c *checker) custom(b *component, path func(string) []any) {
	if b.CustomID == nil {
		c.f.required(path("custom_id")...)
		return
	}
	c.f.between(units(*b.CustomID), 1, maxCustomID, path("custom_id")...)
	if c.ids[*b.CustomID] {
		c.f.bad("COMPONENT_CUSTOM_ID_DUPLICATED", "Component custom id cannot be duplicated", path("custom_id")...)
	}
	c.ids[*b.CustomID] = true
}

// embed is held to its limits and shown as it came.
type embed map[string]any

func checkEmbeds(f *form, list []embed) []any {
	if len(list) > maxEmbeds {
		f.longerThan(maxEmbeds, "embeds")
	}
	total, out := 0, []any{}
	for i, e := range list {
		for field, most := range map[string]int{"title": 256, "description": 4096} {
			text, _ := e[field].(string)
			total += units(text)
			if units(text) > most {
				f.longerThan(most, "embeds", i, field)
			}
		}
		fields, _ := e["fields"].([]any)
		if len(fields) > 25 {
			f.longerThan(25, "embeds", i, "fields")
		}
		if len(e) == 0 {
			f.required("embeds", i, "description")
		}
		shown := map[string]any{"type": "rich"}
		for k, v := range e {
			shown[k] = v
		}
		out = append(out, shown)
	}
	if total > maxEmbedText {
		f.bad("MAX_EMBED_SIZE_EXCEEDED", "Embed size exceeds maximum size of 6000", "embeds")
	}
	return out
}
