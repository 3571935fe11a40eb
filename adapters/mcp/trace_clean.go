package mcp

import (
	"bytes"
	"encoding/json"
	"io"
	"regexp"
	"slices"
	"strings"
)

// withheld stands for what a trace does not show.
const withheld = "[redacted]"

// secretEndings are how the names of members end that hold secrets, without
// case, "_" and "-".
func secretEndings() []string {
	return []string{"authorization", "password", "passwd", "passphrase", "token", "secret", "apikey", "accesskey", "privatekey",
		"secretkey", "codeverifier", "credential", "credentials", "assertion", "cookie"}
}

// isSecretName reports whether a member of that name is withheld. The token of a
// progress notification and that of a page are none.
func isSecretName(name string) bool {
	name = strings.ToLower(strings.NewReplacer("_", "", "-", "").Replace(name))
	if name == "progresstoken" || name == "pagetoken" || name == "nextpagetoken" {
		return false
	}
	return slices.ContainsFunc(secretEndings(), func(end string) bool { return strings.HasSuffix(name, end) })
}

var (
	// bearer is a credential with its scheme in front (RFC 9110 section 11.4).
	bearer = regexp.MustCompile(`(?i)\b(bearer|basic|dpop)\s+[A-Za-z0-9._~+/=-]{8,}`)
	// named is a secret in running text or in a query: its name, and what follows it.
	named = regexp.MustCompile(`(?i)([\w-]*(?:authorization|password|passwd|passphrase|token|secret|api[_-]?key|access[_-]?key|private[_-]?key|code_verifier|cookie)\\?["']?\s*[=:]\s*\\?["']?)([^\s"'&,;\\]+)`)
)

// cleanText takes secrets out of a text: those that redact knows, and what looks like one.
func cleanText(redact *strings.Replacer, text string) string {
	text = bearer.ReplaceAllString(redact.Replace(text), "$1 "+withheld)
	return named.ReplaceAllStringFunc(text, func(found string) string {
		part := named.FindStringSubmatch(found)
		name := strings.TrimRight(part[1], " \t\r\n\\\"'=:")
		if !isSecretName(name) || strings.HasPrefix(strings.ToLower(part[2]), "bearer") {
			return found // a scheme is no secret, and what followed it is gone
		}
		return part[1] + withheld
	})
}

// cleanJSON takes secrets out of a JSON text, the JSON in its strings included.
// The order of members is lost.
func cleanJSON(redact *strings.Replacer, raw []byte) ([]byte, bool) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var v any
	if d.Decode(&v) != nil {
		return nil, false
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, false
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if e.Encode(cleanValue(redact, v)) != nil {
		return nil, false
	}
	return bytes.TrimSpace(b.Bytes()), true
}

func cleanValue(redact *strings.Replacer, v any) any {
	switch v := v.(type) {
	case string:
		return cleanString(redact, v)
	case []any:
		for i := range v {
			v[i] = cleanValue(redact, v[i])
		}
		return v
	case map[string]any:
		out := make(map[string]any, len(v))
		for name, member := range v {
			if isSecretName(name) && member != nil {
				out[name] = withheld
				continue
			}
			out[redact.Replace(name)] = cleanValue(redact, member)
		}
		return out
	}
	return v
}

// cleanString is for a text in a message, which is often JSON itself.
func cleanString(redact *strings.Replacer, text string) string {
	if trimmed := strings.TrimSpace(text); strings.HasPrefix(trimmed, "{") || strings.HasPrefix(trimmed, "[") {
		if clean, ok := cleanJSON(redact, []byte(text)); ok {
			return string(clean)
		}
	}
	return cleanText(redact, text)
}
