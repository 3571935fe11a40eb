// Package openai asks language models over OpenAI's two wires. Responses is for
// OpenAI itself, whose newer models take tools nowhere else; chat completions is
// what everything else speaks (Ollama, vLLM, llama.cpp, OpenRouter, DeepSeek,
// Gemini's compatible endpoint and others).
//
// It promises what ports.ModelPort does, and in particular:
//
//   - Each request streams. It succeeds only if the provider marked the end, by a
//     finish_reason or by response.completed or response.incomplete: a stream that
//     just ends, an HTML page, a JSON body or a broken frame is an error, and no
//     call in it is handed out.
//   - It never retries, but for a part of a request that this model refuses and
//     that can be left out: the reasoning, encrypted. Errors carry the kind that
//     the provider's status, error type or text stands for, and the time to wait
//     that it named.
//   - Two clocks guard a request: one for the whole of it, one for each silence.
//   - What the provider adds to a reply (Responses' reasoning items,
//     reasoning_content, Gemini's thought signatures) is kept as opaque state and
//     sent back to the provider and model that made it, and to no other. Nothing
//     is stored there: each request carries all of the conversation.
//   - What a server that is not OpenAI's leaves of <think>…</think> at the beginning
//     of a text is neither shown nor kept.
//   - The key goes to base_url's origin alone, and into no error: a redirect to
//     elsewhere is not followed.
//   - Nothing but Config is read: no OPENAI_* variable of the environment.
//
// Chat is in request.go on the way out, in chat.go, chunk.go, reply.go and state.go
// on the way in; Responses in responses_request.go on the way out, in responses.go,
// responses_item.go and responses_state.go on the way in; what any model's wire
// needs is in adapters/internal. Both are small enough to be plain structs: the
// vendor's SDK is several times the rest of the gateway in size, and takes a clean
// end without a terminator, a JSON body and an HTML page for success. The tests hold
// both against it.
//
// Sources: https://platform.openai.com/docs/api-reference/chat and
// https://platform.openai.com/docs/api-reference/responses.
package openai
