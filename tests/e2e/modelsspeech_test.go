package e2e

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// speech is one answer of a wirePeer, in the words of its wire.
type speech struct {
	w     http.ResponseWriter
	r     *http.Request
	wire  string
	id    string
	size  int // of the request, in bytes
	items []any
	calls bool
	on    bool // the stream began
}

type obj = map[string]any

// whole says a text and ends as it should.
func (s *speech) whole(text string) {
	s.text(text)
	s.end()
}

// calling says a call and ends as it should.
func (s *speech) calling(tool, arguments string) {
	s.call(tool, arguments)
	s.end()
}

// begin begins the stream.
func (s *speech) begin() {
	if s.on {
		return
	}
	s.on = true
	s.w.Header().Set("Content-Type", "text/event-stream")
	switch s.wire {
	case wireChat:
		s.choice(obj{"role": "assistant", "content": ""}, nil)
	case wireResponses:
		s.event(obj{"type": "response.created", "response": s.response("in_progress")})
	case wireMessages:
		s.event(obj{"type": "message_start", "message": obj{"id": s.id, "type": "message", "role": "assistant", "model": "m", "content": []any{},
			"stop_reason": nil, "stop_sequence": nil, "usage": obj{"input_tokens": s.input(), "output_tokens": 1}}})
	}
}

// text says a text, in two pieces.
func (s *speech) text(text string) {
	s.begin()
	half := len(text) / 2
	i, id := len(s.items), fmt.Sprintf("%s_%d", s.id, len(s.items))
	message := func(list []any) obj {
		return obj{"type": "message", "id": id, "role": "assistant", "status": "completed", "content": list}
	}
	part := obj{"type": "output_text", "text": text, "annotations": []any{}}
	switch s.wire {
	case wireChat:
		s.choice(obj{"content": text[:half]}, nil)
		s.choice(obj{"content": text[half:]}, nil)
	case wireResponses:
		s.event(obj{"type": "response.output_item.added", "output_index": i, "item": message([]any{})})
		s.event(obj{"type": "response.output_text.delta", "item_id": id, "output_index": i, "content_index": 0, "delta": text[:half]})
		s.event(obj{"type": "response.output_text.delta", "item_id": id, "output_index": i, "content_index": 0, "delta": text[half:]})
		s.event(obj{"type": "response.output_text.done", "item_id": id, "output_index": i, "content_index": 0, "text": text})
		s.event(obj{"type": "response.output_item.done", "output_index": i, "item": message([]any{part})})
	case wireMessages:
		s.event(obj{"type": "content_block_start", "index": i, "content_block": obj{"type": "text", "text": ""}})
		s.event(obj{"type": "content_block_delta", "index": i, "delta": obj{"type": "text_delta", "text": text[:half]}})
		s.event(obj{"type": "content_block_delta", "index": i, "delta": obj{"type": "text_delta", "text": text[half:]}})
		s.event(obj{"type": "content_block_stop", "index": i})
	}
	s.items = append(s.items, message([]any{part}))
}

// call says a whole call.
func (s *speech) call(tool, arguments string) {
	s.begin()
	s.calls = true
	i, id := len(s.items), fmt.Sprintf("call_%s_%d", s.id, len(s.items))
	item := func(arguments string) obj {
		return obj{"type": "function_call", "id": "fc_" + id, "call_id": id, "name": tool, "arguments": arguments, "status": "completed"}
	}
	switch s.wire {
	case wireChat:
		s.choice(obj{"tool_calls": []any{obj{"index": 0, "id": id, "type": "function", "function": obj{"name": tool, "arguments": arguments}}}}, nil)
	case wireResponses:
		s.event(obj{"type": "response.output_item.added", "output_index": i, "item": item("")})
		s.event(obj{"type": "response.function_call_arguments.delta", "item_id": "fc_" + id, "output_index": i, "delta": arguments})
		s.event(obj{"type": "response.function_call_arguments.done", "item_id": "fc_" + id, "output_index": i, "arguments": arguments})
		s.event(obj{"type": "response.output_item.done", "output_index": i, "item": item(arguments)})
	case wireMessages:
		s.event(obj{"type": "content_block_start", "index": i, "content_block": obj{"type": "tool_use", "id": id, "name": tool, "input": obj{}}})
		s.event(obj{"type": "content_block_delta", "index": i, "delta": obj{"type": "input_json_delta", "partial_json": arguments}})
		s.event(obj{"type": "content_block_stop", "index": i})
	}
	s.items = append(s.items, item(arguments))
}

