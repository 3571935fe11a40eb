package wire

import (
	"net/http"
	"strings"

	"dragoman/ports"
)

// kind goes by the provider's words where they are known, since statuses lie
// (an empty account is a 429, an overflow a 400), then by the status.
func (e *ProviderError) kind() ports.Kind {
	p, status := e.Problem, e.Status
	if status < 400 && p.status > 0 { // inside a stream: the status that it would have had
		status = p.status
	}
	switch {
	case p.is("insufficient_quota", "billing_hard_limit_reached", "billing_not_active", "billing_error") || p.says(brokeTexts):
		return ports.KindUnauthorized
	case p.is("context_length_exceeded", "request_too_large") || status != http.StatusTooManyRequests && p.says(overflowTexts):
		return ports.KindTooLarge
	case p.is("content_filter", "content_policy_violation", "ResponsibleAIPolicyViolation", "image_content_policy_violation",
		"bio_policy", "cyber_policy", "misalignment_policy_violation"), p.is("invalid_prompt") && p.says([]string{"usage policy"}):
		return ports.KindRefused
	}
	if kind, ok := kindOfStatus(status); ok {
		return kind
	}
	switch {
	case p.is("rate_limit_exceeded", "rate_limit_error", "too_many_requests", "tokens", "requests"):
		return ports.KindRateLimited
	case p.is("overloaded_error", "overloaded", "server_error", "api_error", "internal_error", "internal_server_error", "service_unavailable", "timeout", "timeout_error",
		"server_is_overloaded", "slow_down"):
		return ports.KindTemporary
	case p.is("authentication_error", "invalid_api_key", "permission_error"):
		return ports.KindUnauthorized
	case p.is("not_found_error"):
		return ports.KindNotFound
	case p.is("invalid_request_error", "invalid_prompt", "data_residency_mismatch"), strings.Contains(p.Code, "_image"), strings.HasPrefix(p.Code, "image_"):
		return ports.KindInvalid
	}
	return ports.KindProtocol
}

func kindOfStatus(status int) (ports.Kind, bool) {
	switch {
	case status < 400:
		return 0, false
	case status == http.StatusUnauthorized, status == http.StatusForbidden, status == http.StatusPaymentRequired:
		return ports.KindUnauthorized, true
	case status == http.StatusNotFound:
		return ports.KindNotFound, true
	case status == http.StatusRequestEntityTooLarge:
		return ports.KindTooLarge, true
	case status == http.StatusTooManyRequests:
		return ports.KindRateLimited, true
	case status == http.StatusRequestTimeout, status == http.StatusConflict, status >= 500:
		return ports.KindTemporary, true
	}
	return ports.KindInvalid, true
}

// brokeTexts are how providers without a code for it say that the account is
// empty.
var brokeTexts = []string{"credit balance is too low"}

// overflowTexts are how providers without a code for it say that the prompt is
// beyond the context window.
var overflowTexts = []string{
	"maximum context length", "context_length_exceeded", "context length exceeded", "context window", "context size",
	"prompt is too long", "input is too long", "input token count", "too many tokens in", "reduce the length of",
	"maximum prompt length", "exceed context limit", "exceeds the model's context", "exceeds the available context",
}
