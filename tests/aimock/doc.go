// Package aimock runs @copilotkit/aimock, a model provider that nobody here
// wrote, for the tests of a model's adapter: it speaks OpenAI's chat completions
// and Responses (base URL plus "/v1") and Anthropic's messages. It plays the acts of
// tests/modeltest as far as it can.
package aimock
