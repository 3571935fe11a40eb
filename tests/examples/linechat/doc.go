// Package linechat is a chat platform of the smallest kind: a TCP port. People
// connect with nc, give a name and the shared password, and chat in lines. It is
// the example that adapters/README.md walks through; yours goes into adapters.
//
// What it promises:
//
//   - A line is answered with "* ok" once it is stored, and not before. While the
//     store refuses it, the line is kept and tried again, and its person is told.
//     A line without "* ok" was not taken: say it again.
//   - What the bot says is kept in the store's Feed. Who is not connected reads
//     it on coming back: the last 20 messages are shown first.
//   - A message may hold several lines: one that ends with \ goes on in the next.
//     The bot's begin with "< " and go on with "  "; "* " is the channel itself.
//
// Limits: everything crosses the wire in clear text, and whoever knows the
// password can give any name. Leave it on loopback.
package linechat
