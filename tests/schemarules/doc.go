// Package schemarules knows what the providers of models refuse in the tools of a
// request, and has tools to try a projection with: recorded ones of real servers
// ([Real]) and nasty ones ([Nasty]).
//
// A checker reads a whole list of tools as it goes over the wire and returns
// everything that its provider would refuse. The rules are those that the
// providers publish, and those that only their error messages tell; where sources
// differ, the stricter one counts. Nothing here is shared with the code that
// makes the lists.
package schemarules
