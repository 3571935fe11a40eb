package aimock

import (
	"errors"
	"fmt"

	"dragoman/ports"
	"dragoman/tests/modeltest"
)

// fixtureFor is the act in aimock's own words, as far as it has them.
func (m *Mock) fixtureFor(act modeltest.Act) (map[string]any, error) {
	if act.State != "" {
		return nil, fmt.Errorf("aimock adds no state to calls: %w", errors.ErrUnsupported)
	}
	if act.Usage.CachedInput > 0 {
		return nil, fmt.Errorf("aimock tells no cached tokens: %w", errors.ErrUnsupported)
	}
	fail := func(status int, kind, code, message string) (map[string]any, error) {
		return map[string]any{"response": map[string]any{"status": status, "retryAfter": int(act.Wait.Seconds()),
			"error": map[string]any{"message": message, "type": kind, "code": code}}}, nil
	}
	response := map[string]any{}
	if act.Text != "" || len(act.Calls) == 0 {
		response["content"] = act.Text
	}
	var calls []any
	for _, c := range act.Calls {
		calls = append(calls, map[string]any{"id": c.ID, "name": c.Name, "arguments": string(c.Arguments)})
	}
	if calls != nil {
		response["toolCalls"] = calls
	}
	if act.Usage != (ports.Tokens{}) {
		response["usage"] = map[string]any{"prompt_tokens": act.Usage.Input, "completion_tokens": act.Usage.Output}
	}
	fixture := map[string]any{"response": response, "chunkSize": 4}
	switch act.Do {
	case modeltest.Reply:
	case modeltest.Length:
		response["finishReason"] = "length"
	case modeltest.Filtered:
		response["finishReason"] = m.Filter
	case modeltest.Cut:
		fixture["latency"], fixture["truncateAfterChunks"] = 10, 3
	case modeltest.Hang:
		fixture["latency"], response["content"] = 30_000, "too late"
	case modeltest.JSON:
		fixture["chaos"] = map[string]any{"malformedRate": 1}
	case modeltest.RateLimit:
		return fail(429, "rate_limit_error", "rate_limit_exceeded", "slow down")
	case modeltest.ServerError:
		return fail(500, "server_error", "", "sorry")
	case modeltest.Overloaded:
		return fail(529, "overloaded_error", "", "busy")
	case modeltest.Unauthorized:
		return fail(401, "authentication_error", "invalid_api_key", "Incorrect API key provided: "+m.secret)
	case modeltest.NotFound:
		return fail(404, "invalid_request_error", "model_not_found", "no such model")
	case modeltest.Invalid:
		return fail(400, "invalid_request_error", "", "bad request")
	case modeltest.TooLarge:
		return fail(400, "invalid_request_error", "context_length_exceeded", "prompt is too long: 9 tokens > 8 maximum")
	default:
		return nil, fmt.Errorf("aimock cannot do %q: %w", act.Do, errors.ErrUnsupported)
	}
	return fixture, nil
}
