package anthropic

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
)

// object is a JSON object of a request.
type object = map[string]any

// fields are the keys of each object of the wire; the API refuses all others.
var fields = map[string]string{
	"request":           "model max_tokens stream thinking tool_choice system messages tools",
	"message":           "role content",
	"tool":              "name description input_schema cache_control",
	"text":              "type text cache_control",
	"image":             "type source cache_control",
	"source":            "type media_type data",
	"tool_use":          "type id name input cache_control",
	"tool_result":       "type tool_use_id content is_error cache_control",
	"thinking":          "type thinking signature",
	"redacted_thinking": "type data",
}

var (
	idForm   = regexp.MustCompile(`^[a-zA-Z0-9_-]+$`)
	nameForm = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)
)

// strict checks one request by the API's rules, as its 400s word them. It knows
// nothing of the adapter's own types.
type strict struct {
	marks   int
	used    map[string]bool // ids of calls
	waiting []string        // calls of the message before
	tools   map[string]bool
	called  bool // tool blocks in messages
}

// fault ends a check.
type fault string

func must(ok bool, format string, args ...any) {
	if !ok {
		panic(fault(fmt.Sprintf(format, args...)))
	}
}

func checkRequest(r *http.Request, body []byte) (err error) {
	defer func() {
		switch f := recover().(type) {
		case nil:
		case fault:
			err = fmt.Errorf("%s", string(f))
		default:
			err = fmt.Errorf("the checker fell over: %v", f)
		}
	}()
	must(r.URL.Path == "/v1/messages" && r.Method == http.MethodPost, "no such endpoint: %s", r.URL.Path)
	must(r.Header.Get("Anthropic-Version") == "2023-06-01", "anthropic-version: header is required")
	must(r.Header.Get("X-Api-Key") != "" && r.Header.Get("Authorization") == "", "x-api-key header is required")
	var req object
	must(json.Unmarshal(body, &req) == nil, "the request body is not valid JSON")
	s := &strict{used: map[string]bool{}, tools: map[string]bool{}}
	s.request(req)
	return nil
}

func (s *strict) request(req object) {
	known("request", req)
	must(text(req, "model") != "", "model: Field required")
	most, ok := req["max_tokens"].(float64)
	must(ok && most >= 1, "max_tokens: Field required")
	must(req["stream"] == true, "this peer streams")
	for _, t := range list(req["tools"]) {
		s.tool(t)
	}
	for _, b := range list(req["system"]) {
		must(text(b, "type") == "text", "system: only text")
		s.block(b)
	}
	messages := list(req["messages"])
	must(len(messages) > 0, "messages: at least one message is required")
	for i, m := range messages {
		known("message", m)
		role := text(m, "role")
		must(i > 0 || role == "user", "messages: first message must use the \"user\" role")
		must(role == "user" || role == "assistant", "messages.%d.role: unexpected %q", i, role)
		must(i == 0 || role != text(messages[i-1], "role"), "messages: roles must alternate between \"user\" and \"assistant\"")
		s.content(i, role, list(m["content"]))
	}
	must(text(messages[len(messages)-1], "role") == "user", "This model does not support assistant message prefill. The conversation must end with a user message.")
	must(!s.called || len(s.tools) > 0, "Requests which include `tool_use` or `tool_result` blocks must define tools")
	must(s.marks <= 4, "A maximum of 4 blocks with cache_control may be provided. Found %d.", s.marks)
	if c, ok := req["tool_choice"].(object); ok {
		must(len(s.tools) > 0, "tool_choice may only be specified while providing tools")
		must(slices.Contains([]string{"auto", "any", "none", "tool"}, text(c, "type")), "tool_choice.type: unexpected")
	}
	checkThinking(req, most, messages)
}

func (s *strict) tool(t object) {
	known("tool", t)
	name := text(t, "name")
	must(nameForm.MatchString(name), "tools.custom.name: String should match pattern '%s'", nameForm)
	must(!s.tools[name], "tools: Tool names must be unique.")
	s.tools[name] = true
	schema, ok := t["input_schema"].(object)
	must(ok && schema["type"] == "object", "tools.custom.input_schema.type: Field required")
	for _, word := range []string{"oneOf", "allOf", "anyOf"} {
		must(schema[word] == nil, "tools.custom.input_schema: input_schema does not support oneOf, allOf, or anyOf at the top level")
	}
	s.mark(t)
}

