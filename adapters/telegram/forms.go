package telegram

import (
	"encoding/json"
	"errors"
	"net/http"

	"dragoman/ports"
)

// form is one of the forms that a message can be posted in: rich, or as a text.
type form struct {
	*content
	Rich *richText `json:"rich_message,omitempty"`
}

// richText is https://core.telegram.org/bots/api#inputrichmessage.
type richText struct {
	Markdown string `json:"markdown"`
}

// formsOf are the forms of what Render made, the best first, and at last the bare text.
// All of them say the same.
func formsOf(c ports.Content) []form {
	var body rendered
	var forms []form
	if err := json.Unmarshal(c.Body, &body); err == nil && body.Rich != "" {
		forms = append(forms, form{Rich: &richText{body.Rich}})
	}
	said := contentOf(c)
	forms = append(forms, form{content: &said})
	if len(said.Entities) > 0 {
		bare := plain(said.Text)
		forms = append(forms, form{content: &bare})
	}
	return forms
}

// method is the one that posts it.
func (f form) method(text, rich string) string {
	if f.Rich != nil {
		return rich
	}
	return text
}

// refused reports whether it is the form that was refused, so that nothing was posted
// and another may be.
func (f form) refused(err error) bool {
	if f.Rich == nil {
		return isMisformatted(err)
	}
	var api *apiError
	if !errors.As(err, &api) || api.Foreign {
		return false
	}
	switch api.Code {
	case http.StatusNotFound: // a server of one's own that is older than rich messages
		return says(api.Description, []string{"method not found"})
	case http.StatusBadRequest:
		return api.MigrateTo == 0 && !isUnchanged(err) && !isGone(api.Description) && !isForbidden(api.Description)
	}
	return false
}

// try makes a call with one form after the other, until one is not refused.
func (c *Channel) try(m ports.Content, chat int64, nonce string, call func(form) error) error {
	forms := formsOf(m)
	for i, f := range forms {
		err := call(f)
		if i+1 == len(forms) || !f.refused(err) {
			return err
		}
		c.log.Warn("telegram_formatting_refused", "chat", chat, ports.TurnAttr(ports.TurnOf(nonce)), "rich", f.Rich != nil, "err", err)
	}
	return nil
}
