// Package promptcalls has a model call tools that knows no tool calls: the tools
// are described in its prompt, and it calls one by a block of JSON in its reply,
//
//	{"type":"mcp_call","params":{"tool_name":"…","arguments":{…}}}
//
// alone in a fence of code or bare. It is meant to stand between an adapter's
// Generate and its wire, and promises the same as a wire that has tool calls:
//
//   - A block is never shown, no piece of it, however the stream is cut. All other
//     text is, also JSON and code that look like a block at first.
//   - Only what the model itself says in a reply that ended well is a call.
//     What stands in a message of a person or in a result of a tool is text.
//   - Nothing is lost: a block that cannot be read is a call whose arguments fail
//     the check, so that the model is told. Only one that the token limit cut is
//     dropped, as the wires do.
//   - The same request and reply give the same calls with the same ids; an id is
//     there once in a conversation.
//   - Equal beginnings of two requests stay equal.
//
// A block counts where it stands alone: not inside of other JSON, not in a line of
// code, and not in a fence that begins with something else, where models show
// examples. A fence with nothing but a block in it is a call, whatever the words
// around it say; the prompt tells the model so.
//
// What the model only thought is no call: a server may leave that in the text,
// between <think> and </think>. At the beginning of a reply it is not shown either.
package promptcalls
