// Command bench measures the gateway: the real binary, built as a release is,
// against a fake Telegram and a model that answers at once, with one MCP server
// and a store that syncs every commit to the disk. Beside it, in the same run, it
// measures a bare loop: the same wire and the same client libraries without a
// core and without a store (see ./loop).
//
//	go run ./tests/bench                       all figures, about ten minutes
//	go run ./tests/bench -chats 1,16 -seconds 5 -rounds 1
//	go run ./tests/bench -quick                all kinds of figures, badly, in a minute
//	go run ./tests/bench -mcp                  MCP servers alone, two minutes
//	go run ./tests/bench -compare              the last run against the one before
//	go run ./tests/bench -chats 128 -profile /tmp/p    where the gateway's time goes
//
// The load is a closed loop: each chat writes its next message when the answer to
// the last one is there, and a chat ends after some messages and makes room for
// a new one, so that no conversation grows for ever. What is told:
//
//   - turns/s: answers shown by the platform in the measured time
//   - added: from the moment that an update leaves the platform to the moment that
//     its answer arrives there, without the time for which the model was told to think
//   - whole: from the moment that a person wrote to the answer, all in all
//   - SIGKILL: from the kill, with 200 turns whose model thinks and a restart at
//     once, to the first and to the last of their answers
//   - CPU: user and system time of the gateway's process, and apart from it that
//     of its tool server, of the fakes with the load, and of everybody else
//
// With -mcp it measures what MCP servers cost instead: calls of a tool through the
// whole adapter and, in turns with that, through mcp-go's own client to the same
// server (see ./echo), and gateways with 0, 5 and 20 servers on stdio, from exec
// until all of them are ready, and their memory when nothing happens.
//
// The load, the fakes and what is measured share the machine: on few cores
// turns/s is as much a figure of the load as of the gateway, CPU is not. A row
// during which others used more than a twentieth of the machine is marked.
//
// It needs Linux: figures come from /proc.
package main
