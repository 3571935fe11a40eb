// Package toolschema writes tools down as the providers of models take them. A
// tool's own schema is its server's and may hold anything, and one definition
// that a provider refuses fails every request, since the list goes with each.
//
// [Project] makes of a pristine schema what the provider of a [Profile] accepts.
// It never makes it stricter where the provider has words for it: arguments are
// checked against the pristine schema elsewhere. It is pure, equal schemas
// give equal bytes, and its depth, time and size are bounded for any input.
//
// [Tools] keeps tools in the form of one wire, its [Envelope], so that they are
// projected once and not with every request.
package toolschema
