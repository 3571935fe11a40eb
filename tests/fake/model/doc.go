// Package model is a language model behind OpenAI's chat completions
// (https://platform.openai.com/docs/api-reference/chat) that answers at once,
// as a stream or in one piece, with what the caller's [Options.Answer] says:
// a text, or calls of tools. It is made for load: it thinks for no longer than
// it is told to.
//
// It is strict in what makes a conversation one: a tool's result answers a call
// that the assistant made right before, and every call is answered.
package model
