package model

import (
	"encoding/json"
	"fmt"
	"unicode/utf8"
)

// Reply is what the model says: a text, calls, or both.
type Reply struct {
	Text  string
	Calls []Call
}

// Call is one of a tool. Arguments is what the client gets, JSON or not.
type Call struct{ Name, Arguments string }

// message is a Reply on the wire.
type message struct {
	Reply
	id, model string
}

type object = map[string]any

func (m message) finish() string {
	if len(m.Calls) > 0 {
		return "tool_calls"
	}
	return "stop"
}

func (m message) calls(streamed bool) []object {
	var list []object
	for i, c := range m.Calls {
		call := object{
			"id": fmt.Sprintf("call_%s_%d", m.id, i), "type": "function",
			"function": object{"name": c.Name, "arguments": c.Arguments},
		}
		if streamed {
			call["index"] = i
		}
		list = append(list, call)
	}
	return list
}

// usage counts four bytes as a token.
func (m message) usage() object {
	n := len(m.Text)/4 + 1
	return object{"prompt_tokens": 1, "completion_tokens": n, "total_tokens": n + 1}
}

// whole is the reply to a request that wants no stream.
func (m message) whole() object {
	said := object{"role": "assistant", "content": m.Text, "refusal": nil}
	if len(m.Calls) > 0 {
		said["tool_calls"] = m.calls(false)
	}
	return object{
		"id": m.id, "object": "chat.completion", "created": 1, "model": m.model, "usage": m.usage(),
		"choices": []object{{"index": 0, "message": said, "finish_reason": m.finish(), "logprobs": nil}},
	}
}

// frames are the events of a stream, the text in so many pieces.
func (m message) frames(pieces int, usage bool) []string {
	list := []string{m.frame(`{"role":"assistant","content":""}`, "null")}
	for _, piece := range split(m.Text, pieces) {
		list = append(list, m.frame(`{"content":`+encode(piece)+`}`, "null"))
	}
	if len(m.Calls) > 0 {
		list = append(list, m.frame(`{"tool_calls":`+encode(m.calls(true))+`}`, "null"))
	}
	list = append(list, m.frame(`{}`, `"`+m.finish()+`"`))
	if usage {
		list = append(list, "data: "+m.head()+`"choices":[],"usage":`+encode(m.usage())+"}\n\n")
	}
	return append(list, "data: [DONE]\n\n")
}

func (m message) frame(delta, finish string) string {
	return "data: " + m.head() + `"choices":[{"index":0,"delta":` + delta + `,"finish_reason":` + finish + "}]}\n\n"
}

func (m message) head() string {
	return `{"id":"` + m.id + `","object":"chat.completion.chunk","created":1,"model":` + encode(m.model) + `,`
}

// split cuts a text into at most n pieces of about one length, between runes.
func split(text string, n int) []string {
	var pieces []string
	for size := max(1, (len(text)+n-1)/n); len(text) > 0; {
		at := min(size, len(text))
		for at < len(text) && !utf8.RuneStart(text[at]) {
			at++
		}
		pieces, text = append(pieces, text[:at]), text[at:]
	}
	return pieces
}

func encode(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic("fake model: " + err.Error())
	}
	return string(b)
}
