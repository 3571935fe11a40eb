package telegram

import (
	"encoding/json"
	"slices"
	"strings"
	"unicode/utf8"
)

// said is what a message says.
type said struct {
	text    string
	formats []Entity
	keys    *markup
	preview bool         // links may unfold
	rich    *richMessage // in the place of a text
}

// content checks what a text message is to say.
func content(p params) (said, *reply) {
	what, no := read(p, "text", "entities", maxText, "message is too long")
	if no != nil {
		return what, no
	}
	if p.has("rich_message") {
		if p.has("text") || p.has("entities") {
			a := badRequest("fake telegram: a text and a rich message")
			return what, &a
		}
		what.rich, no = richContent(p.form["rich_message"])
		return what, no
	}
	if what.text == "" {
		a := badRequest("message text is empty")
		no = &a
	}
	return what, no
}

// caption checks what is to be said of a file.
func caption(p params) (said, *reply) {
	return read(p, "caption", "caption_entities", maxCaption, "message caption is too long")
}

// read checks a text of at most limit UTF-16 units with its entities.
func read(p params, field, entities string, limit int, tooLong string) (said, *reply) {
	no := func(what string) (said, *reply) {
		a := badRequest(what)
		return said{}, &a
	}
	if p.form["parse_mode"] != "" {
		return no("fake telegram: parse_mode is not implemented")
	}
	if !utf8.ValidString(p.form[field]) {
		return no("strings must be encoded in UTF-8")
	}
	formats, fault := formatting(p.form[entities], p.form[field])
	if fault != nil {
		return said{}, fault
	}
	text, formats := trimmed(p.form[field], formats)
	if strings.TrimSpace(text) == "" {
		text, formats = "", nil
	}
	if units(text) > limit {
		return no(tooLong)
	}
	preview, err := previews(p.form["link_preview_options"])
	if err != nil {
		return no("can't parse link preview options JSON object: " + err.Error())
	}
	keys, fault := keyboard(p.form["reply_markup"])
	return said{text: text, formats: formats, keys: keys, preview: preview}, fault
}

// previews says whether a message lets links unfold, which it does unless told otherwise.
func previews(options string) (bool, error) {
	var o struct {
		Off     bool   `json:"is_disabled"`
		URL     string `json:"url"`
		Small   bool   `json:"prefer_small_media"`
		Large   bool   `json:"prefer_large_media"`
		OverAll bool   `json:"show_above_text"`
	}
	if options == "" {
		return true, nil
	}
	err := strict(options, &o)
	return !o.Off, err
}

// keyboard checks an inline keyboard; an empty one is none.
func keyboard(list string) (*markup, *reply) {
	no := func(what string) (*markup, *reply) {
		a := badRequest(what)
		return nil, &a
	}
	if list == "" {
		return nil, nil
	}
	var in struct {
		Rows [][]struct {
			Button
			Copy json.RawMessage `json:"copy_text"` // go-telegram/bot sends an empty one with each
		} `json:"inline_keyboard"`
	}
	if err := strict(list, &in); err != nil {
		return no("can't parse reply keyboard markup JSON object: " + err.Error())
	}
	n, m := 0, markup{Rows: make([][]Button, len(in.Rows))}
	for i, row := range in.Rows {
		if len(row) == 0 {
			return no("can't parse inline keyboard: empty row")
		}
		for _, b := range row {
			n++
			m.Rows[i] = append(m.Rows[i], b.Button)
			switch {
			case strings.TrimSpace(b.Text) == "":
				return no("can't parse inline keyboard button: text is empty")
			case b.Data == nil && b.URL == nil:
				return no("can't parse inline keyboard button: Text buttons are unallowed in the inline keyboard")
			case b.Data != nil && (len(*b.Data) < 1 || len(*b.Data) > maxData):
				return no("BUTTON_DATA_INVALID")
			case b.Data != nil && b.URL != nil:
				return no("can't parse inline keyboard button: more than one kind of button")
			case !slices.Contains([]string{"", "danger", "success", "primary"}, b.Style):
				return no("can't parse inline keyboard button: unknown style")
			}
		}
	}
	if n > maxButtons {
		return no("reply markup is too long")
	}
	if n == 0 {
		return nil, nil
	}
	return &m, nil
}
