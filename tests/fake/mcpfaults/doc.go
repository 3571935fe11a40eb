// Package mcpfaults is an MCP server that misbehaves, in each way that [Faults]
// lists: on the wire, in its answers, in its lists, as a process and as a web
// server. It speaks the protocol by hand, because no library would let it.
//
// Over stdio a fault is a process: a test binary calls [Run] when it is started
// with a fault's name and the file that mends it as its last two arguments. Over
// HTTP it is a [Server] in the test's own process.
//
// All of them are mended by one switch, a file that appears (see [Mended]): from
// then on every fault is the same good server, whose tools are "echo", which
// says its text again, and "act", which says "acted". Until then "act" is where
// a fault shows that begins with a call. So a test sees what a fault does, to
// whom, and that it is over when the server is good again.
//
// Strict is what is good in it: it refuses to serve before the handshake, an
// unknown session and an unknown tool.
package mcpfaults
