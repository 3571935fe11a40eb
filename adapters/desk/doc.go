// Package desk is a small MCP server that comes with the binary: a world clock,
// a calculator and dice. It runs as a real child on stdio, so that a gateway
// with an empty config has a server to talk to, and is one that an admin can
// try the whole way with. It opens nothing, stores nothing and calls nobody.
package desk
