// Package builtin is the tools that the gateway has of its own: what time it
// is, and reading what was too large for a prompt. They need no server and no
// config, and have no prefix. All of them only read, and only what belongs to
// the conversation of the call.
package builtin
