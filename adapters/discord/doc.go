// Package discord is the Discord adapter: a ports.ChannelPort over the gateway
// and the REST API, version 10 (https://discord.com/developers/docs).
//
// Nothing is lost. The gateway forgets an event once it sent it, so what comes in
// goes to a queue that is stored beside the reading, tried until the store takes
// it; a lost connection is resumed, and what no session can bring back (a resume
// that was refused, a restart) is read from the channels' histories, which Discord
// keeps: the cursor says from where. The message's id is its Event, so that
// nothing comes twice.
//
// A bot in many servers has several sessions, each with a part of the servers, of the
// histories and of the cursor (shards).
//
// A connection belongs to one call of session, which reads and beats under one
// context: whatever happens on it (no hello, no acknowledged heartbeat, a request
// to reconnect at any moment) ends that context, and Run goes on with a new one.
// discordgo was no help here: it holds its lock while it opens, so that a request
// to reconnect in that moment stops it for good; it cannot be ended, knows neither
// closing codes nor the address to resume at, hands over half of an event that it
// cannot decode, and knows no nonce, without which a send that is tried again is
// seen twice.
//
// A send carries a nonce of its delivery, which Discord enforces for some minutes:
// trying again is safe then, also after a lost answer, which is KindUnsure all the
// same. What may have been tried longer ago is looked for in the channel's history
// before it is posted.
//
// The token is in the Authorization header alone. An interaction's token is part
// of URLs, which no error of this package holds.
package discord
