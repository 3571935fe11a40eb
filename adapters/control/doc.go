// Package control serves ports.Admin and the terminals (ports.Terminal) on a Unix
// socket beside the data, for the command line of the same machine, and is the
// client of it too.
//
// Whoever may open the socket (mode 0600: the gateway's own user) is an admin.
// The wire is HTTP with JSON bodies: POST /METHOD with the arguments as an
// object, 200 with the result, or 4xx/5xx with {kind, op, error}. What a terminal
// watches comes as one JSON document a line, for as long as both sides live.
package control
