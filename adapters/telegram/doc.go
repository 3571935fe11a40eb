// Package telegram is the Telegram adapter: a ports.ChannelPort over the Bot
// API (https://core.telegram.org/bots/api), receiving by long polling or by a
// webhook.
//
// Nothing is lost: the answer of one getUpdates becomes one ports.Batch, and
// only after Receive stored it does the next call's offset tell Telegram to
// forget it; an update that a webhook brings is answered with 200 only then. What
// cannot be decoded is logged and passed over, so that one bad
// update never blocks those behind it.
//
// Calls are plain JSON over HTTP/1.1. The client libraries were no help here:
// they acknowledge updates before handlers are done, stream every call as
// multipart through a pipe, and hide whether a failed request was written at
// all, which is what tells KindTemporary from KindUnsure.
//
// Markdown is rendered to text with entities, split on its tree, when the answer
// is stored: render.go makes pages, writer.go and spans.go write blocks and
// looks, page.go makes the offsets hold. Where rich messages are asked for, rich.go
// and rich_spans.go write them beside it, and forms.go tries one form after the other.
//
// The token is part of every URL. No error of this package holds the URL.
package telegram
