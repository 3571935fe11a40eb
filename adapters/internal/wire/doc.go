// Package wire is what all adapters for language models share: everything about
// a request but its body, and everything about an answer but the meaning of its
// events. A wire brings the body's bytes, and a Reader of its events.
//
// It promises of every Client what ports.ModelPort promises of a model:
//
//   - A reply comes out only if the Reader saw the provider's mark of its end. An
//     HTML page, a JSON body, a torn or endless stream is an error.
//   - It never retries. Errors carry the kind that the provider's status, error
//     type or text stands for (statuses lie), and the time to wait that it named.
//   - Two clocks guard a request: one for the whole of it, one for each silence.
//   - Not more than MaxConcurrency requests are under way; the others wait.
//   - The key goes to the endpoint's origin alone, and into no error: a redirect
//     to elsewhere is not followed.
//   - Memory is bounded, whatever a peer sends.
//
// It also has what the wires say alike: how a Draft of a reply grows and what
// calls it has at the end, blocks in words for where a wire has no place for
// them, and values of JSON that do not have the form that they should have.
package wire
