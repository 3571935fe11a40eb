// Package demo is a stand-in for a language model: no key, no network, only
// rules. It says that it is one. With it any tool server can be tried by hand:
//
//	help                 lists the tools
//	call NAME {json}     calls a tool (in a group, a name may stand before it)
//	anything else        picks a tool by its words and fills in what it needs
//
// After a tool call it answers with what the tool said. It calls at most one
// tool for a message, and never one that gave its result since.
//
// The rules are in decide.go (what to do), command.go (the fixed forms),
// choose.go and words.go (which tool) and fill.go and values.go (its arguments);
// the words are in say.go. All of it is a pure function of the request.
package demo
