// Package modelcard knows the window, the price and the abilities of the models
// that are much used, and what an admin's config says otherwise of them.
//
// The table, table.json, is kept by hand and small. It promises to guess nothing:
// each row says where its numbers are from, who else has them and of which day
// they are, a price that is not certain is left out, and of a model that is not in
// it nothing is known. What it leaves open is taken carefully: the window of an unknown model is
// small, and a price without a word about the cache is the full one.
//
// A price counts only at the host of who asks for it, or at OpenRouter, which
// passes it on: elsewhere the same name may cost anything. Where a provider asks
// more for a long prompt, the row's window ends where that begins, so that
// one price holds for every prompt that fits.
package modelcard
