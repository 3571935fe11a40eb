package telegram

import (
	"strings"
	"unicode/utf8"

	"dragoman/ports"
)

// An inline keyboard as people can read it on a phone: short labels side by
// side, long ones on a row of their own.
const (
	rowButtons = 3
	shortLabel = 14 // characters
	maxData    = 64 // bytes, https://core.telegram.org/bots/api#inlinekeyboardbutton
)

type keyboard struct {
	Rows [][]button `json:"inline_keyboard"`
}

type button struct {
	Text string `json:"text"`
	Data string `json:"callback_data"`
}

// keyboardOf is nil without choices: then an edit takes the buttons off.
func keyboardOf(choices []ports.Choice) (*keyboard, error) {
	if len(choices) == 0 {
		return nil, nil
	}
	var k keyboard
	var field string
	open := false // the last row takes more
	for _, c := range choices {
		b, err := buttonOf(c)
		if err != nil {
			return nil, err
		}
		short := utf8.RuneCountInString(b.Text) <= shortLabel
		last := len(k.Rows) - 1
		if open && short && c.Field == field && len(k.Rows[last]) < rowButtons {
			k.Rows[last] = append(k.Rows[last], b)
		} else {
			k.Rows = append(k.Rows, []button{b})
		}
		open, field = short, c.Field
	}
	return &k, nil
}

func buttonOf(c ports.Choice) (button, error) {
	const op = "telegram button"
	data := c.Question + ":" + c.Field + ":" + c.Value
	if strings.Count(data, ":") != 2 {
		return button{}, ports.Errorf(ports.KindInvalid, op, "a choice must not contain ':'")
	}
	if len(data) > maxData {
		return button{}, ports.Errorf(ports.KindInvalid, op, "a choice of %d bytes does not fit a button of %d", len(data), maxData)
	}
	label := strings.TrimSpace(c.Label)
	if label == "" {
		label = c.Value
	}
	return button{Text: label, Data: data}, nil
}

// choiceOf is what a pressed button says; ok is false for data that is not ours.
func choiceOf(data string) (c ports.Choice, ok bool) {
	parts := strings.Split(data, ":")
	if len(parts) != 3 || parts[0] == "" {
		return ports.Choice{}, false
	}
	return ports.Choice{Question: parts[0], Field: parts[1], Value: parts[2]}, true
}
