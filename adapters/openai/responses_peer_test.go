package openai

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"

	"dragoman/ports"
	"dragoman/tests/modeltest"
)

// The request as this wire has it; a member that is not here is refused. What
// is a string or a list is decoded by hand.
type strictRequest struct {
	Model             string
	Instructions      *string
	Input             []json.RawMessage
	MaxOutputTokens   *int `json:"max_output_tokens"`
	Store             *bool
	Include           []string
	Reasoning         *struct{ Effort string }
	PromptCacheKey    *string `json:"prompt_cache_key"`
	ParallelToolCalls *bool   `json:"parallel_tool_calls"`
	ToolChoice        *string `json:"tool_choice"`
	Stream            bool
	Tools             []struct {
		Type        string
		Name        string
		Description *string
		Parameters  struct {
			Type       string
			Properties map[string]any
		}
		Strict *bool
	}
}

type strictItem struct {
	Type             string
	Role             string
	Content          json.RawMessage
	Phase            string
	CallID           string `json:"call_id"`
	Name             string
	Arguments        string
	Output           json.RawMessage
	Summary          []json.RawMessage
	EncryptedContent string `json:"encrypted_content"`
}

// strictly decodes what has no member but those of v.
func strictly(raw []byte, v any) error {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.DisallowUnknownFields()
	return dec.Decode(v)
}

// checkResponses refuses what the provider refuses, in its manner: by the first
// fault that it finds.
func checkResponses(body []byte) (strictRequest, error) {
	var whole map[string]json.RawMessage
	if err := json.Unmarshal(body, &whole); err != nil {
		return strictRequest{}, err
	}
	tools := whole["tools"]
	delete(whole, "tools") // schemas may have any member
	rest, err := json.Marshal(whole)
	if err != nil {
		return strictRequest{}, err
	}
	var r strictRequest
	if err := strictly(rest, &r); err != nil {
		return r, err
	}
	if tools != nil {
		if err := json.Unmarshal(tools, &r.Tools); err != nil {
			return r, err
		}
	}
	switch {
	case r.Model == "" || !r.Stream || len(r.Input) == 0:
		return r, errors.New("missing required parameter: model, stream or input")
	case r.Store == nil || *r.Store:
		return r, errors.New("this peer stores nothing")
	case r.MaxOutputTokens != nil && *r.MaxOutputTokens < 16:
		return r, errors.New("invalid 'max_output_tokens': integer below minimum value, expected >= 16")
	case r.PromptCacheKey != nil && (*r.PromptCacheKey == "" || len(*r.PromptCacheKey) > 64):
		return r, errors.New("invalid 'prompt_cache_key': string too long, expected 64 at most")
	case len(r.Tools) == 0 && (tools != nil || r.ToolChoice != nil || r.ParallelToolCalls != nil):
		return r, errors.New("tool parameters are only allowed when tools are specified")
	case r.ToolChoice != nil && !slices.Contains([]string{"none", "auto", "required"}, *r.ToolChoice):
		return r, fmt.Errorf("invalid 'tool_choice': %q", *r.ToolChoice)
	}
	for i, t := range r.Tools {
		if t.Type != "function" || t.Name == "" || t.Parameters.Type != "object" || t.Parameters.Properties == nil || t.Strict == nil || *t.Strict {
			return r, fmt.Errorf("invalid 'tools[%d]'", i)
		}
	}
	return r, checkInput(r.Input)
}

// checkInput holds calls and results against each other.
func checkInput(input []json.RawMessage) error {
	open := map[string]bool{}
	reasoned := false // the item before was reasoning
	for i, raw := range input {
		var it strictItem
		if err := strictly(raw, &it); err != nil {
			return fmt.Errorf("input[%d]: %w", i, err)
		}
		if reasoned && (it.Type == "function_call_output" || it.Role == "user") {
			return fmt.Errorf("input[%d]: reasoning was provided without its required following item", i-1)
		}
		reasoned = it.Type == "reasoning"
		var err error
		switch it.Type {
		case "message":
			err = checkMessage(it)
		case "function_call":
			if it.CallID == "" || it.Name == "" || open[it.CallID] || !json.Valid([]byte(it.Arguments)) {
				err = errors.New("invalid function_call")
			}
			open[it.CallID] = true
		case "function_call_output":
			if !open[it.CallID] {
				err = fmt.Errorf("no tool call found for function call output with call_id %s", it.CallID)
			}
			delete(open, it.CallID)
			if err == nil {
				err = checkContent(it.Output, "input_text", "input_image")
			}
		case "reasoning":
			if it.Summary == nil || it.EncryptedContent == "" {
				err = errors.New("missing summary or encrypted_content")
			}
		default:
			err = fmt.Errorf("invalid type %q", it.Type)
		}
		if err != nil {
			return fmt.Errorf("input[%d]: %w", i, err)
		}
	}
	if reasoned {
		return errors.New("the last item is reasoning without its required following item")
	}
	for id := range open {
		return fmt.Errorf("no tool output found for function call %s", id)
	}
	return nil
}

