// Package anthropic asks language models over Anthropic's messages wire: at
// Anthropic itself and at everything that speaks the same.
//
// It promises what ports.ModelPort does, and in particular:
//
//   - Each request streams. It succeeds only after message_stop, with a
//     stop_reason before it: a stream that just ends, an HTML page, a JSON body or
//     a broken frame is an error, and no call in it is handed out.
//   - An error inside a stream counts by its type, though the status was 200.
//   - It never retries, and two clocks guard a request, as those of all wires.
//   - Thinking blocks are kept as opaque state, with their signatures and in their
//     place among the others, and sent back to the model that made them alone.
//   - Any history can be sent: it is brought into the form that the wire demands,
//     in which a user begins and roles alternate, all results of a round follow it
//     at once, no text is empty and no id is of a form that is unknown here.
//   - Tools, the system prompt and the messages are marked for the provider's
//     cache, and equal requests give equal bytes.
//   - Nothing but Config is read: no ANTHROPIC_* variable of the environment.
//
// What any model's wire needs is in adapters/internal/wire. The rest is small
// enough to be plain structs. The vendor's SDK is not used: it brings megabytes of
// code that stay in memory, takes a clean end without message_stop, a broken frame
// and a JSON body for success, and puts whole bodies into its errors.
//
// Source: https://platform.claude.com/docs/en/api/messages.
package anthropic
