// Package arch holds the rules of the house that a compiler does not know: who
// may import whom, what an adapter must bring, and what no file may do.
//
// Rules is the list; each rule has its reason. The tests hold them against this
// repository, and against small made-up repositories that break each of them, so
// that a rule that cannot fail is seen.
package arch
