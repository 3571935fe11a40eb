package main

import "testing"

func TestModelsInTheSchema(t *testing.T) {
	s := compiled(t)
	for text, good := range map[string]bool{
		`{"price": {"input": 1.25, "output": 10}, "images": true, "audio": false}`:  true,
		`{"price": {"input": 0, "cached_input": 0, "cache_write": 0, "output": 0}}`: true,
		`{"price": {"output": 10}}`:                                false,
		`{"price": {"input": -1, "output": 10}}`:                   false,
		`{"price": {"input": 1, "output": 10, "currency": "EUR"}}`: false,
		`{"images": "yes"}`:                                        false,
		`{"context_tokens": 0}`:                                    true,
		`{"context_tokens": -1}`:                                   false,
		`{"tool_calls": "prompt"}`:                                 true,
		`{"tool_calls": "xml"}`:                                    false,
	} {
		agree(t, s, `{"models": {"m": {"type": "openai", "model": "x", `+text[1:]+`}}`, good)
	}
}
