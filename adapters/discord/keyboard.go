package discord

import (
	"strings"
	"unicode/utf8"

	"dragoman/ports"
)

// Limits of buttons (https://discord.com/developers/docs/components/reference#button).
const (
	maxRows    = 5
	rowButtons = 5
	maxLabel   = 80  // characters
	maxData    = 100 // characters; in bytes it is never more
)

// Types of components.
const (
	typeRow    = 1
	typeButton = 2
	styleGrey  = 2
)

type row struct {
	Type    int      `json:"type"`
	Buttons []button `json:"components"`
}

type button struct {
	Type  int    `json:"type"`
	Style int    `json:"style"`
	Label string `json:"label"`
	Data  string `json:"custom_id"`
}

// rowsOf is empty and not nil without choices: then an edit takes the buttons off.
func rowsOf(choices []ports.Choice) ([]row, error) {
	rows := []row{}
	if len(choices) > maxRows*rowButtons {
		return nil, ports.Errorf(ports.KindInvalid, "discord buttons", "%d choices, a message has at most %d", len(choices), maxRows*rowButtons)
	}
	for i, c := range choices {
		b, err := buttonOf(c)
		if err != nil {
			return nil, err
		}
		if i%rowButtons == 0 {
			rows = append(rows, row{Type: typeRow})
		}
		last := &rows[len(rows)-1]
		last.Buttons = append(last.Buttons, b)
	}
	return rows, nil
}

func buttonOf(c ports.Choice) (button, error) {
	const op = "discord button"
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
	if utf8.RuneCountInString(label) > maxLabel {
		label = string([]rune(label)[:maxLabel-1]) + "…"
	}
	return button{Type: typeButton, Style: styleGrey, Label: label, Data: data}, nil
}

// choiceOf is what a pressed button says; ok is false for data that is not ours.
func choiceOf(data string) (c ports.Choice, ok bool) {
	parts := strings.Split(data, ":")
	if len(parts) != 3 || parts[0] == "" {
		return ports.Choice{}, false
	}
	return ports.Choice{Question: parts[0], Field: parts[1], Value: parts[2]}, true
}
