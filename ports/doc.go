// Package ports is the seam between Dragoman's core and the world: the
// interfaces that adapters implement, the values that cross them and the kinds
// of error that both sides agree on. It imports the standard library alone.
//
// # Writing an adapter
//
// There are four kinds of adapter. Implement one interface, add one line to
// cmd/dragoman/wire.go, and pass the conformance kit of its kind:
//
//	a chat platform    ChannelPort   tests/channeltest
//	a source of tools  ToolSource    tests/toolsourcetest
//	a language model   ModelPort     tests/modeltest
//	a database         the facets    tests/storetest
//
// What holds for all of them:
//
//   - New does no I/O and starts nothing. It takes a Config with json and
//     validate tags and returns the port. Run does the work until its context
//     ends, and returns only when every goroutine it started has ended.
//   - The core calls an adapter through its port. An adapter calls back only
//     through what it was handed: a Receiver, a Registrar, a Host.
//   - An adapter does not know its own config name. The gateway stamps it into
//     Conversation.Channel and ToolSpec.Server.
//   - A context that ends ends the call, soon, with an error of KindCancelled
//     or KindTimeout (a wrapped ctx.Err() is enough: see KindOf).
//   - Every failure is an *Error with the Kind that says what may be done about
//     it, and with its cause in the chain. The core never reads error texts and
//     never shows them to a person.
//   - IDs are opaque: only the adapter that made one may look inside.
//   - Abilities beyond the basic port are small interfaces, found by type
//     assertion once, at registration. Wrapping a port hides them, so the
//     product never wraps one. Leave an interface out rather than answer it
//     with an error.
//   - Secrets in a Config are of type Secret, which prints as [redacted].
//
// # The life of a message
//
// A ChannelPort hands a Batch to its Receiver. The core decides for each
// message where it goes and stores all of it, with the channel's cursor, in one
// commit (Turns.Accept); only then does Receive return nil and may the adapter
// tell its platform "received". The conversation is now owned by this process
// under a Lease, and a turn runs: the model is asked (ModelPort), its reply is
// recorded together with the calls that begin now, tools are called (ToolPort),
// their results are recorded, and so on, until one commit stores the answer
// with its deliveries. Those are sent in order (ChannelPort.Send) and marked in
// a commit of their own. Nothing in memory is needed to go on after a crash:
// the rows are enough.
//
// A turn that waits for a person is parked: its question is a row, and no
// goroutine, connection or timer belongs to it until the answer comes in.
package ports
