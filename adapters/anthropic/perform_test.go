package anthropic

import (
	"fmt"
	"net/http"
	"strconv"

	"dragoman/ports"
	"dragoman/tests/modeltest"
)

// perform plays an act.
func perform(w http.ResponseWriter, r *http.Request, a modeltest.Act) {
	key := r.Header.Get("X-Api-Key")
	switch a.Do {
	case modeltest.RateLimit:
		w.Header().Set("Retry-After", strconv.Itoa(int(a.Wait.Seconds())))
		refuse(w, 429, "rate_limit_error", "slow down, "+key)
	case modeltest.ServerError:
		refuse(w, 500, "api_error", "sorry, "+key)
	case modeltest.Overloaded:
		refuse(w, 529, "overloaded_error", "Overloaded")
	case modeltest.Unauthorized:
		refuse(w, 401, "authentication_error", "invalid x-api-key: "+key)
	case modeltest.NotFound:
		refuse(w, 404, "not_found_error", "model: claude-test")
	case modeltest.Invalid:
		refuse(w, 400, "invalid_request_error", "bad request with "+key)
	case modeltest.TooLarge:
		refuse(w, 400, "invalid_request_error", "prompt is too long: 200251 tokens > 200000 maximum")
	case modeltest.HTML, modeltest.HTMLError:
		w.Header().Set("Content-Type", "text/html")
		if a.Do == modeltest.HTMLError {
			w.WriteHeader(502)
		}
		fmt.Fprintf(w, "<!doctype html>\n<html><title>Sign in</title>%s\n</html>\n", key)
	case modeltest.JSON:
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"id":"msg_1","type":"message","role":"assistant","content":[{"type":"text","text":%q}],"stop_reason":"end_turn"}`, key)
	case modeltest.Hang:
		<-r.Context().Done()
	default:
		stream(w, r, a)
	}
}

// stream plays the acts that begin as a stream.
func stream(w http.ResponseWriter, r *http.Request, a modeltest.Act) {
	s := newSSE(w)
	if a.Do == modeltest.Empty {
		return
	}
	s.json(map[string]any{"type": "message_start", "message": map[string]any{"id": "msg_1", "type": "message", "role": "assistant", "model": "claude-test",
		"content": []any{}, "stop_reason": nil, "stop_sequence": nil, "usage": usageOf(a.Usage, 1)}})
	s.json(map[string]any{"type": "ping"})
	index := s.content(a)
	for i, c := range a.Calls {
		s.call(a.Do, index, i, c)
		index++
	}
	reason := "end_turn"
	if len(a.Calls) > 0 {
		reason = "tool_use"
	}
	switch a.Do {
	case modeltest.HangMid:
		<-r.Context().Done()
		return
	case modeltest.Cut:
		panic(http.ErrAbortHandler)
	case modeltest.Unmarked:
		s.json(map[string]any{"type": "message_delta", "delta": map[string]any{"stop_reason": reason}, "usage": map[string]any{"output_tokens": 1}})
		return
	case modeltest.BadFrame:
		s.frame(`{"type":"content_block_delta","index":0,"delta":{"type":"text_`)
	case modeltest.ErrorFrame:
		s.frame(`{"type":"error","error":{"type":"overloaded_error","message":"Overloaded ` + r.Header.Get("X-Api-Key") + `"}}`)
		return
	case modeltest.LimitFrame:
		s.frame(`{"type":"error","error":{"type":"rate_limit_error","message":"slow down"}}`)
		return
	case modeltest.Length:
		reason = "max_tokens"
	case modeltest.Filtered:
		reason = "refusal"
	}
	s.json(map[string]any{"type": "message_delta", "delta": map[string]any{"stop_reason": reason, "stop_sequence": nil}, "usage": map[string]any{"output_tokens": a.Usage.Output}})
	s.json(map[string]any{"type": "message_stop"})
}

func usageOf(u ports.Tokens, output int) map[string]any {
	return map[string]any{"input_tokens": u.Input - u.CachedInput - u.CacheWrite, "cache_read_input_tokens": u.CachedInput,
		"cache_creation_input_tokens": u.CacheWrite, "output_tokens": output}
}

// content streams the thinking and the text of an act, and gives the next index.
func (s sse) content(a modeltest.Act) int {
	index := 0
	if a.State != "" {
		s.start(index, map[string]any{"type": "thinking", "thinking": "", "signature": ""})
		s.delta(index, "thinking_delta", "thinking", a.State[:3])
		s.delta(index, "thinking_delta", "thinking", a.State[3:])
		s.delta(index, "signature_delta", "signature", "sig-1")
		s.stop(index)
		index++
	}
	if a.Text != "" {
		s.start(index, map[string]any{"type": "text", "text": ""})
		for _, piece := range pieces(a.Text) {
			s.delta(index, "text_delta", "text", piece)
		}
		s.stop(index)
		index++
	}
	return index
}

// call streams one tool call, its arguments in pieces.
func (s sse) call(do modeltest.Do, index, n int, c ports.Call) {
	id, args := c.ID, string(c.Arguments)
	switch {
	case do == modeltest.MissingIDs:
		id = ""
	case do == modeltest.DoubledIDs:
		id = "toolu_same"
	case do == modeltest.BadArguments && n == 0:
		args = `{"path": "a`
	case do == modeltest.NoArguments && n == 0:
		args = ""
	}
	s.start(index, map[string]any{"type": "tool_use", "id": id, "name": c.Name, "input": map[string]any{}})
	s.delta(index, "input_json_delta", "partial_json", "")
	for _, piece := range pieces(args) {
		s.delta(index, "input_json_delta", "partial_json", piece)
	}
	s.stop(index)
}
