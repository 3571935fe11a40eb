package telegram

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"dragoman/adapters/internal/call"
	"dragoman/ports"
)

func TestWrapKinds(t *testing.T) {
	refused := func(code int, description string) error { return &apiError{Code: code, Description: description} }
	foreign := func(code int) error { return &apiError{Code: code, Foreign: true} }
	broke := func(s call.Stage) *call.Error { return &call.Error{Err: io.ErrUnexpectedEOF, Stage: s} }
	for name, test := range map[string]struct {
		err        error
		send, edit ports.Kind
	}{
		"429":              {&apiError{Code: 429, RetryAfter: time.Second}, ports.KindRateLimited, ports.KindRateLimited},
		"401":              {refused(401, "Unauthorized"), ports.KindUnauthorized, ports.KindUnauthorized},
		"404":              {refused(404, "Not Found"), ports.KindUnauthorized, ports.KindUnauthorized},
		"403":              {refused(403, "Forbidden: bot was blocked by the user"), ports.KindForbidden, ports.KindForbidden},
		"409":              {refused(409, "Conflict"), ports.KindConflict, ports.KindConflict},
		"no chat":          {refused(400, "Bad Request: chat not found"), ports.KindNotFound, ports.KindNotFound},
		"no message":       {refused(400, "Bad Request: message to edit not found"), ports.KindNotFound, ports.KindNotFound},
		"migrated":         {&apiError{Code: 400, Description: "group chat was upgraded", MigrateTo: -5}, ports.KindNotFound, ports.KindNotFound},
		"too long":         {refused(400, "Bad Request: message is too long"), ports.KindInvalid, ports.KindInvalid},
		"413":              {refused(413, "Request Entity Too Large"), ports.KindTooLarge, ports.KindTooLarge},
		"500":              {refused(500, "Internal Server Error"), ports.KindTemporary, ports.KindTemporary},
		"502 of a proxy":   {foreign(502), ports.KindTemporary, ports.KindTemporary},
		"504 of a proxy":   {foreign(504), ports.KindUnsure, ports.KindTemporary},
		"403 of a proxy":   {foreign(403), ports.KindTemporary, ports.KindTemporary},
		"404 of a proxy":   {foreign(404), ports.KindTemporary, ports.KindTemporary},
		"not built":        {broke(call.StageBuild), ports.KindInternal, ports.KindInternal},
		"never connected":  {broke(call.StageDial), ports.KindTemporary, ports.KindTemporary},
		"answer lost":      {broke(call.StageSent), ports.KindUnsure, ports.KindTemporary},
		"answer garbled":   {broke(call.StageDone), ports.KindUnsure, ports.KindProtocol},
		"our own deadline": {&call.Error{Err: io.EOF, Stage: call.StageSent, Late: true}, ports.KindUnsure, ports.KindTimeout},
		"caller left":      {&call.Error{Err: io.EOF, Stage: call.StageSent, Caller: context.Canceled}, ports.KindCancelled, ports.KindCancelled},
		"caller's time":    {&call.Error{Err: io.EOF, Stage: call.StageSent, Caller: context.DeadlineExceeded}, ports.KindTimeout, ports.KindTimeout},
	} {
		t.Run(name, func(t *testing.T) {
			for op, want := range map[string]ports.Kind{"telegram sendMessage": test.send, "telegram editMessageText": test.edit} {
				got := wrap(op, test.err)
				if ports.KindOf(got) != want || !errors.Is(got, test.err) {
					t.Errorf("%s: kind %v, want %v; cause kept: %v", op, ports.KindOf(got), want, errors.Is(got, test.err))
				}
				if ports.RetryAfter(got) != 0 && want != ports.KindRateLimited {
					t.Errorf("%s: RetryAfter %v", op, ports.RetryAfter(got))
				}
			}
		})
	}
	if err := wrap("telegram sendMessage", nil); err != nil {
		t.Errorf("wrap made %v of nil", err)
	}
}

func TestMigrationIsTold(t *testing.T) {
	err := wrap("telegram sendMessage", &apiError{Code: 400, Description: "Bad Request", MigrateTo: -100777})
	if !strings.Contains(err.Error(), "-100777") {
		t.Errorf("the new chat id is not in %q", err)
	}
}

func TestConflictIsExplained(t *testing.T) {
	for description, want := range map[string]string{
		"Conflict: can't use getUpdates method while webhook is active; use deleteWebhook to delete the webhook first": "a webhook is set",
		"Conflict: terminated by other getUpdates request":                                                             "another program polls",
	} {
		err := explainConflict(&apiError{Code: http.StatusConflict, Description: description}, "")
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q became %q", description, err)
		}
	}
}

func TestParse(t *testing.T) {
	for name, test := range map[string]struct {
		status int
		body   string
		want   string
	}{
		"ok":            {200, `{"ok":true,"result":true}`, "<nil>"},
		"refused":       {400, `{"ok":false,"error_code":400,"description":"Bad Request: x"}`, "400 Bad Request: x"},
		"a login page":  {200, `<html>`, "status 200 with an answer that is not of the Bot API"},
		"a redirect":    {302, ``, "302 Found, from something that is not the Bot API"},
		"a proxy error": {502, `<html>`, "502 Bad Gateway, from something that is not the Bot API"},
		"other JSON":    {403, `{"error":"no"}`, "403 Forbidden, from something that is not the Bot API"},
	} {
		_, err := parse(test.status, []byte(test.body))
		if got := fmt.Sprint(err); got != test.want {
			t.Errorf("%s: %s, want %s", name, got, test.want)
		}
	}
}
