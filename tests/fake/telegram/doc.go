// Package telegram is a strict stand-in for Telegram's Bot API server
// (https://core.telegram.org/bots/api) for one bot. It keeps the state that
// matters to a bot that must lose nothing and repeat nothing: updates are
// forgotten only when a higher offset is asked for, two pollers exclude each
// other, each callback query can be answered once, texts, entities and keyboards
// are held to Telegram's limits, and what was sent stays visible with all its edits.
//
// It is stricter than the original in four places, to catch what Telegram
// hides: a parameter that the method does not have is refused, message ids
// count from 1 in every chat (in Telegram they repeat between supergroups
// only), entities that Telegram would mend or drop (overlapping ones, a quote in
// a quote, anything inside of code, more than a hundred) are refused, and
// parse_mode is refused because it is not implemented.
//
// Nor does it take a field that Telegram would ignore (of a button, a reply, a list
// of updates) or a file that Telegram would show as one of another kind. It does not do
// everything: files are not fetched from URLs, and rich messages are read roughly.
//
// What is not documented is what other bots were told by the platform (TEXTDRAFT_PEER_INVALID,
// say); where nobody knows the words, the description begins with "fake telegram".
// npm's grammY and its types are the witnesses that bots see here what they
// would see there.
//
// Tests act as people through [User] and [Group], look through [Server.Sent] and
// [Server.Transcript], and break things through [Server.Fail], [Server.Flood], [Server.Begin],
// [Server.Delay], [Server.Cut], [Server.Break], [Server.Drop], [Server.Lose] and [Server.Hang]. The state lives in the test's
// own process, so it outlives a gateway that is killed.
package telegram
