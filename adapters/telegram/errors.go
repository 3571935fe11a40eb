package telegram

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"dragoman/adapters/internal/call"
	"dragoman/ports"
)

// apiError is a refusal by Telegram, or by something in between.
type apiError struct {
	Code        int
	Foreign     bool // not in the Bot API's form: a proxy, a captive portal, a wrong api_url
	Description string
	RetryAfter  time.Duration
	MigrateTo   int64
}

func (e *apiError) Error() string {
	if e.MigrateTo != 0 {
		return fmt.Sprintf("%d %s (the group is now chat %d)", e.Code, e.Description, e.MigrateTo)
	}
	if e.Foreign {
		return fmt.Sprintf("%d %s, from something that is not the Bot API", e.Code, e.Description)
	}
	return fmt.Sprintf("%d %s", e.Code, e.Description)
}

// posting are the methods whose effect would be seen twice.
var posting = []string{"sendMessage", "sendPhoto", "sendDocument", "sendVoice", "sendAudio", "sendVideo", "sendAnimation"}

// wrap gives a failed call its kind; nil stays nil. op ends with the method's name.
func wrap(op string, err error) error {
	if err == nil {
		return nil
	}
	out := &ports.Error{Op: op, Err: err}
	once := slices.Contains(posting, op[strings.LastIndexByte(op, ' ')+1:])
	var api *apiError
	var failed *call.Error
	switch {
	case errors.As(err, &api):
		out.Kind, out.RetryAfter = refusal(api, once), api.RetryAfter
		if why := reason(api.Description); why != "" {
			out.Err = fmt.Errorf("%s: %w", why, err)
		}
	case errors.As(err, &failed):
		out.Kind = failed.Kind(once)
	}
	return out
}

// refusal is the kind of an answer that is not ok.
//
// A 5xx to a send counts as KindTemporary: Telegram gives it in place of the
// effect, and trying again is what its own clients do. 504 alone says that a
// proxy stopped waiting for a server that may have gone on.
func refusal(e *apiError, once bool) ports.Kind {
	switch {
	case e.Code == http.StatusTooManyRequests:
		return ports.KindRateLimited
	case e.Code == http.StatusUnauthorized, e.Code == http.StatusNotFound && !e.Foreign:
		// 404 is what a token that no bot can have gets: there is no such URL.
		return ports.KindUnauthorized
	case e.Foreign && e.Code < http.StatusInternalServerError:
		return ports.KindTemporary
	case e.Code == http.StatusForbidden:
		return ports.KindForbidden
	case e.Code == http.StatusConflict:
		return ports.KindConflict
	case e.Code == http.StatusGatewayTimeout && once:
		return ports.KindUnsure
	case e.Code >= http.StatusInternalServerError:
		return ports.KindTemporary
	case isForbidden(e.Description):
		return ports.KindForbidden
	case e.MigrateTo != 0 || isGone(e.Description):
		return ports.KindNotFound
	case e.Code == http.StatusRequestEntityTooLarge:
		return ports.KindTooLarge
	}
	return ports.KindInvalid
}

// The Bot API tells these apart by their description only.
var (
	gone = []string{
		"chat not found", "message to edit not found", "message can't be edited", "message_id_invalid", "message to react not found",
		"message thread not found", "topic_deleted", "topic_id_invalid", "user not found", "peer_id_invalid",
	}
	forbidden = []string{"topic_closed", "chat_write_forbidden", "not enough rights", "have no rights to send"}
	// reasons are what an admin reads in the log of a delivery that was given up.
	reasons = []struct{ says, means string }{
		{"blocked by the user", "the person blocked the bot"},
		{"user is deactivated", "the person's account is gone"},
		{"can't initiate conversation", "the person never wrote to the bot"},
		{"bot was kicked", "the bot is no longer in the group"},
		{"bot is not a member", "the bot is no longer in the group"},
		{"group chat was deleted", "the group is gone"},
		{"message thread not found", "the topic is gone"},
		{"topic_deleted", "the topic is gone"},
		{"topic_closed", "the topic is closed"},
		{"chat_write_forbidden", "the bot may not write in the group"},
		{"not enough rights to send", "the bot may not write in the group"},
		{"have no rights to send", "the bot may not write in the group"},
	}
)

// isGone: what the call is about is not there, or can no longer be touched.
func isGone(description string) bool { return says(description, gone) }

// isForbidden: the call will be refused until an admin of the group changes something.
func isForbidden(description string) bool { return says(description, forbidden) }

func says(description string, words []string) bool {
	d := strings.ToLower(description)
	return slices.ContainsFunc(words, func(w string) bool { return strings.Contains(d, w) })
}

// reason is what a refusal means in plain words, "" if it is not one of those
// that everybody meets.
func reason(description string) string {
	for _, r := range reasons {
		if says(description, []string{r.says}) {
			return r.means
		}
	}
	return ""
}

// isRefused: the token is not accepted, which no waiting mends.
func isRefused(err error) bool {
	var api *apiError
	return errors.As(err, &api) && refusal(api, false) == ports.KindUnauthorized
}

// refusedToken says in plain words what a refused token is; other errors it
// leaves as they are. For calls that every bot may make.
func refusedToken(err error) error {
	if isRefused(err) {
		return fmt.Errorf("telegram does not accept the bot token; check it with @BotFather: %w", err)
	}
	return err
}

// isConflict: somebody else receives the bot's updates.
func isConflict(err error) bool {
	var api *apiError
	return errors.As(err, &api) && api.Code == http.StatusConflict
}

// explainConflict says who else receives the bot's updates; webhook is where the
// one that is set leads to, as far as it is known.
func explainConflict(err error, webhook string) error {
	if webhook != "" {
		return fmt.Errorf("a webhook of another program takes this bot's messages to %s; stop that program, or remove it with deleteWebhook: %w", webhook, err)
	}
	var api *apiError
	if errors.As(err, &api) && strings.Contains(api.Description, "webhook") {
		return fmt.Errorf("a webhook is set for this bot and takes its messages; remove it with deleteWebhook: %w", err)
	}
	return fmt.Errorf("another program polls with the same bot token; stop it: %w", err)
}

// isUnchanged: an edit to what the message already is, which is a success.
func isUnchanged(err error) bool {
	var api *apiError
	return errors.As(err, &api) && strings.Contains(api.Description, "message is not modified")
}

// The Bot API tells by its description only what is wrong with entities.
var misformatted = []string{"entit", "wrong http url", "unsupported url", "invalid url"}

// replyRefused is how Telegram says that a message cannot be replied to. It is asked
// to post all the same, and says so in some cases nevertheless.
var replyRefused = []string{"message to be replied not found", "replied message not found", "reply message not found", "reply_message_id_invalid"}

// isReplyRefused: the message that is answered is what is refused. Nothing was posted.
func isReplyRefused(err error) bool {
	var api *apiError
	return errors.As(err, &api) && api.Code == http.StatusBadRequest && says(api.Description, replyRefused)
}

// isMisformatted: it is the formatting of a text that is refused. Nothing was
// posted then, and the same text without it may be.
func isMisformatted(err error) bool {
	var api *apiError
	if !errors.As(err, &api) || api.Code != http.StatusBadRequest {
		return false
	}
	return says(api.Description, misformatted)
}
