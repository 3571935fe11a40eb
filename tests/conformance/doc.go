// Package conformance holds our MCP client to the official conformance suite
// (@modelcontextprotocol/conformance, pinned in tests/package-lock.json): the
// scenarios that the revisions 2025-11-25 and 2026-07-28 require of a client, and
// all of the suite's last release. client is what the suite starts; score.md is
// how we stand, scenario by scenario.
//
//	go test ./tests/conformance            measures, and compares with score.md
//	go test ./tests/conformance -update    writes score.md
//
// A scenario counts as passed if the suite found something to check and neither
// an error nor a warning.
package conformance
