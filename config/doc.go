// Package config is the grammar of dragoman.json: it reads the file, puts the
// environment's values in, decodes it strictly and checks it. It knows no
// adapter by name: what belongs to one is handed on as a [Section], which the
// program decodes into the adapter's own struct.
//
// # Promises
//
//   - All faults are found in one run, each with file, line, column and key, and
//     with what would be right. Only a text that is no JSON ends the search.
//   - The value of a variable or of a ${file:…} never appears in a fault.
//   - A key that is not known is a fault, never ignored.
//   - Reading does no I/O but for the config file and the files it names with ${file:…}.
//
// # The grammar
//
// JSON (RFC 8259) with comments and trailing commas. In every text, but not in keys:
//
//	${NAME}            the variable's value; not set is a fault
//	${NAME:-default}   the default if it is not set or empty
//	${file:PATH}       the file's content without surrounding space; PATH is relative to the config file
//	$${                a literal ${
//
// A text that holds one of these may stand where a number or true/false is wanted.
//
// # Tags
//
// The structs that a config is decoded into carry
//
//	json:"name"       the key; an embedded struct's keys are its parent's
//	alias:"name"      another key for the same; two objects given under both are joined
//	default:"…"       the value of an absent key: as text, or as JSON for lists and maps
//	validate:"…"      rules of go-playground/validator, "dive" for the entries of lists and maps
//	format:"path"     a path, made relative to the config file's folder
//	doc:"…"           what the key is for, as [Schema] tells it to an editor
//
// An embedded [Section] takes the keys that its struct does not name.
package config
