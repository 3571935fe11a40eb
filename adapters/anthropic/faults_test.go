package anthropic

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"dragoman/adapters/internal/wire"
	"dragoman/ports"
)

// TestFaultsHavePlainOutcomes has every way in which a provider or what lies
// between is known to fail, and the one kind that comes of it.
func TestFaultsHavePlainOutcomes(t *testing.T) {
	half := func(w http.ResponseWriter) sse {
		s := newSSE(w)
		for _, f := range []string{begun, startText(0), says(0, "Half an ans"), ended(0), startCall(1, "toolu_1", "rm"), argues(1, `{"path":"/"}`), ended(1)} {
			s.frame(f)
		}
		return s
	}
	for name, c := range map[string]struct {
		does http.HandlerFunc
		kind ports.Kind
		wait time.Duration
	}{
		"429 with a wait": {func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "11")
			refuse(w, 429, "rate_limit_error", "slow down")
		}, ports.KindRateLimited, 11 * time.Second},
		"500":                               {status(500, "api_error"), ports.KindTemporary, 0},
		"529":                               {status(529, "overloaded_error"), ports.KindTemporary, 0},
		"connection torn midway":            {func(w http.ResponseWriter, _ *http.Request) { half(w); panic(http.ErrAbortHandler) }, ports.KindProtocol, 0},
		"connection torn before the answer": {func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, ports.KindTemporary, 0},
		"clean end without message_stop":    {func(w http.ResponseWriter, _ *http.Request) { half(w).frame(stops("tool_use")) }, ports.KindProtocol, 0},
		"message_stop without stop_reason":  {func(w http.ResponseWriter, _ *http.Request) { half(w).frame(stopped) }, ports.KindProtocol, 0},
		"clean end of an empty stream":      {func(w http.ResponseWriter, _ *http.Request) { newSSE(w) }, ports.KindProtocol, 0},
		"JSON error where a stream belongs": {func(w http.ResponseWriter, _ *http.Request) {
			fmt.Fprint(w, `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`)
		}, ports.KindTemporary, 0},
		"broken JSON where a stream belongs": {func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, `{malformed json: <<<chaos>>>`) }, ports.KindProtocol, 0},
		"bad JSON in a frame":                {func(w http.ResponseWriter, _ *http.Request) { half(w).frame(`{"type":"content_bl`) }, ports.KindProtocol, 0},
		"error frame":                        {func(w http.ResponseWriter, _ *http.Request) { half(w).frame(errorFrame("overloaded_error")) }, ports.KindTemporary, 0},
		"HTML 502": {func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(502)
			fmt.Fprint(w, "<html>Bad gateway</html>")
		}, ports.KindTemporary, 0},
		"hang midway": {func(w http.ResponseWriter, r *http.Request) { half(w); <-r.Context().Done() }, ports.KindTimeout, 0},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPeer(t)
			p.answer(c.does)
			m := testModel(t, p.URL, func(cfg *Config) {
				if c.kind == ports.KindTimeout {
					cfg.IdleTimeout = 300 * time.Millisecond
				}
			})
			reply, err := m.Generate(t.Context(), hello(), nil)
			if !ports.IsKind(err, c.kind) || ports.RetryAfter(err) != c.wait || len(reply.Calls) > 0 || reply.Text != "" {
				t.Errorf("%+v, %s: %v; want %s", reply, ports.KindOf(err), err, c.kind)
			}
		})
	}
}

func status(code int, kind string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { refuse(w, code, kind, "sorry") }
}

func errorFrame(kind string) string {
	return fmt.Sprintf(`{"type":"error","error":{"type":%q,"message":"words"},"request_id":"req_1"}`, kind)
}

// The status of an error inside a stream is 200, and says nothing.
func TestErrorsInAStreamCountByTheirType(t *testing.T) {
	for kind, want := range map[string]ports.Kind{
		"overloaded_error": ports.KindTemporary, "api_error": ports.KindTemporary, "timeout_error": ports.KindTemporary,
		"rate_limit_error": ports.KindRateLimited, "authentication_error": ports.KindUnauthorized, "permission_error": ports.KindUnauthorized,
		"billing_error": ports.KindUnauthorized, "not_found_error": ports.KindNotFound, "request_too_large": ports.KindTooLarge,
		"invalid_request_error": ports.KindInvalid, "what_comes_next": ports.KindProtocol,
	} {
		p := newPeer(t)
		p.says(begun, startText(0), says(0, "Half"), errorFrame(kind))
		_, err := testModel(t, p.URL).Generate(t.Context(), hello(), nil)
		var said *wire.ProviderError
		if !ports.IsKind(err, want) || !errors.As(err, &said) || said.Problem.Type != kind || said.Status != 200 {
			t.Errorf("%s is %s, not %s: %v", kind, ports.KindOf(err), want, err)
		}
	}
}

