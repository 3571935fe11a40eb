// Package terminal is the terminal as a channel: a ChannelPort whose platform is
// the store's Feed, as the web chat's is, and a ports.Terminal for whoever sits at
// the gateway's machine.
//
// Each agent has a Channel of its own, and a Channel has as many conversations as
// terminals were ever open at a time, named 1, 2, 3 …: a terminal holds the first
// that is free. What a conversation shows is in the feed, so nothing is lost while
// no terminal looks; drafts and typing are for those that do.
//
// Everybody here is one person, the owner of the data folder. Doubles are dropped
// on both ways: a message's event is made from the id that its terminal gave it,
// and a delivery's nonce is that of its feed item.
//
// Front is the other end: it shows a ports.Terminal, of this process or behind the
// control socket, on a screen or in a pipe.
package terminal