func checkMessage(it strictItem) error {
	switch it.Role {
	case "user":
		if it.Phase != "" {
			return errors.New("a phase is an assistant's")
		}
		return checkContent(it.Content, "input_text", "input_image")
	case "assistant":
		return checkContent(it.Content, "output_text")
	}
	return fmt.Errorf("invalid role %q", it.Role)
}

// checkContent takes a text, or a list of parts of these types.
func checkContent(raw json.RawMessage, types ...string) error {
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return nil
	}
	var parts []json.RawMessage
	if err := json.Unmarshal(raw, &parts); err != nil || len(parts) == 0 {
		return fmt.Errorf("invalid content %s: %w", raw, err)
	}
	for _, raw := range parts {
		var p struct {
			Type, Text, Detail string
			ImageURL           string `json:"image_url"`
		}
		if err := strictly(raw, &p); err != nil {
			return err
		}
		if !slices.Contains(types, p.Type) || (p.Type == "input_image") != strings.HasPrefix(p.ImageURL, "data:image/") || p.Type != "input_image" && p.Text == "" {
			return fmt.Errorf("invalid part %s", raw)
		}
	}
	return nil
}

// serveResponses is the peer's side of POST responses.
func (p *peer) serveResponses(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	request, err := checkResponses(body)
	if err != nil {
		refuse(w, http.StatusBadRequest, "invalid_request_error", "test_refused", err.Error())
		return
	}
	p.mu.Lock()
	p.seen.Requests++
	p.seen.Body, p.seen.Tools = body, nil
	for _, t := range request.Tools {
		p.seen.Tools = append(p.seen.Tools, t.Name)
	}
	act, raw := p.act, p.raw
	p.mu.Unlock()
	if raw != nil {
		raw(w, r)
		return
	}
	if request.ToolChoice != nil && *request.ToolChoice == "none" {
		act.Calls = nil
	}
	if act.Do == modeltest.BadTool {
		i := slices.Index(p.seen.Tools, act.Tool)
		refuse(w, http.StatusBadRequest, "invalid_request_error", "invalid_function_parameters",
			fmt.Sprintf("Invalid schema for function '%s': schema must be of type object. (tools[%d].parameters)", act.Tool, i))
		return
	}
	if act.Do == modeltest.JSON {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"id":"resp_1","object":"response","status":"completed","output":[{"type":"message","content":[{"type":"output_text","text":%q}]}]}`, r.Header.Get("Authorization"))
		return
	}
	if !fails(w, r, act) {
		streamResponses(w, r, act)
	}
}

// streamResponses plays the acts that begin as a stream.
func streamResponses(w http.ResponseWriter, r *http.Request, a modeltest.Act) {
	s := &itemsSSE{sse: newSSE(w)}
	if a.Do == modeltest.Empty {
		return
	}
	s.event("response.created", map[string]any{"response": s.response("in_progress")})
	s.event("response.in_progress", map[string]any{"response": s.response("in_progress")})
	if a.State != "" {
		s.reasoning(a.State)
	}
	if a.Text != "" {
		s.message(a.Text)
	}
	for i, c := range a.Calls {
		if c.State != nil {
			s.reasoning(string(c.State))
		}
		s.call(a.Do, i, c)
	}
	switch a.Do {
	case modeltest.HangMid:
		<-r.Context().Done()
	case modeltest.Cut:
		panic(http.ErrAbortHandler)
	case modeltest.Unmarked:
	case modeltest.BadFrame:
		s.frame(`{"type":"response.output_text.delta","delta":"`)
		s.finish("completed", nil, a.Usage)
	case modeltest.ErrorFrame:
		s.event("error", map[string]any{"code": "server_error", "message": "busy " + r.Header.Get("Authorization"), "param": nil})
	case modeltest.LimitFrame:
		s.finish("failed", map[string]any{"error": map[string]any{"code": "rate_limit_exceeded", "message": "slow down"}}, a.Usage)
	case modeltest.Length:
		s.finish("incomplete", map[string]any{"incomplete_details": map[string]any{"reason": "max_output_tokens"}}, a.Usage)
	case modeltest.Filtered:
		s.finish("incomplete", map[string]any{"incomplete_details": map[string]any{"reason": "content_filter"}}, a.Usage)
	default:
		s.finish("completed", nil, a.Usage)
	}
}

