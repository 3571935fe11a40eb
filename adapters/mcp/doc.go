// Package mcp makes one MCP server a source of tools (ports.ToolSource).
//
// What it promises:
//
//   - One server's failure is its own. A server that is missing, mute, hostile
//     or dead shows in its State and fails the calls to its own tools; it costs
//     a bounded amount of memory (max_message_bytes for a message, as much for
//     all tool definitions) and never blocks a caller beyond its deadline.
//   - There is a connection when it is wanted (start, idle_stop), and for those who
//     share it (scope): a call never goes over a connection of somebody else.
//     There are 64 people's or conversations' at most. Their servers are not
//     asked for their tools: what one person's server offers is not registered
//     for all.
//   - A server that does not answer costs the calls that it was given, and then
//     none: they fail at once until it answers a ping. It is replaced if it does
//     not, unless it still works on a call.
//   - A call runs once. A connection that is lost fails the calls in flight:
//     with KindUnsure if the server may have had them, with KindUnavailable if
//     they were not sent. A message beyond max_message_bytes costs the call that
//     it answers, and the connection only where nobody can tell which that is. One
//     thing alone is sent again, once: what an HTTP
//     server refused to hear because it forgot the session.
//   - A server that prints without end what is no message is given up, and tried
//     again as seldom as one that is not installed. One that wants another login
//     is asked every five minutes, one that names a time to wait after it.
//   - Headers go to the URL's origin alone; they and what a URL may hide stay out
//     of states, errors and the log.
//   - A child sees only the environment its config names, dies with this
//     process (Linux), and is gone, with its process group, when Run returns. So
//     is what it forked into another group or session; of a process that was
//     killed, the next on the same data folder ends it (Mark, Linux).
//   - A trace of the wire shows no secret that can be known by the config, by the
//     header or by the name of the member that it stands in.
//   - What a server declares is passed on as it wrote it. One malformed tool is
//     left out and named; the others stay.
//
// The parts, from the wire up:
//
//	process    a child with its pipes and its process group; Mark: all it forks
//	stdio      JSON-RPC over such a child; a link
//	envelope   which message it is, of one that is too long to be taken
//	tracer     writes down what goes over the wire, without secrets
//	httpLink   what both links over HTTP share: client, refusals, health
//	streamable JSON-RPC over streamable HTTP; a link
//	legacySSE  JSON-RPC over the older HTTP with SSE; a link
//	exchange   one POST and its answer; events: what comes on a stream
//	params     arguments that go into HTTP headers too
//	establish  which link the server of a url speaks over
//	negotiate  which revision both speak: server/discover, else initialize
//	session    MCP requests over any link, as the revision wants them
//	inbound    what the server begins; input: what it wants to know of people
//	flight     a call under way: its progress, its time
//	listen     a subscription to changes of the tools
//	tool       tools/call; task: a call that its server runs by itself
//	taskBook   which calls run so, from one process to the next
//	catalog    tools/list → tools; content: tools/call → a result
//	linked     resources/read → what a result links to
//	connection a session that calls use, and whether it bears up
//	keeper     makes one connection, again and again, and lends it to calls
//	supervisor the keepers of one Run: one catalog and one state of them
//	Source     the tool source; known: its tools, from one start to the next
//
// link is mcp-go's transport.BidirectionalInterface with the news of its loss.
// Another transport is another link, made by dial; nothing above it changes.
// Over streamable HTTP there is no connection whose end could be seen: the link
// holds the stream open on which the server may speak by itself, asks a server
// without one for a sign of life now and then, and any server after an exchange
// that failed. What that sign is, the session says (SetPulse).
// mcp-go's typed client is not used: it decodes a whole list or nothing, drops
// the schema keywords it does not know, and takes {} for an answer.
//
// The client speaks both eras of the protocol. A server is asked first whether it
// speaks 2026-07-28 (server/discover); one that refuses, says nonsense or keeps
// silent for a few seconds is asked to initialize, in a revision from 2024-10-07 to
// 2025-11-25, and that is remembered for the next connection. A server that dies of
// the question is asked to initialize when it is started again. What is declared to
// a server is served, and nothing else: forms where the Host of a call can ask its
// person, roots where the config has them, tasks.
//
// A call that its server runs as a task belongs to no connection and to no process:
// it is looked at until it is done, over whatever connection there is; the next
// process takes it up by the call's key. It ends when its person stops it.
package mcp
