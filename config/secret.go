package config

import "log/slog"

const redacted = "[redacted]"

// Secret is a token of the gateway's own. Every way to print it gives
// [redacted]; Reveal alone gives the value.
type Secret string

// Reveal is the secret itself.
func (s Secret) Reveal() string { return string(s) }

// String keeps the value out of fmt, and out of faults.
func (s Secret) String() string { return redacted }

// GoString keeps the value out of %#v.
func (s Secret) GoString() string { return redacted }

// LogValue keeps the value out of slog.
func (s Secret) LogValue() slog.Value { return slog.StringValue(redacted) }

// MarshalText keeps the value out of JSON and other encodings.
func (s Secret) MarshalText() ([]byte, error) { return []byte(redacted), nil }