// itemsSSE writes the events of this wire.
type itemsSSE struct {
	sse
	sequence int
	output   []any
}

func (s *itemsSSE) event(kind string, v map[string]any) {
	v["type"], v["sequence_number"] = kind, s.sequence
	s.sequence++
	raw, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	fmt.Fprintf(s.w, "event: %s\ndata: %s\n\n", kind, raw)
	s.w.(http.Flusher).Flush()
}

func (s *itemsSSE) response(status string) map[string]any {
	return map[string]any{"id": "resp_1", "object": "response", "created_at": 1, "model": "test", "status": status,
		"output": append([]any{}, s.output...), "error": nil, "incomplete_details": nil, "usage": nil}
}

// added and done begin and end the item that comes next.
func (s *itemsSSE) added(item map[string]any) {
	s.event("response.output_item.added", map[string]any{"output_index": len(s.output), "item": item})
}

func (s *itemsSSE) done(item map[string]any) {
	s.event("response.output_item.done", map[string]any{"output_index": len(s.output), "item": item})
	s.output = append(s.output, item)
}

func (s *itemsSSE) delta(kind, id, delta string) {
	s.event(kind, map[string]any{"item_id": id, "output_index": len(s.output), "content_index": 0, "delta": delta})
}

func (s *itemsSSE) reasoning(cipher string) {
	id := fmt.Sprintf("rs_%d", len(s.output))
	s.added(map[string]any{"type": "reasoning", "id": id, "summary": []any{}, "encrypted_content": cipher[:1]})
	s.event("response.reasoning_summary_text.delta", map[string]any{"item_id": id, "output_index": len(s.output), "summary_index": 0, "delta": "hm"})
	s.done(map[string]any{"type": "reasoning", "id": id, "summary": []any{map[string]any{"type": "summary_text", "text": "hm"}}, "encrypted_content": cipher})
}

func (s *itemsSSE) message(text string) {
	id := fmt.Sprintf("msg_%d", len(s.output))
	s.added(map[string]any{"type": "message", "id": id, "status": "in_progress", "role": "assistant", "content": []any{}})
	part := func(text string) map[string]any {
		return map[string]any{"type": "output_text", "text": text, "annotations": []any{}}
	}
	s.event("response.content_part.added", map[string]any{"item_id": id, "output_index": len(s.output), "content_index": 0, "part": part("")})
	for _, piece := range pieces(text) {
		s.delta("response.output_text.delta", id, piece)
	}
	s.event("response.output_text.done", map[string]any{"item_id": id, "output_index": len(s.output), "content_index": 0, "text": text})
	s.event("response.content_part.done", map[string]any{"item_id": id, "output_index": len(s.output), "content_index": 0, "part": part(text)})
	s.done(map[string]any{"type": "message", "id": id, "status": "completed", "role": "assistant", "content": []any{part(text)}})
}

func (s *itemsSSE) call(do modeltest.Do, index int, c ports.Call) {
	callID, args := oddCall(do, index, c)
	id := fmt.Sprintf("fc_%d", len(s.output))
	item := func(status, args string) map[string]any {
		return map[string]any{"type": "function_call", "id": id, "call_id": callID, "name": c.Name, "arguments": args, "status": status}
	}
	s.added(item("in_progress", ""))
	for _, piece := range pieces(args) {
		s.delta("response.function_call_arguments.delta", id, piece)
	}
	s.event("response.function_call_arguments.done", map[string]any{"item_id": id, "output_index": len(s.output), "arguments": args})
	s.done(item("completed", args))
}

func (s *itemsSSE) finish(status string, more map[string]any, u ports.Tokens) {
	r := s.response(status)
	for name, v := range more {
		r[name] = v
	}
	r["usage"] = map[string]any{"input_tokens": u.Input, "output_tokens": u.Output, "total_tokens": u.Input + u.Output,
		"input_tokens_details":  map[string]any{"cached_tokens": u.CachedInput, "cache_write_tokens": u.CacheWrite},
		"output_tokens_details": map[string]any{"reasoning_tokens": 0}}
	s.event("response."+status, map[string]any{"response": r})
}
