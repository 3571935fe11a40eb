// Package openai asks language models over OpenAI's chat completions wire: at
// OpenAI itself and at everything that speaks the same (Ollama, vLLM,
// llama.cpp, OpenRouter, DeepSeek, Gemini's compatible endpoint and others).
//
// It promises what ports.ModelPort does, and in particular:
//
//   - Each request streams. It succeeds only if the provider named a
//     finish_reason: a stream that just ends, an HTML page, a JSON body or a
//     broken frame is an error, and no call in it is handed out.
//   - It never retries. Errors carry the kind that the provider's status, error
//     type or text stands for, and the time to wait that it named.
//   - Two clocks guard a request: one for the whole of it, one for each silence.
//   - Fields that the provider adds to the standard (reasoning_content, Gemini's
//     thought signatures) are kept as opaque state and sent back to the provider
//     and model that made them, and to no other.
//   - The key goes to base_url's origin alone, and into no error: a redirect to
//     elsewhere is not followed.
//   - Nothing but Config is read: no OPENAI_* variable of the environment.
//
// The wire is in request.go, tools.go and schema.go on the way out, in chat.go,
// chunk.go, reply.go and state.go on the way in; what any model's wire needs is in
// adapters/internal/wire. It is small enough to be plain structs: the vendor's SDK
// is several times the rest of the gateway in size, and takes a clean end without a
// terminator, a JSON body and an HTML page for success. The tests hold both against
// each other.
//
// Source: https://platform.openai.com/docs/api-reference/chat.
package openai