// end marks the end, with what was used: a third of the request's bytes, and 40.
func (s *speech) end() { s.endAs("stop") }

func (s *speech) filtered() { s.endAs("content_filter") }

func (s *speech) endAs(reason string) {
	s.begin()
	usage := obj{"input_tokens": s.input(), "output_tokens": 40, "total_tokens": s.input() + 40}
	switch s.wire {
	case wireChat:
		if s.calls {
			reason = "tool_calls"
		}
		s.choice(obj{}, reason)
		s.frame(encoded(obj{"id": s.id, "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": []any{},
			"usage": obj{"prompt_tokens": s.input(), "completion_tokens": 40, "total_tokens": s.input() + 40}}))
		s.frame("[DONE]")
	case wireResponses:
		end := s.response("completed")
		if reason == "content_filter" {
			end = s.response("incomplete")
			end["incomplete_details"] = obj{"reason": reason}
		}
		end["usage"] = usage
		s.event(obj{"type": "response." + end["status"].(string), "response": end})
	case wireMessages:
		reason = map[string]string{"stop": "end_turn", "content_filter": "refusal"}[reason]
		if s.calls {
			reason = "tool_use"
		}
		s.event(obj{"type": "message_delta", "delta": obj{"stop_reason": reason, "stop_sequence": nil}, "usage": obj{"output_tokens": 40}})
		s.event(obj{"type": "message_stop"})
	}
}

// overloaded is the provider's error inside of a stream.
func (s *speech) overloaded(message string) {
	s.begin()
	switch s.wire {
	case wireChat:
		s.frame(encoded(obj{"error": obj{"message": message, "type": "overloaded_error"}}))
	case wireResponses:
		s.event(obj{"type": "error", "code": "server_error", "message": message, "param": nil})
	case wireMessages:
		s.event(obj{"type": "error", "error": obj{"type": "overloaded_error", "message": message}})
	}
}

// refuse answers with an error instead of a stream; headers are "Name: value".
func (s *speech) refuse(status int, kind, code, message string, headers ...string) {
	body := obj{"error": obj{"message": message, "type": kind, "code": code, "param": nil}}
	if s.wire == wireMessages {
		body = obj{"type": "error", "error": obj{"type": kind, "message": message}, "request_id": "req_1"}
	}
	s.body(status, encoded(body), append(headers, "Content-Type: application/json")...)
}

// body answers with a page instead of a stream.
func (s *speech) body(status int, body string, headers ...string) {
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		s.w.Header().Set(name, value)
	}
	s.w.WriteHeader(status)
	_, _ = io.WriteString(s.w, body)
}

func (s *speech) input() int { return s.size / 3 }

func (s *speech) response(status string) obj {
	return obj{"id": s.id, "object": "response", "created_at": 1, "model": "m", "status": status, "output": append([]any{}, s.items...),
		"error": nil, "incomplete_details": nil, "usage": nil}
}

func (s *speech) choice(delta obj, finish any) {
	s.frame(encoded(obj{"id": s.id, "object": "chat.completion.chunk", "created": 1, "model": "m",
		"choices": []any{obj{"index": 0, "delta": delta, "finish_reason": finish}}}))
}

func (s *speech) event(v obj) {
	_, _ = fmt.Fprintf(s.w, "event: %s\n", v["type"])
	s.frame(encoded(v))
}

func (s *speech) frame(data string) {
	_, _ = fmt.Fprintf(s.w, "data: %s\n\n", data)
	_ = http.NewResponseController(s.w).Flush()
}

func encoded(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // plain maps always marshal
	}
	return string(b)
}