func TestKindsOfRefusals(t *testing.T) {
	for _, c := range []struct {
		status  int
		kind    string
		message string
		want    ports.Kind
	}{
		{400, "invalid_request_error", "prompt is too long: 200251 tokens > 200000 maximum", ports.KindTooLarge},
		{400, "invalid_request_error", "input length and `max_tokens` exceed context limit: 199000 + 8192 > 200000, decrease input length or `max_tokens` and try again", ports.KindTooLarge},
		{400, "invalid_request_error", "max_tokens: 100000 > 64000, which is the maximum allowed number of output tokens for claude-test", ports.KindInvalid},
		{400, "invalid_request_error", "Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing to upgrade or purchase credits.", ports.KindUnauthorized},
		{402, "billing_error", "pay", ports.KindUnauthorized},
		{403, "permission_error", "no", ports.KindUnauthorized},
		{404, "not_found_error", "model: claude-x", ports.KindNotFound},
		{413, "request_too_large", "Request exceeds the maximum size", ports.KindTooLarge},
		{504, "timeout_error", "late", ports.KindTemporary},
	} {
		p := newPeer(t)
		p.answer(func(w http.ResponseWriter, _ *http.Request) { refuse(w, c.status, c.kind, c.message) })
		_, err := testModel(t, p.URL).Generate(t.Context(), hello(), nil)
		if !ports.IsKind(err, c.want) || !strings.Contains(err.Error(), c.kind) {
			t.Errorf("%d %s is %s, not %s: %v", c.status, c.message, ports.KindOf(err), c.want, err)
		}
	}
}

func TestNewRefusesWhatCannotWork(t *testing.T) {
	for name, change := range map[string]func(*Config){
		"no model":                  func(c *Config) { c.Model = " " },
		"no key":                    func(c *Config) { c.APIKey = "" },
		"no url":                    func(c *Config) { c.BaseURL = "" },
		"user in the url":           func(c *Config) { c.BaseURL = "http://u:p@localhost" },
		"no slots":                  func(c *Config) { c.MaxConcurrency = 0 },
		"no time":                   func(c *Config) { c.Timeout = 0 },
		"thinking as it likes":      func(c *Config) { c.Thinking = "hard" },
		"a budget without room":     func(c *Config) { c.ThinkingTokens = c.MaxOutputTokens },
		"a budget that is too low":  func(c *Config) { c.ThinkingTokens = 1023 },
		"a budget beside adaptive":  func(c *Config) { c.ThinkingTokens, c.Thinking = 2048, "adaptive" },
		"a budget that is negative": func(c *Config) { c.ThinkingTokens = -1 },
	} {
		cfg := testConfig("http://localhost")
		change(&cfg)
		if _, err := New(cfg, nil); !ports.IsKind(err, ports.KindInvalid) || errors.Unwrap(err) == nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestHeadersAndAddress(t *testing.T) {
	for _, name := range []string{"ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_BASE_URL"} {
		t.Setenv(name, "leaked")
	}
	for _, root := range []string{"", "/", "/v1", "/v1/"} {
		p := newPeer(t)
		got := make(chan http.Header, 1)
		p.answer(func(w http.ResponseWriter, r *http.Request) { // the peer knows the path and the version
			got <- r.Header.Clone()
			s := newSSE(w)
			for _, f := range oneWord {
				s.frame(f)
			}
		})
		if _, err := testModel(t, p.URL+root).Generate(t.Context(), hello(), nil); err != nil {
			t.Errorf("%q: %v", root, err)
			continue
		}
		if h := <-got; h.Get("X-Api-Key") != testKey || strings.Contains(fmt.Sprint(h), "leaked") {
			t.Errorf("%q: headers %v", root, h)
		}
	}
}
