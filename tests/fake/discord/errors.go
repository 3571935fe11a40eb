package discord

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
)

// reply is an answer of the API: an object, nothing (204), or an error.
type reply struct {
	status int
	header http.Header
	body   any
}

// page is a body that is not JSON.
type page string

func ok(v any) reply { return reply{status: http.StatusOK, body: v} }

var noContent = reply{status: http.StatusNoContent}

// apiError is the body of an error
// (https://docs.discord.com/developers/reference#error-messages).
type apiError struct {
	Message string         `json:"message"`
	Code    int            `json:"code"`
	Errors  map[string]any `json:"errors,omitempty"`
}

func refuse(status, code int, message string) reply {
	return reply{status: status, body: apiError{Message: message, Code: code}}
}

// Errors that Discord gives
// (https://docs.discord.com/developers/topics/opcodes-and-status-codes#json).
var (
	noRoute         = refuse(http.StatusNotFound, 0, "404: Not Found")
	unauthorized    = refuse(http.StatusUnauthorized, 0, "401: Unauthorized")
	badAgent        = refuse(http.StatusForbidden, 40333, "internal network error")
	badJSON         = refuse(http.StatusBadRequest, 50109, "The request body contains invalid JSON.")
	badType         = refuse(http.StatusBadRequest, 50035, `Expected "Content-Type" header to be one of {"application/json", "multipart/form-data", "application/x-www-form-urlencoded"}.`)
	tooLarge        = refuse(http.StatusRequestEntityTooLarge, 40005, "Request entity too large")
	unknownChannel  = refuse(http.StatusNotFound, 10003, "Unknown Channel")
	unknownGuild    = refuse(http.StatusNotFound, 10004, "Unknown Guild")
	unknownMessage  = refuse(http.StatusNotFound, 10008, "Unknown Message")
	unknownUser     = refuse(http.StatusNotFound, 10013, "Unknown User")
	unknownEmoji    = refuse(http.StatusBadRequest, 10014, "Unknown Emoji")
	unknownWebhook  = refuse(http.StatusNotFound, 10015, "Unknown Webhook")
	unknownPress    = refuse(http.StatusNotFound, 10062, "Unknown interaction")
	acknowledged    = refuse(http.StatusBadRequest, 40060, "Interaction has already been acknowledged.")
	missingAccess   = refuse(http.StatusForbidden, 50001, "Missing Access")
	notInDM         = refuse(http.StatusForbidden, 50003, "Cannot execute action on a DM channel")
	notYours        = refuse(http.StatusForbidden, 50005, "Cannot edit a message authored by another user")
	emptyMessage    = refuse(http.StatusBadRequest, 50006, "Cannot send an empty message")
	cannotDM        = refuse(http.StatusForbidden, 50007, "Cannot send messages to this user")
	missingRight    = refuse(http.StatusForbidden, 50013, "Missing Permissions")
	badWebhookToken = refuse(http.StatusUnauthorized, 50027, "Invalid Webhook Token")
	threadArchived  = refuse(http.StatusBadRequest, 50083, "Thread is archived")
	threadExists    = refuse(http.StatusBadRequest, 160004, "A thread has already been created for this message")
	manyReactions   = refuse(http.StatusForbidden, 30010, "Maximum number of reactions reached (20)")
)

func (a reply) write(w http.ResponseWriter) {
	for k, v := range a.header {
		w.Header()[k] = v
	}
	if a.body == nil {
		w.WriteHeader(a.status)
		return
	}
	if text, is := a.body.(page); is {
		w.WriteHeader(a.status)
		_, _ = w.Write([]byte(text))
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(a.status)
	_ = json.NewEncoder(w).Encode(a.body)
}

// form collects what is wrong with the fields of a request.
type form struct{ errors map[string]any }

// bad notes a fault of a field. The path's elements are names and indexes.
func (f *form) bad(code, message string, path ...any) {
	if f.errors == nil {
		f.errors = map[string]any{}
	}
	at := f.errors
	for _, p := range path {
		k := fmt.Sprint(p)
		next, ok := at[k].(map[string]any)
		if !ok {
			next = map[string]any{}
			at[k] = next
		}
		at = next
	}
	list, _ := at["_errors"].([]map[string]string)
	at["_errors"] = append(list, map[string]string{"code": code, "message": message})
}

func (f *form) required(path ...any) { f.bad("BASE_TYPE_REQUIRED", "This field is required", path...) }

func (f *form) longerThan(n int, path ...any) {
	f.bad("BASE_TYPE_MAX_LENGTH", "Must be "+strconv.Itoa(n)+" or fewer in length.", path...)
}

// between demands a length of from to to.
func (f *form) between(n, from, to int, path ...any) {
	if n < from || n > to {
		f.bad("BASE_TYPE_BAD_LENGTH", fmt.Sprintf("Must be between %d and %d in length.", from, to), path...)
	}
}

func (f *form) choices(list string, path ...any) {
	f.bad("BASE_TYPE_CHOICES", "Value must be one of "+list+".", path...)
}

// reply is nil when nothing is wrong.
func (f *form) reply() *reply {
	if f.errors == nil {
		return nil
	}
	return &reply{status: http.StatusBadRequest, body: apiError{Message: "Invalid Form Body", Code: 50035, Errors: f.errors}}
}

func invalid(code, message string, path ...any) reply {
	var f form
	f.bad(code, message, path...)
	return *f.reply()
}
