package wire

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"dragoman/ports"
)

// TestAProblemIsRead has what providers answer, most of it as people showed it.
func TestAProblemIsRead(t *testing.T) {
	const overflow = `{\"error\":{\"message\":\"This model's maximum context length is 8 tokens.\",\"type\":\"invalid_request_error\",\"param\":\"messages\",\"code\":\"context_length_exceeded\"}}`
	for _, c := range []struct {
		name, body string
		status     int // of the answer; 200 inside a stream
		want       Problem
		kind       ports.Kind
	}{
		{"an object", `{"error":{"message":"no","type":"a","code":"b","param":"c"}}`, 400, Problem{"no", "a", "b", "c", 0}, ports.KindInvalid},
		{"a text", `{"error":"no"}`, 400, Problem{Message: "no"}, ports.KindInvalid},
		{"a message", `{"message":"no"}`, 400, Problem{Message: "no"}, ports.KindInvalid},
		{"a detail", `{"detail":"no"}`, 400, Problem{Message: "no"}, ports.KindInvalid},
		{"a list", `[{"error":{"code":429,"message":"no","status":"RESOURCE_EXHAUSTED"}}]`, 429, Problem{"no", "RESOURCE_EXHAUSTED", "429", "", 429}, ports.KindRateLimited},
		{"a code and no words", `{"type":"error","code":"rate_limit_exceeded","message":"","param":null}`, 200, Problem{"", "error", "rate_limit_exceeded", "", 0}, ports.KindRateLimited},
		{"a code alone", `{"code":"context_length_exceeded"}`, 400, Problem{Code: "context_length_exceeded"}, ports.KindTooLarge},
		{"an object with a code alone", `{"error":{"code":"content_filter"}}`, 400, Problem{Code: "content_filter"}, ports.KindRefused},
		{"a status and no words", `{"error":{"code":503,"message":null}}`, 200, Problem{Code: "503", status: 503}, ports.KindTemporary},
		{"a type alone", `{"type":"message","role":"assistant"}`, 200, Problem{}, ports.KindProtocol},
		{"an odd error", `{"error":["no"]}`, 400, Problem{Message: "an error in an unknown form"}, ports.KindInvalid},
		{"no JSON", `<html>`, 502, Problem{}, ports.KindTemporary},

		{"behind a router, an overflow", `{"error":{"message":"Provider returned error","code":400,"metadata":{"raw":"` + overflow + `","provider_name":"OpenAI"}},"user_id":"u"}`, 400,
			Problem{"This model's maximum context length is 8 tokens. (Provider returned error: OpenAI)", "invalid_request_error", "context_length_exceeded", "messages", 400}, ports.KindTooLarge},
		{"a tool", `{"error":{"message":"Provider returned error","code":400,"metadata":{"raw":"{\"type\":\"error\",\"error\":{\"type\":\"invalid_request_error\",\"message\":\"tools.3.custom.input_schema: JSON schema is invalid.\"}}","provider_name":"Anthropic"}}}`, 400,
			Problem{"tools.3.custom.input_schema: JSON schema is invalid. (Provider returned error: Anthropic)", "invalid_request_error", "400", "", 400}, ports.KindInvalid},
		{"words", `{"error":{"message":"Provider returned error","code":429,"metadata":{"raw":"a/b is temporarily rate-limited upstream.","provider_name":"BaseTen"}}}`, 200,
			Problem{"a/b is temporarily rate-limited upstream. (Provider returned error: BaseTen)", "", "429", "", 429}, ports.KindRateLimited},
		{"half a JSON", `{"error":{"message":"Provider returned error","code":400,"metadata":{"raw":"{\"error\":{\"message\":\"prompt is too long: 9 tok"}}}`, 400,
			Problem{`{"error":{"message":"prompt is too long: 9 tok (Provider returned error)`, "", "400", "", 400}, ports.KindTooLarge},
		{"an object", `{"error":{"message":"Provider returned error","code":502,"metadata":{"raw":{"error":{"message":"down","code":"odd"}}}}}`, 200,
			Problem{"down (Provider returned error)", "", "odd", "", 502}, ports.KindTemporary},
		{"nothing", `{"error":{"message":"Provider returned error","code":502,"metadata":{"raw":"","provider_name":null}}}`, 502,
			Problem{"Provider returned error", "", "502", "", 502}, ports.KindTemporary},
		{"no provider", `{"error":{"message":"too long","code":400,"metadata":{"provider_name":null}}}`, 400, Problem{"too long", "", "400", "", 400}, ports.KindInvalid},
		{"other metadata", `{"error":{"message":"no","code":400,"metadata":"x"}}`, 400, Problem{"no", "", "400", "", 400}, ports.KindInvalid},
		{"what was flagged", `{"error":{"message":"requires moderation","code":403,"metadata":{"reasons":["violence"],"flagged_input":"…","provider_name":"OpenAI","model_slug":"m"}}}`, 403,
			Problem{"requires moderation", "content_policy_violation", "403", "", 403}, ports.KindRefused},
	} {
		got := readProblem([]byte(c.body))
		if got != c.want {
			t.Errorf("%s: %+v, want %+v", c.name, got, c.want)
		}
		if kind := (&ProviderError{Status: c.status, Problem: got}).kind(); kind != c.kind {
			t.Errorf("%s: the kind is %s, not %s", c.name, kind, c.kind)
		}
	}
}