// content checks the blocks of a message, and that the results in it answer all
// calls of the message before.
func (s *strict) content(at int, role string, blocks []object) {
	must(len(blocks) > 0, "messages.%d: all messages must have non-empty content", at)
	var calls []string
	for i, b := range blocks {
		kind := text(b, "type")
		s.block(b)
		switch kind {
		case "tool_use":
			must(role == "assistant", "messages.%d: `tool_use` blocks can only be in assistant messages", at)
			calls = append(calls, text(b, "id"))
		case "tool_result":
			must(role == "user", "messages.%d: `tool_result` blocks can only be in user messages", at)
			must(i == 0 || text(blocks[i-1], "type") == "tool_result", "messages.%d: tool_result blocks come first", at)
			n := slices.Index(s.waiting, text(b, "tool_use_id"))
			must(n >= 0, "messages.%d.content.%d: unexpected `tool_use_id` found in `tool_result` blocks: %s", at, i, b["tool_use_id"])
			s.waiting = slices.Delete(s.waiting, n, n+1)
		case "thinking", "redacted_thinking":
			must(role == "assistant", "messages.%d: thinking blocks can only be in assistant messages", at)
			must(i < len(blocks)-1, "messages.%d: The final block in an assistant message cannot be `thinking`.", at)
		}
	}
	must(len(s.waiting) == 0, "messages.%d: `tool_use` ids were found without `tool_result` blocks immediately after: %s", at, s.waiting)
	s.waiting = calls
}

func (s *strict) block(b object) {
	kind := text(b, "type")
	known(kind, b)
	s.mark(b)
	switch kind {
	case "text":
		must(strings.TrimSpace(text(b, "text")) != "", "messages: text content blocks must contain non-whitespace text")
	case "image":
		source, _ := b["source"].(object)
		known("source", source)
		_, err := base64.StdEncoding.DecodeString(text(source, "data"))
		must(err == nil && source["data"] != "", "image.source.base64: invalid base64 data")
		must(slices.Contains([]string{"image/png", "image/jpeg", "image/gif", "image/webp"}, text(source, "media_type")), "image.source.media_type: unexpected %s", source["media_type"])
	case "tool_use":
		s.called = true
		id, _ := b["id"].(string)
		must(idForm.MatchString(id), "tool_use.id: String should match pattern '%s'", idForm)
		must(!s.used[id], "messages: `tool_use` ids must be unique")
		s.used[id] = true
		must(nameForm.MatchString(text(b, "name")), "tool_use.name: String should match pattern '%s'", nameForm)
		_, ok := b["input"].(object)
		must(ok, "tool_use.input: Input should be a valid dictionary")
	case "tool_result":
		s.called = true
		for _, inner := range list(b["content"]) {
			is := text(inner, "type")
			must(is == "text" || is == "image", "tool_result.content: unexpected %s", is)
			must(is == "text" || b["is_error"] != true, "tool_result: all content must be type `text` if `is_error` is true")
			s.block(inner)
		}
	case "thinking":
		_, ok := b["thinking"].(string)
		must(ok, "thinking.thinking: Field required")
		must(text(b, "signature") != "", "thinking.signature: Field required")
	case "redacted_thinking":
		must(text(b, "data") != "", "redacted_thinking.data: Field required")
	}
}

func (s *strict) mark(o object) {
	c, ok := o["cache_control"].(object)
	if !ok {
		return
	}
	must(len(c) == 1 && c["type"] == "ephemeral", "cache_control: unexpected %v", c)
	s.marks++
}

func checkThinking(req object, most float64, messages []object) {
	c, ok := req["thinking"].(object)
	if !ok {
		return
	}
	switch text(c, "type") {
	case "adaptive", "disabled":
		must(len(c) == 1, "thinking: extra inputs")
	case "enabled":
		budget, _ := c["budget_tokens"].(float64)
		must(budget >= 1024, "thinking.enabled.budget_tokens: Input should be greater than or equal to 1024")
		must(budget < most, "`max_tokens` must be greater than `thinking.budget_tokens`")
		last := list(messages[len(messages)-1]["content"])
		if text(last[0], "type") == "tool_result" {
			first := text(list(messages[len(messages)-2]["content"])[0], "type")
			must(strings.HasSuffix(first, "thinking"), "messages: Expected `thinking` or `redacted_thinking`, but found `%s`. When `thinking` is enabled, a final `assistant` message must start with a thinking block", first)
		}
	default:
		must(false, "thinking.type: unexpected %v", c["type"])
	}
}

func known(kind string, o object) {
	allowed, ok := fields[kind]
	must(ok, "unexpected type %q", kind)
	for key := range o {
		must(slices.Contains(strings.Fields(allowed), key), "%s.%s: Extra inputs are not permitted", kind, key)
	}
}

func text(o object, key string) string {
	s, _ := o[key].(string)
	return s
}

// list is a list of objects; what is none is a fault.
func list(v any) []object {
	if v == nil {
		return nil
	}
	all, ok := v.([]any)
	must(ok, "Input should be a valid list")
	var out []object
	for _, item := range all {
		o, ok := item.(object)
		must(ok, "Input should be a valid dictionary")
		out = append(out, o)
	}
	return out
}