// TestRoutersBehindRoutersEnd: each goes over all of the text behind it, which is
// a peer's.
func TestRoutersBehindRoutersEnd(t *testing.T) {
	nested := func(levels int) []byte {
		body := `{"error":{"message":"no"}}`
		for range levels {
			body = `{"error":{"message":"up","metadata":{"raw":` + body + `}}}`
		}
		return []byte(body)
	}
	if got := readProblem(nested(2)).Message; got != "no (up) (up)" {
		t.Error(got)
	}
	if got := readProblem(nested(3000)).Message; got != "up (up) (up) (up)" {
		t.Error(got)
	}
}

func TestALongErrorIsRead(t *testing.T) {
	faults, err := json.Marshal(strings.Repeat("* tools[0].function_declarations[1].name: Invalid function name.\n", 1000))
	if err != nil {
		t.Fatal(err)
	}
	body := io.NopCloser(strings.NewReader(`[{"error":{"code":400,"message":` + string(faults) + `}}]`))
	err = statusError(&http.Response{StatusCode: 400, Body: body})
	var got *ProviderError
	if !errors.As(err, &got) || got.Problem.Code != "400" || !strings.HasPrefix(got.Problem.Message, "* tools[0]") {
		t.Errorf("%v", err)
	}
}

func TestRetryAfter(t *testing.T) {
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		ms, value, date string
		want            time.Duration
	}{
		{"", "", "", 0},
		{"", "7", "", 7 * time.Second},
		{"", "0.5", "", 500 * time.Millisecond},
		{"250", "7", "", 250 * time.Millisecond},
		{"x", "7", "", 7 * time.Second},
		{"", "-7", "", 0},
		{"", "NaN", "", 0},
		{"", "1e300", "", 24 * time.Hour},
		{"", "soon", "", 0},
		{"", "Fri, 20 Nov 2026 12:00:30 GMT", "", 30 * time.Second},
		{"", "Fri, 20 Nov 2026 11:00:00 GMT", "", 0},
		{"", "Fri, 20 Nov 2026 13:00:30 GMT", "Fri, 20 Nov 2026 13:00:00 GMT", 30 * time.Second},
	} {
		h := http.Header{}
		for name, v := range map[string]string{"Retry-After-Ms": c.ms, "Retry-After": c.value, "Date": c.date} {
			if v != "" {
				h.Set(name, v)
			}
		}
		if got := retryAfter(h, now); got != c.want {
			t.Errorf("%v gives %s, not %s", h, got, c.want)
		}
	}
}
